"""Where every unit of a pool is at an instant, and the law that they add up. Pure.

    held + running + free = capacity - unavailable,   in use = guaranteed + borrowed + spot

No count is negative. A pool that shrank under what runs has no free units and an *overshoot*, which
stands on the right side of the equation. What has lapsed holds nothing, whether recorded or not.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from quota.domain.batch import Holding
from quota.domain.lifecycle import LIVE, Allocation, judge
from quota.domain.values import AccountKey, Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Units of one pool by what they do. `overshoot`: in use beyond what the pool has now."""

    usable: int
    held: int
    running: int
    guaranteed: int
    borrowed: int
    spot: int

    @property
    def in_use(self) -> int:
        return self.held + self.running

    @property
    def free(self) -> int:
        return max(0, self.usable - self.in_use)

    @property
    def overshoot(self) -> int:
        return max(0, self.in_use - self.usable)

    @property
    def holds(self) -> bool:
        """The law: every unit in one state and in one tier, nothing negative."""
        counts = (self.held, self.running, self.guaranteed, self.borrowed, self.spot)
        return (
            min(counts) >= 0
            and self.in_use == self.guaranteed + self.borrowed + self.spot
            and self.in_use + self.free == self.usable + self.overshoot
        )


def balance(pool: Pool, allocations: Iterable[Allocation], *, now: datetime) -> Balance:
    """Count a pool's allocations as they are at `now`."""
    units: Counter[str] = Counter()
    for allocation in allocations:
        state = judge(allocation, now=now).state
        if state in LIVE:
            units[state] += allocation.units
            units[allocation.tier] += allocation.units
    return Balance(
        usable=pool.usable,
        held=units["held"],
        running=units["running"],
        guaranteed=units["guaranteed"],
        borrowed=units["borrowed"],
        spot=units["spot"],
    )


def holdings(
    pool: Pool, allocations: Iterable[Allocation], *, now: datetime
) -> dict[AccountKey, Holding]:
    """What each account holds of the pool at `now`, as admission counts it."""
    found: dict[AccountKey, Counter[str]] = {}
    for allocation in allocations:
        if judge(allocation, now=now).state in LIVE:
            units = found.setdefault(allocation.account, Counter())
            units[allocation.tier] += allocation.units
            slow = allocation.reclaim_seconds > pool.reclaim_target_seconds
            if slow and allocation.tier != "guaranteed":
                units[f"slow_{allocation.tier}"] += allocation.units
    return {account: Holding(**units) for account, units in found.items()}
