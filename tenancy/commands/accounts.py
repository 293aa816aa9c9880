"""Open, move, rename, weigh and archive accounts."""

from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Conflict, Refused
from ledger.execution import Unit, handles
from tenancy import events, guards, loading
from tenancy.domain import tree
from tenancy.domain.roles import TREE_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAccount:
    """A new account under a parent. `shares` None means `parent`."""

    parent_id: UUID
    name: str
    description: str = ""
    shares: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRef:
    """The account a command made or changed."""

    account_id: UUID


@handles(OpenAccount, permission=TREE_WRITE, on="parent_id")
def open_account(command: OpenAccount, unit: Unit) -> AccountRef:
    """Check name, parent, depth and shares; record the new account."""
    loading.lock_tree(unit)
    tree.decide_open(
        name=command.name,
        parent=loading.account(unit, command.parent_id, field="parent"),
        name_taken=loading.account_name_taken(unit, command.name),
    )
    account_id = unit.new_id()
    unit.record(
        events.AccountOpened(
            account_id=account_id,
            name=command.name,
            description=command.description,
            parent_id=command.parent_id,
            shares=tree.check_shares(command.shares),
        )
    )
    return AccountRef(account_id=account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAccount:
    """Hang an account and all below it under another parent. Needs the right on the root, since
    it changes two branches."""

    account_id: UUID
    to_parent_id: UUID


@handles(MoveAccount, permission=TREE_WRITE)
def move_account(command: MoveAccount, unit: Unit) -> AccountRef:
    """Check for cycles and depth; record the move. History stays with the account."""
    loading.lock_tree(unit)
    node = loading.account(unit, command.account_id)
    parent = loading.account(unit, command.to_parent_id, field="parent")
    if node.parent_id != parent.id:
        tree.decide_move(account=node, to_parent=parent, height=loading.subtree_height(unit, node))
        guards.check(unit, guards.TreeChange(parents={node.id: parent.id}))
        unit.record(
            events.AccountMoved(
                account_id=node.id, from_parent_id=node.parent_id, to_parent_id=parent.id
            )
        )
    return AccountRef(account_id=node.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameAccount:
    """Give an account another name or description."""

    account_id: UUID
    name: str
    description: str


@handles(RenameAccount, permission=TREE_WRITE, on="account_id")
def rename_account(command: RenameAccount, unit: Unit) -> AccountRef:
    """Check the name; record the change when there is one."""
    loading.lock_tree(unit)
    node = loading.account(unit, command.account_id)
    tree.check_name(command.name, field="name")
    if command.name != node.name and loading.account_name_taken(unit, command.name):
        raise Conflict(
            "account_name_taken", f"An account named {command.name} exists already.", field="name"
        )
    unit.record(
        events.AccountRenamed(
            account_id=node.id, name=command.name, description=command.description
        )
    )
    return AccountRef(account_id=node.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAccountShares:
    """Set an account's fair-share shares among its siblings; None means `parent`."""

    account_id: UUID
    shares: int | None


@handles(SetAccountShares, permission=TREE_WRITE, on="account_id")
def set_account_shares(command: SetAccountShares, unit: Unit) -> AccountRef:
    """Record new shares; setting what is already set records nothing."""
    loading.lock_tree(unit)
    node = loading.account(unit, command.account_id)
    if tree.check_shares(command.shares) != node.shares:
        unit.record(events.AccountSharesSet(account_id=node.id, shares=command.shares))
    return AccountRef(account_id=node.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAccount:
    """Let an account take nothing new. Its use stays in its parent's."""

    account_id: UUID


@handles(ArchiveAccount, permission=TREE_WRITE, on="account_id")
def archive_account(command: ArchiveAccount, unit: Unit) -> AccountRef:
    """Refuse the root and accounts with open children; record the archiving once."""
    loading.lock_tree(unit)
    node = loading.account(unit, command.account_id)
    if node.parent_id is None:
        raise Refused(
            "root_cannot_archive", "The root account cannot be archived.", field="account"
        )
    if loading.has_open_children(unit, node.id):
        raise Refused(
            "children_open",
            f"{node.name} still has open accounts below it. Archive or move them first.",
            field="account",
        )
    if not node.archived:
        guards.check(unit, guards.TreeChange(archived=frozenset({node.id})))
        unit.record(events.AccountArchived(account_id=node.id))
    return AccountRef(account_id=node.id)
