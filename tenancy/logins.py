"""Who a login may act as: people whom an organization knows by the same e-mail address.

An address is only worth something once it is verified: by the identity provider, or by an
operator who invites it.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import connection

from ledger.execution import Context, execute
from ledger.types import SYSTEM
from tenancy.commands.people import LinkLogin
from tenancy.models import User


def people_of(emails: Iterable[str]) -> dict[UUID, UUID]:
    """People without a login who have one of the addresses: id by organization. Needs no scope.

    Where an organization knows two people by one address, the one added first is meant.
    """
    found: dict[UUID, UUID] = {}
    with connection.cursor() as cursor:
        for email in emails:
            cursor.execute("SELECT * FROM tenancy_people_of_email(%s)", (email,))
            for organization_id, person_id in cursor.fetchall():
                found.setdefault(organization_id, person_id)
    return found


def login_of(emails: Iterable[str]) -> User | None:
    """The active login with one of these verified addresses; made for people who have none yet.

    None where no organization knows the addresses, or where they belong to several logins.
    """
    wanted = sorted({email.lower() for email in emails})
    users = list(User.objects.filter(email__in=wanted)[:2])
    if len(users) == 1:
        return users[0] if users[0].is_active else None
    if users or not people_of(wanted):
        return None
    return User.objects.create_user(wanted[0])


def let_in(user: User, emails: Iterable[str], *, now: datetime) -> int:
    """Let a login act as everybody known by its verified addresses; how many that were."""
    own = set(_organizations_of(user))
    people = {one: person for one, person in people_of(emails).items() if one not in own}
    for organization_id, person_id in people.items():
        execute(
            LinkLogin(person_id=person_id, user_id=user.pk),
            Context(organization_id=organization_id, actor=SYSTEM, now=now, reason="sign-in"),
        )
    return len(people)


def has_login(organization_id: UUID, person_id: UUID) -> bool:
    """Whether some login may act as the person already. Runs inside `scope.reading`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT user_id IS NOT NULL FROM tenancy_person WHERE organization_id = %s AND id = %s",
            (organization_id, person_id),
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def _organizations_of(user: User) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id FROM tenancy_organizations_of(%s)", (user.pk,))
        return [row[0] for row in cursor.fetchall()]
