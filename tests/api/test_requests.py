"""Requests over REST: asked, tried, changed, told, by people only, whole or not at all."""

import base64
import json
from datetime import datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.api.conftest import fresh_token, is_problem, signed_in, speaking
from tests.api.requesting import DAY, Desk, at, now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(acme) -> Desk:
    return Desk(acme)


def test_what_the_policy_grants_stands_with_the_answer(desk):
    it = desk.ask(units=8)
    assert (it["state"], it["asked"], it["approvals_missing"]) == ("provisioned", [], 0)
    assert it["reasons"] and desk.guaranteed() == 8
    story = desk.story(it)
    assert story["timeline"][0]["type"] == "request.submitted"
    assert story["decisions"][0]["person"] is None
    one = story["request"]
    assert (one["account"], one["pool"], one["requester"]) == ("nlp", "h100", "alice")
    assert story["names"][str(desk.place.people["alice"])] == "alice"


def test_more_goes_to_the_nearest_approver(desk):
    it = desk.ask()
    assert (it["state"], it["asked"], it["approvals_missing"]) == ("submitted", ["petra"], 1)
    assert desk.guaranteed() == 0
    story = desk.story(it)
    assert story["asked"] and story["request"]["levels"] == ["research"]
    assert story["may_decide"]["code"] == "own_request"
    assert desk.story(it, by="petra")["may_decide"]["allowed"]


def test_a_draft_is_its_authors_alone(desk):
    it = desk.ask(draft=True, purpose="", ends_at=None, units=None)
    assert it["state"] == "draft"
    path = f"requests/{it['id']}"
    for name in ("petra", "otto", "uma", "bob"):
        is_problem(desk.as_(name).get(path), 404, "request_unknown")
        is_problem(desk.decide(it, "approve", by=name), 404, "request_unknown")
        is_problem(desk.step(it, "discard", by=name), 404, "request_unknown")
        is_problem(desk.as_(name).send("PATCH", path, {"units": 1}), 404, "request_unknown")
        assert desk.as_(name).get("requests").json()["requests"] == []
    machine = speaking(fresh_token(desk.place, "export:read"))
    is_problem(machine.get(path), 404, "request_unknown")
    (listed,) = desk.as_("alice").get("requests", {"state": "draft"}).json()["requests"]
    assert listed["id"] == it["id"]


def test_a_draft_is_changed_handed_in_and_then_no_draft_any_more(desk):
    it = desk.ask(draft=True, purpose="", units=None, budget="10")
    change = {"units": 60, "purpose": "train", "budget": None, "expected_version": 1}
    answer = desk.as_("alice").send("PATCH", f"requests/{it['id']}", change)
    assert answer.status_code == 200 and answer.json()["version"] == 2
    stale = desk.as_("alice").send("PATCH", f"requests/{it['id']}", change)
    is_problem(stale, 409, "stale_version")
    assert desk.story(it)["request"]["budget"] is None
    assert desk.step(it, "submit").json()["state"] == "submitted"
    again = desk.as_("alice").send("PATCH", f"requests/{it['id']}", {"units": 5})
    is_problem(again, 409, "request_moved_on")
    is_problem(desk.step(it, "discard"), 409, "request_moved_on")
    types = [one["type"] for one in desk.story(it)["timeline"]]
    assert types.count("request.drafted") == 2
    types = [one["type"] for one in desk.story(it, by="petra")["timeline"]]
    assert "request.drafted" not in types


def test_a_draft_is_discarded(desk):
    it = desk.ask(draft=True)
    is_problem(desk.step(it, "discard", expected_version=9), 409, "stale_version")
    assert desk.step(it, "discard", expected_version=1).json()["state"] == "discarded"
    is_problem(desk.step(it, "submit"), 409, "request_moved_on")


def test_it_comes_back_after_a_question(desk):
    it = desk.ask()
    asked = desk.decide(it, "ask", by="petra", reason="Which model?").json()
    assert asked["state"] == "changes_requested"
    is_problem(desk.step(it, "submit", pool="a100"), 400, "terms_fixed")
    again = desk.step(it, "submit", units=50, purpose="the translation model")
    assert (again.json()["state"], again.json()["asked"]) == ("submitted", ["petra"])
    assert desk.decide(it, "approve", by="petra").json()["state"] == "provisioned"
    assert desk.guaranteed() == 50


