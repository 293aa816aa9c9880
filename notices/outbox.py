"""The outbox: which notices still go out by mail, claimed by one worker at a time.

A letter is claimed and marked `sending` in a transaction of its own before it is sent, and
concluded in another afterwards. What becomes of one that is never concluded is not known, and it
is not sent again: at most once (docs/decisions/0011-notices.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from ledger import scope
from ledger.sql import server_cursor
from notices.queries import NoticeRow

LETTER_NOTICES_MAX: Final = 50
ATTEMPTS_MAX: Final = 6
RETRY_MINUTES: Final = (1, 5, 15, 60, 240)
UNSURE_AFTER: Final = timedelta(minutes=15)

logger = structlog.get_logger("apportion.notices")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A letter to be: one person's notices that are due, oldest first."""

    person_id: UUID
    address: str
    name: str
    notices: tuple[NoticeRow, ...]


# One row decides whose letter it is; then all that is due to that person and nobody else has.
_CLAIM = """
WITH first AS (
    SELECT person_id, notice_id FROM notices_mail
    WHERE organization_id = %b AND state = 'waiting' AND due_at <= %b
    ORDER BY due_at, notice_id LIMIT 1 FOR UPDATE SKIP LOCKED
), due AS (
    SELECT m.notice_id FROM notices_mail m JOIN first f ON f.person_id = m.person_id
    WHERE m.organization_id = %b AND m.state = 'waiting' AND m.due_at <= %b
    ORDER BY m.notice_id LIMIT %b FOR UPDATE OF m SKIP LOCKED
)
UPDATE notices_mail m SET state = 'sending', claimed_at = %b, attempts = m.attempts + 1
FROM due WHERE m.organization_id = %b AND m.notice_id = due.notice_id
RETURNING m.notice_id, m.person_id
"""

_CONTENT = """
SELECT n.id, n.kind, n.title, n.body, n.link, n.deadline, n.made_at, n.read_at, p.email,
       coalesce(nullif(p.display_name, ''), p.name),
       n.read_at IS NOT NULL OR p.email = '' OR s.mail IS NOT DISTINCT FROM 'none'
       OR EXISTS (SELECT 1 FROM notices_mute x WHERE x.organization_id = n.organization_id
                  AND x.person_id = n.person_id AND x.kind = n.kind)
FROM notices_notice n
JOIN tenancy_person p ON p.organization_id = n.organization_id AND p.id = n.person_id
LEFT JOIN notices_setting s ON s.organization_id = n.organization_id
     AND s.person_id = n.person_id
WHERE n.organization_id = %b AND n.id = ANY(%b) ORDER BY n.id
"""


def claim(organization_id: UUID, *, now: datetime) -> Claim | None:
    """Take the next letter that is due, and mark it as being sent; None when there is none.

    A notice that was read meanwhile, or whose kind was muted, is dropped here.
    """
    here = organization_id
    while True:
        with scope.writing(here):
            with server_cursor() as cursor:
                taken = cursor.execute(
                    _CLAIM, (here, now, here, now, LETTER_NOTICES_MAX, now, here)
                ).fetchall()
                if not taken:
                    return None
                ids = [notice_id for notice_id, _ in taken]
                rows = cursor.execute(_CONTENT, (here, ids)).fetchall()
            wanted = [row for row in rows if not row[-1]]
            kept = {row[0] for row in wanted}
            _conclude(here, [one for one in ids if one not in kept], "dropped", now)
        if wanted:
            return Claim(
                person_id=taken[0][1],
                address=wanted[0][8],
                name=wanted[0][9],
                notices=tuple(
                    NoticeRow(
                        id=row[0],
                        kind=row[1],
                        title=row[2],
                        body=row[3],
                        link=row[4],
                        deadline=row[5],
                        made_at=row[6],
                        read_at=row[7],
                    )
                    for row in wanted
                ),
            )


def sent(organization_id: UUID, letter: Claim, *, message_id: str, now: datetime) -> None:
    """The mail server has taken the letter."""
    with scope.writing(organization_id):
        _conclude(organization_id, _ids(letter), "sent", now, message_id=message_id)


def refused(organization_id: UUID, letter: Claim, *, problem: str, now: datetime) -> None:
    """The mail server has certainly not taken it: try again later, a bounded number of times."""
    with scope.writing(organization_id), server_cursor() as cursor:
        cursor.execute(
            "UPDATE notices_mail SET problem = %b, "
            "  state = CASE WHEN attempts >= %b THEN 'failed' ELSE 'waiting' END, "
            "  due_at = %b::timestamptz + make_interval(mins => (%b::int[])[least(attempts, %b)]) "
            "WHERE organization_id = %b AND notice_id = ANY(%b) AND state = 'sending'",
            (
                *(problem[:500], ATTEMPTS_MAX, now, [*RETRY_MINUTES], len(RETRY_MINUTES)),
                *(organization_id, _ids(letter)),
            ),
        )


def unsure(organization_id: UUID, letter: Claim, *, problem: str, now: datetime) -> None:
    """The connection broke while the letter was handed over: it may have been taken."""
    with scope.writing(organization_id):
        _conclude(organization_id, _ids(letter), "unsure", now, problem=problem)


def give_up_lost(organization_id: UUID, *, now: datetime) -> int:
    """Conclude letters whose worker died over them as unsure; returns how many notices that were.

    They are not sent again. The notices themselves stand in the product, unread.
    """
    with scope.writing(organization_id), server_cursor() as cursor:
        cursor.execute(
            "UPDATE notices_mail SET state = 'unsure', problem = 'the worker stopped' "
            "WHERE organization_id = %b AND state = 'sending' AND claimed_at < %b",
            (organization_id, now - UNSURE_AFTER),
        )
        lost = cursor.rowcount
    if lost:
        logger.warning("mails_unsure", organization=str(organization_id), notices=lost)
    return lost


def _ids(letter: Claim) -> list[UUID]:
    return [notice.id for notice in letter.notices]


def _conclude(
    organization_id: UUID,
    ids: Sequence[UUID],
    state: str,
    now: datetime,
    *,
    message_id: str = "",
    problem: str = "",
) -> None:
    if not ids:
        return
    with server_cursor() as cursor:
        cursor.execute(
            "UPDATE notices_mail SET state = %b::text, message_id = %b, problem = %b, "
            "  sent_at = CASE WHEN %b::text = 'sent' THEN %b::timestamptz END "
            "WHERE organization_id = %b AND notice_id = ANY(%b) AND state = 'sending'",
            (state, message_id, problem[:500], state, now, organization_id, list(ids)),
        )
