"""Tasks of notices: thin, one organization each, harmless when late, doubled or lost."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from celery import shared_task

from ledger import scope
from notices import letters, reading, retention

READ_SECONDS: Final = 30
REMIND_SECONDS: Final = 600
MAIL_SECONDS: Final = 60


@shared_task
def read_events() -> None:
    """Hand every organization's news out on its own: one that fails stops no other."""
    for organization_id in scope.organization_ids():
        read_events_of.apply_async((str(organization_id),), expires=READ_SECONDS)


@shared_task
def read_events_of(organization_id: str) -> None:
    """Make notices of what was recorded in an organization since the last time."""
    reading.read_events(UUID(organization_id), now=_now())


@shared_task
def remind() -> None:
    """Hand every organization's reminders out on their own."""
    for organization_id in scope.organization_ids():
        remind_of.apply_async((str(organization_id),), queue="deadlines", expires=REMIND_SECONDS)


@shared_task
def remind_of(organization_id: str) -> None:
    """Make the notices of what ends soon in an organization."""
    reading.remind(UUID(organization_id), now=_now())


@shared_task
def send_mails() -> None:
    """Hand every organization's letters out on their own."""
    for organization_id in scope.organization_ids():
        send_mails_of.apply_async((str(organization_id),), expires=MAIL_SECONDS)


@shared_task
def send_mails_of(organization_id: str) -> None:
    """Send an organization's letters that are due."""
    letters.send_due(UUID(organization_id), clock=_now)


@shared_task
def forget_notices() -> None:
    """Have old notices of every organization deleted."""
    for organization_id in scope.organization_ids():
        forget_notices_of.delay(str(organization_id))


@shared_task
def forget_notices_of(organization_id: str) -> None:
    """Delete one organization's old notices."""
    retention.forget_old(UUID(organization_id), now=_now())


def _now() -> datetime:
    return datetime.now(UTC)
