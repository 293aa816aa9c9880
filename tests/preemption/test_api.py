"""Plans over REST: the walking path, who may do what, and the guide's examples as printed."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from quota import wire as quota_wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from tenancy.domain.roles import Scope
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.preemption.conftest import Preemption
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "api" / "preemption.md"
ASK = {"account": "nlp", "pool": "h100", "units": 5, "class": "P1", "key": "job"}


@pytest.fixture
def full(acme: Tenant) -> Tenant:
    """h100 has been full of vision's spot jobs of 5 units for ten minutes."""
    it = Preemption(acme)
    it.promise(nlp=70)
    since = datetime.now(UTC) - timedelta(minutes=10)
    asks = tuple(
        quota_wire.Ask(
            key=f"v{number}", account="vision", person="bob", pool="h100", units=5, tier="spot"
        )
        for number in range(20)
    )
    acme.run(AdmitBatch(requests=asks), now=since)
    messages = tuple(quota_wire.Message(key=ask.key) for ask in asks)
    acme.run(StartAllocations(messages=messages), now=since)
    return acme


@pytest.fixture
def scheduler(full: Tenant) -> Api:
    return speaking(fresh_token(full, Scope.PREEMPTION_WRITE, Scope.ADMISSION_WRITE))


def test_from_the_plan_to_the_job(scheduler):
    answer = scheduler.post("preemption-plans", ASK).json()
    assert (answer["status"], answer["pool_budget"]["limit"]) == ("plan", 5)
    plan = answer["plan"]
    (action,) = plan["actions"]
    assert (action["account"], action["units"], action["mode"]) == ("vision", 5, "checkpoint")
    assert scheduler.post("preemption-plans", ASK).json()["repeated"]
    waits = scheduler.post("preemption-plans", ASK | {"key": "other"}).json()
    assert (waits["status"], waits["obstacles"][0]["code"]) == ("wait", "pool_budget")
    assert waits["wait_until"] > waits["at"]
    address = f"preemption-plans/{plan['id']}"
    is_problem(scheduler.post(f"{address}/confirm", {}), 422, "plan_actions_open")
    reports = {"reports": [{"key": action["key"], "outcome": "done", "lost_seconds": 2700}]}
    told = scheduler.post(f"{address}/reports", reports, Idempotency_Key="r")
    assert [one["code"] for one in told.json()["results"]] == ["done"]
    again = scheduler.post(f"{address}/reports", reports, Idempotency_Key="r")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == told.json()
    job = {"key": "job", "account": "nlp", "person": "bob", "pool": "h100", "units": 5}
    admitted = scheduler.post("admissions", {"requests": [job]}).json()
    assert admitted["admitted"] == 1
    settled = scheduler.post(f"{address}/confirm", {}).json()
    assert (settled["changed"], settled["plan"]["state"]) == (True, "confirmed")
    seen = scheduler.get(address).json()
    assert seen["actions"][0]["state"] == "done"
    assert seen["used_at"] is not None
    is_problem(scheduler.post(f"{address}/cancel", {}), 422, "plan_settled")


def test_a_dry_run_changes_nothing(scheduler):
    tried = scheduler.post("preemption-plans", ASK | {"dry_run": True}).json()
    assert (tried["status"], tried["dry_run"], tried["plan"]["id"]) == ("plan", True, None)
    assert scheduler.get("preemption-plans").json()["plans"] == []


def test_pages_of_plans(scheduler, full):
    Preemption(full).budgets(pool_share="1")
    for number in range(3):
        scheduler.post("preemption-plans", ASK | {"key": f"job{number}"})
    page = scheduler.get("preemption-plans", {"limit": 2}).json()
    assert [one["key"] for one in page["plans"]] == ["job2", "job1"]
    rest = scheduler.client.get(
        page["next"], headers={"Authorization": f"Bearer {scheduler.token}"}
    )
    assert [one["key"] for one in rest.json()["plans"]] == ["job0"]
    assert scheduler.get("preemption-plans", {"state": "over"}).json()["plans"] == []


