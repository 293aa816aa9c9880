"""Budgets, classes, elastic jobs and guarantees against the database; and what a task does."""

from datetime import timedelta

import pytest

from ledger import rebuild, scope, verification
from ledger.errors import Conflict, Denied, Invalid, NotFound, Refused
from preemption import queries
from preemption.tasks import lapse_plans_of
from preemption.wire import PreemptionReport
from tests.preemption.conftest import Preemption, after

NOW = after(minutes=10)


def clean(it: Preemption) -> None:
    assert verification.verify(it.place.id).findings == []


@pytest.fixture
def free(preemption: Preemption) -> Preemption:
    """Budgets that hinder nothing."""
    preemption.budgets(pool_share="1")
    return preemption


def test_elastic_jobs_shrink_and_reports_may_tell_of_other_sizes(free):
    for key in ("a", "b"):
        free.running(key, 50, min_units=10, at=after())
    plan = free.ask("job", 30, now=NOW).plan
    assert [(a.mode, a.units, a.left) for a in plan.actions] == [("shrink", 30, 20)]
    key = plan.actions[0].key
    told = free.report(plan, PreemptionReport(key=key, outcome="shrunk", left=10), now=NOW)
    assert [one.code for one in told.results] == ["done"]
    assert told.plan.actions[0].given == 40
    # Thirty of the forty are the plan's, ten are anybody's.
    others = free.jobs.ask("other", units=11, account="serving")
    assert free.jobs.admit(others, now=NOW).denied
    others = free.jobs.ask("fits", units=10, account="serving")
    assert free.jobs.admit(others, now=NOW).admitted
    assert free.jobs.admit(free.jobs.ask("job", units=30), now=NOW).admitted
    clean(free)


def test_a_job_that_shrank_less_leaves_the_plan_short_and_asking_again_makes_it_up(free):
    for key in ("a", "b"):
        free.running(key, 50, min_units=10, at=after())
    plan = free.ask("job", 30, now=NOW).plan
    key = plan.actions[0].key
    told = free.report(plan, PreemptionReport(key=key, outcome="shrunk", left=30), now=NOW)
    assert told.plan.missing_units == 10
    again = free.ask("job", 30, now=NOW)
    # The same job is not preempted twice in an hour.
    assert [(a.key, a.units) for a in again.plan.actions] == [("b" if key == "a" else "a", 10)]
    free.report(again.plan, (again.plan.actions[0].key, "done"), now=NOW)
    assert free.jobs.admit(free.jobs.ask("job", units=30), now=NOW).admitted
    clean(free)


@pytest.mark.parametrize(
    ("left", "status", "code"),
    [
        (None, "invalid", "left_missing"),
        (50, "contradiction", "left_not_smaller"),
        (9, "contradiction", "left_not_smaller"),
    ],
)
def test_sizes_that_cannot_be(free, left, status, code):
    for key in ("a", "b"):
        free.running(key, 50, min_units=10, at=after())
    plan = free.ask("job", 30, now=NOW).plan
    report = PreemptionReport(key=plan.actions[0].key, outcome="shrunk", left=left)
    told = free.report(plan, report, now=NOW)
    assert [(one.status, one.code) for one in told.results] == [(status, code)]
    assert told.plan.actions[0].state == "open"


def test_a_guarantee_is_returned_within_the_target_from_who_borrowed_it(free):
    """vision borrows what nlp and serving are promised; nlp claims its 40 back."""
    for number in range(8):
        free.running(f"b{number}", 10, at=after(), tier="borrowed", reclaim_seconds=120)
    answer = free.ask("job", 40, now=NOW)
    plan = answer.plan
    assert (plan.tier, plan.returns_guarantee, plan.within_target) == ("guaranteed", True, True)
    assert {a.step for a in plan.actions} == {"borrowed P3"}
    # Beyond its guarantee it would borrow itself, and then be above whom it takes from or equal.
    free.report(plan, *((a.key, "done") for a in plan.actions), now=NOW)
    admitted = free.jobs.admit(free.jobs.ask("job", units=40), now=NOW).results[0]
    assert admitted.allocations[0].tier == "guaranteed"
    clean(free)


