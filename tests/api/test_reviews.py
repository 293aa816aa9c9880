"""Reviews over REST: the inbox, decisions one by one and many at once, the export, the policy."""

import csv
import io

import pytest

from quota.domain.routing import DEFAULT
from tenancy.commands.people import RevokeRole
from tests.api.conftest import fresh_token, is_problem, signed_in, speaking
from tests.api.requesting import Desk, at, now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(acme) -> Desk:
    return Desk(acme)


def inbox(desk: Desk, name: str, **query) -> list[str]:
    answer = desk.as_(name).get("reviews", query)
    assert answer.status_code == 200, answer.content
    return [one["request"]["id"] for one in answer.json()["requests"]]


def test_the_inbox_is_what_one_is_asked_and_may_decide(desk):
    it = desk.ask()
    assert inbox(desk, "petra") == [it["id"]]
    assert desk.as_("petra").get("reviews").json()["waiting"] == 1
    for name in ("alice", "bob", "uma"):
        assert inbox(desk, name) == []
    answer = desk.decide(it, "approve", by="petra", expected_version=it["version"])
    assert answer.json()["state"] == "provisioned" and desk.guaranteed() == 60
    assert inbox(desk, "petra") == []


def test_the_inbox_has_pages(desk):
    made = [desk.ask(units=units)["id"] for units in (40, 41, 42)]
    first = desk.as_("petra").get("reviews", {"limit": 2}).json()
    rest = desk.as_("petra").client.get(first["next"]).json()
    found = [one["request"]["id"] for one in first["requests"] + rest["requests"]]
    assert found == made and rest["next"] is None
    is_problem(desk.as_("petra").get("reviews", {"cursor": "WzFd"}), 400, "parameter_invalid")


def test_large_ones_need_two_people(desk):
    desk.place.pool("b200", capacity=500)
    it = desk.ask(pool="b200", units=200)
    assert it["approvals_missing"] == 2
    first = desk.decide(it, "approve", by="petra").json()
    assert (first["state"], first["approvals_missing"]) == ("submitted", 1)
    is_problem(desk.decide(it, "approve", by="petra"), 422, "already_approved")
    assert inbox(desk, "petra") == [] and inbox(desk, "rita") == [it["id"]]
    stale = desk.decide(it, "approve", by="rita", expected_version=it["version"])
    is_problem(stale, 409, "stale_version")
    assert desk.decide(it, "approve", by="rita").json()["state"] == "provisioned"


def test_a_no_says_why_and_is_kept(desk):
    it = desk.ask()
    is_problem(desk.decide(it, "reject", by="petra"), 400, "field_missing")
    is_problem(desk.decide(it, "reject", by="petra", reason=" "), 400, "reason_missing")
    assert desk.decide(it, "reject", by="petra", reason="no room").json()["state"] == "rejected"
    (made,) = desk.story(it)["decisions"]
    assert (made["person"], made["decision"], made["reason"]) == ("petra", "rejected", "no room")
    is_problem(desk.decide(it, "approve", by="rita"), 409, "request_moved_on")


def test_an_offer_is_less(desk):
    it = desk.ask()
    for body in ({}, {"units": 60}, {"units": 70}, {"ends_at": at(90)}):
        is_problem(desk.decide(it, "approve-less", by="petra", **body), 400, "not_less")


def test_room_that_went_is_told_and_nothing_is_half_done(desk):
    first, second = desk.ask(), desk.ask(by="otto", account="serving", units=60)
    assert desk.decide(first, "approve", by="petra").status_code == 200
    before = desk.events()
    found = is_problem(desk.decide(second, "approve", by="rita"), 422, "promise_exceeded")
    assert found["short_by"] == 20 and found["errors"] == [] and desk.events() == before
    less = desk.decide(second, "approve-less", by="rita", units=50)
    found = is_problem(less, 422, "promise_exceeded")
    assert [one["pointer"] for one in found["errors"]] == ["#/units"]
    assert desk.state(second, by="otto") == "submitted"


