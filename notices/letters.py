"""From claimed notices to letters, and out through the mail server."""

import smtplib
from collections.abc import Callable
from datetime import datetime
from email.utils import formataddr
from urllib.parse import urljoin, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.urls import reverse

from ledger import scope
from notices import outbox, preferences, registry
from notices.outbox import Claim
from tenancy import queries as tenancy
from tenancy.queries import OrganizationFacts

LETTERS_MAX = 200
"""Letters of one task's run; the next run goes on."""

# The letter was certainly not taken: it could not even be written (an address that is none), or
# the server has answered, and its answer was no.
_REFUSALS = (
    ValueError,
    smtplib.SMTPResponseException,
    smtplib.SMTPRecipientsRefused,
    smtplib.SMTPNotSupportedError,
)
logger = structlog.get_logger("apportion.notices")


def send_due(organization_id: UUID, *, clock: Callable[[], datetime]) -> int:
    """Send an organization's letters that are due; returns how many were.

    Two workers share the work. A task that runs again finds nothing left of what it has sent.
    """
    outbox.give_up_lost(organization_id, now=clock())
    with scope.reading(organization_id):
        facts = tenancy.organization(organization_id)
    count = 0
    connection = None
    try:
        while count < LETTERS_MAX:
            letter = outbox.claim(organization_id, now=clock())
            if letter is None:
                break
            if connection is None:
                connection = get_connection()
            if not _send(facts, letter, connection, clock):
                break
            count += 1
    finally:
        if connection is not None:
            _close(connection)
    return count


def compose(facts: OrganizationFacts, letter: Claim) -> EmailMessage:
    """A letter about one notice, or about several that are due at the same time. The Message-ID
    follows from the first notice, so that a mail store recognises a letter it has."""
    zone = ZoneInfo(facts.time_zone)
    kinds = {notice.kind for notice in letter.notices}
    single = letter.notices[0] if len(letter.notices) == 1 else None
    stop = preferences.Link(
        organization_id=facts.id,
        person_id=letter.person_id,
        kind=kinds.pop() if len(kinds) == 1 else preferences.EVERYTHING,
    )
    stop_address = address(reverse("notice_mute", args=[preferences.sign(stop)]))
    text = render_to_string(
        "notices/letter.txt",
        {
            "name": letter.name,
            "organization": facts.name,
            "notices": [
                (notice, address(notice.link), _deadline(notice.deadline, zone))
                for notice in letter.notices
            ],
            "single": single,
            "kind": None if stop.kind == preferences.EVERYTHING else registry.label_of(stop.kind),
            "stop": stop_address,
            "settings": address(reverse("notice_settings")),
            "list": address(reverse("notices")),
        },
    )
    subject = single.title if single else f"{len(letter.notices)} notices"
    return EmailMessage(
        subject=" ".join(f"{subject} ({facts.name})".split()),
        body=text,
        to=[formataddr((" ".join(letter.name.split()), letter.address))],
        headers={
            "Message-ID": message_id(letter),
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
            # RFC 8058: the reader's mail program offers to stop these, by one POST.
            "List-Unsubscribe": f"<{stop_address}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


def message_id(letter: Claim) -> str:
    """The same for the same letter, whoever sends it and however often."""
    return f"<notice-{letter.notices[0].id}@{urlsplit(settings.PUBLIC_URL).hostname}>"


def address(path: str) -> str:
    """A path of this site as people outside a browser need it."""
    return urljoin(settings.PUBLIC_URL, path)


def _send(
    facts: OrganizationFacts, letter: Claim, connection, clock: Callable[[], datetime]
) -> bool:
    """Send a claimed letter; False when the mail server cannot be used at present."""
    try:
        connection.open()
    except OSError as error:  # smtplib's errors are among them: nothing was handed over yet
        outbox.refused(facts.id, letter, problem=str(error), now=clock())
        logger.warning("mail_server_unreachable", error=str(error))
        return False
    message = compose(facts, letter)
    try:
        connection.send_messages([message])
    except _REFUSALS as error:
        outbox.refused(facts.id, letter, problem=str(error), now=clock())
        logger.warning("mail_refused", person=str(letter.person_id), error=str(error))
        return True
    except OSError as error:
        outbox.unsure(facts.id, letter, problem=str(error), now=clock())
        logger.warning("mail_unsure", person=str(letter.person_id), error=str(error))
        return False
    outbox.sent(facts.id, letter, message_id=message.extra_headers["Message-ID"], now=clock())
    return True


def _close(connection) -> None:
    try:
        connection.close()
    except OSError:
        pass  # everything sent is concluded


def _deadline(at: datetime | None, zone: ZoneInfo) -> str:
    """`Sunday 13 December 2026, 18:00 (Europe/Berlin)`; nothing without."""
    if at is None:
        return ""
    return f"{at.astimezone(zone):%A %-d %B %Y, %H:%M} ({zone.key})"
