"""Quotas over REST: read by people and machines, changed by operators only."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from quota.wire import Ask
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount
from tests.api.conftest import fresh_token, is_problem, signed_in, speaking

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def otto(acme):
    return signed_in(acme, "otto")


def put(api, account: str, units: int, pool: str = "h100", **values):
    body = {"guaranteed": units, "reason": "test"} | values
    return api.send("PUT", f"accounts/{account}/quotas/{pool}", body)


def quotas(api, pool: str = "h100", **query) -> dict[str, int]:
    answer = api.get(f"pools/{pool}/quotas", query)
    assert answer.status_code == 200, answer.content
    return {one["account"]: one["guaranteed"] for one in answer.json()["quotas"]}


def standing(api, account: str, pool: str = "h100", **query) -> dict:
    answer = api.get(f"accounts/{account}/quotas/{pool}", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_quota_is_set_carved_and_read(acme, otto):
    made = put(otto, "research", 100).json()
    assert made["changed"] and made["promised"] == 100 and not made["dry_run"]
    assert put(otto, "nlp", 30, carve_from="research", borrowing_limit=5).json()["promised"] == 100
    assert quotas(otto) == {"nlp": 30, "research": 70}
    one = standing(otto, "nlp")
    assert (one["guaranteed"], one["borrowing_limit"], one["lending_limit"]) == (30, 5, None)
    assert (one["subtree"], one["available"], one["version"]) == (30, 35, 1)
    assert one["stopped_by"]["limit"] == "borrowing_limit"
    assert not put(otto, "nlp", 30, borrowing_limit=5).json()["changed"]


def test_use_shows_by_tier_and_what_stops(acme, otto):
    put(otto, "nlp", 8, borrowing_limit=0)
    jobs = (
        Ask(key="a", account="nlp", person="bob", pool="h100", units=6),
        Ask(key="s", account="nlp", person="bob", pool="h100", units=3, tier="spot"),
    )
    acme.run(AdmitBatch(requests=jobs), now=now())
    one = standing(otto, "nlp")
    assert one["own"] == {"guaranteed": 6, "borrowed": 0, "spot": 3}
    assert (one["used"], one["available"], one["obtainable"]) == (6, 2, 2)
    assert one["stopped_by"]["limit"] == "guarantee"
    whole = otto.get("accounts/nlp/quotas").json()
    assert [entry["pool"] for entry in whole["quotas"]] == ["a100", "h100"]
    only = otto.get("accounts/nlp/quotas", {"pool": "a100"}).json()
    assert [entry["pool"] for entry in only["quotas"]] == ["a100"]


def test_a_dry_run_tells_and_changes_nothing(acme, otto):
    tried = put(otto, "nlp", 9, dry_run=True).json()
    assert tried["dry_run"] and tried["changed"] and tried["promised"] == 9
    assert quotas(otto) == {}


def test_a_promise_that_cannot_be_kept_is_refused_with_the_shortfall(acme, otto):
    found = is_problem(put(otto, "nlp", 10_000), 422, "promise_exceeded")
    assert found["short_by"] > 0
    found = is_problem(put(otto, "nlp", 5, carve_from="research"), 422, "carve_exceeded")
    assert found["short_by"] == 5
    is_problem(put(otto, "nlp", 5, carve_from="vision"), 400, "carve_not_ancestor")


def test_later_for_a_while_early_ends_and_cancelling(acme, otto):
    put(otto, "nlp", 4)
    soon, later = now() + HOUR, now() + 2 * HOUR
    made = put(otto, "nlp", 9, effective_at=soon.isoformat()).json()
    assert made["change_id"] and made["foreseen"] is None
    (coming,) = otto.get("scheduled-quotas", {"account": "nlp"}).json()["changes"]
    assert (coming["change_id"], coming["guaranteed"]) == (made["change_id"], 9)
    cancel = f"scheduled-quotas/{coming['change_id']}/cancel"
    assert otto.post(cancel, {"reason": "no need"}).status_code == 200
    is_problem(otto.post(cancel, {"reason": "no need"}), 422, "not_scheduled")
    assert otto.get("scheduled-quotas").json()["changes"] == []
    put(otto, "nlp", 20, ends_at=later.isoformat())
    one = standing(otto, "nlp")
    assert one["guaranteed"] == 20 and one["returns_to"]["guaranteed"] == 4
    assert datetime.fromisoformat(one["ends_at"]) == later
    assert otto.post("accounts/nlp/quotas/h100/end", {"reason": "done"}).status_code == 200
    assert standing(otto, "nlp")["ends_at"] is None
    assert quotas(otto) == {"nlp": 4}
    end = otto.post("accounts/nlp/quotas/h100/end", {"reason": "done"})
    is_problem(end, 422, "not_temporary")


def test_history_tells_who_and_why_in_pages(acme, otto):
    for units in (1, 2, 3):
        put(otto, "nlp", units, reason=f"step {units}")
    put(otto, "nlp", 7, pool="a100")
    page = otto.get("accounts/nlp/quota-changes", {"pool": "h100", "limit": 2}).json()
    assert [one["reason"] for one in page["changes"]] == ["step 3", "step 2"]
    assert {one["actor"] for one in page["changes"]} == {"otto"} or page["changes"][0]["actor"]
    rest = otto.client.get(page["next"]).json()
    assert [one["data"]["quota"]["guaranteed"] for one in rest["changes"]] == [1]
    assert rest["next"] is None
    pools = [one["pool"] for one in otto.get("accounts/nlp/quota-changes").json()["changes"]]
    assert pools == ["a100", "h100", "h100", "h100"]


def test_pages_follow_each_other(acme, otto):
    for account in ("nlp", "vision", "serving"):
        put(otto, account, 1)
    first = otto.get("pools/h100/quotas", {"limit": 2}).json()
    rest = otto.client.get(first["next"]).json()
    found = [one["account"] for one in first["quotas"] + rest["quotas"]]
    assert found == ["nlp", "serving", "vision"] and rest["next"] is None


def test_a_past_instant_has_its_own_tree(acme, otto):
    put(otto, "nlp", 4)
    before = now()
    move = MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["production"])
    acme.run(move, now=now())
    put(otto, "nlp", 6)
    assert standing(otto, "research")["subtree"] == 0
    assert standing(otto, "production")["subtree"] == 6
    past = {"as_of": before.isoformat()}
    assert standing(otto, "research", **past)["subtree"] == 4
    assert standing(otto, "production", **past)["subtree"] == 0
    assert quotas(otto, **past) == {"nlp": 4}
    rename = RenameAccount(account_id=acme.accounts["nlp"], name="language", description="")
    acme.run(rename, now=now())
    assert quotas(otto) == {"language": 6}
    assert quotas(otto, **past) == {"nlp": 4}
    future = {"as_of": (now() + HOUR).isoformat()}
    is_problem(otto.get("pools/h100/quotas", future), 400, "as_of_in_future")
    long_ago = {"as_of": "2001-01-01T00:00:00Z"}
    is_problem(otto.get("accounts/language/quotas/h100", long_ago), 404, "account_unknown")


def test_a_careful_change_names_what_it_saw(acme, otto):
    put(otto, "nlp", 4)
    seen = standing(otto, "nlp")["version"]
    assert put(otto, "nlp", 5, expected_version=seen).status_code == 200
    answer = put(otto, "nlp", 6, expected_version=seen)
    assert answer.status_code == 409
    assert quotas(otto) == {"nlp": 5}


def test_a_retry_is_the_first_answer(acme, otto):
    body = {"guaranteed": 3, "reason": "test"}
    address = "accounts/nlp/quotas/h100"
    first = otto.send("PUT", address, body, idempotency_key="q1")
    again = otto.send("PUT", address, body, idempotency_key="q1")
    assert again.json() == first.json() and again["Idempotency-Replayed"] == "true"
    other = otto.send("PUT", address, body | {"guaranteed": 4}, idempotency_key="q1")
    is_problem(other, 409, "idempotency_key_reused")


WRITES = (
    ("PUT", "accounts/nlp/quotas/h100", {"guaranteed": 1, "reason": "x"}),
    ("POST", "accounts/nlp/quotas/h100/end", {"reason": "x"}),
    ("POST", f"scheduled-quotas/{UUID(int=1)}/cancel", {"reason": "x"}),
    ("POST", "pools", {"name": "x"}),
    ("PATCH", "pools/h100", {"capacity": 1, "reason": "x"}),
    ("POST", "flavors", {"name": "x", "reason": "x"}),
    ("PATCH", "flavors/h100", {"weight": "1", "reason": "x"}),
    ("PUT", "admission-policy", {"reason": "x"}),
    ("POST", "quota-plan", {}),
)


@pytest.mark.parametrize(("method", "address", "body"), WRITES)
def test_only_operators_change_and_no_token_does(acme, method, address, body):
    alice = signed_in(acme, "alice")
    found = is_problem(alice.send(method, address, body), 403, "role_missing")
    assert found["roles"] == ["operator"]
    machine = speaking(fresh_token(acme, "admission:write", "priority:read", "export:read"))
    is_problem(machine.send(method, address, body), 403, "people_only")


READS = ("pools/h100", "pools/h100/quotas", "accounts/nlp/quotas", "accounts/nlp/quotas/h100")
READS += ("accounts/nlp/quota-changes", "scheduled-quotas", "admission-policy")


@pytest.mark.parametrize("address", READS)
def test_what_a_token_may_read(acme, globex, address):
    for scope in ("admission:write", "priority:read", "export:read"):
        assert speaking(fresh_token(acme, scope)).get(address).status_code == 200
    is_problem(speaking(fresh_token(acme, "usage:write")).get(address), 403, "scope_missing")
    bound = speaking(fresh_token(acme, "priority:read", pools=(acme.pools["a100"],)))
    if "h100" in address:
        is_problem(bound.get(address), 403, "pool_denied")


def test_a_person_sees_the_accounts_of_a_role(acme, otto):
    for account in ("research", "nlp", "vision", "serving"):
        put(otto, account, 2)
        put(otto, account, 3, effective_at=(now() + HOUR).isoformat())
    bob = signed_in(acme, "bob")
    assert quotas(bob) == {"nlp": 2}
    coming = bob.get("scheduled-quotas").json()["changes"]
    assert [one["account"] for one in coming] == ["nlp"]
    assert standing(bob, "nlp")["guaranteed"] == 2
    is_problem(bob.get("accounts/serving/quotas"), 403, "role_missing")


def test_an_archived_account_takes_nothing_and_keeps_its_history(acme, otto, api):
    put(otto, "serving", 2)
    put(otto, "serving", 0)
    acme.run(ArchiveAccount(account_id=acme.accounts["serving"]), now=now())
    is_problem(put(otto, "serving", 2), 422, "account_archived")
    assert len(otto.get("accounts/serving/quota-changes").json()["changes"]) == 2
    assert standing(otto, "serving")["guaranteed"] == 0
    scheduler = speaking(fresh_token(acme, "admission:write"))
    job = {"key": "1", "account": "serving", "person": "bob", "pool": "h100", "units": 1}
    (result,) = scheduler.post("admissions", {"requests": [job]}).json()["results"]
    assert (result["status"], result["errors"][0]["code"]) == ("invalid", "account_archived")
    assert scheduler.get("allocations", {"account": "serving"}).json()["allocations"] == []


def test_unknown_names_and_bad_bodies(acme, otto):
    is_problem(put(otto, "nobody", 1), 404, "account_unknown")
    is_problem(put(otto, "nlp", 1, pool="none"), 404, "pool_unknown")
    is_problem(put(otto, "nlp", -1), 400, "out_of_range")
    is_problem(put(otto, "nlp", 1, reason=""), 400, "length_out_of_range")
    is_problem(put(otto, "nlp", 1, reason=" "), 400, "reason_missing")
    is_problem(put(otto, "nlp", 1, ends_at="2026-12-24T00:00:00"), 400, "time_without_zone")
    past = (now() - HOUR).isoformat()
    is_problem(put(otto, "nlp", 1, effective_at=past), 400, "effective_in_past")
    is_problem(put(otto, "nlp", 1, ends_at=past), 400, "end_not_later")


def test_a_plan_is_tried_and_applied(acme, otto):
    plan = b"quotas:\n  - {account: nlp, pool: h100, guaranteed: 6}\n"

    def send(query: str, body: bytes = plan):
        return otto.send("POST", f"quota-plan?{query}", body, content_type="application/yaml")

    tried = send("dry_run=1&reason=test").json()
    assert tried["dry_run"] and sum(tried["counts"].values()) == 1
    assert tried["affected_count"] >= 1 and quotas(otto) == {}
    is_problem(send(""), 400, "reason_missing")
    assert send("reason=test").json()["changes"]
    assert quotas(otto) == {"nlp": 6}
    found = is_problem(send("reason=test", b"quotas: 5"), 400, "plan_unreadable")
    assert found["problems"]
    text = otto.get("quota-plan", accept="application/yaml")
    assert text["Content-Type"] == "application/yaml" and b"guaranteed: 6" in text.content
    assert otto.get("quota-plan").json() == text.content.decode()


def test_another_tenant_finds_nothing(acme, globex, otto):
    put(otto, "research", 3)
    acme.run(
        SetQuota(
            account_id=acme.accounts["nlp"],
            pool_id=acme.pools["h100"],
            guaranteed=1,
            effective_at=now() + HOUR,
        ),
        reason="test",
        now=now(),
    )
    charlie = signed_in(globex, "charlie")
    assert quotas(charlie) == {}
    assert charlie.get("scheduled-quotas").json()["changes"] == []
    is_problem(charlie.get("accounts/research/quotas"), 404, "account_unknown")
    is_problem(charlie.get("pools/a100"), 404, "pool_unknown")


def test_who_lends_and_borrows_at_its_level_is_told_as_on_the_page(acme, otto):
    put(otto, "nlp", 8, borrowing_limit=20)
    put(otto, "vision", 20)
    ask = Ask(key="a", account="nlp", person="bob", pool="h100", units=13)
    acme.run(AdmitBatch(requests=(ask,)), now=now())
    wanted = {
        "lenders": [{"account": "vision", "units": 20}],
        "borrowers": [{"account": "nlp", "units": 5}],
    }
    assert standing(otto, "nlp")["level"] == standing(otto, "vision")["level"] == wanted
    assert standing(otto, "production")["level"] == {
        "lenders": [{"account": "research", "units": 15}],
        "borrowers": [],
    }
    # A lead of nlp may not know who the others are.
    own = standing(signed_in(acme, "alice"), "nlp")["level"]
    assert own["lenders"] == [{"account": None, "units": 20}]
    assert own["borrowers"] == [{"account": "nlp", "units": 5}]
