"""Which budgets a budget is part of, and which are parts of it. Runs in a command or a reading.

A budget is a part of the nearest one above it for the same period. The parts of a budget add up to
at most its amount wherever managers divide it; finance may plan beyond, and is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from accounting.domain import budgets
from accounting.domain.budgets import Period, Room, Span
from accounting.queries.budgets import version_for, versions
from ledger.sql import server_cursor

HOLDERS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Holder:
    """A budget of the same period that bears on another."""

    budget_id: UUID
    account_id: UUID
    account: str
    path: tuple[UUID, ...]
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Family:
    """The budget above, if any, what it leaves, and what the parts below add up to."""

    above: Holder | None
    room: Room | None
    parts: Decimal


_HOLDERS = """
SELECT b.id, b.account_id, a.name, a.ancestors
FROM tenancy_account me
JOIN tenancy_account a ON a.organization_id = me.organization_id AND a.ancestors && (me.id || (
    SELECT coalesce(array_agg(x.account_id), '{}') FROM accounting_budget x
    WHERE x.organization_id = me.organization_id AND x.account_id = ANY (me.ancestors)
        AND x.period = %(period)b AND (x.ended_on IS NULL OR x.ended_on > %(first)b)
        AND (x.ends_on IS NULL OR (x.starts_on, x.ends_on) = (%(first)b, %(end)b))))
JOIN accounting_budget b ON b.organization_id = a.organization_id AND b.account_id = a.id
WHERE me.organization_id = %(organization)b AND me.id = %(account)b
    AND b.period = %(period)b AND b.starts_on <= %(first)b
    AND (b.ended_on IS NULL OR b.ended_on > %(first)b)
    AND (b.ends_on IS NULL OR (b.starts_on, b.ends_on) = (%(first)b, %(end)b))
ORDER BY b.id LIMIT %(limit)b
"""
_PATH = "SELECT ancestors FROM tenancy_account WHERE organization_id = %b AND id = %b"


def family(
    organization_id: UUID, account_id: UUID, period: Period, span: Span, *, places: int
) -> Family:
    """The budgets that bear on one of an account for a period, itself left out.

    Args:
        span: the first period that it would be for; amounts of the others are those of it.
    """
    holders = _holders(organization_id, account_id, period, span, places)
    with server_cursor() as cursor:
        path = tuple(cursor.execute(_PATH, (organization_id, account_id)).fetchone()[0])
    by_account = {one.account_id: one for one in holders if one.account_id != account_id}
    paths = {one.account_id: one.path for one in holders} | {account_id: path}
    budgeted = [*by_account, account_id]
    above = next((by_account[one] for one in reversed(path[:-1]) if one in by_account), None)
    below = budgets.nearest_below(account_id, paths, budgeted)
    room = None
    if above is not None:
        siblings = budgets.nearest_below(above.account_id, paths, budgeted)
        room = Room(
            above.amount,
            _sum([by_account[one].amount for one in siblings if one != account_id]),
        )
    return Family(above, room, _sum([by_account[one].amount for one in below]))


def _holders(
    organization_id: UUID, account_id: UUID, period: Period, span: Span, places: int
) -> list[Holder]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            _HOLDERS,
            {
                "organization": organization_id,
                "account": account_id,
                "period": str(period),
                "first": span.first,
                "end": span.end,
                "limit": HOLDERS_MAX,
            },
        ).fetchall()
    known = versions(organization_id, [row[0] for row in rows], places=places)
    return [
        Holder(id_, account, name, tuple(path), version_for(known[id_], span).amount)
        for id_, account, name, path in rows
    ]


def _sum(amounts: Sequence[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))
