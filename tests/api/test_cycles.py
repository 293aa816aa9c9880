"""Review cycles over REST: the browser's commands, permissions and figures."""

import csv
import io
from typing import Any

import pytest

from quota.commands.quotas import SetQuota
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.api.requesting import Desk, at

pytestmark = pytest.mark.django_db(transaction=True)


class Reviews(Desk):
    """Words of review cycles over REST; serving has 30 h100, nlp 40, research 20."""

    def __init__(self, place) -> None:
        super().__init__(place)
        for account, units in (("research", 20), ("nlp", 40), ("serving", 30)):
            self.quota(account, units)

    def quota(self, account: str, units: int) -> None:
        place = {
            "account_id": self.place.accounts[account],
            "pool_id": self.place.pools["h100"],
        }
        self.place.run(SetQuota(**place, guaranteed=units), reason="test")

    def new(self, **values: Any) -> dict[str, Any]:
        return {"account": "root", "name": "Autumn", "deadline": at(14)} | values

    def open(self, by: str = "rita", **values: Any) -> str:
        answer = self.as_(by).post("reviews/cycles", self.new(**values))
        assert answer.status_code == 201, answer.content
        return f"reviews/cycles/{answer.json()['id']}"

    def word(self, it: str, account: str, step: str, *, by: str = "rita", **body: Any):
        return self.as_(by).post(f"{it}/quotas/{account}/h100/{step}", body)

    def rows(self, it: str, *, by: str = "rita", **query: Any) -> dict[str, dict[str, Any]]:
        answer = self.as_(by).get(f"{it}/quotas", query)
        assert answer.status_code == 200, answer.content
        return {one["account"]: one for one in answer.json()["quotas"]}


@pytest.fixture
def desk(acme) -> Reviews:
    return Reviews(acme)


def test_a_review_from_opening_to_close(desk):
    rita, rolf = desk.as_("rita"), desk.as_("rolf")
    before = desk.events()
    tried = rita.post("reviews/cycles", desk.new(dry_run=True)).json()
    assert tried == {"id": None, "quota_count": 3} and desk.events() == before
    it = desk.open()
    (listed,) = rita.get("reviews/cycles").json()["cycles"]
    assert (listed["name"], listed["opened_by"], listed["quota_count"]) == ("Autumn", "rita", 3)
    made = desk.word(it, "nlp", "decide", decision="set", units=10, reason="idle").json()
    assert (made["state"], made["units"], made["version"]) == ("decided", 10, 1)
    assert (made["reviewer"], made["reason"]) == ("rita", "idle")
    body = {
        "decisions": [
            {"account": "serving", "pool": "h100", "decision": "set", "units": 50},
            {"account": "research", "pool": "h100", "decision": "keep", "expected_version": 0},
        ]
    }
    both = rita.post(f"{it}/decisions", body).json()
    assert (both["decided"], both["refused"]) == (2, 0)
    seen = rita.get(it).json()
    assert seen["reviewers"] == [{"person": "rita", "decided": 3}]
    assert seen["cycle"]["decided"] == 3 and seen["cycle"]["may_close"]
    assert [(one["cuts"], one["rises"]) for one in seen["pools"]] == [(30, 20)]
    before = desk.events()
    trial = rolf.post(f"{it}/close", {"dry_run": True}).json()
    assert (trial["dry_run"], trial["changed"], trial["kept"]) == (True, 2, 1)
    assert desk.events() == before and desk.guaranteed() == 40
    done = rolf.post(f"{it}/close", {"reason": "agreed"}, idempotency_key="c").json()
    assert done == trial | {"dry_run": False}
    again = rolf.post(f"{it}/close", {"reason": "agreed"}, idempotency_key="c")
    assert again["Idempotency-Replayed"] == "true" and again.json() == done
    assert (desk.guaranteed("nlp"), desk.guaranteed("serving")) == (10, 50)
    (nlp,) = [one for one in desk.rows(it).values() if one["account"] == "nlp"]
    assert (nlp["outcome"], nlp["before"], nlp["after"]) == ("changed", 40, 10)
    is_problem(desk.word(it, "nlp", "decide", decision="keep"), 422, "cycle_not_open")
    is_problem(rolf.post(f"{it}/close", {}), 422, "cycle_not_open")


