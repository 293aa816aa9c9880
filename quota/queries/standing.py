"""The arithmetic of the whole tree, for many pools at once (docs/design.md part 3).

Quotas, sizes, use and the tree are those of the instant asked about.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from ledger.errors import NotFound
from quota.domain.binding import Binding, binding
from quota.domain.promise import Promise, promise_of
from quota.domain.tree import NO_PARENT, QuotaTree, Standing, evaluate
from quota.domain.values import Pool, Quota
from quota.loading.quotas import due_among
from quota.queries import warm
from quota.queries.capacity import NOTHING, Held, held_by_account
from quota.queries.cells import Cells, Node, nodes_of, read_cells, shape_of, tree_of
from quota.queries.quotas import books_at, pools_at, source_at
from quota.queries.reserved import Reserved, reserved
from tenancy.tree_history import tree_at


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStanding:
    """An account in a pool, in whole units.

    Attributes:
        own_use: entered at the account itself, what is set aside for its jobs included; `used`
            also holds what flows up from below.
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
    """The tree and its pools as arrays: nodes x pools. Rows and columns by id. `held` says by pool
    and account in which tiers, where it was read; `reserved` what is set aside for jobs, which
    counts as used by whom it is for, as in every admission."""

    nodes: list[Node]
    row_of: dict[UUID, int]
    pools: dict[UUID, Pool]
    own_use: np.ndarray
    tree: QuotaTree
    standing: Standing
    held: dict[UUID, dict[UUID, Held]] = field(default_factory=dict)
    reserved: dict[UUID, tuple[Reserved, ...]] = field(default_factory=dict)

    @property
    def pool_ids(self) -> list[UUID]:
        """Columns."""
        return list(self.pools)

    def free(self, column: int) -> int:
        """Units of a pool that nobody holds and that are set aside for nobody."""
        pool_id = self.pool_ids[column]
        in_use = sum(self.held.get(pool_id, {}).values(), NOTHING)
        kept = sum((one.held for one in self.reserved.get(pool_id, ())), NOTHING)
        return max(0, self.pools[pool_id].usable - in_use.units - kept.units)

    def kept_for(self, row: int, column: int) -> tuple[Reserved, ...]:
        """What is set aside in a pool for jobs of one account itself."""
        account = self.nodes[row][0]
        here = self.reserved.get(self.pool_ids[column], ())
        return tuple(one for one in here if one.account_id == account)

    def aside_below(self, row: int, column: int) -> int:
        """Entitled units that are set aside in a pool for jobs of an account or of one below it."""
        parent, found = self.tree.shape.parent, 0
        for one in self.reserved.get(self.pool_ids[column], ()):
            here = self.row_of.get(one.account_id, NO_PARENT) if one.tier != "spot" else NO_PARENT
            while here not in (row, NO_PARENT):
                here = int(parent[here])
            found += one.units if here == row else 0
        return found

    def binding(self, row: int, column: int) -> Binding:
        """Whose limit decides what an account could still get by right."""
        return binding(self.tree, self.standing.used, self.standing.headroom, row, column)

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
            quota=Quota(
                guaranteed=int(tree.guaranteed[row, column]),
                borrowing_limit=_limit(tree.borrowing, tree.borrowing_bounded, row, column),
                lending_limit=_limit(tree.lending, tree.lending_bounded, row, column),
            ),
            own_use=int(self.own_use[row, column]),
            used=int(standing.used[row, column]),
            subtree=int(tree.subtree[row, column]),
            local=int(tree.local[row, column]),
            available=int(standing.available[row, column]),
            potential=max(0, int(tree.potential[row, column])),
            overshoot=int(standing.overshoot[row, column]),
            borrowed=int(standing.borrowed[row, column]),
        )


def _limit(amounts: np.ndarray, bounded: np.ndarray, row: int, column: int) -> int | None:
    return int(amounts[row, column]) if bounded[row, column] else None


