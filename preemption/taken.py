"""What was taken: each action with its rule, and sums by day and account. Typed reads, bounded and
paged; all run inside `scope.reading`."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from ledger.sql import server_cursor

LIST_MAX = 201
ACCOUNTS_MAX = 500
DAYS_MAX = 400


class Place(NamedTuple):
    """Where a page of actions ends; the next one goes on behind it."""

    at: datetime
    plan_id: UUID
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRow:
    """Units that were taken.

    Attributes:
        step, mode: by which rule, and how; `left` is what the job went on with.
        tax: reckoned when the plan was made; `tax_reported`: measured, None: nobody told.
        by_*: whose plan it was, in which class and tier, and who asked.
        returns_guarantee: the plan claimed what its account is promised.
        pool_used, pool_planned, pool_limit: units of the pool's budget when the plan was made, what
            the plan drew, and what any window may hold.
        override, reason: past the budgets, and why.
        late: after the end of the plan.
    """

    at: datetime
    plan_id: UUID
    ordinal: int
    pool: str
    account_id: UUID
    account: str
    job: str
    attempt: int
    step: str
    mode: str
    units: int
    left: int
    tax: Decimal
    tax_reported: Decimal | None
    late: bool
    by_account_id: UUID
    by_account: str
    by_job: str
    by_class: str
    by_tier: str
    made_by: str
    made_at: datetime
    returns_guarantee: bool
    pool_used: int
    pool_planned: int
    pool_limit: int
    override: bool
    reason: str

    @property
    def cost(self) -> Decimal:
        """As reported, or as it was reckoned."""
        return self.tax if self.tax_reported is None else self.tax_reported

    @property
    def place(self) -> Place:
        return Place(self.at, self.plan_id, self.ordinal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A sum over actions.

    Attributes:
        tax: reckoned when the plans were made, of all actions.
        tax_reported: measured, of those whose loss was reported; `unreported` were not.
        cost: of each action as reported, or else as reckoned.
        overrides: actions of plans past the budgets.
    """

    actions: int = 0
    units: int = 0
    tax: Decimal = Decimal(0)
    tax_reported: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)
    unreported: int = 0
    overrides: int = 0


