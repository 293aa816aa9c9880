"""Which allocations a plan may take at all, step by step in the order of what is taken first. Pure.

Most plans end in their first steps, so what belongs to a step is made ready when it is reached: of
twenty thousand allocations in a pool, those behind it are only looked at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from preemption.domain.budgets import Budgets
from preemption.domain.ground import CLASS_RANK, Ground
from preemption.domain.taking import Candidate
from preemption.domain.values import (
    GRACE_SECONDS_MAX,
    GRACE_SECONDS_MIN,
    ObstacleCode,
    PlanRequest,
    PlanState,
    Running,
)

STEPS = (
    "spot",
    "borrowed P3",
    "borrowed P2",
    "borrowed P1",
    "guaranteed P3",
    "guaranteed P2",
    "guaranteed P1",
)

_STEP_OF = {
    (tier, priority_class): STEPS.index("spot" if tier == "spot" else f"{tier} {priority_class}")
    for tier in ("spot", "borrowed", "guaranteed")
    for priority_class in ("P3", "P2", "P1")
}


@dataclass(slots=True, kw_only=True, eq=False)
class Possible:
    """An allocation that class rules do not shield.

    Attributes:
        available_at: when its minimum run time and its job's budget allow it.
        waits_for: which of them it is, while that lies ahead.
    """

    candidate: Candidate
    available_at: datetime
    waits_for: ObstacleCode


def grace_seconds(reclaim_seconds: int) -> int:
    """From notice to force: what the allocation says it needs, 60 to 300."""
    return min(GRACE_SECONDS_MAX, max(GRACE_SECONDS_MIN, reclaim_seconds))


def return_seconds(reclaim_seconds: int) -> int:
    """Until the units are back at the latest: grace, and a checkpoint that takes longer."""
    return max(grace_seconds(reclaim_seconds), reclaim_seconds)


class Candidates:
    """The allocations of a pool that one request may take."""

    def __init__(
        self,
        *,
        state: PlanState,
        request: PlanRequest,
        ground: Ground,
        budgets: Budgets,
        at: datetime,
    ) -> None:
        self.too_large: list[Running] = []
        self._ground = ground
        self._budgets = budgets
        self._at = at
        self._override = request.override
        self._most = None if request.override else budgets.pool.limit
        self._min_run = timedelta(seconds=state.policy.min_run_seconds)
        self._made: dict[int, list[Possible]] = {}
        asks = CLASS_RANK[request.priority_class]
        allowed = {
            kind: step
            for kind, step in _STEP_OF.items()
            if kind[0] != "guaranteed" or CLASS_RANK[kind[1]] > asks
        }
        self._running: list[list[Running]] = [[] for _ in STEPS]
        for running in state.running:
            step = allowed.get((running.tier, running.priority_class))
            if step is not None and not running.ending_units and running.units:
                self._running[step].append(running)

    def usable(self, step: int, *, when: datetime, limit: int | None) -> Iterator[Candidate]:
        """Those of a step that may be taken at an instant and are back within the limit."""
        for each in self._possible(step):
            if each.available_at <= when and is_in_time(each, limit):
                yield each.candidate

    def all(self) -> Iterator[Possible]:
        for step in range(len(STEPS)):
            yield from self._possible(step)

    def _possible(self, step: int) -> list[Possible]:
        if step not in self._made:
            found = [self._judge(running, step) for running in self._running[step]]
            self._made[step] = [each for each in found if each is not None]
        return self._made[step]

    def _judge(self, running: Running, step: int) -> Possible | None:
        candidate = self._candidate(running, step)
        if not candidate.is_stoppable and not candidate.slack:
            self.too_large.append(running)
            return None
        fresh = running.since + self._min_run
        again = None if self._override else self._budgets.job_allowed_at(running.key)
        if again is not None and again > fresh:
            return Possible(candidate=candidate, available_at=again, waits_for="job_budget")
        return Possible(candidate=candidate, available_at=fresh, waits_for="fresh")

    def _candidate(self, running: Running, step: int) -> Candidate:
        """Ordered by time lost: units and price are the same for each unit of a pool."""
        saved = min(running.saved_at or running.since, self._at)
        lost = self._at - saved
        if running.reload_seconds or running.warm_up_seconds:
            lost += timedelta(seconds=running.reload_seconds + running.warm_up_seconds)
        return Candidate(
            running=running,
            leaf=self._ground.leaf_of(running.account),
            step=step,
            cost=(lost, self._at - running.since, running.key, running.attempt),
            most=self._most,
        )


def is_in_time(possible: Possible, limit: int | None) -> bool:
    """Does it give back within so many seconds? None: whenever it does."""
    return limit is None or return_seconds(possible.candidate.running.reclaim_seconds) <= limit
