"""What a month at a glance looks like on the wire; see accounting.wire_money for its lines."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta

from accounting.domain.comparison import Figure, Reach
from accounting.wire_money import KindName, MonthState, Reason, Tier, Unrated


class Group(msgspec.Struct, kw_only=True):
    """A group of a drill-down, the values in the order of `by`; null: use without the tag."""

    values: list[str | None]
    unit_seconds: Decimal
    amount: Decimal


class MonthChange(msgspec.Struct, kw_only=True):
    """A kind of line of a pool and tier against the month before. `by_use` and `by_price` add up to
    the difference; both are null where there is nothing to divide."""

    kind: KindName
    pool: str | None
    tier: Tier | None
    before: Decimal
    now: Decimal
    difference: Decimal
    by_use: Decimal | None
    by_price: Decimal | None


class PoolUtilization(msgspec.Struct, kw_only=True):
    """Three utilizations of a pool; of all of them together, by economic weight, where `pool` is
    null. `allocated`: of what was promised; `compute` and `productive`: of what was allocated,
    where it was measured. Shares from 0 to 1; null: unknown."""

    pool: str | None
    allocated: float | None
    compute: float | None
    productive: float | None


class Spot(msgspec.Struct, kw_only=True):
    """What spot cost: `price` a unit-hour, and `per_productive_hour`, which is price x total time /
    productive time; null: not measured."""

    pool: str
    price: Decimal
    per_productive_hour: Decimal | None


class Tax(msgspec.Struct, kw_only=True):
    """Work that preemption lost, in money; it is in no line."""

    actions: int
    units: int
    amount: Decimal


class MonthBefore(msgspec.Struct, kw_only=True):
    """The month before, as a whole."""

    month: str
    amount: Decimal


class ShowbackMonth(msgspec.Struct, kw_only=True):
    """A month of an account with everything below it, in the figures of the page. `groups` are the
    largest by `by`; `groups_left` smaller ones are in the sum. `as_of`: when the figures of an
    account with very many lines were drawn; null: computed now. `unrated`: then the most of it."""

    account: str
    month: str
    state: MonthState
    currency: str
    amount: Decimal
    list_amount: Decimal
    kinds: dict[KindName, Decimal]
    before: MonthBefore
    changes: list[MonthChange]
    utilization: list[PoolUtilization]
    idle_cost: Decimal
    lending: Decimal
    discount: Decimal
    preemption_tax: Tax | None
    spot: list[Spot]
    unrated: list[Unrated]
    by: list[str]
    groups: list[Group]
    groups_left: int
    as_of: datetime | None
    digest: str | None


class ComparisonFacts(msgspec.Struct, kw_only=True):
    """What leads may compare: with whom, which figures, whether other teams are named."""

    reach: Reach
    figures: list[Figure]
    named: bool


class NewComparison(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The policy as a whole, and why."""

    reach: Reach
    figures: Annotated[list[Figure], Meta(max_length=10)] = []
    named: bool = False
    reason: Reason


class ComparisonSet(ComparisonFacts, kw_only=True):
    """The policy that holds now; `changed` false: it was so already."""

    changed: bool


class TeamFacts(msgspec.Struct, kw_only=True):
    """A team. `own`: the caller has a role there; others are numbered where the policy says so.
    Figures are null where they are not known, or not shown."""

    team: str
    own: bool
    utilization: Decimal | None
    idle_share: Decimal | None
    productive_cost: Decimal | None


class Compared(msgspec.Struct, kw_only=True):
    """Teams by a figure, the best first, unknown ones last, at most 1,000; `left` more are there.
    `withheld`: so few others that, without names, they are not shown. `as_of`: when the figures of
    a large month were drawn; null: computed now."""

    month: str
    currency: str
    by: Figure
    teams: list[TeamFacts]
    left: int
    medians: dict[Figure, Decimal | None]
    withheld: bool
    as_of: datetime | None


class DepartmentFacts(msgspec.Struct, kw_only=True):
    """An account right below the root with all below it; the root for its own lines."""

    account: str
    before: Decimal
    amount: Decimal
    idle: Decimal
    untagged: Decimal


class Moved(msgspec.Struct, kw_only=True):
    """An account's own lines against the month before."""

    account: str
    before: Decimal
    amount: Decimal


class Recovery(msgspec.Struct, kw_only=True):
    """A pool's capacity so far in unit-seconds, the used share of it, what it is worth at the price
    of the guaranteed tier (null: it has none), and what of that is charged."""

    pool: str
    capacity: Decimal
    allocated: float | None
    worth: Decimal | None
    charged: Decimal
    recovered: float | None


class OrganizationMonthFacts(msgspec.Struct, kw_only=True):
    """A month of the whole organization: departments, the dearest first, at most 1,000; accounts
    whose own lines moved most; pools. `untagged`: use without a project; `unrated`: how many
    amounts of use have no price. `turn`: the month that may close next. `as_of`: when the figures
    of a large month were drawn; null: computed now."""

    month: str
    state: MonthState
    currency: str
    amount: Decimal
    before: Decimal
    untagged: Decimal
    unrated: int
    as_of: datetime | None
    turn: str | None
    departments: list[DepartmentFacts]
    departments_left: int
    movers: list[Moved]
    pools: list[Recovery]