NOTHING = Loss()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLoss:
    """What one account lost."""

    account_id: UUID
    account: str
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class DayLoss:
    """What was taken on a day of the organization's zone, in one step of the order."""

    day: date
    step: str
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Of which actions a question is.

    Attributes:
        since, until: half-open, by when they happened.
        accounts: taken from one of these; None: from all.
        either_side: or for one of these.
        pool_ids: in one of these; None: in all.
    """

    since: datetime
    until: datetime
    accounts: Collection[UUID] | None = None
    either_side: bool = False
    pool_ids: Collection[UUID] | None = None

    def where(self, organization_id: UUID) -> tuple[str, list]:
        """A condition over `preemption_action a` and its plan `p`, and its values."""
        text = ["a.organization_id = %b AND a.state = 'done' AND a.at >= %b AND a.at < %b"]
        values: list = [organization_id, self.since, self.until]
        if self.accounts is not None:
            sides = ["a.account_id = ANY(%b::uuid[])"]
            sides += ["p.account_id = ANY(%b::uuid[])"] * self.either_side
            text.append(f"({' OR '.join(sides)})")
            values += [list(self.accounts)] * len(sides)
        if self.pool_ids is not None:
            text.append("a.pool_id = ANY(%b::uuid[])")
            values.append(list(self.pool_ids))
        return " AND ".join(text), values


_FROM = """
FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
"""
_ROWS = f"""
SELECT a.at, a.plan_id, a.ordinal, q.name, v.id, v.name, a.key, a.attempt, a.step, a.mode, a.given,
    a.remains, a.tax, a.tax_reported, a.late, b.id, b.name, p.key, p.priority_class, p.tier,
    p.made_by, p.made_at, p.returns_guarantee, p.pool_used, (
        SELECT sum(o.units)::bigint FROM preemption_action o
        WHERE o.organization_id = p.organization_id AND o.plan_id = p.id
    ), p.pool_limit, p.override, p.reason
{_FROM}
JOIN quota_pool q ON q.organization_id = a.organization_id AND q.id = a.pool_id
JOIN tenancy_account v ON v.organization_id = a.organization_id AND v.id = a.account_id
JOIN tenancy_account b ON b.organization_id = a.organization_id AND b.id = p.account_id
"""
_SUMS = """
count(*), coalesce(sum(a.given), 0)::bigint, coalesce(sum(a.tax), 0),
coalesce(sum(a.tax_reported), 0), coalesce(sum(coalesce(a.tax_reported, a.tax)), 0),
count(*) FILTER (WHERE a.tax_reported IS NULL), count(*) FILTER (WHERE p.override)
"""


def actions(
    organization_id: UUID, which: Which, *, after: Place | None = None, limit: int = LIST_MAX
) -> list[TakenRow]:
    """What was taken, the latest first.

    Args:
        after: the last place of the page before.
    """
    where, values = which.where(organization_id)
    if after is not None:
        where += " AND (a.at, a.plan_id, a.ordinal) < (%b::timestamptz, %b::uuid, %b::int)"
        values += after
    sql = f"{_ROWS} WHERE {where} ORDER BY a.at DESC, a.plan_id DESC, a.ordinal DESC LIMIT %b"
    with server_cursor() as cursor:
        rows = cursor.execute(sql, (*values, min(limit, LIST_MAX))).fetchall()
    names = tuple(TakenRow.__dataclass_fields__)
    return [TakenRow(**dict(zip(names, row, strict=True))) for row in rows]


def total(organization_id: UUID, which: Which) -> Loss:
    """All of it as one sum."""
    where, values = which.where(organization_id)
    with server_cursor() as cursor:
        row = cursor.execute(f"SELECT {_SUMS} {_FROM} WHERE {where}", values).fetchone()
    return _loss(row or ()) if row else NOTHING


def by_account(organization_id: UUID, which: Which) -> list[AccountLoss]:
    """What each account lost itself, who lost most first; at most ACCOUNTS_MAX."""
    where, values = which.where(organization_id)
    sql = f"""
    SELECT v.id, v.name, {_SUMS} {_FROM}
    JOIN tenancy_account v ON v.organization_id = a.organization_id AND v.id = a.account_id
    WHERE {where} GROUP BY v.id, v.name
    ORDER BY sum(coalesce(a.tax_reported, a.tax)) DESC, count(*) DESC, v.name LIMIT %b
    """
    with server_cursor() as cursor:
        rows = cursor.execute(sql, (*values, ACCOUNTS_MAX)).fetchall()
    return [AccountLoss(account_id=id_, account=name, loss=_loss(row)) for id_, name, *row in rows]


def by_day(organization_id: UUID, which: Which, *, time_zone: str) -> list[DayLoss]:
    """By day of the zone and step of the order, days without anything left out; at most DAYS_MAX
    days."""
    where, values = which.where(organization_id)
    sql = f"""
    SELECT (a.at AT TIME ZONE %b)::date, a.step, {_SUMS} {_FROM} WHERE {where}
    GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %b
    """
    steps = 7
    with server_cursor() as cursor:
        rows = cursor.execute(sql, (time_zone, *values, DAYS_MAX * steps)).fetchall()
    return [DayLoss(day=day, step=step, loss=_loss(row)) for day, step, *row in rows]


def tax_of_accounts(
    organization_id: UUID,
    *,
    since: datetime,
    until: datetime,
    accounts: Collection[UUID] | None = None,
) -> dict[UUID, Loss]:
    """Preemption tax by account in a period, such as a month of the organization's time zone: for
    pages about money. Each account's own, without those below it; who lost nothing is missing.

    It is work that was lost, at the price of guaranteed units: a figure beside the bill and no line
    of it, since the use that was lost was metered and charged when it happened.

    Args:
        since, until: half-open, by when units were taken.
        accounts: that lost; None: all.
    """
    which = Which(since=since, until=until, accounts=accounts)
    where, values = which.where(organization_id)
    sql = f"SELECT a.account_id, {_SUMS} {_FROM} WHERE {where} GROUP BY 1"
    with server_cursor() as cursor:
        rows = cursor.execute(sql, values).fetchall()
    return {account: _loss(row) for account, *row in rows}


def _loss(row: Collection) -> Loss:
    return Loss(**dict(zip(Loss.__dataclass_fields__, row, strict=True)))
