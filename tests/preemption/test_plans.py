"""A plan from the question to the admission of its job, and every way in which it may end."""

from datetime import timedelta

import pytest

from ledger import verification
from ledger.errors import Conflict, Refused
from tests.preemption.conftest import after


def clean(preemption) -> None:
    assert verification.verify(preemption.place.id).findings == []


@pytest.fixture
def crowded(preemption):
    """All 100 units are in use: 20 jobs of 5 spot units each, ten minutes long."""
    preemption.budgets(pool_share="0.2")
    for number in range(20):
        preemption.running(f"v{number:02}", 5, at=after(seconds=number), reclaim_seconds=120)
    return preemption


def test_the_walking_path(crowded):
    now = after(minutes=10)
    answer = crowded.ask("job", 10, now=now)
    assert answer.status == "plan"
    plan = answer.plan
    assert [(a.units, a.left, a.mode, a.step) for a in plan.actions] == [
        (5, 0, "checkpoint", "spot")
    ] * 2
    assert [a.grace_seconds for a in plan.actions] == [120, 120]
    # The youngest go first: they lose least.
    assert [a.key for a in plan.actions] == ["v19", "v18"]
    assert plan.until == now + timedelta(seconds=900)
    later = now + timedelta(minutes=1)
    told = crowded.report(plan, ("v19", "done"), now=later)
    assert [(r.status, r.code) for r in told.results] == [("changed", "done")]
    assert crowded.jobs.state("v19") == "preempted"
    # Nobody else gets what was freed.
    other = crowded.jobs.admit(
        crowded.jobs.ask("other", units=5, account="serving"), now=later
    ).results[0]
    assert other.status == "denied"
    told = crowded.report(plan, ("v18", "done"), now=later)
    job = crowded.jobs.ask("job", units=10, job_class="P1")
    assert crowded.jobs.admit(job, now=later).results[0].status == "admitted"
    settled = crowded.confirm(plan, now=later)
    assert (settled.changed, settled.plan.state) == (True, "confirmed")
    assert not crowded.confirm(plan, now=later).changed
    clean(crowded)


def test_confirmed_before_the_job_is_admitted_its_units_wait_as_long_as_a_hold(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 5, now=now).plan
    crowded.report(plan, ("v19", "done"), now=now)
    crowded.confirm(plan, now=now)
    other = crowded.jobs.ask("other", units=5, account="serving")
    assert crowded.jobs.admit(other, now=now).denied
    assert crowded.jobs.admit(crowded.jobs.ask("job", units=5), now=now).admitted
    clean(crowded)


def test_a_confirmation_needs_every_report(crowded):
    plan = crowded.ask("job", 10, now=after(minutes=10)).plan
    with pytest.raises(Refused) as refused:
        crowded.confirm(plan, now=after(minutes=10))
    assert (refused.value.code, refused.value.facts) == ("plan_actions_open", {"open": 2})


def test_cancelled_what_was_not_taken_is_not_and_what_was_is_everybodys(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 10, now=now).plan
    crowded.report(plan, ("v19", "done"), now=now)
    settled = crowded.cancel(plan, now=now)
    assert [a.state for a in settled.plan.actions] == ["done", "void"]
    other = crowded.jobs.ask("other", units=5, account="serving")
    assert crowded.jobs.admit(other, now=now).admitted
    # The budget of what was not taken is back: 20 units in ten minutes, 5 are used.
    assert crowded.ask("next", 15, now=now).status == "plan"
    with pytest.raises(Refused) as refused:
        crowded.confirm(plan, now=now)
    assert refused.value.code == "plan_settled"
    clean(crowded)


def test_lapsed_it_gives_back_budget_and_units_whether_a_task_came_by_or_not(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 20, now=now).plan
    assert crowded.ask("next", 5, now=now).status == "wait"
    keys = [f"v{number:02}" for number in range(20)]
    crowded.alive(*keys, at=now + timedelta(minutes=4))
    late = now + timedelta(minutes=15)
    assert crowded.ask("next", 20, now=late).status == "plan"
    told = crowded.report(plan, ("v00", "refused"), ("v19", "refused"), now=late)
    assert [r.code for r in told.results] == ["allocation_unknown", "called_off"]
    assert told.plan.state == "lapsed"
    clean(crowded)


