"""Events of organizations, accounts, people and tokens. Pure; names and versions are fixed."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@event("organization.created")
@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationCreated(Event):
    """A tenant exists. Currency and billing time zone are fixed from here on."""

    organization_id: UUID
    slug: str
    name: str
    currency: str
    time_zone: str
    root_account_id: UUID

    @property
    def stream(self) -> str:
        return f"organization:{self.organization_id}"


class _AccountEvent(Event):
    __slots__ = ()

    @property
    def stream(self) -> str:
        return f"account:{self.account_id}"


@event("account.opened")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOpened(_AccountEvent):
    """A node was added to the tree. `shares` null means `parent`."""

    account_id: UUID
    name: str
    description: str
    parent_id: UUID | None
    shares: int | None


@event("account.moved")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountMoved(_AccountEvent):
    """The account and all below it hang under another parent from now on."""

    account_id: UUID
    from_parent_id: UUID
    to_parent_id: UUID


@event("account.renamed")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRenamed(_AccountEvent):
    """New name or description; the identity and the history stay."""

    account_id: UUID
    name: str
    description: str


@event("account.shares_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSharesSet(_AccountEvent):
    """New fair-share shares among the account's siblings; null means `parent`."""

    account_id: UUID
    shares: int | None


@event("account.archived")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountArchived(_AccountEvent):
    """The account takes nothing new; its use stays in its parent's."""

    account_id: UUID


class _PersonEvent(Event):
    __slots__ = ()

    @property
    def stream(self) -> str:
        return f"person:{self.person_id}"


@event("person.added")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAdded(_PersonEvent):
    """Somebody is known to the organization under a short name."""

    person_id: UUID
    name: str
    display_name: str
    email: str


@event("person.changed")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChanged(_PersonEvent):
    """New display name or e-mail address."""

    person_id: UUID
    display_name: str
    email: str


@event("person.login_linked")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLoginLinked(_PersonEvent):
    """A login may act as this person."""

    person_id: UUID
    user_id: int


class _AssociationEvent(Event):
    __slots__ = ()

    @property
    def stream(self) -> str:
        return f"association:{self.account_id}:{self.person_id}"


@event("association.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationSet(_AssociationEvent):
    """The person works under the account with these shares; null means `parent`."""

    account_id: UUID
    person_id: UUID
    shares: int | None


@event("association.ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationEnded(_AssociationEvent):
    """The person no longer works under the account; what was used stays with the account."""

    account_id: UUID
    person_id: UUID


class _MembershipEvent(Event):
    __slots__ = ()

    @property
    def stream(self) -> str:
        return f"membership:{self.account_id}:{self.person_id}"


@event("membership.granted")
@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipGranted(_MembershipEvent):
    """The person holds the role on the account and everything below it."""

    account_id: UUID
    person_id: UUID
    role: str


@event("membership.revoked")
@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipRevoked(_MembershipEvent):
    """The person no longer holds the role on the account."""

    account_id: UUID
    person_id: UUID
    role: str


class _TokenEvent(Event):
    __slots__ = ()

    @property
    def stream(self) -> str:
        return f"token:{self.token_id}"


@event("token.issued")
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIssued(_TokenEvent):
    """A machine's identity. The secret itself was shown once; here is its SHA-256 in hex."""

    token_id: UUID
    name: str
    secret_hash: str
    scopes: tuple[str, ...]
    pool_ids: tuple[UUID, ...] | None
    expires_at: datetime


@event("token.rotated")
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRotated(_TokenEvent):
    """A new secret; the previous one is good until `previous_until`."""

    token_id: UUID
    secret_hash: str
    previous_until: datetime
    expires_at: datetime


@event("token.revoked")
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked(_TokenEvent):
    """The token is good for nothing from now on."""

    token_id: UUID
