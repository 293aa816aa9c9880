"""Preemption in the demo: a sweep of small spot jobs fills a pool for ten minutes, and others take
units back from it. Through the commands that schedulers and operators use, just before `now`, so
that budgets are drawn on, two plans are open, and one is complete when somebody looks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from demo.organization import H100
from demo.quota_history import OPERATOR
from demo.tenant import Tenant
from ledger import scope
from ledger.types import Actor
from preemption.commands.checkpoints import RecordCheckpoints
from preemption.commands.plans import OverridePreemption, PlanPreemption
from preemption.commands.reports import ReportActions
from preemption.commands.settling import ConfirmPlan
from preemption.wire import (
    Checkpoint,
    PreemptionAnswer,
    PreemptionAsk,
    PreemptionPlan,
    PreemptionReport,
)
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations, StartAllocations
from quota.queries.standing import Ground, ground

SWEEPER: Final = ("data-engine", "oadeyemi")
UNITS: Final = 8
JOBS_MAX: Final = 60
BEGINS, SAVES, ASKS, ENDS = (timedelta(seconds=n) for n in (660, 200, 90, 15))
"""How long before `now` the sweep begins, saves itself, gives units back, and is over."""


@dataclass(slots=True)
class _Sweep:
    """The jobs of the sweep, and those of them that plans take."""

    keys: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Scheduler:
    """The cluster's scheduler and its operator while they tell the story."""

    tenant: Tenant
    by: Actor
    at: datetime

    def run(self, command: Any, *, by: Actor | None = None, reason: str = "") -> Any:
        return self.tenant.run(command, None, at=self.at, by=by or self.by, reason=reason)


def steps(
    tenant: Tenant, *, reporter: Actor, now: datetime
) -> list[tuple[datetime, Callable[[], Any]]]:
    """Everything of this story with its times. A load that is taken up again leaves out what was
    told before."""
    made = _Sweep()

    def at(before: timedelta) -> _Scheduler:
        return _Scheduler(tenant, reporter, now - before)

    return [
        (now - BEGINS, partial(_fill, at(BEGINS), made)),
        (now - SAVES, partial(_save, at(SAVES), made)),
        (now - ASKS, partial(_take, at(ASKS), made)),
        (now - ENDS, partial(_end, at(ENDS), made)),
    ]


def _ground(it: _Scheduler) -> Ground:
    with scope.reading(it.tenant.id):
        return ground(it.tenant.id, [it.tenant.pools[H100]], now=it.at)


def _fill(it: _Scheduler, made: _Sweep) -> None:
    """A sweep takes every unit that is free."""
    free = _ground(it).free(0)
    sizes = [UNITS] * (free // UNITS) + ([free % UNITS] if free % UNITS else [])
    account, person = SWEEPER
    asks = tuple(
        wire.Ask(
            key=f"north/sweep-{number + 1}",
            account=account,
            person=person,
            pool=H100,
            units=units,
            job_class="P3",
            tier="spot",
            labels={"project": "augmentation", "workload": "sweep"},
        )
        for number, units in enumerate(sizes[:JOBS_MAX])
    )
    if not asks:
        return
    told = it.run(AdmitBatch(requests=asks))
    if any(one.status == "admitted" and one.repeated for one in told.results):
        return
    made.keys = [one.key for one in told.results if one.status == "admitted" and one.key]
    it.run(StartAllocations(messages=tuple(wire.Message(key=key) for key in made.keys)))


def _save(it: _Scheduler, made: _Sweep) -> None:
    """Every third one tells of checkpoints, so it loses less and goes first."""
    saved = tuple(
        Checkpoint(key=key, seconds=20, reload_seconds=30, warm_up_seconds=15)
        for key in made.keys[::3]
    )
    if saved:
        it.run(RecordCheckpoints(pool=H100, checkpoints=saved))


def _take(it: _Scheduler, made: _Sweep) -> None:
    """One plan is carried out and confirmed, one would do with less, one passes the budgets."""
    accounts = _with_guarantee_left(it)
    if not made.keys or not accounts:
        return
    reason = "The reviewers want one more ablation by noon"
    first = _ask(it, "north/urgent-eval", accounts[0], 2 * UNITS)
    if first.plan is not None:
        _carry_out(it, first.plan)
    plans = [
        first.plan,
        _ask(it, "north/elastic-tuning", accounts[-1], 4 * UNITS, min_units=1).plan,
        _ask(it, "north/rebuttal", accounts[0], 3 * UNITS, override=reason).plan,
    ]
    made.taken = {one.key for plan in plans if plan is not None for one in plan.actions}


def _with_guarantee_left(it: _Scheduler) -> list[str]:
    """Names of accounts that use least of what they are promised, most left first."""
    here = _ground(it)
    names = {id_: name for name, id_ in it.tenant.accounts.items()}
    left: list[tuple[int, str]] = []
    for row in range(len(here.nodes)):
        one = here.at(row, 0)
        units = one.quota.guaranteed - one.own_use
        if units >= 5 * UNITS:
            left.append((-units, names[one.account_id]))
    return [name for _, name in sorted(left)]


def _ask(it: _Scheduler, key: str, account: str, units: int, **more: Any) -> PreemptionAnswer:
    """A job that wants so many units more than are free: other jobs ended since the sweep began."""
    wanted = _ground(it).free(0) + units
    ask = PreemptionAsk(account=account, pool=H100, units=wanted, job_class="P1", key=key, **more)
    if ask.override is None:
        return it.run(PlanPreemption(ask=ask))
    operator = it.tenant.person(OPERATOR)
    return it.run(OverridePreemption(ask=ask), by=operator, reason=ask.override)


def _carry_out(it: _Scheduler, plan: PreemptionPlan) -> None:
    reports = tuple(
        PreemptionReport(key=one.key, outcome="done", lost_seconds=None if n else 240)
        for n, one in enumerate(plan.actions)
    )
    plan_id = UUID(plan.id)
    it.run(ReportActions(plan_id=plan_id, reports=reports))
    it.run(ConfirmPlan(plan_id=plan_id))


def _end(it: _Scheduler, made: _Sweep) -> None:
    """The sweep is over, but for what open plans are to take."""
    rest = tuple(wire.ReleaseMessage(key=key) for key in made.keys if key not in made.taken)
    if rest:
        it.run(ReleaseAllocations(messages=rest))