def test_an_offer_is_taken_or_not(desk):
    it = desk.ask()
    offered = desk.decide(it, "approve-less", by="petra", units=40, reason="others need it")
    assert offered.json()["state"] == "countered"
    offer = desk.story(it)["request"]["counter"]
    assert (offer["reviewer"], offer["units"]) == ("petra", 40)
    is_problem(desk.step(it, "accept", by="bob"), 403, "role_missing")
    is_problem(desk.step(it, "accept", expected_version=1), 409, "stale_version")
    assert desk.step(it, "accept").json()["state"] == "provisioned"
    assert desk.guaranteed() == 40
    other = desk.ask(account="nlp", kind="raise", units=50, ends_at=None, pool="a100")
    desk.decide(other, "approve-less", by="petra", units=10)
    assert desk.step(other, "withdraw", reason="too few").json()["state"] == "withdrawn"
    is_problem(desk.step(other, "accept"), 409, "request_moved_on")


def test_a_temporary_quota_is_extended(desk):
    it = desk.ask(units=8, ends_at=at(5))
    made = desk.step(it, "extend", ends_at=at(12))
    assert made.status_code == 201 and made.json()["id"] != it["id"]
    story = desk.story(made.json())
    assert (story["request"]["kind"], story["request"]["units"]) == ("extension", None)
    is_problem(desk.step(it, "extend", ends_at=at(2)), 422, "extension_not_later")
    is_problem(desk.step(it, "extend", by="bob", ends_at=at(20)), 403, "role_missing")


def test_words_and_files(desk):
    it = desk.ask()
    said = desk.step(it, "comments", text="Could you look?", mentioned=["petra"])
    assert said.status_code == 201
    is_problem(desk.step(it, "comments", text="x", mentioned=["nobody"]), 404, "person_unknown")
    is_problem(desk.step(it, "comments", text=" "), 400, "comment_empty")
    content = base64.b64encode(b"week;units\n1;24\n").decode()
    made = desk.step(it, "attachments", name="../plan.csv", content=content)
    assert made.status_code == 201 and made.json()["media_type"] == "text/csv"
    form = {"file": SimpleUploadedFile("plan.txt", b"24 GPUs", "text/html")}
    upload = desk.as_("petra").client.post(f"/api/v1/requests/{it['id']}/attachments", form)
    assert upload.status_code == 201 and upload.json()["media_type"] == "text/plain"
    story = desk.story(it)
    assert [one["mentioned"] for one in story["comments"]] == [["petra"]]
    assert [one["name"] for one in story["attachments"]] == ["plan.csv", "plan.txt"]
    path = f"requests/{it['id']}/attachments/{made.json()['attachment']}"
    got = desk.as_("petra").get(path)
    assert got.content == b"week;units\n1;24\n"
    assert got["Content-Type"] == "application/octet-stream"
    assert got["Content-Disposition"] == "attachment; filename*=UTF-8''plan.csv"
    assert got["X-Content-Type-Options"] == "nosniff"
    as_json = desk.as_("petra").get(path, accept="application/json").json()
    assert base64.b64decode(as_json) == got.content


NO_FILES = (
    ({"name": "a.exe", "content": "TVqQ"}, 400, "file_type_unsupported", "content"),
    ({"name": "a.png", "content": "TVqQ"}, 400, "file_type_mismatch", "content"),
    ({"name": "noending", "content": "TVqQ"}, 400, "file_name_malformed", "name"),
    ({"name": "a.txt", "content": ""}, 400, "file_empty", "content"),
    ({"name": "a.txt", "content": "no base64!"}, 400, "value_invalid", "content"),
    ({"name": "a.txt", "content": "QUFB" * 400_000}, 400, "file_too_large", "content"),
    ({"name": "a.txt", "content": "QUFB" * 600_000}, 413, "body_too_large", None),
    ({"name": "a.txt"}, 400, "field_missing", "content"),
)


def test_a_file_that_is_none_of_ours(desk):
    it = desk.ask()
    before = desk.events()
    for body, status, code, field in NO_FILES:
        found = is_problem(desk.step(it, "attachments", **body), status, code)
        pointers = [one["pointer"] for one in found["errors"]]
        assert pointers == ([f"#/{field}"] if field else []), code
    assert desk.events() == before


def test_a_form_without_a_file(desk):
    it = desk.ask()
    client = desk.as_("alice").client
    address = f"/api/v1/requests/{it['id']}/attachments"
    is_problem(client.post(address, {"x": "y"}), 400, "field_missing")
    large = {"file": SimpleUploadedFile("a.txt", b"a" * 3 * 2**20)}
    is_problem(client.post(address, large), 413, "body_too_large")
    is_problem(
        client.post(address, b"x", content_type="text/plain"), 415, "content_type_unsupported"
    )


