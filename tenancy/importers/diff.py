"""What has to change for one tree to become another. Pure.

Running an import twice gives no changes the second time. Names are the identity: an account that
is called otherwise is another account. What a file does not name stays, unless asked: a dump of
one cluster must not end what another one brought. Descriptions of accounts and details of people
that exist are left as they are.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tenancy.importers.tree import AccountEntry, PersonEntry, Shares, TreePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAccount:
    """A new account, under a parent that exists or was opened before (None: the root)."""

    name: str
    parent: str | None
    shares: Shares
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAccount:
    """An account gets another parent (None: the root); its history stays with it."""

    name: str
    parent: str | None
    parent_before: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAccountShares:
    """An account's shares among its siblings."""

    name: str
    shares: Shares
    shares_before: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAccount:
    """An account that the wanted tree does not name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPerson:
    """A person not known yet."""

    name: str
    display_name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAssociation:
    """A person comes under an account."""

    account: str
    person: str
    shares: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAssociationShares:
    """A person's shares under an account."""

    account: str
    person: str
    shares: Shares
    shares_before: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAssociation:
    """A person's place that the wanted tree does not name."""

    account: str
    person: str


Change: TypeAlias = (
    OpenAccount
    | MoveAccount
    | ChangeAccountShares
    | ArchiveAccount
    | AddPerson
    | AddAssociation
    | ChangeAssociationShares
    | EndAssociation
)


def changes(
    *,
    current: TreePlan,
    wanted: TreePlan,
    archive_missing: bool = False,
    end_missing: bool = False,
) -> tuple[Change, ...]:
    """The changes in an order in which each one is possible; both trees list parents first.

    Accounts go from the top of the wanted tree down: when one is opened or moved, its parent is in
    its final place already, so no move ever closes a circle on the way, whatever swaps the two
    trees hold. Then people and their places; then, if asked, endings, the deepest accounts first.
    """
    found: list[Change] = []
    accounts = {entry.name: entry for entry in current.accounts}
    for entry in wanted.accounts:
        found += _account_changes(accounts.get(entry.name), entry)
    known_people = {entry.name for entry in current.people}
    found += [_added(entry) for entry in wanted.people if entry.name not in known_people]
    found += _association_changes(current, wanted)
    if end_missing:
        kept = {(entry.account, entry.person) for entry in wanted.associations}
        found += [
            EndAssociation(account=entry.account, person=entry.person)
            for entry in current.associations
            if (entry.account, entry.person) not in kept
        ]
    if archive_missing:
        wanted_names = {entry.name for entry in wanted.accounts}
        # Current accounts come parents first, so backwards is children first.
        found += [
            ArchiveAccount(name=entry.name)
            for entry in reversed(current.accounts)
            if entry.name not in wanted_names
        ]
    return tuple(found)


def _account_changes(before: AccountEntry | None, after: AccountEntry) -> list[Change]:
    if before is None:
        return [
            OpenAccount(
                name=after.name,
                parent=after.parent,
                shares=after.shares,
                description=after.description,
            )
        ]
    found: list[Change] = []
    if before.parent != after.parent:
        found.append(MoveAccount(name=after.name, parent=after.parent, parent_before=before.parent))
    if before.shares != after.shares:
        found.append(
            ChangeAccountShares(name=after.name, shares=after.shares, shares_before=before.shares)
        )
    return found


def _added(entry: PersonEntry) -> AddPerson:
    return AddPerson(name=entry.name, display_name=entry.display_name, email=entry.email)


def _association_changes(current: TreePlan, wanted: TreePlan) -> list[Change]:
    places = {(entry.account, entry.person): entry for entry in current.associations}
    found: list[Change] = []
    for entry in wanted.associations:
        before = places.get((entry.account, entry.person))
        if before is None:
            found.append(
                AddAssociation(account=entry.account, person=entry.person, shares=entry.shares)
            )
        elif before.shares != entry.shares:
            found.append(
                ChangeAssociationShares(
                    account=entry.account,
                    person=entry.person,
                    shares=entry.shares,
                    shares_before=before.shares,
                )
            )
    return found