def ground(
    organization_id: UUID,
    pool_ids: Iterable[UUID] | None = None,
    *,
    now: datetime,
    as_of: datetime | None = None,
    kept: bool = True,
) -> Ground:
    """Stand everybody in the pools (None: in all), in a constant number of questions.

    Args:
        kept: False inside a command: the arrays that a process keeps are neither asked nor filled.
    """
    pools = pools_at(organization_id, pool_ids, now=now, as_of=as_of)
    source = source_at(now, as_of)
    due = due_among(organization_id, pools, at=source.at, then=source.then)
    if source.then or not kept:
        nodes = tree_at(organization_id, source.at) if source.then else nodes_of(organization_id)
        cells = Cells.none({node[0]: row for row, node in enumerate(nodes)}, len(pools))
        columns = {pool_id: column for column, pool_id in enumerate(pools) if pool_id not in due}
        read_cells(
            organization_id,
            cells,
            columns,
            table=source.table,
            condition=source.condition,
            values=source.values,
        )
        tree = None
    else:
        warmed = warm.quotas(organization_id)
        nodes = warmed.nodes
        tree = None if due else warmed.tree_of(pools)
        cells = warmed.cells if tree else warmed.cells_of(pools, but=due)
    if due:
        settled = books_at(organization_id, {one: pools[one] for one in due}, now=now, as_of=as_of)
        for pool_id, book in settled.items():
            cells.fill(list(pools).index(pool_id), book)
    held = held_by_account(organization_id, pools, now=now, as_of=as_of)
    use = {
        (account, pool_id): one.guaranteed + one.borrowed
        for pool_id, holders in held.items()
        for account, one in holders.items()
        if account in cells.row_of
    }
    aside = {} if source.then else reserved(organization_id, pools, now=now)
    for one in (one for ones in aside.values() for one in ones):
        place = one.account_id, one.pool_id
        if one.tier != "spot" and one.account_id in cells.row_of:
            use[place] = use.get(place, 0) + one.units
    return replace(stand(nodes, pools, cells, use, tree=tree), held=held, reserved=aside)


def stand(
    nodes: list[Node],
    pools: dict[UUID, Pool],
    cells: Cells,
    use: dict[tuple[UUID, UUID], int],
    *,
    tree: QuotaTree | None = None,
) -> Ground:
    """The arithmetic of what was read. Pure.

    Args:
        nodes: in any order.
        use: units by (account, pool).
        tree: of these cells, where it is known already.
    """
    row_of = cells.row_of
    columns = {pool_id: column for column, pool_id in enumerate(pools)}
    own_use = np.zeros((len(nodes), len(pools)), dtype=np.int64)
    for (account, pool_id), units in use.items():
        own_use[row_of[account], columns[pool_id]] = units
    if tree is None:
        tree = tree_of(cells, shape_of(nodes, row_of))
    return Ground(
        nodes=nodes,
        row_of=row_of,
        pools=pools,
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
    pool = here.pools[pool_id]
    return PoolTree(
        pool_id=pool_id,
        pool=pool,
        promise=promise_of(pool, here.tree.guaranteed[:, 0].tolist()),
        accounts=tuple(here.at(row, 0) for row in range(len(here.nodes))),
    )


def account_in_pools(
    organization_id: UUID, account_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> list[AccountInPool]:
    """One account in every pool, by name of the pool; in none before it was opened.

    Raises:
        NotFound: no such account.
    """
    here = ground(organization_id, now=now, as_of=as_of)
    row = here.row_of.get(account_id)
    if row is None:
        if any(node[0] == account_id for node in nodes_of(organization_id)):
            return []
        raise NotFound("account_unknown", "There is no such account.", field="account")
    return [
        AccountInPool(pool_id=pool_id, pool=here.pools[pool_id], standing=here.at(row, column))
        for column, pool_id in enumerate(here.pool_ids)
    ]
