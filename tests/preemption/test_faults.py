"""Tasks that come twice, late or never, schedulers that never answer, clocks that move: nothing is
taken twice and no budget leaks."""

from datetime import timedelta
from uuid import UUID

import pytest

from ledger import scope, verification
from preemption import queries
from preemption.commands.settling import LapsePlans
from preemption.tasks import lapse_plans_of
from tests.ledger.sample import together
from tests.preemption.conftest import Preemption, after

pytestmark = pytest.mark.django_db(transaction=True)
NOW = after(minutes=10)


@pytest.fixture
def busy(preemption: Preemption) -> Preemption:
    """Ten spot jobs of ten units that run for hours, and 20 units may be taken in ten minutes."""
    preemption.budgets(pool_share="0.2")
    for number in range(10):
        preemption.running(f"v{number}", 10, at=after())
    return preemption


def alive(it: Preemption, *, until: int) -> None:
    """Heartbeats every ten minutes."""
    for minutes in range(10, until, 10):
        it.alive(*(f"v{number}" for number in range(10)), at=after(minutes=minutes))


def settled(it: Preemption) -> list[str]:
    rows = it.rows(
        "SELECT payload->>'how' FROM ledger_event WHERE type = 'preemption.plan_settled'"
    )
    return [row[0] for row in rows]


def test_eight_workers_at_once_settle_a_plan_once(busy):
    plan = busy.ask("job", 20, now=NOW).plan
    busy.report(plan, (plan.actions[0].key, "done"), now=NOW)
    late = NOW + timedelta(minutes=15)
    command = LapsePlans(pool_id=busy.place.pools["h100"])
    answers = together([lambda: busy.place.run(command, now=late).result.plans] * 8)
    assert sorted(answers) == [0] * 7 + [1]
    assert settled(busy) == ["lapsed"]
    assert busy.rows("SELECT count(*) FROM quota_reservation") == [(0,)]
    assert verification.verify(busy.place.id).findings == []


def test_a_scheduler_that_never_answers_draws_its_budget_until_its_plan_lapses(busy):
    alive(busy, until=60)
    busy.ask("silent", 20, now=NOW)
    for minutes in (0, 5, 14):
        answer = busy.ask(f"other{minutes}", 10, now=NOW + timedelta(minutes=minutes))
        assert answer.status == "wait", minutes
    assert busy.ask("other", 20, now=NOW + timedelta(minutes=15)).status == "plan"
    assert settled(busy) == ["lapsed"]


def test_units_kept_for_a_scheduler_that_never_answers_are_everybodys_when_its_plan_lapses(busy):
    """To the second, and without any task: of twenty units asked for, ten were free."""
    alive(busy, until=60)
    busy.jobs.release("v0", now=NOW)
    plan = busy.ask("silent", 20, now=NOW).plan
    assert (plan.free_units, [one.units for one in plan.actions]) == (10, [10])
    other = busy.jobs.ask("other", units=10, account="vision", tier="spot")
    almost = plan.until - timedelta(seconds=1)
    assert busy.jobs.admit(other, now=almost).denied == 1
    assert busy.jobs.admit(other, now=plan.until).admitted == 1
    for _ in range(2):
        lapse_plans_of(str(busy.place.id))
    assert settled(busy) == ["lapsed"]
    assert busy.rows("SELECT count(*) FROM quota_reservation") == [(0,)]
    assert verification.verify(busy.place.id).findings == []


def test_without_any_task_questions_are_answered_as_if_it_had_come(busy):
    plan = busy.ask("job", 20, now=NOW).plan
    late = NOW + timedelta(minutes=16)
    with scope.reading(busy.place.id):
        found = queries.plan(busy.place.id, UUID(plan.id), now=late)
        assert (found.state, {one.state for one in found.actions}) == ("lapsed", {"void"})
        assert queries.plans(busy.place.id, now=late, is_open=True) == []
        gauge = next(g for g in queries.gauges(busy.place.id, now=late).pools if g.pool == "h100")
    assert (gauge.used, gauge.open_plans) == (0, 0)
    assert settled(busy) == []
    for _ in range(2):
        lapse_plans_of(str(busy.place.id))
    assert verification.verify(busy.place.id).findings == []


def test_a_clock_that_jumps_back_or_ahead_takes_nothing_twice(busy):
    first = busy.ask("job", 20, now=NOW)
    taken = {action.key for action in first.plan.actions}
    back = busy.ask("other", 10, now=NOW - timedelta(minutes=3))
    assert back.status == "wait"
    told = busy.report(
        first.plan, *((key, "done") for key in taken), now=NOW - timedelta(minutes=3)
    )
    assert told.changed == 2
    ahead = busy.ask("third", 20, now=NOW + timedelta(minutes=3))
    assert ahead.status == "wait"
    again = busy.report(first.plan, *((key, "done") for key in taken), now=NOW)
    assert again.changed == 0
    assert verification.verify(busy.place.id).findings == []
