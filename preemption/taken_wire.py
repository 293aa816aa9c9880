"""What was taken, and what it cost, on the wire. The same types give the OpenAPI document its
schemas."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

import msgspec

from quota.domain.values import PriorityClass, Tier


class PreemptionLoss(msgspec.Struct, kw_only=True, gc=False):
    """A sum over actions: `tax` as reckoned when they were planned, of all; `tax_reported` of those
    whose loss was measured, `unreported` were not; `cost` of each as reported, or else as reckoned;
    `overrides`: of plans past the budgets."""

    actions: int
    units: int
    tax: Decimal
    tax_reported: Decimal
    cost: Decimal
    unreported: int
    overrides: int


class PreemptionTaken(msgspec.Struct, kw_only=True):
    """Units that were taken from a job of an account: by which step of the order, how, and with how
    many `left`. `pool_used`, `pool_planned`, `pool_limit`: units of the pool's budget
    when the plan was made, what the plan drew, and what any window may hold. `late`: after the
    plan's end. Null in `by_account`, `by_key`, `made_by` and `reason`: not for the caller to see;
    in `account` and `key` as well."""

    at: datetime
    plan: str
    pool: str
    account: str | None
    key: str | None
    attempt: int
    step: str
    mode: Literal["shrink", "checkpoint", "stop"]
    units: int
    left: int
    tax: Decimal
    tax_reported: Decimal | None
    late: bool
    by_account: str | None
    by_key: str | None
    by_class: PriorityClass
    by_tier: Tier
    made_by: str | None
    made_at: datetime
    returns_guarantee: bool
    pool_used: int
    pool_planned: int
    pool_limit: int
    override: bool
    reason: str | None


class PreemptionActions(msgspec.Struct, kw_only=True):
    """A page of what was taken from `since` up to `until`, the latest first. `total` is of all
    pages, in the organization's currency. `next`: address of the page that follows, or null."""

    at: datetime
    since: datetime
    until: datetime
    currency: str
    total: PreemptionLoss
    actions: list[PreemptionTaken]
    next: str | None


class PreemptionMonth(msgspec.Struct, kw_only=True):
    """What one account lost in a month of the organization's time zone, given by its first day."""

    month: date
    account: str
    actions: int
    units: int
    tax: Decimal
    tax_reported: Decimal
    unreported: int


class PreemptionLoser(msgspec.Struct, kw_only=True):
    """A job that was preempted, in all its attempts. It ran `between_seconds` between two losses on
    average and takes `checkpoint_seconds` to save itself (null: it does not tell), so it should
    every `interval_seconds`: sqrt(2 x checkpoint x between), by Young (1974) and Daly (2006)."""

    key: str
    account: str
    times: int
    cost: Decimal
    between_seconds: int
    checkpoint_seconds: int | None
    interval_seconds: int | None


class PreemptionLosses(msgspec.Struct, kw_only=True):
    """What preemption cost in the last twelve months, by month and account, and the jobs that lost
    most in the last 30 days."""

    at: datetime
    currency: str
    months: list[PreemptionMonth]
    jobs: list[PreemptionLoser]
