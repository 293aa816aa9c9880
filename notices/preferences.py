"""How a person wants to be told by mail, and the signed link that mutes a kind without sign-in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core import signing

from ledger import scope
from ledger.errors import Invalid, NotFound
from ledger.sql import server_cursor
from notices import registry

NOW, DAILY, NONE = "now", "daily", "none"
WAYS: Final = {
    NOW: "at once",
    DAILY: "once a day, at 8 in the morning",
    NONE: "not at all",
}
EVERYTHING: Final = "*"
"""In place of a kind: all mail. The link of a letter about several kinds."""
LINK_DAYS: Final = 400
_SALT: Final = "apportion.notices.mute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What a person has chosen. `mail` is one of WAYS."""

    mail: str
    muted: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Whose mails of which kind a link of a letter stops."""

    organization_id: UUID
    person_id: UUID
    kind: str


def preferences(organization_id: UUID, person_id: UUID) -> Preferences:
    """A person's choices. Inside `scope.reading`."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT mail, NULL FROM notices_setting WHERE organization_id = %b AND person_id = %b "
            "UNION ALL SELECT NULL, kind FROM notices_mute "
            "WHERE organization_id = %b AND person_id = %b",
            (organization_id, person_id, organization_id, person_id),
        ).fetchall()
    return Preferences(
        mail=next((mail for mail, _ in rows if mail), NOW),
        muted=frozenset(kind for _, kind in rows if kind),
    )


def choose(
    organization_id: UUID, person_id: UUID, *, mail: str, muted: frozenset[str], now: datetime
) -> None:
    """Set all of a person's choices.

    Raises:
        Invalid: no such way or kind.
    """
    if mail not in WAYS:
        raise Invalid("value_unknown", f"Mail comes {', '.join(WAYS)}.", field="mail")
    unknown = sorted(muted - registry.KINDS.keys())
    if unknown:
        raise Invalid("value_unknown", f"There is no kind {unknown[0][:50]}.", field="muted")
    with scope.writing(organization_id):
        _set_mail(organization_id, person_id, mail)
        with server_cursor() as cursor:
            cursor.execute(
                "DELETE FROM notices_mute WHERE organization_id = %b AND person_id = %b "
                "AND NOT kind = ANY(%b)",
                (organization_id, person_id, list(muted)),
            )
        _mute(organization_id, person_id, muted, now)


def mute(link: Link, *, now: datetime) -> None:
    """Stop the mails that a link names. Twice is the same as once."""
    with scope.writing(link.organization_id):
        if link.kind == EVERYTHING:
            _set_mail(link.organization_id, link.person_id, NONE)
        else:
            _mute(link.organization_id, link.person_id, frozenset({link.kind}), now)


def unmute(link: Link) -> None:
    """Take `mute` back."""
    with scope.writing(link.organization_id):
        if link.kind == EVERYTHING:
            _set_mail(link.organization_id, link.person_id, NOW)
            return
        with server_cursor() as cursor:
            cursor.execute(
                "DELETE FROM notices_mute WHERE organization_id = %b AND person_id = %b "
                "AND kind = %b",
                (link.organization_id, link.person_id, link.kind),
            )


def is_muted(link: Link) -> bool:
    """Whether a link's mails are stopped now. Inside `scope.reading`."""
    chosen = preferences(link.organization_id, link.person_id)
    return link.kind in chosen.muted or (link.kind == EVERYTHING and chosen.mail == NONE)


def sign(link: Link) -> str:
    """The part of an address that lets whoever has the letter stop mails of its kind, and no
    more."""
    return signing.dumps([link.organization_id.hex, link.person_id.hex, link.kind], salt=_SALT)


def read_link(text: str) -> Link:
    """The link behind a signed text.

    Raises:
        NotFound: not signed by us, or longer ago than LINK_DAYS.
    """
    try:
        organization, person, kind = signing.loads(text, salt=_SALT, max_age=LINK_DAYS * 86400)
        return Link(organization_id=UUID(organization), person_id=UUID(person), kind=kind)
    except (signing.BadSignature, ValueError, TypeError):
        raise NotFound(
            "link_unknown",
            "This link is incomplete or too old. Sign in to choose which mails you get.",
        ) from None


def _set_mail(organization_id: UUID, person_id: UUID, mail: str) -> None:
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO notices_setting (organization_id, person_id, mail) VALUES (%b, %b, %b) "
            "ON CONFLICT (organization_id, person_id) DO UPDATE SET mail = excluded.mail",
            (organization_id, person_id, mail),
        )


def _mute(organization_id: UUID, person_id: UUID, kinds: frozenset[str], now: datetime) -> None:
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO notices_mute (organization_id, person_id, kind, muted_at) "
            "SELECT %b, %b, kind, %b FROM unnest(%b::text[]) AS kind ON CONFLICT DO NOTHING",
            (organization_id, person_id, now, sorted(kinds)),
        )