def test_a_past_instant_shows_what_was_then(desk):
    it = desk.ask()
    before = now()
    desk.decide(it, "approve", by="petra")
    past = desk.story(it, as_of=before.isoformat())
    assert past["request"]["state"] == "submitted" and past["decisions"] == []
    assert past["may_decide"] is None
    assert desk.state(it) == "provisioned"
    long_ago = {"as_of": (now() - DAY).isoformat()}
    is_problem(desk.as_("alice").get(f"requests/{it['id']}", long_ago), 404, "request_unknown")
    ahead = {"as_of": (now() + DAY).isoformat()}
    is_problem(desk.as_("alice").get(f"requests/{it['id']}", ahead), 400, "as_of_in_future")


def test_a_draft_of_the_past_stays_its_authors(desk):
    it = desk.ask(draft=True)
    drafted = now().isoformat()
    desk.step(it, "submit")
    assert desk.story(it, as_of=drafted)["request"]["state"] == "draft"
    hidden = desk.as_("petra").get(f"requests/{it['id']}", {"as_of": drafted})
    is_problem(hidden, 404, "request_unknown")


def test_lists_are_filtered_and_paged(desk):
    made = [desk.ask(units=units)["id"] for units in (40, 41, 42)]
    desk.ask(pool="a100", units=43)
    desk.ask(by="otto", account="serving", units=44)
    alice = desk.as_("alice")
    first = alice.get("requests", {"pool": "h100", "limit": 2}).json()
    rest = alice.client.get(first["next"]).json()
    assert [one["id"] for one in first["requests"] + rest["requests"]] == made[::-1]
    assert rest["next"] is None
    everything = desk.as_("uma").get("requests").json()["requests"]
    assert len(everything) == 5
    below = desk.as_("petra").get("requests", {"account": "research"}).json()["requests"]
    assert len(below) == 4
    serving = desk.as_("uma").get("requests", {"account": "serving", "state": "open"}).json()
    assert [one["units"] for one in serving["requests"]] == [44]
    assert desk.as_("uma").get("requests", {"kind": "raise,new"}).json()["requests"] == []
    mine = desk.as_("otto").get("requests", {"mine": "1"}).json()["requests"]
    assert [one["units"] for one in mine] == [44]
    is_problem(alice.get("requests", {"account": "serving"}), 403, "role_missing")
    is_problem(alice.get("requests", {"state": "odd"}), 400, "parameter_invalid")
    is_problem(alice.get("requests", {"cursor": "bm9wZQ"}), 400, "parameter_invalid")
    is_problem(alice.get("requests", {"pool": "none"}), 404, "pool_unknown")


def test_a_precheck_says_what_would_happen_and_changes_nothing(desk):
    before = desk.events()
    alice = desk.as_("alice")
    found = alice.post("requests/precheck", _trial(desk)).json()
    assert found["can_submit"] and found["fits"] and not found["automatic"]
    assert (found["rise"], found["approvals"], found["asked"]) == (60, 1, ["petra"])
    assert (found["guaranteed_before"], found["guaranteed_after"]) == (0, 60)
    assert found["free_over_period"][0]["free"] - found["free_with_it"][0]["free"] == 60
    small = alice.post("requests/precheck", _trial(desk, units=8)).json()
    assert small["automatic"] and small["approvals"] == 0 and small["asked"] == []
    wrong = _trial(desk, units=0, purpose=" ", ends_at=at(-1))
    found = alice.post("requests/precheck", wrong).json()
    assert {one["field"] for one in found["problems"]} == {"units", "purpose", "ends_at"}
    assert not found["can_submit"] and found["fits"] is None
    is_problem(desk.as_("bob").post("requests/precheck", _trial(desk)), 403, "role_missing")
    is_problem(alice.post("requests/precheck", _trial(desk, pool="x")), 404, "pool_unknown")
    assert desk.events() == before


def _trial(desk: Desk, **values) -> dict:
    return desk.wish(**values)


def test_a_precheck_tells_the_nearest_that_would_pass(desk):
    desk.ask(by="otto", account="serving", units=90)
    (waiting,) = desk.as_("rita").get("reviews").json()["requests"]
    desk.decide(waiting["request"], "approve", by="rita")
    found = desk.as_("alice").post("requests/precheck", _trial(desk)).json()
    assert found["fits"] is False and found["can_submit"]
    assert found["shortage"]["facts"]["short_by"] == 50
    assert found["shortage"]["field"] == "units"
    assert found["nearest"]["units"] == 10
    assert datetime.fromisoformat(found["nearest"]["starts_at"]) > now()


