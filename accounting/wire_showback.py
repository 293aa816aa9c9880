"""What a month at a glance looks like on the wire; see accounting.wire_money for its lines."""

from decimal import Decimal

import msgspec

from accounting.wire_money import KindName, MonthState, Tier, Unrated


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
    largest by `by`; `groups_left` smaller ones are in the sum."""

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
    digest: str | None
