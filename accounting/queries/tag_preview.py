"""What a tagging would change, before it is saved. Runs inside `scope.reading`."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting import statement_month, statement_rating
from accounting.domain import lines, money, statements
from accounting.domain.tagging import Tagging
from accounting.queries.evidence_sql import RECENT, RECENT_DAYS
from accounting.queries.taggings import TaggingRow
from accounting.statement_tags import CHANGED, fits
from ledger.sql import server_cursor


@dataclass(frozen=True, slots=True)
class TagPreview:
    """What a tagging fits, and what of that it changes.

    Attributes:
        records: that fit, corrected ones apart.
        unit_seconds: of rated use that is told apart otherwise.
        amount: what that is charged, which labels alone do not change.
    """

    records: int
    unit_seconds: Decimal
    amount: Decimal


_COUNT = f"""
SELECT coalesce(sum(u.sign), 0) FROM (
    SELECT * FROM accounting_usagerecord u
    WHERE u.organization_id = %(tags_of)b AND u.account_id = ANY (%(accounts)b::uuid[])
        AND u.started_at >= %(recent)b AND u.started_at < %(end)b
        AND (u.ended_at > %(start)b OR u.ended_at IS NULL)
    UNION ALL
    SELECT * FROM accounting_usagerecord u
    WHERE u.organization_id = %(tags_of)b AND u.account_id = ANY (%(accounts)b::uuid[])
        AND u.ended_at - u.started_at > {RECENT} AND u.ended_at > %(start)b
        AND u.started_at < %(recent)b
) u WHERE {{where}}
"""


def preview(organization_id: UUID, row: TaggingRow, *, now: datetime) -> TagPreview:
    """A tagging that is not saved, tried on the months that its days are in."""
    unit_seconds, amount = Decimal(0), Decimal(0)
    accounts: set[UUID] = set()
    one, month = None, row.since.replace(day=1)
    while month <= row.until:
        here = statement_rating.ground(organization_id, month, now=now)
        one = row.in_zone(here.zone)
        below = statement_month.accounts_under(here, row.account_id)
        accounts |= {*below}
        charged = [*below, *filter(None, [row.to_account_id])]
        tried = replace(here, taggings=(*here.taggings, one))
        use = statement_rating.month_use(tried, accounts=charged, details=(CHANGED,))
        for line in use.rating.lines:
            weights = use.parts[line.group]
            if weights.get((True,)):
                shares = lines.parts(line.amount, weights, places=here.places)
                unit_seconds = money.EXACT.add(unit_seconds, weights[True,])
                amount = money.EXACT.add(amount, shares[True,])
        month = statements.month_after(month)
    records = 0 if one is None else _records(organization_id, one, accounts)
    return TagPreview(records, unit_seconds, amount)


def _records(organization_id: UUID, one: Tagging, accounts: Collection[UUID]) -> int:
    where, values = fits(one, "tag")
    places = {"tags_of": organization_id, "accounts": list(accounts), "start": one.start}
    places |= {"end": one.end, "recent": one.start - RECENT_DAYS}
    with server_cursor() as cursor:
        row = cursor.execute(_COUNT.format(where=where), {**values, **places}).fetchone()
    return int(row[0])
