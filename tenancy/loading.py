"""Loads what commands decide on, under lock. The organization row is the lock of its tree."""

from uuid import UUID

from ledger.errors import NotFound
from ledger.execution import Unit
from ledger.sql import server_cursor
from tenancy.domain.tree import AccountNode

_ACCOUNT = (
    "SELECT id, name, parent_id, ancestors, shares, archived_at IS NOT NULL FROM tenancy_account"
)


def lock_tree(unit: Unit) -> None:
    """Let one change of the organization's tree and people happen at a time."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM tenancy_organization WHERE id = %b FOR UPDATE", (unit.organization_id,)
        )


def hold_tree(unit: Unit) -> None:
    """Keep the tree as it is while something is decided on it; others may hold it, too. Comes
    before every lock of a pool (docs/design.md part 11)."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM tenancy_organization WHERE id = %b FOR SHARE", (unit.organization_id,)
        )


def account(unit: Unit, account_id: UUID, *, field: str = "account") -> AccountNode:
    """One account.

    Raises:
        NotFound: no such account in this organization.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"{_ACCOUNT} WHERE organization_id = %b AND id = %b", (unit.organization_id, account_id)
        ).fetchone()
    if row is None:
        raise NotFound(
            "account_unknown",
            "There is no such account.",
            field=field,
            facts={"account": str(account_id)},
        )
    return _node(row)


def account_name_taken(unit: Unit, name: str) -> bool:
    """Whether an account, archived ones included, has the name."""
    return _exists("tenancy_account", unit, name)


def person_name_taken(unit: Unit, name: str) -> bool:
    """Whether a person has the name."""
    return _exists("tenancy_person", unit, name)


def person_exists(unit: Unit, person_id: UUID) -> bool:
    """Whether the person is known to the organization."""
    with server_cursor() as cursor:
        return (
            cursor.execute(
                "SELECT 1 FROM tenancy_person WHERE organization_id = %b AND id = %b",
                (unit.organization_id, person_id),
            ).fetchone()
            is not None
        )


def subtree_height(unit: Unit, node: AccountNode) -> int:
    """Levels below an account; 0 for a leaf."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT max(cardinality(ancestors)) FROM tenancy_account "
            "WHERE organization_id = %b AND ancestors @> ARRAY[%b::uuid]",
            (unit.organization_id, node.id),
        ).fetchone()
    return row[0] - len(node.ancestors)


def has_open_children(unit: Unit, account_id: UUID) -> bool:
    """Whether an account has children that are not archived."""
    with server_cursor() as cursor:
        return (
            cursor.execute(
                "SELECT 1 FROM tenancy_account WHERE organization_id = %b AND parent_id = %b "
                "AND archived_at IS NULL LIMIT 1",
                (unit.organization_id, account_id),
            ).fetchone()
            is not None
        )


def _exists(table: str, unit: Unit, name: str) -> bool:
    with server_cursor() as cursor:
        return (
            cursor.execute(
                f"SELECT 1 FROM {table} WHERE organization_id = %b AND name = %b",
                (unit.organization_id, name),
            ).fetchone()
            is not None
        )


def _node(row: tuple) -> AccountNode:
    return AccountNode(
        id=row[0],
        name=row[1],
        parent_id=row[2],
        ancestors=tuple(row[3]),
        shares=row[4],
        archived=row[5],
    )


def other_operators_of_the_root(unit: Unit, person_id: UUID) -> int:
    """How many people besides this one operate the whole organization."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM tenancy_membership m JOIN tenancy_organization o "
            "ON o.id = m.organization_id AND o.root_account_id = m.account_id "
            "WHERE m.organization_id = %b AND m.role = 'operator' AND m.person_id <> %b",
            (unit.organization_id, person_id),
        ).fetchone()
    return row[0]