def test_who_may_do_what(scheduler, full, globex):
    plan = scheduler.post("preemption-plans", ASK).json()["plan"]
    address = f"preemption-plans/{plan['id']}"
    weak = speaking(fresh_token(full, Scope.ADMISSION_WRITE))
    is_problem(weak.post("preemption-plans", ASK), 403, "scope_missing")
    is_problem(weak.get(address), 403, "scope_missing")
    bound = speaking(fresh_token(full, Scope.PREEMPTION_WRITE, pools=(full.pools["a100"],)))
    is_problem(bound.post("preemption-plans", ASK), 403, "pool_denied")
    is_problem(bound.get(address), 403, "pool_denied")
    is_problem(bound.post(f"{address}/cancel", {}), 403, "pool_denied")
    stranger = speaking(fresh_token(globex, *Scope))
    is_problem(stranger.get(address), 404, "plan_unknown")
    is_problem(stranger.post(f"{address}/cancel", {}), 404, "plan_unknown")
    full.login("alice")
    alice = signed_in(full, "alice")
    assert [one["id"] for one in alice.get("preemption-plans").json()["plans"]] == [plan["id"]]
    is_problem(alice.post("preemption-plans", ASK), 403, "role_missing")


def test_an_operator_passes_the_budgets_with_a_reason_and_no_token_does(scheduler, full):
    scheduler.post("preemption-plans", ASK)
    ask = ASK | {"key": "urgent", "units": 20, "override": "the demo of the minister"}
    assert scheduler.post("preemption-plans", ask).status_code == 403
    full.login("otto")
    answer = signed_in(full, "otto").post("preemption-plans", ask).json()
    assert answer["status"] == "plan"
    assert (answer["plan"]["override"], answer["plan"]["reason"]) == (True, ask["override"])
    assert len(answer["plan"]["actions"]) == 4


def test_budgets_are_read_and_set(scheduler, full):
    full.login("otto")
    otto = signed_in(full, "otto")
    budgets = otto.get("preemption-policy").json()
    assert budgets["pool_share"] == "0.05"
    changed = otto.send("PUT", "preemption-policy", budgets | {"pool_share": "0.1", "reason": "x"})
    assert changed.status_code == 200, changed.content
    assert otto.get("preemption-policy").json()["pool_share"] == "0.1"
    assert scheduler.post("preemption-plans", ASK | {"units": 10}).json()["status"] == "plan"
    absurd = budgets | {"pool_share": "1.5", "reason": "x"}
    is_problem(otto.send("PUT", "preemption-policy", absurd), 400, "pool_share_out_of_range")


def test_the_guide_says_what_is_sent(scheduler, full):
    blocks = re.findall(r"```json.*?\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    asked, saved, reported, budgets = map(json.loads, blocks)
    assert scheduler.post("pools/h100/checkpoints", saved).json()["changed"] == 0
    Preemption(full).budgets(pool_share="1")
    answer = scheduler.post("preemption-plans", asked).json()
    assert answer["status"] == "plan"
    told = scheduler.post(f"preemption-plans/{answer['plan']['id']}/reports", reported)
    assert {one["code"] for one in told.json()["results"]} == {"allocation_unknown"}
    full.login("otto")
    assert set(signed_in(full, "otto").get("preemption-policy").json()) == set(budgets)


def test_the_guide_lists_every_code():
    from preemption.commands.reports import WORDS
    from preemption.plans import OBSTACLES

    text = GUIDE.read_text()
    assert [code for code in (*WORDS, *OBSTACLES) if f"`{code}`" not in text] == []


def test_ids_are_ids(scheduler):
    assert UUID(scheduler.post("preemption-plans", ASK).json()["plan"]["id"])
    is_problem(
        scheduler.get("preemption-plans/01a2291d-4db4-7302-824c-c7e9b2346d20"), 404, "plan_unknown"
    )


def test_an_elastic_job_is_planned_for_what_can_be_had(scheduler):
    """5 of 100 units may be taken in ten minutes."""
    asked = ASK | {"units": 20, "min_units": 2}
    answer = scheduler.post("preemption-plans", asked).json()
    assert (answer["status"], answer["units"]) == ("plan", 5)
    plan = answer["plan"]
    assert (plan["units"], plan["wanted"], plan["min_units"]) == (5, 20, 2)
    assert scheduler.post("preemption-plans", asked).json()["repeated"]
    wrong = scheduler.post("preemption-plans", asked | {"key": "x", "min_units": 21})
    is_problem(wrong, 400, "min_units_too_large")