def test_what_was_taken_is_a_fact_after_the_end_of_the_plan_too(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 20, now=now).plan
    crowded.cancel(plan, now=now)
    told = crowded.report(plan, ("v19", "done"), now=now)
    assert [(r.status, r.code) for r in told.results] == [("changed", "done_late")]
    assert crowded.jobs.state("v19") == "preempted"
    # Five units are free now, and fifteen of the budget are left.
    assert crowded.ask("next", 21, now=now).status == "wait"
    assert crowded.ask("next", 20, now=now).status == "plan"
    clean(crowded)


def test_reports_repeat_contradict_and_come_for_nothing(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 10, now=now).plan
    told = crowded.report(
        plan,
        ("v18", "done"),
        ("v18", "done"),
        ("v18", "failed"),
        ("v19", "failed", ("detail", "node is gone")),
        ("v19", "failed"),
        ("v19", "done"),
        ("v00", "done"),
        ("v18", "done", ("attempt", 7)),
        now=now,
    )
    assert [(r.status, r.code) for r in told.results] == [
        ("changed", "done"),
        ("unchanged", "already_reported"),
        ("contradiction", "reported_otherwise"),
        ("changed", "kept"),
        ("unchanged", "already_reported"),
        ("contradiction", "reported_otherwise"),
        ("unknown", "allocation_unknown"),
        ("unknown", "allocation_unknown"),
    ]
    assert told.plan.missing_units == 5
    assert crowded.jobs.state("v19") == "running"
    clean(crowded)


def test_asked_again_the_plan_that_stands_is_given_again(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 10, now=now).plan
    again = crowded.ask("job", 10, now=now)
    assert (again.repeated, again.plan) == (True, plan)
    with pytest.raises(Conflict) as conflict:
        crowded.ask("job", 5, now=now)
    assert conflict.value.code == "plan_differs"
    first = crowded.ask("two", 5, now=now, context={"idempotency_key": "k"})
    assert crowded.ask("two", 5, now=now, context={"idempotency_key": "k"}) == first


def test_a_plan_that_comes_short_is_replaced_and_keeps_what_it_has(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 10, now=now).plan
    crowded.report(plan, ("v19", "done"), ("v18", "refused"), now=now)
    again = crowded.ask("job", 10, now=now)
    assert (again.status, again.repeated, again.free_units) == ("plan", False, 5)
    assert [a.key for a in again.plan.actions] == ["v18"]
    other = crowded.jobs.ask("other", units=5, account="serving")
    assert crowded.jobs.admit(other, now=now).denied
    crowded.report(again.plan, ("v18", "done"), now=now)
    assert crowded.jobs.admit(crowded.jobs.ask("job", units=10), now=now).admitted
    clean(crowded)


def test_nobody_is_taken_twice_and_each_plan_sees_the_others(crowded):
    now = after(minutes=10)
    plans = [crowded.ask(f"job{number}", 5, now=now) for number in range(6)]
    assert [one.status for one in plans] == ["plan"] * 4 + ["wait"] * 2
    taken = [a.key for one in plans if one.plan for a in one.plan.actions]
    assert len(set(taken)) == len(taken) == 4
    assert plans[4].wait_until == now + timedelta(minutes=10)
    assert [o.code for o in plans[4].obstacles] == ["pool_budget"]
    clean(crowded)


def test_nothing_counts_as_taken_before_its_plan(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 5, now=now).plan
    told = crowded.report(plan, ("v19", "done", ("at", after(minutes=1))), now=now)
    assert told.plan.actions[0].reported_at == now
    assert crowded.ask("next", 20, now=now + timedelta(minutes=4)).status == "wait"
    clean(crowded)


def test_a_victim_that_ends_by_itself_uses_no_budget_and_its_units_are_kept(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 5, now=now).plan
    crowded.jobs.release("v19", now=now)
    other = crowded.jobs.ask("other", units=5, account="serving")
    assert crowded.jobs.admit(other, now=now).denied
    told = crowded.report(plan, ("v19", "done"), now=now)
    assert [(r.status, r.code) for r in told.results] == [("changed", "gone")]
    assert crowded.jobs.admit(crowded.jobs.ask("job", units=5), now=now).admitted
    assert crowded.ask("next", 20, now=now).status == "plan"
    clean(crowded)


def test_what_was_told_as_a_preempted_release_before_is_done(crowded):
    now = after(minutes=10)
    plan = crowded.ask("job", 5, now=now).plan
    crowded.jobs.release("v19", now=now, preempted=True)
    told = crowded.report(plan, ("v19", "done"), now=now)
    assert [(r.status, r.code) for r in told.results] == [("changed", "done")]
    assert told.plan.actions[0].given == 5
    clean(crowded)
