"""Notices about what machines sign in with."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from ledger.sql import server_cursor
from notices.registry import OPERATORS, Draft, Look, Reminder, reminder
from notices.steps import AHEAD_DAYS, due_step, in_days


@reminder(
    "token.expiring",
    label="An API token expires soon",
    about="For operators: 14, 3 and 1 days before a token expires. What uses it stops then.",
)
def tokens_expiring(organization_id: UUID, look: Look) -> Iterable[Reminder]:
    """To operators, who can rotate it. A rotated token has another end, so other reminders."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT t.id, t.name, t.issued_at, t.expires_at FROM tenancy_apitoken t "
            "WHERE t.organization_id = %b AND t.revoked_at IS NULL "
            "AND t.expires_at > %b AND t.expires_at <= %b ORDER BY t.expires_at",
            (organization_id, look.now, look.now + timedelta(days=AHEAD_DAYS)),
        ).fetchall()
    for token_id, name, issued_at, expires_at in rows:
        step = due_step(expires_at, since=issued_at, now=look.now)
        if step is not None:
            yield Reminder(
                key=f"token:{token_id}:{expires_at.isoformat()}",
                step=step,
                draft=Draft(
                    to=(OPERATORS,),
                    title=f"The API token {name} expires "
                    f"{in_days(expires_at, now=look.now, zone=look.zone)}",
                    body=f"From {look.day(expires_at)} on, whatever signs in with it is refused. "
                    "Rotate it: the old secret stays good beside the new one as long as you say.",
                    link=("tokens",),
                    deadline=expires_at,
                ),
            )
