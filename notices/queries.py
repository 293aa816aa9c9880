"""Reads of one person's notices, bounded. Run inside `scope.reading`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.errors import NotFound
from ledger.sql import server_cursor

PAGE_MAX = 200
UNREAD_SHOWN_MAX = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """A notice as a list shows it. `link` is a path on this site."""

    id: UUID
    kind: str
    title: str
    body: str
    link: str
    deadline: datetime | None
    made_at: datetime
    read_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticePage:
    """Notices, newest first. `next_before` continues; None at the end."""

    rows: tuple[NoticeRow, ...]
    next_before: UUID | None


_COLUMNS = "id, kind, title, body, link, deadline, made_at, read_at"


def unread(organization_id: UUID, person_id: UUID | None) -> int:
    """How many notices a person has not read; at most one more than UNREAD_SHOWN_MAX, so that it
    costs the same on every page, however many there are."""
    if person_id is None:
        return 0
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM (SELECT FROM notices_notice WHERE organization_id = %b "
            "AND person_id = %b AND read_at IS NULL LIMIT %b) AS waiting",
            (organization_id, person_id, UNREAD_SHOWN_MAX + 1),
        ).fetchone()
    return row[0]


def notices(
    organization_id: UUID,
    person_id: UUID,
    *,
    kinds: Sequence[str] = (),
    only_unread: bool = False,
    before: UUID | None = None,
    limit: int = 50,
) -> NoticePage:
    """A person's notices, newest first.

    Args:
        kinds: only these; none is all.
        before: older than this notice.
    """
    size = min(limit, PAGE_MAX)
    with server_cursor() as cursor:
        found = cursor.execute(
            f"SELECT {_COLUMNS} FROM notices_notice WHERE organization_id = %b AND person_id = %b "
            "AND (%b::uuid IS NULL OR id < %b) AND (cardinality(%b::text[]) = 0 OR kind = ANY(%b)) "
            "AND (NOT %b OR read_at IS NULL) ORDER BY id DESC LIMIT %b",
            (
                *(organization_id, person_id, before, before),
                *([*kinds], [*kinds], only_unread, size + 1),
            ),
        ).fetchall()
    rows = tuple(_row(row) for row in found[:size])
    return NoticePage(rows=rows, next_before=rows[-1].id if len(found) > size else None)


def notice(organization_id: UUID, person_id: UUID, notice_id: UUID) -> NoticeRow:
    """One notice of a person.

    Raises:
        NotFound: no such notice, or another person's.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_COLUMNS} FROM notices_notice "
            "WHERE organization_id = %b AND person_id = %b AND id = %b",
            (organization_id, person_id, notice_id),
        ).fetchone()
    if row is None:
        raise NotFound("notice_unknown", "There is no such notice.", field="notice")
    return _row(row)


def _row(row: tuple) -> NoticeRow:
    return NoticeRow(
        **dict(zip(_COLUMNS.split(", "), row, strict=True)),
    )
