"""Whom one can mention in the discussion of a request: those who may see it."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.request_state import Request
from tenancy.domain.roles import READ, granting

SHOWN_MAX: Final = 8


def mentionable(
    organization_id: UUID,
    request: Request,
    begins: str,
    *,
    now: datetime,
    reader_id: UUID | None,
    first: Collection[UUID] = (),
) -> list[tuple[str, str]]:
    """Short names and what people are called, of those who may see a request and whose short name,
    or a word of whose name, begins so. At most `SHOWN_MAX`. Runs inside `scope.reading`.

    Args:
        reader_id: who is left out: nobody notifies themselves.
        first: people who come before others: those who speak there already.
    """
    plain = begins.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.name, coalesce(nullif(p.display_name, ''), p.name) FROM tenancy_person p "
            "WHERE p.organization_id = %b AND (%b::uuid IS NULL OR p.id <> %b::uuid) "
            "AND (p.name ILIKE %b OR p.display_name ILIKE %b OR p.display_name ILIKE %b) "
            "AND (p.id = ANY(%b) OR EXISTS (SELECT 1 FROM tenancy_account a "
            "  JOIN tenancy_membership m ON m.organization_id = a.organization_id "
            "    AND m.account_id = ANY(a.ancestors) AND m.role = ANY(%b) "
            "  WHERE a.organization_id = p.organization_id AND a.id = %b AND m.person_id = p.id) "
            "OR EXISTS (SELECT 1 FROM quota_delegation d "
            "  JOIN tenancy_membership m ON m.organization_id = d.organization_id "
            "    AND m.person_id = d.person_id AND m.role IN ('approver', 'operator') "
            "  JOIN tenancy_account a ON a.organization_id = d.organization_id AND a.id = %b "
            "    AND m.account_id = ANY(a.ancestors) "
            "  WHERE d.organization_id = p.organization_id AND d.delegate_id = p.id "
            "    AND d.starts_at <= %b AND d.ends_at > %b)) "
            "ORDER BY (p.id = ANY(%b)) DESC, p.name LIMIT %b",
            (
                *(organization_id, reader_id, reader_id),
                *(f"{plain}%", f"{plain}%", f"% {plain}%"),
                *(list(request.author_ids), list(granting(READ)), request.account_id),
                *(request.account_id, now, now, list(first), SHOWN_MAX),
            ),
        ).fetchall()
    return [(row[0], row[1]) for row in rows]
