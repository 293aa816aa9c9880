"""What a person has read: state of the user interface, not a fact of the ledger."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from ledger import scope
from ledger.sql import server_cursor

MARKED_MAX = 500


def mark_read(
    organization_id: UUID, person_id: UUID, notice_ids: Sequence[UUID], *, now: datetime
) -> int:
    """Mark some of a person's notices read; returns how many were not. Others' ids do nothing."""
    with scope.writing(organization_id), server_cursor() as cursor:
        cursor.execute(
            "UPDATE notices_notice SET read_at = %b WHERE organization_id = %b "
            "AND person_id = %b AND id = ANY(%b) AND read_at IS NULL",
            (now, organization_id, person_id, list(notice_ids)[:MARKED_MAX]),
        )
        return cursor.rowcount


def mark_all_read(organization_id: UUID, person_id: UUID, *, up_to: UUID, now: datetime) -> int:
    """Mark everything up to a notice read: what came after the page was made stays unread."""
    with scope.writing(organization_id), server_cursor() as cursor:
        cursor.execute(
            "UPDATE notices_notice SET read_at = %b WHERE organization_id = %b "
            "AND person_id = %b AND id <= %b AND read_at IS NULL",
            (now, organization_id, person_id, up_to),
        )
        return cursor.rowcount