def test_a_retry_is_the_first_answer(desk):
    wish = desk.wish()
    alice = desk.as_("alice")
    first = alice.post("requests", wish, idempotency_key="r1")
    again = alice.post("requests", wish, idempotency_key="r1")
    assert again.json() == first.json() and again["Idempotency-Replayed"] == "true"
    assert again.status_code == 201
    other = alice.post("requests", wish | {"units": 61}, idempotency_key="r1")
    is_problem(other, 409, "idempotency_key_reused")
    draft = desk.ask(draft=True)
    path = f"requests/{draft['id']}/submit"
    first = alice.post(path, {}, idempotency_key="s1")
    again = alice.post(path, {}, idempotency_key="s1")
    assert first.status_code == 200 and again.json() == first.json()
    first = alice.post(f"requests/{draft['id']}/withdraw", {}, idempotency_key="w1")
    again = alice.post(f"requests/{draft['id']}/withdraw", {}, idempotency_key="w1")
    assert first.json() == again.json() and again["Idempotency-Replayed"] == "true"


BODIES = {
    "requests": None,
    "requests/precheck": None,
    "requests/{id}/submit": {},
    "requests/{id}/withdraw": {},
    "requests/{id}/accept": {},
    "requests/{id}/discard": {},
    "requests/{id}/extend": {"ends_at": "2099-01-01T00:00:00Z"},
    "requests/{id}/comments": {"text": "x"},
    "requests/{id}/attachments": {"name": "a.txt", "content": "QUFB"},
    "reviews/{id}/approve": {},
    "reviews/{id}/approve-less": {"units": 1},
    "reviews/{id}/ask": {"reason": "x"},
    "reviews/{id}/reject": {"reason": "x"},
}


def test_no_token_asks_or_decides(desk):
    it = desk.ask()
    machine = speaking(fresh_token(desk.place, "export:read", "admission:write"))
    before = desk.events()
    for address, body in BODIES.items():
        answer = machine.post(address.format(**it), desk.wish() if body is None else body)
        is_problem(answer, 403, "people_only")
    assert desk.events() == before


def test_a_token_that_may_export_reads(desk):
    it = desk.ask()
    machine = speaking(fresh_token(desk.place, "export:read"))
    assert [one["id"] for one in machine.get("requests").json()["requests"]] == [it["id"]]
    assert machine.get(f"requests/{it['id']}").json()["may_decide"] is None
    other = speaking(fresh_token(desk.place, "priority:read"))
    is_problem(other.get("requests"), 403, "scope_missing")
    is_problem(other.get(f"requests/{it['id']}"), 403, "scope_missing")
    bound = speaking(fresh_token(desk.place, "export:read", pools=(desk.place.pools["a100"],)))
    is_problem(bound.get("requests"), 400, "parameter_invalid")
    is_problem(bound.get("requests", {"pool": "h100"}), 403, "pool_denied")
    assert bound.get("requests", {"pool": "a100"}).json()["requests"] == []
    is_problem(bound.get(f"requests/{it['id']}"), 403, "pool_denied")


def test_another_organization_finds_nothing(desk, globex):
    it = desk.ask()
    made = desk.step(it, "attachments", name="a.txt", content="QUFB").json()
    charlie = signed_in(globex, "charlie")
    before = desk.events()
    assert charlie.get("requests").json()["requests"] == []
    is_problem(charlie.get(f"requests/{it['id']}"), 404, "request_unknown")
    file = f"requests/{it['id']}/attachments/{made['attachment']}"
    is_problem(charlie.get(file), 404, "request_unknown")
    for address, body in BODIES.items():
        if body is not None:
            answer = charlie.post(address.format(**it), body)
            is_problem(answer, 404, "request_unknown")
    answer = charlie.post("requests/precheck", desk.wish(request=it["id"]))
    assert answer.status_code == 404 and "alice" not in json.dumps(answer.json())
    assert desk.events() == before


def test_another_team_finds_nothing(desk):
    it = desk.ask(by="otto", account="serving", units=40)
    before = desk.events()
    for name in ("alice", "bob", "petra"):
        for address, body in BODIES.items():
            if body is not None:
                answer = desk.as_(name).post(address.format(**it), body)
                is_problem(answer, 404, "request_unknown")
    assert desk.events() == before