def test_many_decisions_each_on_its_own(desk):
    one, two = desk.ask(units=40), desk.ask(units=41)
    other = desk.ask(by="otto", account="serving", units=42)
    draft = desk.ask(draft=True)
    body = {
        "decisions": [
            {"request": one["id"], "decision": "approve", "expected_version": 1},
            {"request": two["id"], "decision": "reject"},
            {"request": two["id"], "decision": "reject", "reason": "asked twice"},
            {"request": two["id"], "decision": "approve"},
            {"request": other["id"], "decision": "approve"},
            {"request": draft["id"], "decision": "approve"},
            {"request": str(desk.place.id), "decision": "approve"},
            {"request": one["id"], "decision": "ask", "units": 3, "reason": "x"},
        ]
    }
    petra = desk.as_("petra")
    answer = petra.post("reviews/batch", body, idempotency_key="b1")
    assert answer.status_code == 200, answer.content
    results = answer.json()["results"]
    assert (answer.json()["decided"], answer.json()["refused"]) == (2, 6)
    assert [row["state"] for row in results[:3]] == ["provisioned", None, "rejected"]
    codes = [row["code"] for row in results]
    assert codes[1:] == [
        *("reason_missing", None, "request_moved_on"),
        *("request_unknown", "request_unknown", "request_unknown", "value_invalid"),
    ]
    assert results[3]["facts"] == {"state": "rejected"}
    before = desk.events()
    again = petra.post("reviews/batch", body, idempotency_key="b1").json()
    assert [row["state"] for row in again["results"]] == [row["state"] for row in results]
    assert desk.events() == before


def test_a_batch_that_means_nothing(desk):
    petra = desk.as_("petra")
    is_problem(petra.post("reviews/batch", {"decisions": []}), 400, "length_out_of_range")
    one = {"request": str(desk.place.id), "decision": "bless"}
    found = is_problem(petra.post("reviews/batch", {"decisions": [one]}), 400, "value_unknown")
    assert found["errors"][0]["pointer"] == "#/decisions/0/decision"
    many = {"decisions": [one | {"decision": "approve"}] * 101}
    is_problem(petra.post("reviews/batch", many), 400, "length_out_of_range")
    key = petra.post("reviews/batch", {"decisions": []}, idempotency_key="k" * 201)
    assert key.status_code == 400
    machine = speaking(fresh_token(desk.place, "export:read"))
    is_problem(machine.post("reviews/batch", {"decisions": []}), 403, "people_only")
    is_problem(machine.get("reviews"), 403, "people_only")


