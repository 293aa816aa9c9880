"""Who is asking: bearer tokens of machines for REST, sessions of people for pages and REST."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed

from ledger.sql import first_row
from ledger.types import Actor, ActorKind
from tenancy import tokens

KEYWORD = "Bearer"
_STAMP_SECONDS = 60

# One statement, one round trip: find the organization, enter it for this statement's transaction,
# read the token through its wall.
_LOOK_UP = "SELECT * FROM tenancy_authenticate_token($1)"

LookUp = Callable[[UUID], tuple | None]


@dataclass(frozen=True, slots=True)
class Machine:
    """The `request.user` of a token: an actor of exactly one organization."""

    organization_id: UUID
    actor: Actor
    is_authenticated: bool = True
    is_anonymous: bool = False
    is_active: bool = True

    @property
    def pk(self) -> UUID:
        """For throttles and logs."""
        return self.actor.id


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer apn_live_...`; every failure is a 401 that says what to do."""

    def authenticate(self, request, *, look_up: LookUp | None = None):
        """Return (Machine, actor), or None when no bearer token was sent.

        Raises:
            AuthenticationFailed: malformed, unknown, expired or revoked.
        """
        header = get_authorization_header(request).split()
        if not header or header[0].lower() != KEYWORD.lower().encode():
            return None
        if len(header) != 2:
            raise AuthenticationFailed("Send one bearer token and nothing else.", "token_malformed")
        machine = authenticate_token(
            header[1].decode("latin-1"),
            now=datetime.now(UTC),
            look_up=look_up or _look_up,
        )
        return machine, machine.actor

    def authenticate_header(self, request) -> str:
        """The challenge of a 401."""
        return KEYWORD


def _look_up(token_id: UUID) -> tuple | None:
    """What is known of a token, whatever its state: one round trip, no transaction."""
    return first_row(_LOOK_UP, token_id.hex)


def authenticate_token(text: str, *, now: datetime, look_up: LookUp = _look_up) -> Machine:
    """The machine a token string stands for.

    Args:
        look_up: reads the row of a token's id; what comes after the columns of
            `tenancy_authenticate_token` is the look-up's own business.

    Raises:
        AuthenticationFailed: malformed, unknown, expired or revoked.
    """
    presented = tokens.parse(text)
    if presented is None:
        raise AuthenticationFailed(
            "The token is malformed or was copied incompletely.", "token_malformed"
        )
    row = look_up(presented.id)
    if row is None:
        raise AuthenticationFailed("This token is unknown.", "token_unknown")
    (organization_id, name, secret_hash, previous_hash, previous_until) = row[:5]
    scopes, pool_ids, expires_at, revoked_at, used_at = row[5:10]
    current = tokens.matches(presented.secret, secret_hash)
    previous = (
        previous_hash is not None
        and previous_until > now
        and tokens.matches(presented.secret, previous_hash)
    )
    if not (current or previous):
        raise AuthenticationFailed("This token is unknown.", "token_unknown")
    if revoked_at is not None:
        raise AuthenticationFailed("This token was revoked. Ask for a new one.", "token_revoked")
    if expires_at <= now:
        raise AuthenticationFailed(
            f"This token expired at {expires_at.isoformat()}. Rotate it.", "token_expired"
        )
    if used_at is None or now - used_at > timedelta(seconds=_STAMP_SECONDS):
        _stamp(organization_id, presented.id, now)
    actor = Actor(
        kind=ActorKind.TOKEN,
        id=presented.id,
        label=name,
        scopes=frozenset(scopes),
        pool_ids=frozenset(pool_ids) if pool_ids is not None else None,
    )
    return Machine(organization_id, actor)


def _stamp(organization_id: UUID, token_id: UUID, now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenancy_stamp_token(%s, %s, %s)", (organization_id, token_id, now))


class _TokenScheme(OpenApiAuthenticationExtension):
    target_class = "tenancy.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "apn_live_<id>_<secret>_<check>",
        }
