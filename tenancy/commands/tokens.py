"""Issue, rotate and revoke API tokens. Secrets never enter a command: only their hashes do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from tenancy import events, guards
from tenancy.domain.roles import TOKEN_WRITE, Scope

EXPIRY_DAYS_DEFAULT = 90
EXPIRY_DAYS_MAX = 366
OVERLAP_HOURS_MAX = 24 * 14
NAME_LENGTH_MAX = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueToken:
    """A machine's identity with scopes, optional pools and an expiry (required)."""

    name: str
    secret_hash: str
    scopes: tuple[str, ...]
    pool_ids: tuple[UUID, ...] | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRef:
    """The token a command made or changed."""

    token_id: UUID
    expires_at: datetime | None = None


@handles(IssueToken, permission=TOKEN_WRITE)
def issue_token(command: IssueToken, unit: Unit) -> TokenRef:
    """Check scopes and expiry; record the token."""
    if not 1 <= len(command.name.strip()) <= NAME_LENGTH_MAX:
        raise Invalid(
            "token_name_length",
            f"A token's name has 1 to {NAME_LENGTH_MAX} characters.",
            field="name",
        )
    unknown = [scope for scope in command.scopes if scope not in set(Scope)]
    if unknown or not command.scopes:
        raise Invalid(
            "scope_unknown",
            f"Choose at least one scope of {', '.join(Scope)}.",
            field="scopes",
            facts={"unknown": unknown},
        )
    _check_expiry(command.expires_at, unit)
    if command.pool_ids is not None:
        guards.check_pools(unit, command.pool_ids, field="pool_ids")
    token_id = unit.new_id()
    unit.record(
        events.TokenIssued(
            token_id=token_id,
            name=command.name.strip(),
            secret_hash=command.secret_hash,
            scopes=tuple(sorted(set(command.scopes))),
            pool_ids=command.pool_ids,
            expires_at=command.expires_at,
        )
    )
    return TokenRef(token_id=token_id, expires_at=command.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateToken:
    """A new secret and expiry; the old secret stays good for `overlap_hours`."""

    token_id: UUID
    secret_hash: str
    overlap_hours: int
    expires_at: datetime


@handles(RotateToken, permission=TOKEN_WRITE)
def rotate_token(command: RotateToken, unit: Unit) -> TokenRef:
    """Refuse a revoked token; record the new secret."""
    if not 0 <= command.overlap_hours <= OVERLAP_HOURS_MAX:
        raise Invalid(
            "overlap_out_of_range",
            f"The old secret may stay good for 0 to {OVERLAP_HOURS_MAX} hours.",
            field="overlap_hours",
        )
    _check_expiry(command.expires_at, unit)
    if _revoked(unit, command.token_id):
        raise Refused("token_revoked", "This token is revoked. Issue a new one.", field="token")
    unit.record(
        events.TokenRotated(
            token_id=command.token_id,
            secret_hash=command.secret_hash,
            previous_until=unit.now + timedelta(hours=command.overlap_hours),
            expires_at=command.expires_at,
        )
    )
    return TokenRef(token_id=command.token_id, expires_at=command.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken:
    """End a token at once."""

    token_id: UUID


@handles(RevokeToken, permission=TOKEN_WRITE)
def revoke_token(command: RevokeToken, unit: Unit) -> TokenRef:
    """Record the revocation once."""
    if not _revoked(unit, command.token_id):
        unit.record(events.TokenRevoked(token_id=command.token_id))
    return TokenRef(token_id=command.token_id)


def _check_expiry(expires_at: datetime, unit: Unit) -> None:
    latest = unit.now + timedelta(days=EXPIRY_DAYS_MAX)
    if not unit.now < expires_at <= latest:
        raise Invalid(
            "expiry_out_of_range",
            f"A token must expire in the future, at most {EXPIRY_DAYS_MAX} days ahead.",
            field="expires_at",
            facts={"latest": latest.isoformat()},
        )


def _revoked(unit: Unit, token_id: UUID) -> bool:
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT revoked_at IS NOT NULL FROM tenancy_apitoken "
            "WHERE organization_id = %b AND id = %b FOR UPDATE",
            (unit.organization_id, token_id),
        ).fetchone()
    if row is None:
        raise NotFound("token_unknown", "There is no such token.", field="token")
    return row[0]