def test_many_decisions_each_on_its_own(desk):
    it = desk.open()
    desk.word(it, "nlp", "decide", by="petra", decision="keep")
    where = {"pool": "h100"}
    body = {
        "decisions": [
            where | {"account": "research", "decision": "set", "units": 5},
            where | {"account": "nlp", "decision": "keep", "expected_version": 0},
            where | {"account": "serving", "decision": "recommended"},
            where | {"account": "vision", "decision": "keep"},
            where | {"account": "nobody", "decision": "keep"},
            {"account": "nlp", "pool": "none", "decision": "keep"},
        ],
        "reason": "autumn",
    }
    rita = desk.as_("rita")
    answer = rita.post(f"{it}/decisions", body, idempotency_key="b1").json()
    assert (answer["decided"], answer["refused"]) == (1, 5)
    codes = [one["code"] for one in answer["results"]]
    assert codes == [
        *(None, "decided_meanwhile", "nothing_recommended"),
        *("entry_unknown", "entry_unknown", "entry_unknown"),
    ]
    assert answer["results"][1]["facts"]["found"] == 1
    assert desk.rows(it)["research"]["reason"] == "autumn"
    before = desk.events()
    again = rita.post(f"{it}/decisions", body, idempotency_key="b1")
    assert again.json() == answer and again["Idempotency-Replayed"] == "true"
    assert desk.events() == before
    # Petra reviews research and what is below, nothing else.
    body = {
        "decisions": [
            where | {"account": name, "decision": "keep"} for name in ("serving", "nlp", "research")
        ]
    }
    results = desk.as_("petra").post(f"{it}/decisions", body).json()["results"]
    assert [one["code"] for one in results] == ["role_missing", None, None]


def test_a_lead_is_asked_and_answers_and_never_raises_their_own(desk):
    it = desk.open()
    asked = desk.word(it, "nlp", "ask", question="Is it over?").json()
    assert (asked["state"], asked["question"], asked["reviewer"]) == (
        "asked",
        "Is it over?",
        "rita",
    )
    assert desk.as_("alice").get("reviews/cycles").json()["waiting"] == 1
    row = desk.rows(it, by="alice")["nlp"]
    assert row["may_answer"] and not row["may_decide"]
    is_problem(desk.word(it, "nlp", "answer", by="rita", text="Yes"), 403, "not_a_lead")
    said = desk.word(it, "nlp", "answer", by="alice", text="No", units=24).json()
    assert (said["state"], said["answer_units"], said["answered_by"]) == ("answered", 24, "alice")
    is_problem(desk.word(it, "nlp", "decide", by="alice", decision="keep"), 403, "role_missing")
    desk.place.role("alice", "approver", on="nlp")
    found = desk.word(it, "nlp", "decide", by="alice", decision="set", units=41)
    assert is_problem(found, 422, "own_quota")["errors"][0]["pointer"] == "#/units"
    assert desk.word(it, "nlp", "decide", by="alice", decision="set", units=39).status_code == 200
    is_problem(desk.word(it, "nlp", "answer", by="alice", text="No"), 422, "nothing_asked")


def test_the_close_is_whole_or_refused(desk):
    it = desk.open()
    rolf = desk.as_("rolf")
    found = is_problem(rolf.post(f"{it}/close", {}), 422, "cycle_undecided")
    assert found["count"] == 3 and found["errors"][0]["pointer"] == "#/undecided_keep"
    desk.word(it, "nlp", "decide", decision="set", units=99)
    found = is_problem(rolf.post(f"{it}/close", {"undecided_keep": True}), 422, "cycle_impossible")
    assert found["impossible"][0]["account"] == "nlp" and desk.guaranteed() == 40
    is_problem(desk.as_("petra").post(f"{it}/close", {}), 403, "role_missing")
    without = {"undecided_keep": True, "without_impossible": True}
    done = rolf.post(f"{it}/close", without).json()
    assert (done["impossible_count"], done["changed"], done["undecided"]) == (1, 0, 2)


def test_one_is_given_up_with_a_reason(desk):
    it = desk.open()
    is_problem(desk.as_("petra").post(f"{it}/cancel", {"reason": "x"}), 403, "role_missing")
    is_problem(desk.as_("rita").post(f"{it}/cancel", {}), 400, "field_missing")
    is_problem(desk.as_("rita").post(f"{it}/cancel", {"reason": " "}), 400, "reason_missing")
    assert desk.as_("rita").post(f"{it}/cancel", {"reason": "twice"}).status_code == 200
    seen = desk.as_("rita").get(it).json()["cycle"]
    assert (seen["state"], seen["ended_by"], seen["end_reason"]) == ("cancelled", "rita", "twice")


