"""People: known names, their places under accounts, their roles, their logins."""

import unicodedata
from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Conflict, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from tenancy import events, loading
from tenancy.domain import tree
from tenancy.domain.roles import PEOPLE_WRITE, SYSTEM_ONLY, TREE_WRITE, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPerson:
    """Make somebody known to the organization under the name schedulers use."""

    name: str
    display_name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRef:
    """The person a command made or changed."""

    person_id: UUID


@handles(AddPerson, permission=PEOPLE_WRITE)
def add_person(command: AddPerson, unit: Unit) -> PersonRef:
    """Check the name; record the person."""
    loading.lock_tree(unit)
    tree.check_name(command.name, field="name")
    for field in ("display_name", "email"):
        _check_line(getattr(command, field), field=field)
    if loading.person_name_taken(unit, command.name):
        raise Conflict(
            "person_name_taken", f"A person named {command.name} exists already.", field="name"
        )
    person_id = unit.new_id()
    unit.record(
        events.PersonAdded(
            person_id=person_id,
            name=command.name,
            display_name=command.display_name,
            email=command.email,
        )
    )
    return PersonRef(person_id=person_id)


def _check_line(text: str, *, field: str) -> None:
    """These stand in the head of letters: one line, without control characters."""
    if any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in text):
        raise Invalid("name_malformed", "Give one line, without control characters.", field=field)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLogin:
    """Let a login act as a person. Done by the system when it makes or recognizes the login."""

    person_id: UUID
    user_id: int


@handles(LinkLogin, permission=SYSTEM_ONLY)
def link_login(command: LinkLogin, unit: Unit) -> PersonRef:
    """Record the link."""
    _check_person(unit, command.person_id)
    unit.record(events.PersonLoginLinked(person_id=command.person_id, user_id=command.user_id))
    return PersonRef(person_id=command.person_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAssociation:
    """Put a person under an account with fair-share shares; None means `parent`."""

    account_id: UUID
    person_id: UUID
    shares: int | None = 1


@handles(SetAssociation, permission=PEOPLE_WRITE, on="account_id")
def set_association(command: SetAssociation, unit: Unit) -> PersonRef:
    """Check both ends; record the association."""
    loading.lock_tree(unit)
    loading.account(unit, command.account_id)
    _check_person(unit, command.person_id)
    unit.record(
        events.AssociationSet(
            account_id=command.account_id,
            person_id=command.person_id,
            shares=tree.check_shares(command.shares),
        )
    )
    return PersonRef(person_id=command.person_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAssociation:
    """Take a person out of an account. What was used stays with the account."""

    account_id: UUID
    person_id: UUID


@handles(EndAssociation, permission=PEOPLE_WRITE, on="account_id")
def end_association(command: EndAssociation, unit: Unit) -> PersonRef:
    """Record the end."""
    loading.lock_tree(unit)
    loading.account(unit, command.account_id)
    _check_person(unit, command.person_id)
    unit.record(events.AssociationEnded(account_id=command.account_id, person_id=command.person_id))
    return PersonRef(person_id=command.person_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRole:
    """Give a person a role on an account and everything below it."""

    account_id: UUID
    person_id: UUID
    role: str


@handles(GrantRole, permission=TREE_WRITE, on="account_id")
def grant_role(command: GrantRole, unit: Unit) -> PersonRef:
    """Record the role; every role but `member` changes what the person may do."""
    _check_role(unit, command)
    unit.record(
        events.MembershipGranted(
            account_id=command.account_id, person_id=command.person_id, role=command.role
        )
    )
    return PersonRef(person_id=command.person_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRole:
    """Take a role on an account from a person."""

    account_id: UUID
    person_id: UUID
    role: str


@handles(RevokeRole, permission=TREE_WRITE, on="account_id")
def revoke_role(command: RevokeRole, unit: Unit) -> PersonRef:
    """Record the loss of the role. Somebody must remain who can give roles."""
    _check_role(unit, command)
    on_root = loading.account(unit, command.account_id).parent_id is None
    if (
        command.role == Role.OPERATOR
        and on_root
        and not loading.other_operators_of_the_root(unit, command.person_id)
    ):
        raise Refused(
            "last_operator",
            "This is the last operator of the organization. Make somebody else one first.",
            field="role",
        )
    unit.record(
        events.MembershipRevoked(
            account_id=command.account_id, person_id=command.person_id, role=command.role
        )
    )
    return PersonRef(person_id=command.person_id)


def _check_role(unit: Unit, command: GrantRole | RevokeRole) -> None:
    if command.role not in set(Role):
        raise Invalid(
            "role_unknown",
            f"{command.role!r} is not a role. Roles are {', '.join(Role)}.",
            field="role",
        )
    loading.lock_tree(unit)
    loading.account(unit, command.account_id)
    _check_person(unit, command.person_id)


def _check_person(unit: Unit, person_id: UUID) -> None:
    if not loading.person_exists(unit, person_id):
        raise NotFound(
            "person_unknown",
            "There is no such person in this organization.",
            field="person",
            facts={"person": str(person_id)},
        )
