"""Batches of usage as the ledger knows them, with their records. Runs inside `scope.reading`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting.staging import TIER_NAMES
from ledger.errors import NotFound
from ledger.sql import server_cursor

PAGE_MAX = 200
ROW_FIRST = -(2**31)


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """One accepted batch. `unit_seconds` is the signed sum of the rows that have an end; `digest`
    the SHA-256 that the event vouches for."""

    id: UUID
    event_id: UUID
    sources: tuple[str, ...]
    recorded_at: datetime
    rows: int
    duplicates: int
    conflicts: int
    rejected: int
    unit_seconds: Decimal
    digest: str


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A stored row. `sign` -1 takes back a superseded record's values."""

    row_no: int
    sign: int
    source: str
    key: str
    account: str
    person: str
    pool: str
    tier: str
    units: int
    start: datetime
    end: datetime | None
    compute_util: Decimal | None
    productive_util: Decimal | None
    supersedes: str | None


_FACTS = """
SELECT b.id, b.event_id, ARRAY(SELECT s.name FROM accounting_usagesource s
  WHERE s.organization_id = b.organization_id AND s.id = ANY(b.source_ids) ORDER BY s.name),
b.recorded_at, b.rows, b.duplicates, b.conflicts, b.rejected, b.unit_seconds, b.digest
FROM accounting_usagebatch b WHERE b.organization_id = %b
"""


def batch(organization_id: UUID, batch_id: UUID) -> BatchFacts:
    """One batch.

    Raises:
        NotFound: no such batch in this organization.
    """
    with server_cursor() as cursor:
        row = cursor.execute(f"{_FACTS} AND b.id = %b", (organization_id, batch_id)).fetchone()
    if row is None:
        raise NotFound("batch_unknown", "There is no such batch of usage.", field="batch")
    return BatchFacts(*row[:2], tuple(row[2]), *row[3:])


def batches(
    organization_id: UUID, *, before: tuple[datetime, UUID] | None = None, limit: int = 50
) -> list[BatchFacts]:
    """Batches, newest first; with `before` (time and id of a batch), those that are older."""
    older = "" if before is None else "AND (b.recorded_at, b.id) < (%b, %b)"
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_FACTS} {older} ORDER BY b.recorded_at DESC, b.id DESC LIMIT %b",
            (organization_id, *(before or ()), max(1, min(limit, PAGE_MAX))),
        ).fetchall()
    return [BatchFacts(*row[:2], tuple(row[2]), *row[3:]) for row in rows]


def batch_rows(
    organization_id: UUID,
    batch_id: UUID,
    *,
    under: Sequence[UUID],
    after_row: int = ROW_FIRST,
    limit: int = 50,
) -> list[BatchRow]:
    """Rows of a batch whose account lies at or below one of `under`, in their order.

    Reversals, whose numbers are negative, come first.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT r.row_no, r.sign, s.name, r.key, a.name, p.name, q.name, r.tier, r.units, "
            "r.started_at, r.ended_at, r.compute_util, r.productive_util, r.supersedes "
            "FROM accounting_usagebatch b JOIN accounting_usagerecord r "
            "  ON r.organization_id = b.organization_id AND r.batch_id = b.id "
            "JOIN accounting_usagesource s "
            "  ON s.organization_id = r.organization_id AND s.id = r.source_id "
            "JOIN tenancy_account a ON a.organization_id = r.organization_id "
            "  AND a.id = r.account_id AND a.ancestors && %b::uuid[] "
            "JOIN tenancy_person p ON p.organization_id = r.organization_id AND p.id = r.person_id "
            "JOIN quota_pool q ON q.organization_id = r.organization_id AND q.id = r.pool_id "
            "WHERE b.organization_id = %b AND b.id = %b AND r.row_no > %b "
            "ORDER BY r.row_no LIMIT %b",
            (list(under), organization_id, batch_id, after_row, max(1, min(limit, PAGE_MAX))),
        ).fetchall()
    return [BatchRow(*row[:7], TIER_NAMES[row[7]], *row[8:]) for row in rows]
