"""What was taken over REST: filters, sums, pages, and who sees whom."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import msgspec
import pytest

from preemption import loading, taken_wire
from preemption.api import examples
from preemption.wire import PreemptionReport
from tenancy.domain.roles import Scope
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.preemption.conftest import Preemption
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
ACTIONS = "preemption-actions"


@pytest.fixture
def place(acme: Tenant, monkeypatch) -> Tenant:
    """Four jobs of five units are taken from vision for nlp at 2 a unit-hour; the first reports
    what it lost."""
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    it, now = Preemption(acme), datetime.now(UTC)
    it.promise(nlp=60)
    it.budgets(pool_share="1")
    for number in range(20):
        it.running(f"v{number:02}", 5, at=now - timedelta(minutes=14))
    for number in range(4):
        at = now - timedelta(minutes=4 - number)
        plan = it.ask(f"job-{number}", 5, now=at).plan
        lost = None if number else 2700
        (action,) = plan.actions
        report = PreemptionReport(key=action.key, outcome="done", lost_seconds=lost)
        it.report(plan, report, now=at)
    return acme


@pytest.fixture
def machine(place: Tenant) -> Api:
    return speaking(fresh_token(place, Scope.EXPORT_READ))


def test_sums_and_pages_hold_every_action_once(machine):
    answer = machine.get(ACTIONS, {"account": "research", "limit": 3}).json()
    total = answer["total"]
    assert (total["actions"], total["units"], total["unreported"]) == (4, 20, 3)
    assert Decimal(total["tax_reported"]) == Decimal("7.5")  # 5 x 2,700 s x 2 an hour
    following = machine.get(answer["next"].removeprefix("/api/v1/")).json()
    assert (following["next"], following["since"]) == (None, answer["since"])
    keys = [one["by_key"] for one in [*answer["actions"], *following["actions"]]]
    assert keys == ["job-3", "job-2", "job-1", "job-0"]
    (first,) = following["actions"]
    assert (first["account"], first["step"], first["mode"]) == ("vision", "spot", "checkpoint")
    assert (first["pool_used"], first["pool_planned"], first["pool_limit"]) == (0, 5, 100)


def test_by_account_and_period(machine):
    assert machine.get(ACTIONS, {"account": "serving"}).json()["total"]["actions"] == 0
    ago = (datetime.now(UTC) - timedelta(minutes=2, seconds=30)).isoformat()
    assert machine.get(ACTIONS, {"since": ago}).json()["total"]["actions"] == 2
    assert machine.get(ACTIONS, {"until": ago}).json()["total"]["actions"] == 2
    is_problem(machine.get(ACTIONS, {"account": "nobody"}), 404, "account_unknown")
    is_problem(machine.get(ACTIONS, {"since": "2020-01-01T00:00:00Z"}), 400, "period_out_of_range")
    is_problem(machine.get(ACTIONS, {"cursor": "eA"}), 400, "parameter_invalid")


def test_people_see_what_was_taken_from_theirs_and_not_by_whom(place):
    place.person("vera")
    place.login("vera")
    place.role("vera", "lead", on="vision")
    vera = signed_in(place, "vera")
    one = vera.get(ACTIONS).json()["actions"][0]
    assert (one["account"], one["by_account"], one["by_key"]) == ("vision", None, None)
    assert (one["made_by"], one["reason"]) == (None, None)
    alice = signed_in(place, "alice")  # leads nlp, for which it was taken
    assert alice.get(ACTIONS).json()["actions"] == []
    is_problem(alice.get(ACTIONS, {"account": "vision"}), 403, "role_missing")
    is_problem(alice.get("preemption-losses", {"account": "vision"}), 403, "role_missing")
    assert alice.get("preemption-losses").json()["months"] == []


def test_a_token_of_other_pools_sees_nothing(place):
    other = place.token(Scope.EXPORT_READ, now=datetime.now(UTC), pools=(place.pools["a100"],))
    api = speaking(other)
    assert api.get(ACTIONS).json()["total"]["actions"] == 0
    losses = api.get("preemption-losses").json()
    assert (losses["months"], losses["jobs"]) == ([], [])
    none = speaking(fresh_token(place, Scope.USAGE_WRITE))
    is_problem(none.get(ACTIONS), 403, "scope_missing")


def test_losses_by_month_and_the_jobs_that_lose_most(machine):
    found = machine.get("preemption-losses", {"account": "vision"}).json()
    (month,) = found["months"]
    assert (month["account"], month["actions"], month["units"]) == ("vision", 4, 20)
    assert len(found["jobs"]) == 4
    assert found["jobs"][0]["interval_seconds"] is None  # nobody told how long a checkpoint takes


@pytest.mark.parametrize(
    ("example", "kind"),
    [
        (examples.ACTIONS, taken_wire.PreemptionActions),
        (examples.LOSSES, taken_wire.PreemptionLosses),
    ],
    ids=["actions", "losses"],
)
def test_examples_are_what_the_types_say(example, kind):
    msgspec.convert(example.value, kind, strict=False)