def test_decisions_of_a_period_in_pages_and_as_a_file(desk):
    start = now().isoformat()
    desk.ask(units=8, pool="a100", purpose="small")
    it, other = desk.ask(units=40), desk.ask(by="otto", account="serving", units=41)
    desk.decide(it, "approve", by="petra", reason="=HYPERLINK(1)")
    desk.decide(other, "reject", by="rita", reason="no, not now")
    uma = desk.as_("uma")
    first = uma.get("reviews/decisions", {"since": start, "limit": 2}).json()
    rest = uma.client.get(first["next"]).json()
    found = first["decisions"] + rest["decisions"]
    assert [(row["decision"], row["person"]) for row in found[1:]] == [
        ("approved", "petra"),
        ("rejected", "rita"),
    ]
    assert found[0]["person"] is None and rest["next"] is None
    only = uma.get("reviews/decisions", {"account": "research"}).json()["decisions"]
    assert {row["account"] for row in only} == {"nlp"}
    file = uma.get("reviews/decisions", {"since": start}, accept="text/csv")
    assert file["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(b"".join(file).decode())))
    assert [row["decision"] for row in rows] == [row["decision"] for row in found]
    assert rows[1]["reason"] == "'=HYPERLINK(1)" and rows[0]["person"] == ""
    bob = desk.as_("bob").get("reviews/decisions").json()["decisions"]
    assert {row["account"] for row in bob} == {"nlp"}
    is_problem(
        desk.as_("bob").get("reviews/decisions", {"account": "serving"}), 403, "role_missing"
    )


def test_a_machine_that_may_export_reads_decisions(desk, globex):
    desk.decide(desk.ask(), "approve", by="petra")
    machine = speaking(fresh_token(desk.place, "export:read"))
    assert len(machine.get("reviews/decisions").json()["decisions"]) == 1
    bound = speaking(fresh_token(desk.place, "export:read", pools=(desk.place.pools["a100"],)))
    assert bound.get("reviews/decisions").json()["decisions"] == []
    file = b"".join(bound.get("reviews/decisions", accept="text/csv")).decode()
    assert len(file.splitlines()) == 1
    other = speaking(fresh_token(desk.place, "priority:read"))
    is_problem(other.get("reviews/decisions"), 403, "scope_missing")
    charlie = signed_in(globex, "charlie")
    assert charlie.get("reviews/decisions").json()["decisions"] == []
    assert charlie.get("reviews").json()["requests"] == []


def test_a_period_has_a_beginning_and_an_end(desk):
    uma = desk.as_("uma")
    for query in (
        {"since": at(1)},
        {"since": at(-500)},
        {"since": at(-1), "until": at(-2)},
        {"since": "0001-01-01T00:00:00Z"},
    ):
        is_problem(uma.get("reviews/decisions", query), 400, "period_out_of_range")
    assert uma.get("reviews/decisions", {"until": "0001-01-02T00:00:00Z"}).status_code == 200
    is_problem(uma.get("reviews/decisions", {"since": "x"}), 400, "parameter_invalid")


def test_the_policy_is_read_tried_and_set(desk):
    desk.ask(units=40)
    policy = desk.as_("alice").get("reviews/policy").json()
    assert policy["automatic_units_max"] == DEFAULT.automatic_units_max
    otto = desk.as_("otto")
    before = desk.events()
    found = otto.post("reviews/policy/preview", {"rules": {"automatic_units_max": 50}}).json()
    assert (found["tried"], found["changed_count"], found["automatic_after"]) == (1, 1, 1)
    assert found["changed"][0]["approvals_before"] == 1
    bad = {"rules": {"automatic_price_max": "-1"}}
    is_problem(otto.post("reviews/policy/preview", bad), 400, "out_of_range")
    assert desk.events() == before
    seen = policy.pop("version")
    wanted = policy | {"automatic_units_max": 50, "reason": "less work", "expected_version": seen}
    made = otto.send("PUT", "reviews/policy", wanted, idempotency_key="p1").json()
    assert made["changed"] and made["policy"]["automatic_units_max"] == 50
    again = otto.send("PUT", "reviews/policy", wanted, idempotency_key="p1")
    assert again.json() == made and again["Idempotency-Replayed"] == "true"
    late = otto.send("PUT", "reviews/policy", wanted | {"automatic_units_max": 60})
    is_problem(late, 409, "stale_version")
    wanted["expected_version"] = made["policy"]["version"]
    assert not otto.send("PUT", "reviews/policy", wanted).json()["changed"]
    assert desk.ask(units=45)["state"] == "provisioned"
    is_problem(otto.send("PUT", "reviews/policy", wanted | {"reason": " "}), 400, "reason_missing")
    is_problem(otto.send("PUT", "reviews/policy", {"reason": "x"}), 400, "field_missing")
    for name in ("alice", "petra"):
        person = desk.as_(name)
        is_problem(person.send("PUT", "reviews/policy", wanted), 403, "role_missing")
        is_problem(person.post("reviews/policy/preview", {"rules": {}}), 403, "role_missing")
    machine = speaking(fresh_token(desk.place, "export:read"))
    is_problem(machine.get("reviews/policy"), 403, "people_only")
    is_problem(machine.send("PUT", "reviews/policy", wanted), 403, "people_only")


def test_somebody_reviews_in_the_place_of_another_for_a_while(desk):
    it = desk.ask()
    made = desk.as_("petra").post(
        "reviews/delegations", {"delegate": "bob", "starts_at": at(-1), "ends_at": at(7)}
    )
    assert made.status_code == 201
    (item,) = desk.as_("bob").get("reviews").json()["requests"]
    assert item["on_behalf_of"] == "petra"
    assert desk.story(it, by="bob")["may_decide"] == {
        "allowed": True,
        "on_behalf_of": "petra",
        "code": None,
        "detail": None,
    }
    assert desk.decide(it, "approve", by="bob").json()["state"] == "provisioned"
    (word,) = desk.story(it)["request"]["approvals"]
    assert word == {"reviewer": "bob", "on_behalf_of": "petra"}
    (listed,) = desk.as_("bob").get("reviews/delegations").json()["delegations"]
    assert (listed["person"], listed["delegate"]) == ("petra", "bob")
    assert desk.as_("rolf").get("reviews/delegations").json()["delegations"] == []
    everyone = desk.as_("otto").get("reviews/delegations", {"all": "1"}).json()
    assert len(everyone["delegations"]) == 1
    is_problem(desk.as_("rolf").get("reviews/delegations", {"all": "1"}), 403, "role_missing")
    end = f"reviews/delegations/{made.json()['id']}/end"
    is_problem(desk.as_("bob").post(end, {}), 403, "role_missing")
    assert desk.as_("petra").post(end, {"reason": "back early"}).status_code == 200
    assert desk.as_("bob").get("reviews").json()["requests"] == []


def test_delegations_that_cannot_be(desk, globex):
    petra = desk.as_("petra")

    def made(**values):
        body = {"delegate": "rita", "starts_at": at(0), "ends_at": at(7)} | values
        return petra.post("reviews/delegations", body)

    before = desk.events()
    found = is_problem(made(delegate="nobody"), 404, "person_unknown")
    assert found["errors"][0]["pointer"] == "#/delegate"
    is_problem(made(delegate="charlie"), 404, "person_unknown")
    is_problem(made(delegate="petra"), 400, "delegate_is_oneself")
    is_problem(made(ends_at=at(-1)), 400, "end_not_later")
    is_problem(made(ends_at=at(100)), 400, "period_too_long")
    is_problem(made(ends_at="2027-01-01T00:00:00"), 400, "time_without_zone")
    is_problem(made(person="rolf"), 403, "role_missing")
    end = f"reviews/delegations/{desk.place.id}/end"
    is_problem(petra.post(end, {}), 404, "delegation_unknown")
    assert desk.events() == before
    theirs = desk.as_("otto").post(
        "reviews/delegations",
        {"person": "petra", "delegate": "rita", "starts_at": at(0), "ends_at": at(7)},
    )
    assert theirs.status_code == 201
    charlie = signed_in(globex, "charlie")
    end = f"reviews/delegations/{theirs.json()['id']}/end"
    is_problem(charlie.post(end, {}), 404, "delegation_unknown")


def test_a_first_word_whose_giver_lost_the_role_is_told(desk):
    place = desk.place
    place.pool("b200", capacity=500)
    it = desk.ask(pool="b200", units=200)
    assert desk.decide(it, "approve", by="petra").json()["approvals_missing"] == 1
    where = {"account_id": place.accounts["research"], "person_id": place.people["petra"]}
    place.run(RevokeRole(**where, role="approver"), reason="moved on")
    second = desk.decide(it, "approve", by="rita").json()
    assert (second["state"], second["approvals_missing"]) == ("submitted", 1)
    assert "Petra no longer counts" in second["reasons"][0]
    assert desk.decide(it, "approve", by="rolf").json()["state"] == "provisioned"
