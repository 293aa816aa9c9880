"""What the tree may not do while guarantees hang on it. Registered in config/wiring.py with
`tenancy.guards`.

A move changes no promise: an account takes its own guarantee and those below it along, and their
sum is the pool's as before. What it may break is a change to come that would carve from an
account above. An archived account takes nothing new and holds nothing: it gives back what it has.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from ledger.errors import Refused
from ledger.execution import Unit
from ledger.sql import server_cursor
from quota.domain.changes import QuotaBook, Scheduled
from quota.recording import Books, open_books
from tenancy.guards import TreeChange

LISTED_MAX = 20


def guard(unit: Unit, change: TreeChange) -> None:
    """Check a change of the tree against the quotas of all pools, under their locks.

    Raises:
        Refused: `quota_held`, `carving_to_come`.
    """
    parents, names = _tree(unit.organization_id)
    moved = [account for account in change.parents if account in parents]
    if not moved and not change.archived:
        return
    books = open_books(unit, tree_is_locked=True)
    if change.archived:
        _check_archived(books, change.archived, names)
    books.parents = {**parents, **change.parents}
    if moved:
        _check_carving(books, books.parents, names)


def _check_archived(books: Books, archived: frozenset[UUID], names: Mapping[UUID, str]) -> None:
    held = [
        fact
        for pool_id, book in books.of.items()
        for fact in (
            *_held(book, archived, names),
            *_to_come(book, books.pending[pool_id], archived, names),
        )
    ]
    if not held:
        return
    said = ", ".join(
        f"{one['units']} units of {one['pool']} ({one['account']})" for one in held[:3]
    )
    raise Refused(
        "quota_held",
        f"Guarantees are held, lent or scheduled: {said}. Give them back or cancel them before "
        "archiving.",
        field="account",
        facts={"held": held[:LISTED_MAX], "count": len(held)},
    )


def _held(
    book: QuotaBook, archived: frozenset[UUID], names: Mapping[UUID, str]
) -> Iterator[dict[str, Any]]:
    """What archived accounts would keep, or get back when what they lent ends."""
    for account, cell in book.cells.items():
        units = max(cell.quota.guaranteed, cell.base.guaranteed)
        if account in archived and units:
            yield {"account": names[account], "pool": book.pool.name, "units": units}
        elif cell.temporary and cell.temporary.lender in archived:
            yield {
                "account": names[cell.temporary.lender],
                "pool": book.pool.name,
                "units": cell.quota.guaranteed - cell.base.guaranteed,
                "lent_to": names[account],
            }


def _to_come(
    book: QuotaBook,
    pending: Iterable[Scheduled],
    archived: frozenset[UUID],
    names: Mapping[UUID, str],
) -> Iterator[dict[str, Any]]:
    for coming in pending:
        if {coming.wish.account, coming.wish.lender} & archived:
            yield {
                "account": names[coming.wish.account],
                "pool": book.pool.name,
                "units": coming.wish.quota.guaranteed,
                "scheduled_for": coming.starts_at.isoformat(),
            }


def _check_carving(
    books: Books, parents: Mapping[UUID, UUID | None], names: Mapping[UUID, str]
) -> None:
    for pool_id, pending in books.pending.items():
        for coming in pending:
            lender = coming.wish.lender
            if lender is None or lender in _above(coming.wish.account, parents):
                continue
            raise Refused(
                "carving_to_come",
                f"A change to come gives {names[coming.wish.account]} units of "
                f"{books.of[pool_id].pool.name} from {names[lender]}, which would no longer be "
                "above it. Cancel that change first.",
                field="parent",
                facts={
                    "account": names[coming.wish.account],
                    "lender": names[lender],
                    "pool": books.of[pool_id].pool.name,
                    "change": str(coming.id),
                },
            )


def _above(account: UUID, parents: Mapping[UUID, UUID | None]) -> set[UUID]:
    found: set[UUID] = set()
    above = parents[account]
    while above is not None and above not in found:
        found.add(above)
        above = parents[above]
    return found


def _tree(organization_id: UUID) -> tuple[dict[UUID, UUID | None], dict[UUID, str]]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, parent_id, name FROM tenancy_account WHERE organization_id = %b",
            (organization_id,),
        ).fetchall()
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows}
