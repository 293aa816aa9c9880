"""Events of review cycles. Pure; names and versions are fixed.

All of a cycle are on its stream, `cycle:<id>`, in the organization's main lane. What the close
makes of quotas (`quota.set`) is recorded beside them in the same command. Lists of quotas come in
parts of at most LISTED_MAX, so that no event grows with the organization.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from ledger.registry import event
from ledger.types import Event

LISTED_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfCycle(Event):
    """Something about one review cycle."""

    cycle_id: UUID

    @property
    def stream(self) -> str:
        return f"cycle:{self.cycle_id}"


@event("cycle.opened")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleOpened(_OfCycle):
    """A review of all quotas at and below `account_id` began; which they are is in the
    `cycle.listed` that follow. `quarter`: such as 2026-Q4, where it opened by itself."""

    account_id: UUID
    name: str
    deadline: datetime
    window_days: int
    quota_count: int
    quarter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedQuota:
    """A quota under review, as it stood at the opening. `idle_units` and `idle_cost` (for the
    window) order the list; None: unknown."""

    account_id: UUID
    pool_id: UUID
    guaranteed: int
    idle_units: int | None
    idle_cost: Decimal | None


@event("cycle.listed")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleListed(_OfCycle):
    """These quotas are reviewed in the cycle."""

    quotas: tuple[ListedQuota, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleFigures:
    """What was known of the use of a quota when it was decided; None: unknown. `use_percent`: mean
    use of what was promised; `coverage_percent`: of the window, as far as use is known."""

    since: datetime
    until: datetime
    guaranteed: int | None
    p50: int | None
    p95: int | None
    peak: int | None
    use_percent: int | None
    idle_units: int | None
    recommended: int | None
    idle_cost: Decimal | None
    currency: str | None
    coverage_percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfEntry(_OfCycle):
    """Something about one quota in a cycle."""

    account_id: UUID
    pool_id: UUID


@event("cycle.decided")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleDecided(_OfEntry):
    """A reviewer decided, first or again: `keep`, `recommended` or `set`, which means a guarantee
    of `units`. `guaranteed` stood then, and would have returned to `base`."""

    decision: str
    units: int
    guaranteed: int
    base: int
    reviewer_id: UUID
    figures: CycleFigures


@event("cycle.asked")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleAsked(_OfEntry):
    """A reviewer asks the account's lead; what was decided before is void."""

    reviewer_id: UUID
    question: str


@event("cycle.answered")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleAnswered(_OfEntry):
    """A lead answered; `units`: what they say they need, where they say so."""

    author_id: UUID
    text: str
    units: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledQuota:
    """What the close made of a quota: `changed`, `kept`, `undecided` (nobody decided, which was
    said to mean keep) or `impossible`, then with why."""

    account_id: UUID
    pool_id: UUID
    outcome: str
    before: int
    after: int
    code: str | None = None
    detail: str | None = None


@event("cycle.settled")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSettled(_OfCycle):
    """What became of these quotas at the close."""

    quotas: tuple[SettledQuota, ...]


@event("cycle.closed")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleClosed(_OfCycle):
    """All decisions are applied, but those that were impossible; the `cycle.settled` before it say
    which."""

    account_id: UUID
    changed: int
    kept: int
    undecided: int
    impossible: int


@event("cycle.cancelled")
@dataclass(frozen=True, slots=True, kw_only=True)
class CycleCancelled(_OfCycle):
    """The review was given up; no quota changed."""

    account_id: UUID


@event("cycle_policy.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePolicySet(Event):
    """Whether a cycle opens by itself each quarter, and how. See
    `quota.domain.cycles.CyclePolicy`."""

    policy_id: UUID
    automatic: bool
    window_days: int
    decide_days: int

    @property
    def stream(self) -> str:
        return f"cycle_policy:{self.policy_id}"