def test_nobody_takes_back_what_was_taken_from_them(free):
    for number in range(8):
        free.running(f"b{number}", 10, at=after(), tier="borrowed")
    plan = free.ask("job", 40, now=NOW).plan
    free.report(plan, *((a.key, "done") for a in plan.actions), now=NOW)
    free.jobs.admit(free.jobs.ask("job", units=40, job_class="P3"), now=NOW)
    free.confirm(plan, now=NOW)
    later = NOW + timedelta(minutes=4)
    free.alive("job", *(f"b{n}" for n in range(8)), at=later)
    for job_class in ("P1", "P2", "P3"):
        key = f"revenge-{job_class}"
        answer = free.ask(key, 10, now=later, account="vision", job_class=job_class)
        # Its own lower classes may make room for it, what went back to nlp may not.
        actions = answer.plan.actions if answer.plan else answer.actions
        assert {a.account for a in actions} <= {"vision"}
    clean(free)


def test_a_job_is_preempted_once_an_hour_in_all_its_attempts(preemption):
    preemption.budgets(pool_share="1", min_run_seconds=0)
    preemption.running("v", 100, at=after())
    plan = preemption.ask("job", 40, now=NOW).plan
    preemption.report(plan, ("v", "done"), now=NOW)
    preemption.cancel(plan, now=NOW)
    preemption.running("v", 100, at=NOW, attempt=2)
    answer = preemption.ask("next", 40, now=NOW + timedelta(minutes=1))
    assert (answer.status, answer.wait_until) == ("wait", NOW + timedelta(hours=1))
    assert [o.code for o in answer.obstacles] == ["job_budget"]


def test_a_preempted_job_does_not_preempt_while_it_cools_down(preemption):
    preemption.budgets(pool_share="1", min_run_seconds=0)
    preemption.running("v", 50, at=after())
    preemption.running("w", 50, at=after(), account="serving")
    plan = preemption.ask("job", 40, now=NOW).plan
    taken = plan.actions[0].key
    preemption.report(plan, (taken, "done"), now=NOW)
    preemption.jobs.admit(preemption.jobs.ask("job", units=40), now=NOW)
    answer = preemption.ask(taken, 40, now=NOW, account="serving")
    assert "cooling_down" in [o.code for o in answer.obstacles]
    assert answer.plan is None


def test_fresh_jobs_are_left_alone(preemption):
    preemption.budgets(pool_share="1")
    preemption.running("v", 100, at=after())
    answer = preemption.ask("job", 40, now=after(minutes=2))
    assert (answer.status, answer.wait_until) == ("wait", after(minutes=5))
    assert [(o.code, o.allocations) for o in answer.obstacles] == [("fresh", 1)]


def test_what_is_taken_for_aged_jobs_of_an_account_is_counted_by_day(preemption):
    preemption.budgets(pool_share="1", aged_per_day=1)
    for number in range(10):
        preemption.running(f"v{number}", 10, at=after())
    assert preemption.ask("old", 10, now=NOW, aged=True).status == "plan"
    answer = preemption.ask("older", 10, now=NOW, aged=True)
    assert (answer.status, answer.wait_until) == ("wait", NOW + timedelta(days=1))
    assert preemption.ask("young", 10, now=NOW).status == "plan"


def test_what_schedulers_preempt_without_a_plan_counts(preemption):
    preemption.budgets(pool_share="0.2")
    for number in range(10):
        preemption.running(f"v{number}", 10, at=after())
    preemption.jobs.release("v0", "v1", now=NOW, preempted=True)
    filler = preemption.jobs.ask("filler", units=20, account="vision", tier="spot")
    preemption.jobs.admit(filler, now=NOW)
    answer = preemption.ask("job", 10, now=NOW)
    assert (answer.status, answer.wait_until) == ("wait", NOW + timedelta(minutes=10))
    assert answer.pool_budget.used == 20


