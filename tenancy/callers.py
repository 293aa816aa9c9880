"""Who is calling, for pages and REST alike: a machine by its token, or a person signed in."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated

from ledger.errors import Denied
from ledger.types import Actor, ActorKind
from tenancy import queries
from tenancy.authentication import LookUp, Machine, TokenAuthentication
from tenancy.queries import OrganizationChoice

SESSION_KEY = "organization_id"
"""Where a session keeps the organization its person chose, as text."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An actor within exactly one organization.

    `choices` are the organizations a person may switch to; empty for a machine.
    """

    organization_id: UUID
    actor: Actor
    choices: tuple[OrganizationChoice, ...] = ()


def caller(request: HttpRequest) -> Caller:
    """The caller of a request that is authenticated already.

    A person acts in the organization their session names, or else in the first by name: a choice
    they have lost meanwhile does not lock them out.

    Raises:
        Denied: the login belongs to no organization.
    """
    user = request.user
    if isinstance(user, Machine):
        return Caller(user.organization_id, user.actor)
    choices = queries.organizations_of(user.pk)
    if not choices:
        raise Denied(
            "organization_missing",
            "This login belongs to no organization. Ask an operator to link it to a person.",
        )
    session = getattr(request, "session", None)
    wanted = session.get(SESSION_KEY) if session is not None else None
    chosen = next((c for c in choices if str(c.organization_id) == wanted), choices[0])
    actor = Actor(kind=ActorKind.PERSON, id=chosen.person_id, label=chosen.person_name)
    return Caller(chosen.organization_id, actor, tuple(choices))


def authenticate(request: HttpRequest, *, look_up: LookUp | None = None) -> None:
    """Make sure that `request.user` is a machine or a person signed in.

    A bearer token decides alone: the session is then not even loaded, and no CSRF check applies.
    A session needs the CSRF token on every method that may change something.

    Args:
        look_up: reads a token's row, if the operation reads more in the same round trip.

    Raises:
        NotAuthenticated: neither token nor session.
        AuthenticationFailed: the token is malformed, unknown, expired or revoked.
        PermissionDenied: the CSRF token is missing or wrong.
    """
    if "HTTP_AUTHORIZATION" in request.META:
        found = TokenAuthentication().authenticate(request, look_up=look_up)
        if found is not None:
            request.user = found[0]
            return
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not user.is_active:
        raise NotAuthenticated
    SessionAuthentication().enforce_csrf(request)
