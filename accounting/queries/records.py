"""The single records behind a number of use. Runs inside `scope.reading`."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting.queries.usage import UsageFilter
from accounting.staging import TIER_NAMES, TIERS
from ledger.sql import server_cursor

PAGE_MAX = 200

Place = tuple[datetime, str, str]
"""Where a page ended: start, source and key of its last record."""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record that counts, with the batch it came in and the event that vouches for it.

    `unit_seconds` is what it used inside the period that was asked for, up to now.
    """

    source: str
    key: str
    account: str
    person: str
    pool: str
    tier: str
    units: int
    start: datetime
    end: datetime | None
    batch_id: UUID
    event_id: UUID
    unit_seconds: Decimal


# A record that another one superseded counts nowhere, so it is not listed either.
_RECORDS = """
SELECT s.name, r.key, a.name, p.name, q.name, r.tier, r.units, r.started_at, r.ended_at,
    r.batch_id, b.event_id,
    r.units * extract(epoch FROM
        least(coalesce(r.ended_at, %b), %b, %b) - greatest(r.started_at, %b)) AS unit_seconds
FROM accounting_usagerecord r
JOIN accounting_usagekey k ON k.organization_id = r.organization_id AND k.source_id = r.source_id
    AND k.key = r.key AND k.superseded_by IS NULL
JOIN accounting_usagesource s ON s.organization_id = r.organization_id AND s.id = r.source_id
JOIN accounting_usagebatch b ON b.organization_id = r.organization_id AND b.id = r.batch_id
JOIN tenancy_account a ON a.organization_id = r.organization_id AND a.id = r.account_id
JOIN tenancy_person p ON p.organization_id = r.organization_id AND p.id = r.person_id
JOIN quota_pool q ON q.organization_id = r.organization_id AND q.id = r.pool_id
WHERE r.organization_id = %b AND r.sign = 1
    AND (NOT %b OR r.account_id = %b) AND r.account_id IN (SELECT t.id FROM tenancy_account t
        WHERE t.organization_id = %b AND t.ancestors @> ARRAY[%b::uuid])
    AND r.started_at < least(%b::timestamptz, %b::timestamptz)
    AND (r.ended_at IS NULL OR r.ended_at > %b)
"""


def records(
    organization_id: UUID,
    chosen: UsageFilter,
    *,
    since: datetime,
    until: datetime,
    now: datetime,
    own_only: bool = False,
    after: Place | None = None,
    limit: int = 50,
) -> list[RecordRow]:
    """Records of a subtree that used anything from `since` to `until`, the latest start first.

    Args:
        chosen: account, person, pool and tier; its days as instants are `since` and `until`.
        own_only: of the account itself, not of what is below it.
        after: continue behind this record.
        limit: at most PAGE_MAX.
    """
    sql, values = _RECORDS, [now, until, now, since, organization_id]
    values += [own_only, chosen.account_id, organization_id, chosen.account_id, until, now, since]
    for column, value in (
        ("person_id", chosen.person_id),
        ("pool_id", chosen.pool_id),
        ("tier", None if chosen.tier is None else TIERS[chosen.tier]),
    ):
        if value is not None:
            sql += f" AND r.{column} = %b"
            values.append(value)
    if after is not None:
        sql += " AND (r.started_at, s.name, r.key) < (%b, %b, %b)"
        values += after
    sql += " ORDER BY r.started_at DESC, s.name DESC, r.key DESC LIMIT %b"
    with server_cursor() as cursor:
        rows = cursor.execute(sql, (*values, max(1, min(limit, PAGE_MAX)))).fetchall()
    return [RecordRow(*row[:5], TIER_NAMES[row[5]], *row[6:]) for row in rows]
