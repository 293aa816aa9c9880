"""How much may be preempted, and when it may be if not now. Pure, exact to the microsecond.

Windows are half-open: what was taken at `t` counts against every instant in [t, t + window) and no
longer at `t + window` itself. So any two preemptions of one job lie at least a window apart, and
the units taken in any [s, s + window), wherever it starts, never exceed the pool's budget: an entry
that is planned for later (an open plan's) counts in the windows that reach it, too.

Budgets (docs/design.md part 8): one preemption per job and hour, by job key, so across requeues;
units per pool in any 10 minutes; preemptions for aged jobs per account and day (24 hours back, so
no midnight at which two days' worth can be taken at once); a preempted job does not preempt while
it cools down. An operator's override passes all of them and is recorded like anything else.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import accumulate

from ledger.errors import Invalid
from quota.domain.values import AccountKey

SECONDS_MAX = 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPolicy:
    """An organization's budgets for one pool.

    Attributes:
        pool_share: of the capacity, what any `pool_window_seconds` may take; whole units, down.
        job_window_seconds: within which one job key is preempted at most once.
        aged_per_day: allocations that may be taken for aged jobs of one account in 24 hours.
        cooldown_seconds: for which a preempted job does not preempt.
        min_run_seconds: a younger allocation is not taken.
    """

    pool_share: Fraction = Fraction(5, 100)
    pool_window_seconds: int = 600
    job_window_seconds: int = 3600
    aged_per_day: int = 10
    cooldown_seconds: int = 3600
    min_run_seconds: int = 300

    def __post_init__(self) -> None:
        if not 0 <= self.pool_share <= 1:
            raise Invalid("pool_share_out_of_range", "A share of the capacity is 0 to 100 %.")
        if self.aged_per_day < 0:
            raise Invalid("aged_per_day_out_of_range", "aged_per_day is never negative.")
        for name in (
            "pool_window_seconds",
            "job_window_seconds",
            "cooldown_seconds",
            "min_run_seconds",
        ):
            if not 0 <= getattr(self, name) <= SECONDS_MAX:
                raise Invalid(
                    "seconds_out_of_range", f"{name} must be 0 to {SECONDS_MAX}.", field=name
                )

    def pool_units(self, capacity: int) -> int:
        """Units that any window may take, rounded down: never above the share."""
        return int(self.pool_share * capacity)


DEFAULT_POLICY = BudgetPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempted:
    """One allocation that was taken, or is planned to be.

    Attributes:
        at: when it counts from; of an open plan's action the instant it may start.
        job: key of the job that lost units, the same for all its attempts.
        units: that were taken; a shrink counts what it gave.
        by_account, by_job: who asked for the plan.
        by_aged: the asking job's class had risen by waiting.
    """

    at: datetime
    job: str
    units: int
    by_account: AccountKey | None = None
    by_job: str | None = None
    by_aged: bool = False


class SlidingWindow:
    """Amounts at instants, of which any half-open window may hold at most a limit."""

    def __init__(
        self, *, limit: int, window_seconds: int, entries: Iterable[tuple[datetime, int]] = ()
    ) -> None:
        """`entries`: instant and amount, in any order; together they may exceed the limit."""
        self.limit = limit
        self._window = timedelta(seconds=window_seconds)
        summed: dict[datetime, int] = {}
        for at, amount in entries:
            summed[at] = summed.get(at, 0) + amount
        self._at = sorted(summed)
        self._sums = [0, *accumulate(summed[at] for at in self._at)]

    def used(self, at: datetime) -> int:
        """What counts at an instant: everything in (at - window, at]."""
        return self._between(bisect_right(self._at, at - self._window), bisect_right(self._at, at))

    def room(self, at: datetime) -> int:
        """How much more may be entered at an instant; never negative.

        Every window that would hold the new entry is looked at: those that begin with an earlier
        entry, and the one that begins with the new one.
        """
        low = bisect_right(self._at, at - self._window)
        fullest = self._between(bisect_left(self._at, at), bisect_left(self._at, at + self._window))
        for first in range(low, bisect_right(self._at, at)):
            last = bisect_left(self._at, self._at[first] + self._window)
            fullest = max(fullest, self._between(first, last))
        return max(0, self.limit - fullest)

    def earliest(self, at: datetime, amount: int) -> datetime | None:
        """The first instant from `at` on at which the amount may be entered; None: never."""
        if amount > self.limit:
            return None
        if self.room(at) >= amount:
            return at
        # Room only grows where an entry leaves the window, or behind one that lies ahead.
        steps = sorted({there + self._window for there in self._at if there + self._window > at})
        for step in steps:
            if self.room(step) >= amount:
                return step
        raise AssertionError("behind all entries there is room for what the limit allows")

    def enter(self, at: datetime, amount: int) -> None:
        """Add an entry, whether it fits or not."""
        place = bisect_left(self._at, at)
        if place == len(self._at) or self._at[place] != at:
            self._at.insert(place, at)
            self._sums.insert(place + 1, self._sums[place])
        for index in range(place + 1, len(self._sums)):
            self._sums[index] += amount

    def _between(self, first: int, last: int) -> int:
        return self._sums[last] - self._sums[first] if last > first else 0


class Budgets:
    """The budgets of one pool, with everything that was taken and that open plans will take."""

    def __init__(
        self, policy: BudgetPolicy, *, capacity: int, history: Sequence[Preempted] = ()
    ) -> None:
        self.policy = policy
        self.pool = SlidingWindow(
            limit=policy.pool_units(capacity),
            window_seconds=policy.pool_window_seconds,
            entries=((taken.at, taken.units) for taken in history),
        )
        self._last_of: dict[str, datetime] = {}
        for taken in history:
            known = self._last_of.get(taken.job)
            if known is None or taken.at > known:
                self._last_of[taken.job] = taken.at
        self._history = history

    def job_allowed_at(self, job: str) -> datetime | None:
        """When the job may be preempted again; None: it never was."""
        last = self._last_of.get(job)
        return None if last is None else last + timedelta(seconds=self.policy.job_window_seconds)

    def may_ask_at(self, job: str | None) -> datetime | None:
        """When a job that was preempted itself may preempt; None: it never was."""
        last = None if job is None else self._last_of.get(job)
        return None if last is None else last + timedelta(seconds=self.policy.cooldown_seconds)

    def aged(self, account: AccountKey) -> SlidingWindow:
        """Allocations taken for aged jobs of an account, over 24 hours."""
        return SlidingWindow(
            limit=self.policy.aged_per_day,
            window_seconds=86_400,
            entries=(
                (taken.at, 1)
                for taken in self._history
                if taken.by_aged and taken.by_account == account
            ),
        )

    def schedule(
        self, units: Sequence[int], *, at: datetime, aged_account: AccountKey | None = None
    ) -> list[datetime] | None:
        """When each of a plan's actions may start, in order; None: one never may.

        An action is never before the one in front of it. Equal to `at` is now.
        """
        aged = None if aged_account is None else self.aged(aged_account)
        pool = SlidingWindow(
            limit=self.pool.limit,
            window_seconds=self.policy.pool_window_seconds,
            entries=((taken.at, taken.units) for taken in self._history),
        )
        found: list[datetime] = []
        here, room = at, pool.room(at)
        entered = 0
        for amount in units:
            if amount > room:
                pool.enter(here, entered)
                later = pool.earliest(here, amount)
                if later is None:
                    return None
                here, room, entered = later, pool.room(later), 0
            if aged is not None:
                later = aged.earliest(here, 1)
                if later is None:
                    return None
                if later != here:
                    pool.enter(here, entered)
                    later = _both(pool, aged, later, amount)
                    here, room, entered = later, pool.room(later), 0
                aged.enter(here, 1)
            room -= amount
            entered += amount
            found.append(here)
        return found


def _both(pool: SlidingWindow, aged: SlidingWindow, at: datetime, amount: int) -> datetime:
    """The first instant at which both have room. Each alone has, so both have behind the last."""
    while True:
        later = pool.earliest(at, amount)
        if later is None:
            raise AssertionError("the pool had room for the amount before")
        both = aged.earliest(later, 1)
        if both is None or both == later:
            return later
        at = both
