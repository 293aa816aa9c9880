"""How long notices are kept. What they tell of stays in the ledger."""

from datetime import datetime, timedelta
from uuid import UUID

from ledger import scope
from ledger.sql import server_cursor

KEPT_DAYS = 180
ROUND_MAX = 5_000


def forget_old(organization_id: UUID, *, now: datetime) -> int:
    """Delete notices older than KEPT_DAYS with their mails, ROUND_MAX a transaction; returns how
    many.

    A reminder that is deleted is not made again: what it warned of is long over.
    """
    total = 0
    while True:
        with scope.writing(organization_id), server_cursor() as cursor:
            cursor.execute(
                "WITH old AS ("
                "  SELECT id FROM notices_notice WHERE organization_id = %b AND made_at < %b "
                "  ORDER BY made_at LIMIT %b), "
                "mails AS (DELETE FROM notices_mail WHERE organization_id = %b "
                "  AND notice_id IN (SELECT id FROM old)) "
                "DELETE FROM notices_notice WHERE organization_id = %b "
                "AND id IN (SELECT id FROM old)",
                (
                    *(organization_id, now - timedelta(days=KEPT_DAYS), ROUND_MAX),
                    *(organization_id, organization_id),
                ),
            )
            removed = cursor.rowcount
        total += removed
        if removed < ROUND_MAX:
            return total