def test_rows_and_the_report_have_pages_and_a_file(desk):
    it = desk.open(name="=Autumn")
    desk.word(it, "nlp", "decide", decision="set", units=10, reason="=1+1")
    rita = desk.as_("rita")
    for path in (f"{it}/quotas", f"{it}/report"):
        first = rita.get(path, {"limit": 2}).json()
        rest = rita.client.get(first["next"]).json()
        assert (len(first["quotas"]), len(rest["quotas"]), rest["next"]) == (2, 1, None)
    names = [one["account"] for one in rita.get(f"{it}/report").json()["quotas"]]
    assert names == ["nlp", "research", "serving"]
    assert list(desk.rows(it, show="open", account="research")) == ["research"]
    assert list(desk.rows(it, by="petra", sort="account")) == ["nlp", "research"]
    assert desk.rows(it, pool="a100") == {}
    file = rita.get(f"{it}/report", accept="text/csv")
    assert "review-autumn-" in file["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(b"".join(file).decode())))
    assert [row["account"] for row in rows] == names
    assert (rows[0]["units"], rows[0]["reason"]) == ("10", "'=1+1")
    assert rows[0]["use_p95"] == "" and rows[0]["use_coverage_percent"] == "0"


@pytest.mark.parametrize(
    ("values", "status", "code", "pointer"),
    [
        ({"account": "nowhere"}, 404, "account_unknown", "#/account"),
        ({"deadline": at(-1)}, 400, "deadline_out_of_range", "#/deadline"),
        ({"deadline": at(400)}, 400, "deadline_out_of_range", "#/deadline"),
        ({"deadline": "2098-01-01T00:00:00"}, 400, "time_without_zone", "#/deadline"),
        ({"name": " "}, 400, "name_length", "#/name"),
        ({"name": "x" * 81}, 400, "length_out_of_range", "#/name"),
        ({"window_days": 0}, 400, "out_of_range", "#/window_days"),
        ({"window_days": 401}, 400, "out_of_range", "#/window_days"),
        ({"account": "vision"}, 422, "nothing_to_review", "#/account"),
        ({"size": 3}, 400, "field_unknown", "#/size"),
    ],
)
def test_openings_that_cannot_be(desk, values, status, code, pointer):
    before = desk.events()
    found = is_problem(desk.as_("rita").post("reviews/cycles", desk.new(**values)), status, code)
    assert [one.get("pointer") for one in found["errors"]] == [pointer]
    assert desk.events() == before


@pytest.mark.parametrize(
    ("step", "body", "status", "code"),
    [
        ("decide", {}, 400, "field_missing"),
        ("decide", {"decision": "ask"}, 400, "value_unknown"),
        ("decide", {"decision": "set"}, 400, "units_missing"),
        ("decide", {"decision": "set", "units": -1}, 400, "out_of_range"),
        ("decide", {"decision": "set", "units": 10**12}, 400, "out_of_range"),
        ("decide", {"decision": "keep", "units": 3}, 400, "value_invalid"),
        ("decide", {"decision": "recommended"}, 422, "nothing_recommended"),
        ("decide", {"decision": "keep", "expected_version": 7}, 409, "decided_meanwhile"),
        ("ask", {"question": ""}, 400, "length_out_of_range"),
        ("ask", {"question": " "}, 400, "text_missing"),
        ("ask", {"question": "x" * 2001}, 400, "length_out_of_range"),
        ("answer", {"text": "x"}, 403, "not_a_lead"),
    ],
)
def test_words_that_cannot_be(desk, step, body, status, code):
    it = desk.open()
    before = desk.events()
    is_problem(desk.word(it, "nlp", step, **body), status, code)
    assert desk.events() == before


def test_batches_and_addresses_that_cannot_be(desk):
    it, rita = desk.open(), desk.as_("rita")
    before = desk.events()
    one = {"account": "nlp", "pool": "h100", "decision": "keep"}
    is_problem(rita.post(f"{it}/decisions", {"decisions": []}), 400, "length_out_of_range")
    is_problem(rita.post(f"{it}/decisions", {"decisions": [one] * 101}), 400, "length_out_of_range")
    is_problem(rita.post(f"{it}/decisions", {"decisions": [one] * 2}), 400, "choices_out_of_range")
    is_problem(desk.word(it, "vision", "decide", decision="keep"), 404, "entry_unknown")
    is_problem(desk.word(it, "nobody", "decide", decision="keep"), 404, "account_unknown")
    other = rita.post(f"{it}/quotas/nlp/none/decide", {"decision": "keep"})
    is_problem(other, 404, "pool_unknown")
    is_problem(rita.post("reviews/cycles", desk.new()), 409, "cycle_open_already")
    none = f"reviews/cycles/{desk.place.id}"
    for path in (none, f"{none}/quotas", f"{none}/report"):
        is_problem(rita.get(path), 404, "cycle_unknown")
    for path, body in (("close", {}), ("cancel", {"reason": "x"}), ("decisions", {})):
        is_problem(rita.post(f"{none}/{path}", body), 404, "cycle_unknown")
    for query in ({"show": "x"}, {"sort": "x"}, {"limit": 0}, {"limit": 101}, {"cursor": "WzFd"}):
        is_problem(rita.get(f"{it}/quotas", query), 400, "parameter_invalid")
    is_problem(rita.get(f"{it}/quotas", {"cursor": "ImEi"}), 400, "parameter_invalid")
    is_problem(rita.get("reviews/cycles", {"cursor": "ImEi"}), 400, "parameter_invalid")
    is_problem(rita.get(f"{it}/quotas", {"pool": "none"}), 404, "pool_unknown")
    assert desk.events() == before


def test_who_sees_what(desk, globex):
    it = desk.open("petra", account="research")
    steps = {"close": {}, "cancel": {"reason": "x"}, "decisions": {"decisions": []}}

    def unseen(who: Api, status: int, code: str) -> None:
        for path in (it, f"{it}/quotas", f"{it}/report"):
            is_problem(who.get(path), status, code)
        for step, body in steps.items():
            is_problem(who.post(f"{it}/{step}", body), status, code)

    # A member sees no reviews at all; a lead of another part none of this one.
    unseen(desk.as_("bob"), 403, "role_missing")
    desk.place.role("bob", "lead", on="serving")
    unseen(desk.as_("bob"), 404, "cycle_unknown")
    assert desk.as_("bob").get("reviews/cycles").json()["cycles"] == []
    is_problem(desk.as_("alice").post("reviews/cycles", desk.new()), 403, "role_missing")
    charlie = signed_in(globex, "charlie")
    assert {charlie.get(it).status_code, charlie.get(f"{it}/report").status_code} <= {403, 404}


def test_machines_read_and_never_decide(desk):
    it = desk.open()
    machine = speaking(fresh_token(desk.place, "export:read"))
    assert len(machine.get("reviews/cycles").json()["cycles"]) == 1
    assert not machine.get(it).json()["cycle"]["may_close"]
    rows = machine.get(f"{it}/quotas").json()["quotas"]
    assert len(rows) == 3 and not any(one["may_decide"] for one in rows)
    bound = speaking(fresh_token(desk.place, "export:read", pools=(desk.place.pools["a100"],)))
    assert bound.get(f"{it}/quotas").json()["quotas"] == []
    assert len(b"".join(bound.get(f"{it}/report", accept="text/csv")).splitlines()) == 1
    is_problem(bound.get(f"{it}/quotas", {"pool": "h100"}), 403, "pool_denied")
    is_problem(speaking(fresh_token(desk.place, "usage:write")).get(it), 403, "scope_missing")
    for path in ("close", "cancel", "decisions", "quotas/nlp/h100/decide", "quotas/nlp/h100/ask"):
        is_problem(machine.post(f"{it}/{path}", {}), 403, "people_only")
    is_problem(machine.post("reviews/cycles", desk.new()), 403, "people_only")


@pytest.mark.parametrize(
    ("who", "reads", "sets"),
    [("otto", True, True), ("petra", True, False), ("alice", True, False), ("bob", False, False)],
)
def test_who_may_say_how_reviews_open(desk, who, reads, sets):
    caller, before = desk.as_(who), desk.events()
    answer = caller.get("reviews/cycles/policy")
    if reads:
        assert answer.status_code == 200
    else:
        is_problem(answer, 403, "role_missing")
    wanted = {"automatic": False, "window_days": 30, "decide_days": 7, "reason": "too many"}
    answer = caller.send("PUT", "reviews/cycles/policy", wanted)
    if sets:
        assert answer.json()["changed"] is True
    else:
        is_problem(answer, 403, "role_missing")
        assert desk.events() == before


@pytest.mark.parametrize("wrong", [{"decide_days": 81}, {"window_days": 0}, {"reason": ""}])
def test_how_reviews_open_has_bounds(desk, wrong):
    before = desk.events()
    wanted = {"automatic": True, "window_days": 30, "decide_days": 7, "reason": "x"} | wrong
    answer = desk.as_("otto").send("PUT", "reviews/cycles/policy", wanted)
    assert answer.status_code == 400, answer.content
    assert desk.events() == before