def test_an_override_passes_the_budgets_and_counts_in_them(preemption):
    for number in range(10):
        preemption.running(f"v{number}", 10, at=after())
    assert preemption.ask("job", 20, now=NOW).plan is None
    answer = preemption.ask("job", 20, now=NOW, override="demo", by="otto")
    assert (answer.plan.override, answer.plan.reason, answer.plan.made_by) == (True, "demo", "otto")
    with pytest.raises(Denied):
        preemption.ask("more", 20, now=NOW, override="demo", by="alice")
    with scope.reading(preemption.place.id):
        gauge = next(
            one for one in queries.gauges(preemption.place.id, now=NOW).pools if one.pool == "h100"
        )
    assert (gauge.used, gauge.limit, gauge.open_plans) == (20, 5, 1)
    clean(preemption)


def test_what_fits_needs_no_plan_and_leaves_no_trace(preemption):
    answer = preemption.ask("job", 40, now=NOW)
    assert (answer.status, answer.plan, answer.free_units) == ("fits", None, 40)
    assert preemption.rows("SELECT count(*) FROM preemption_plan") == [(0,)]
    assert preemption.rows("SELECT count(*) FROM quota_reservation") == [(0,)]


def test_questions_that_mean_nothing(preemption):
    with pytest.raises(NotFound):
        preemption.ask("job", 1, now=NOW, account="nobody")
    with pytest.raises(NotFound):
        preemption.ask("job", 1, now=NOW, pool="nowhere")
    with pytest.raises(Invalid) as invalid:
        preemption.ask("job", 1, now=NOW, job_class="P0", tier="borrowed")
    assert invalid.value.code == "p0_may_not_borrow"
    with pytest.raises(Invalid):
        preemption.ask("job", 1, now=NOW, job_class="P0", aged=True)
    from tenancy.commands.accounts import ArchiveAccount

    preemption.place.run(ArchiveAccount(account_id=preemption.place.accounts["vision"]))
    with pytest.raises(Refused) as refused:
        preemption.ask("job", 1, now=NOW, account="vision")
    assert refused.value.code == "account_archived"


def test_the_task_settles_what_is_over_and_a_rebuild_gives_the_same(free):
    free.running("v", 100, at=after())
    plan = free.ask("job", 40, now=NOW).plan
    lapse_plans_of(str(free.place.id))  # the real clock lies behind the tests' one, or far ahead
    with scope.reading(free.place.id):
        assert (
            queries.plan(free.place.id, _id(plan), now=NOW + timedelta(hours=1)).state == "lapsed"
        )
    clean(free)
    with scope.snapshot(free.place.id):
        assert rebuild.compare(free.place.id).differences == ()


def test_a_plan_whose_job_was_admitted_counts_as_confirmed(free):
    free.running("v", 100, at=after(), duration_seconds=86_400)
    plan = free.ask("job", 40, now=NOW).plan
    free.report(plan, ("v", "done"), now=NOW)
    assert free.jobs.admit(free.jobs.ask("job", units=40), now=NOW).admitted
    late = NOW + timedelta(hours=1)
    assert not free.confirm(plan, now=late).changed
    clean(free)


def _id(plan):
    from uuid import UUID

    return UUID(plan.id)


def test_an_elastic_job_gets_as_much_as_the_budget_leaves(preemption):
    """5 of 100 units may be taken now; the job would do with 2 of its 20."""
    for number in range(20):
        preemption.running(f"v{number:02}", 5, at=after())
    assert preemption.ask("job", 20, now=NOW).status == "wait"
    answer = preemption.ask("job", 20, min_units=2, now=NOW)
    assert (answer.status, answer.units) == ("plan", 5)
    plan = answer.plan
    assert (plan.units, plan.wanted, plan.min_units) == (5, 20, 2)
    again = preemption.ask("job", 20, min_units=2, now=NOW)
    assert (again.repeated, again.plan.id) == (True, plan.id)
    with pytest.raises(Conflict):
        preemption.ask("job", 20, now=NOW)
    preemption.report(plan, *((one.key, "done") for one in plan.actions), now=NOW)
    told = preemption.jobs.admit(preemption.jobs.ask("job", units=20, min_units=2), now=NOW)
    assert told.admitted and preemption.jobs.holding("nlp") == (5, 0, 0)
    clean(preemption)
    rebuild.rebuild(preemption.place.id)
    clean(preemption)


def test_fewer_units_than_none_are_refused(preemption):
    with pytest.raises(Invalid) as refused:
        preemption.ask("job", 5, min_units=6, now=NOW)
    assert refused.value.code == "min_units_too_large"
