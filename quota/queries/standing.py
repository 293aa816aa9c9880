"""The arithmetic of the whole tree, for many pools at once (docs/design.md part 3).

Quotas and sizes are those of the instant asked about; the tree is today's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from ledger.errors import NotFound
from ledger.sql import server_cursor
from quota.domain.changes import QuotaBook
from quota.domain.promise import Promise
from quota.domain.tree import NO_PARENT, QuotaTree, Shape, Standing, evaluate
from quota.domain.values import Pool, Quota
from quota.in_use import units_in_use
from quota.queries.quotas import books_at

Node = tuple[UUID, str, UUID | None, int, bool]
"""Id, name, parent, depth, archived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStanding:
    """An account in a pool, in whole units.

    Attributes:
        own_use: entered at the account itself; `used` also holds what flows up from below.
        subtree: its guarantee and what those below it lend it; `local`: what nobody can borrow.
        available: what it could still get now; `potential`: what it could get with nothing used.
        overshoot: use above all the tree could ever give it; `borrowed`: use above its subtree
            that is not overshoot.
    """

    account_id: UUID
    account: str
    parent_id: UUID | None
    depth: int
    archived: bool
    quota: Quota
    own_use: int
    used: int
    subtree: int
    local: int
    available: int
    potential: int
    overshoot: int
    borrowed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTree:
    """A pool and all accounts in it, parents before their children."""

    pool_id: UUID
    pool: Pool
    promise: Promise
    accounts: tuple[AccountStanding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountInPool:
    """One account in one pool of many."""

    pool_id: UUID
    pool: Pool
    standing: AccountStanding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """The tree and its pools as arrays: nodes x pools. Rows and columns by id."""

    nodes: list[Node]
    row_of: dict[UUID, int]
    pool_ids: list[UUID]
    books: dict[UUID, QuotaBook]
    own_use: np.ndarray
    tree: QuotaTree
    standing: Standing

    def at(self, row: int, column: int) -> AccountStanding:
        """One account in one pool."""
        account, name, parent, depth, archived = self.nodes[row]
        tree, standing = self.tree, self.standing
        return AccountStanding(
            account_id=account,
            account=name,
            parent_id=parent,
            depth=depth,
            archived=archived,
            quota=self.books[self.pool_ids[column]].cell(account).quota,
            own_use=int(self.own_use[row, column]),
            used=int(standing.used[row, column]),
            subtree=int(tree.subtree[row, column]),
            local=int(tree.local[row, column]),
            available=int(standing.available[row, column]),
            potential=max(0, int(tree.potential[row, column])),
            overshoot=int(standing.overshoot[row, column]),
            borrowed=int(standing.borrowed[row, column]),
        )


def ground(
    organization_id: UUID,
    pool_ids: Iterable[UUID] | None = None,
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> Ground:
    """Stand everybody in the pools (None: in all), in a constant number of questions."""
    books = books_at(organization_id, pool_ids, now=now, as_of=as_of)
    nodes = nodes_of(organization_id)
    use = units_in_use(organization_id, books, now=now, as_of=as_of)
    return stand(nodes, books, use)


def stand(
    nodes: list[Node],
    books: dict[UUID, QuotaBook],
    use: dict[tuple[UUID, UUID], int],
) -> Ground:
    """The arrays from what was read. Pure.

    Args:
        nodes: in any order.
        use: units by (account, pool).
    """
    row_of = {node[0]: row for row, node in enumerate(nodes)}
    columns = {pool_id: column for column, pool_id in enumerate(books)}
    shape = Shape.build([row_of.get(node[2], NO_PARENT) for node in nodes])
    size = (len(nodes), len(columns))
    guaranteed = np.zeros(size, dtype=np.int64)
    own_use = np.zeros(size, dtype=np.int64)
    borrowing: list[list[int | None]] = [[None] * size[1] for _ in nodes]
    lending: list[list[int | None]] = [[None] * size[1] for _ in nodes]
    for pool_id, book in books.items():
        column = columns[pool_id]
        for account, cell in book.cells.items():
            row = row_of[account]
            guaranteed[row, column] = cell.quota.guaranteed
            borrowing[row][column] = cell.quota.borrowing_limit
            lending[row][column] = cell.quota.lending_limit
    for (account, pool_id), units in use.items():
        own_use[row_of[account], columns[pool_id]] = units
    tree = QuotaTree.build(shape, guaranteed=guaranteed, borrowing=borrowing, lending=lending)
    return Ground(
        nodes=nodes,
        row_of=row_of,
        pool_ids=list(columns),
        books=books,
        own_use=own_use,
        tree=tree,
        standing=evaluate(tree, own_use),
    )


def pool_tree(
    organization_id: UUID, pool_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> PoolTree:
    """Everybody in one pool.

    Raises:
        NotFound: no such pool, or not then.
    """
    here = ground(organization_id, (pool_id,), now=now, as_of=as_of)
    if not here.pool_ids:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")
    book = here.books[pool_id]
    return PoolTree(
        pool_id=pool_id,
        pool=book.pool,
        promise=book.promise(),
        accounts=tuple(here.at(row, 0) for row in range(len(here.nodes))),
    )


def account_in_pools(
    organization_id: UUID, account_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> list[AccountInPool]:
    """One account in every pool, by name of the pool.

    Raises:
        NotFound: no such account.
    """
    here = ground(organization_id, now=now, as_of=as_of)
    row = here.row_of.get(account_id)
    if row is None:
        raise NotFound("account_unknown", "There is no such account.", field="account")
    return [
        AccountInPool(pool_id=pool_id, pool=here.books[pool_id].pool, standing=here.at(row, column))
        for column, pool_id in enumerate(here.pool_ids)
    ]


def nodes_of(organization_id: UUID) -> list[Node]:
    """Every account, archived ones too: they may still hold units."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT id, name, parent_id, cardinality(ancestors) - 1, archived_at IS NOT NULL "
            "FROM tenancy_account WHERE organization_id = %b "
            "ORDER BY cardinality(ancestors), name",
            (organization_id,),
        ).fetchall()
