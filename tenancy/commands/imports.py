"""Make the organization's tree like a wanted one, in one transaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from ledger.errors import Conflict, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from tenancy import events, guards, loading
from tenancy.domain import tree
from tenancy.domain.roles import TREE_WRITE
from tenancy.domain.tree import AccountNode
from tenancy.importers import diff
from tenancy.importers.tree import (
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    Shares,
    TreePlan,
)

CHANGES_LISTED_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTree:
    """Open, move, weigh and fill accounts until the tree is as `wanted`.

    What `wanted` does not name stays, unless `archive_missing` (accounts) or `end_missing`
    (people's places) ask otherwise. Needs the right on the root: it may touch every branch.
    """

    wanted: TreePlan
    archive_missing: bool = False
    end_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One change as a list shows it. `kind` is that of `TreeImported.counts`."""

    kind: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeImported:
    """What an import changed. `changes` are the first CHANGES_LISTED_MAX of all."""

    counts: dict[str, int]
    changes: tuple[TreeChange, ...]

    @property
    def total(self) -> int:
        """How many changes there were; 0 when the tree was as wanted already."""
        return sum(self.counts.values())


@handles(ImportTree, permission=TREE_WRITE)
def import_tree(command: ImportTree, unit: Unit) -> TreeImported:
    """Compare under the tree's lock; check every change by the tree's rules; record them all."""
    loading.lock_tree(unit)
    current = _load(unit)
    found = diff.changes(
        current=current.plan,
        wanted=command.wanted,
        archive_missing=command.archive_missing,
        end_missing=command.end_missing,
    )
    recording = _Recording(unit, current)
    for change in found:
        recording.take(change)
    recording.check_depth()
    recording.ask_guards()
    # By type, so that projectors get few long runs. Every order within a type is kept; an account
    # is opened where its parent stands now and moves with it afterwards.
    for event_type in _ORDER:
        unit.record(*recording.by_type[event_type])
    return summarized(found)


def summarized(found: Sequence[diff.Change]) -> TreeImported:
    """Changes as counts and a bounded list."""
    return TreeImported(
        counts=dict(Counter(_KINDS[type(change)] for change in found)),
        changes=tuple(_described(change) for change in found[:CHANGES_LISTED_MAX]),
    )


_ORDER = (
    events.AccountOpened,
    events.AccountMoved,
    events.AccountSharesSet,
    events.PersonAdded,
    events.AssociationSet,
    events.AssociationEnded,
    events.AccountArchived,
)
_KINDS = {
    diff.OpenAccount: "accounts opened",
    diff.MoveAccount: "accounts moved",
    diff.ChangeAccountShares: "accounts with new shares",
    diff.AddPerson: "people added",
    diff.AddAssociation: "places given",
    diff.ChangeAssociationShares: "places with new shares",
    diff.EndAssociation: "places ended",
    diff.ArchiveAccount: "accounts archived",
}


@dataclass(slots=True)
class _Tree:
    """The organization's tree by name. `plan` leaves out the root and archived accounts."""

    plan: TreePlan
    accounts: dict[str, AccountNode]
    people: dict[str, UUID]
    root: AccountNode
    nodes: dict[UUID, AccountNode] = field(default_factory=dict)

    def account(self, name: str | None) -> AccountNode:
        if name is None:
            return self.root
        if name not in self.accounts:
            raise NotFound(
                "account_unknown",
                f"There is no account {name}.",
                field="account",
                facts={"account": name},
            )
        return self.accounts[name]

    def person(self, name: str) -> UUID:
        if name not in self.people:
            raise NotFound(
                "person_unknown",
                f"There is no person {name}.",
                field="person",
                facts={"person": name},
            )
        return self.people[name]

    def put(self, node: AccountNode) -> None:
        self.accounts[node.name] = self.nodes[node.id] = node


class _Recording:
    """Turns changes into events, on a picture of the tree that follows each of them."""

    def __init__(self, unit: Unit, current: _Tree) -> None:
        self.unit = unit
        self.tree = current
        self.by_type: dict[type, list[Any]] = {event_type: [] for event_type in _ORDER}

    def take(self, change: diff.Change) -> None:
        match change:
            case diff.OpenAccount():
                self._open(change)
            case diff.MoveAccount():
                self._move(change)
            case diff.ChangeAccountShares():
                node = self.tree.account(change.name)
                shares = tree.check_shares(change.shares)
                self._add(events.AccountSharesSet(account_id=node.id, shares=shares))
            case diff.AddPerson():
                self._add_person(change)
            case diff.AddAssociation() | diff.ChangeAssociationShares():
                self._place(change.account, change.person, change.shares)
            case diff.EndAssociation():
                account_id = self.tree.account(change.account).id
                person_id = self.tree.person(change.person)
                self._add(events.AssociationEnded(account_id=account_id, person_id=person_id))
            case diff.ArchiveAccount():
                node = self.tree.account(change.name)
                self.tree.put(replace(node, archived=True))
                self._add(events.AccountArchived(account_id=node.id))

    def check_depth(self) -> None:
        """The depth that counts is that of the tree in the end: on the way, an account may hang
        deeper for a moment, with children that leave it later."""
        depths = {self.tree.root.id: 0}
        for start in self.tree.nodes:
            path = []
            node_id = start
            while node_id not in depths:
                path.append(node_id)
                node_id = self.tree.nodes[node_id].parent_id
            for node_id in reversed(path):
                node = self.tree.nodes[node_id]
                depths[node_id] = depths[node.parent_id] + 1
                if depths[node_id] > tree.DEPTH_MAX:
                    raise Refused(
                        "too_deep",
                        f"Account {node.name} would be more than {tree.DEPTH_MAX} levels deep.",
                        field="parent",
                        facts={"account": node.name, "depth_max": tree.DEPTH_MAX},
                    )

    def ask_guards(self) -> None:
        """Layers above judge the tree in the end, too."""
        moved = [*self.by_type[events.AccountOpened], *self.by_type[events.AccountMoved]]
        archived = self.by_type[events.AccountArchived]
        if moved or archived:
            change = guards.TreeChange(
                parents={
                    event.account_id: self.tree.nodes[event.account_id].parent_id for event in moved
                },
                archived=frozenset(event.account_id for event in archived),
            )
            guards.check(self.unit, change)

    def _add(self, event: events.Event) -> None:
        self.by_type[type(event)].append(event)

    def _open(self, change: diff.OpenAccount) -> None:
        same_name = self.tree.accounts.get(change.name)
        if same_name is not None and same_name.archived:
            raise Conflict(
                "account_archived",
                f"Account {change.name} is archived and keeps its name. Rename it, or leave it "
                "out of the import.",
                field="account",
                facts={"account": change.name},
            )
        parent = self.tree.account(change.parent)
        tree.decide_open(
            name=change.name, parent=replace(parent, ancestors=()), name_taken=bool(same_name)
        )
        node = AccountNode(
            id=self.unit.new_id(),
            name=change.name,
            parent_id=parent.id,
            ancestors=(),
            shares=tree.check_shares(change.shares),
            archived=False,
        )
        self.tree.put(node)
        self._add(
            events.AccountOpened(
                account_id=node.id,
                name=node.name,
                description=change.description,
                parent_id=parent.id,
                shares=node.shares,
            )
        )

    def _move(self, change: diff.MoveAccount) -> None:
        node, parent = self.tree.account(change.name), self.tree.account(change.parent)
        path = self._path(parent)
        tree.decide_move(account=node, to_parent=replace(parent, ancestors=path), height=0)
        self.tree.put(replace(node, parent_id=parent.id))
        self._add(
            events.AccountMoved(
                account_id=node.id, from_parent_id=node.parent_id, to_parent_id=parent.id
            )
        )

    def _path(self, node: AccountNode) -> tuple[UUID, ...]:
        """From an account up to the root, as things stand after the changes so far."""
        path = [node.id]
        while node.parent_id is not None:
            node = self.tree.nodes[node.parent_id]
            path.append(node.id)
        return tuple(path)

    def _add_person(self, change: diff.AddPerson) -> None:
        tree.check_name(change.name, field="person")
        person_id = self.unit.new_id()
        self.tree.people[change.name] = person_id
        self._add(
            events.PersonAdded(
                person_id=person_id,
                name=change.name,
                display_name=change.display_name,
                email=change.email,
            )
        )

    def _place(self, account: str, person: str, shares: Shares) -> None:
        self._add(
            events.AssociationSet(
                account_id=self.tree.account(account).id,
                person_id=self.tree.person(person),
                shares=tree.check_shares(shares),
            )
        )


def _load(unit: Unit) -> _Tree:
    """The whole tree in three queries. Archived accounts keep their names but are in no plan."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name, parent_id, shares, archived_at IS NOT NULL FROM tenancy_account "
            "WHERE organization_id = %b ORDER BY cardinality(ancestors), name",
            (unit.organization_id,),
        ).fetchall()
        people = cursor.execute(
            "SELECT name, id FROM tenancy_person WHERE organization_id = %b",
            (unit.organization_id,),
        ).fetchall()
        # No joins: right after a large import the planner knows nothing of the tables' sizes.
        places = cursor.execute(
            "SELECT account_id, person_id, shares FROM tenancy_association "
            "WHERE organization_id = %b",
            (unit.organization_id,),
        ).fetchall()
    nodes = [
        AccountNode(
            id=row[0], name=row[1], parent_id=row[2], ancestors=(), shares=row[3], archived=row[4]
        )
        for row in rows
    ]
    plan = TreePlan(
        accounts=tuple(_entries(nodes)),
        people=tuple(PersonEntry(name=name) for name, _ in people),
        associations=tuple(_places(nodes, people, places)),
    )
    return _Tree(
        plan=plan,
        accounts={node.name: node for node in nodes},
        people=dict(people),
        root=nodes[0],
        nodes={node.id: node for node in nodes},
    )


def _entries(nodes: list[AccountNode]) -> Iterable[AccountEntry]:
    """Open accounts as a file would name them; the root is not named."""
    names = {node.id: node.name if node.parent_id else None for node in nodes}
    for node in nodes:
        if node.parent_id is not None and not node.archived:
            yield AccountEntry(name=node.name, parent=names[node.parent_id], shares=node.shares)


def _places(
    nodes: list[AccountNode], people: list[tuple[str, UUID]], rows: list[tuple]
) -> Iterable[AssociationEntry]:
    """People's places in open accounts; a file cannot name a place at the root."""
    accounts = {node.id: node.name for node in nodes if node.parent_id and not node.archived}
    names = {person_id: name for name, person_id in people}
    for account_id, person_id, shares in rows:
        if account_id in accounts:
            yield AssociationEntry(
                account=accounts[account_id], person=names[person_id], shares=shares
            )


def _described(change: diff.Change) -> TreeChange:
    match change:
        case diff.OpenAccount():
            name = change.name
            detail = f"under {change.parent or 'the root'}, shares {_shares(change.shares)}"
        case diff.MoveAccount():
            name = change.name
            detail = f"{change.parent_before or 'the root'} -> {change.parent or 'the root'}"
        case diff.ChangeAccountShares():
            name = change.name
            detail = f"{_shares(change.shares_before)} -> {_shares(change.shares)}"
        case diff.AddPerson():
            name, detail = change.name, change.display_name
        case diff.AddAssociation():
            name, detail = f"{change.account}/{change.person}", f"shares {_shares(change.shares)}"
        case diff.ChangeAssociationShares():
            name = f"{change.account}/{change.person}"
            detail = f"{_shares(change.shares_before)} -> {_shares(change.shares)}"
        case diff.EndAssociation():
            name, detail = f"{change.account}/{change.person}", ""
        case _:
            name, detail = change.name, ""
    return TreeChange(kind=_KINDS[type(change)], name=name, detail=detail)


def _shares(shares: Shares) -> str:
    return "parent" if shares is None else str(shares)
