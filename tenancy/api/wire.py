"""What accounts, people and tokens look like on the wire. Shares may be `parent`."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenancy.commands.tokens import NAME_LENGTH_MAX as TOKEN_NAME_LENGTH_MAX
from tenancy.commands.tokens import OVERLAP_HOURS_MAX
from tenancy.domain.roles import Role, Scope
from tenancy.domain.tree import NAME_LENGTH_MAX, SHARES_MAX
from tenancy.queries import AccountRow, PersonRow, TokenRow

Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX)]
Shares = Annotated[int, Meta(ge=0, le=SHARES_MAX)] | Literal["parent"]
Description = Annotated[str, Meta(max_length=1_000)]
DisplayName = Annotated[str, Meta(max_length=200)]
Email = Annotated[str, Meta(max_length=254, pattern=r"^([^@\s]+@[^@\s]+)?$")]
Instant = Annotated[datetime, Meta(tz=True)]
Reason = Annotated[str, Meta(min_length=1, max_length=500)]


class Account(msgspec.Struct, kw_only=True):
    """A node of the tree. `path` are the names from the root down to it."""

    id: UUID
    name: str
    description: str
    parent: str | None
    path: list[str]
    shares: Shares
    archived_at: datetime | None


class Accounts(msgspec.Struct):
    """Accounts by name. `next` is the address of the following page."""

    accounts: list[Account]
    next: str | None


class NewAccount(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An account to open under `parent`, by name."""

    name: Name
    parent: Name
    description: Description = ""
    shares: Shares = 1


class AccountChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One change: `name` and `description` together, or `shares`, or `parent`. `reason` is kept
    with it."""

    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    shares: Shares | UnsetType = UNSET
    parent: Name | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class AccountEnd(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Why an account is archived: kept with it."""

    reason: Reason | UnsetType = UNSET


class Person(msgspec.Struct, kw_only=True):
    """Somebody under the short name schedulers use. Addresses are not told to machines."""

    id: UUID
    name: str
    display_name: str
    email: str | None


class People(msgspec.Struct):
    """People by name. `next` is the address of the following page."""

    people: list[Person]
    next: str | None


class NewPerson(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Somebody to make known."""

    name: Name
    display_name: DisplayName = ""
    email: Email = ""


class AccountPerson(msgspec.Struct, kw_only=True):
    """A person under an account, with fair-share shares there."""

    id: UUID
    name: str
    display_name: str
    email: str | None
    shares: Shares


class AccountPeople(msgspec.Struct):
    """People under one account, by name. `next` is the address of the following page."""

    people: list[AccountPerson]
    next: str | None


class AccountPersonShares(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Shares of a person under an account."""

    shares: Shares = 1


class Token(msgspec.Struct, kw_only=True):
    """A machine's identity, without its secret."""

    id: UUID
    name: str
    scopes: list[Scope]
    pool_ids: list[UUID] | None
    issued_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    previous_until: datetime | None
    used_at: datetime | None


class Tokens(msgspec.Struct):
    """Tokens, newest first."""

    tokens: list[Token]


class NewToken(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A token to issue. Without `expires_at` it lasts 90 days; without `pool_ids` it is bound to
    no pool."""

    name: Annotated[str, Meta(min_length=1, max_length=TOKEN_NAME_LENGTH_MAX)]
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=len(Scope))]
    pool_ids: Annotated[list[UUID], Meta(min_length=1, max_length=100)] | None = None
    expires_at: Instant | None = None


class TokenRotation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """For how long the old secret stays good, and when the new one ends (90 days if absent)."""

    overlap_hours: Annotated[int, Meta(ge=0, le=OVERLAP_HOURS_MAX)] = 24
    expires_at: Instant | None = None


class TokenSecret(msgspec.Struct):
    """A token with its secret, shown this once."""

    token: Token
    secret: str


class OrganizationFacts(msgspec.Struct, kw_only=True):
    """The tenant that a caller acts in."""

    id: UUID
    slug: str
    name: str
    currency: str
    time_zone: str


class RoleHeld(msgspec.Struct):
    """A role, which counts on the account and below it."""

    account: str
    role: Role


class Me(msgspec.Struct, kw_only=True):
    """Who is asking. `scopes`, `pool_ids` and `expires_at` are a machine's, `roles` a person's."""

    kind: Literal["person", "token"]
    id: UUID
    name: str
    organization: OrganizationFacts
    scopes: list[Scope] | None = None
    pool_ids: list[UUID] | None = None
    expires_at: datetime | None = None
    roles: list[RoleHeld] | None = None


def shares_in(shares: int | str) -> int | None:
    """As commands take them: None means `parent`."""
    return None if shares == "parent" else shares


def shares_out(shares: int | None) -> int | str:
    """As the wire shows them."""
    return "parent" if shares is None else shares


def account_out(row: AccountRow) -> Account:
    """An account for JSON."""
    return Account(
        id=row.id,
        name=row.name,
        description=row.description,
        parent=row.path[-2] if len(row.path) > 1 else None,
        path=list(row.path),
        shares=shares_out(row.shares),
        archived_at=row.archived_at,
    )


def person_out(row: PersonRow, *, with_email: bool) -> Person:
    """A person for JSON."""
    return Person(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        email=row.email if with_email else None,
    )


def account_person_out(row: PersonRow, *, with_email: bool) -> AccountPerson:
    """A person under an account for JSON."""
    return AccountPerson(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        email=row.email if with_email else None,
        shares=shares_out(row.shares),
    )


def token_out(row: TokenRow) -> Token:
    """A token for JSON."""
    return Token(
        id=row.id,
        name=row.name,
        scopes=[Scope(scope) for scope in row.scopes],
        pool_ids=None if row.pool_ids is None else list(row.pool_ids),
        issued_at=row.issued_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        previous_until=row.previous_until,
        used_at=row.used_at,
    )
