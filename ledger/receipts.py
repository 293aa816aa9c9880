"""How long first answers are kept. Receipts serve retries; the facts themselves are events."""

from datetime import datetime, timedelta
from uuid import UUID

from ledger import scope
from ledger.sql import server_cursor

KEPT_DAYS = 30
"""A retry later than this is a new request. Usage stays exactly-once by its own keys."""
ROUND_MAX = 10_000


def forget_old(organization_id: UUID, *, now: datetime) -> int:
    """Delete receipts older than KEPT_DAYS, ROUND_MAX a transaction; returns how many."""
    total = 0
    while True:
        with scope.writing(organization_id), server_cursor() as cursor:
            cursor.execute(
                "DELETE FROM ledger_receipt WHERE organization_id = %b AND key IN ("
                "  SELECT key FROM ledger_receipt WHERE organization_id = %b AND recorded_at < %b"
                "  ORDER BY recorded_at LIMIT %b)",
                (organization_id, organization_id, now - timedelta(days=KEPT_DAYS), ROUND_MAX),
            )
            removed = cursor.rowcount
        total += removed
        if removed < ROUND_MAX:
            return total
