"""Opportunistic allocations rise when guarantees free up. Pure and deterministic.

The classification is recomputed whenever something changed: in the order in which they were
admitted, each opportunistic allocation takes the best tier that holds all of it now. A borrowed one
becomes guaranteed where the account's own guarantee has room (the tree's use stays as it is); a
spot one becomes guaranteed or borrowed as if it asked anew. One that does not fit leaves the room
to those after it. Whose job asked for exactly one tier rises back to it after an exposure, and no
further. Nothing is ever lowered here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quota.domain.batch import PoolState
from quota.domain.book import Accounts, Book
from quota.domain.column import PoolTree
from quota.domain.lifecycle import LIVE, Allocation
from quota.domain.values import TIERS, AccountKey, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """An allocation and the tier it rises to."""

    allocation: Allocation
    tier: Tier


def promotions(
    *,
    accounts: Mapping[AccountKey, AccountKey | None] | Accounts,
    pool: AccountKey,
    state: PoolState,
    allocations: Iterable[Allocation],
    pool_tree: PoolTree | None = None,
) -> tuple[Promotion, ...]:
    """Who rises in a pool, in order.

    Args:
        pool_tree: as `Book` takes it.
        state: of the pool, with these allocations in its holdings; what has lapsed is not.
        allocations: of the pool; those that cannot rise are passed over.
    """
    tree = Accounts.of(accounts)
    book = Book(pool, state, tree, pool_tree)
    found = []
    for allocation in sorted(allocations, key=lambda a: (a.held_at, a.key, a.attempt)):
        if allocation.state in LIVE and _may_rise(allocation):
            row = tree.row_of[allocation.account]
            tier = _rise(book, row, allocation)
            if tier is not None:
                found.append(Promotion(allocation=allocation, tier=tier))
    return tuple(found)


def _may_rise(allocation: Allocation) -> bool:
    wish = allocation.tier_wish
    return wish is None or TIERS.index(wish) < TIERS.index(allocation.tier)


def _rise(book: Book, row: int, allocation: Allocation) -> Tier | None:
    """Enter the allocation in the best tier that holds it; that tier if it is a better one."""
    if allocation.tier == "guaranteed":
        return None
    slow = book.is_slow(allocation.reclaim_seconds)
    book.add(row, allocation.tier, -allocation.units, slow=slow)
    best = allocation.tier
    for tier in TIERS[: TIERS.index(allocation.tier)]:
        # A slow one lasts as it is, whichever of the two it is called.
        own = book.guarantee_left(row) if slow else book.own_room(row)
        most = own if allocation.tier == "borrowed" else book.most(row, tier, slow=slow)
        if most >= allocation.units:
            best = tier
            break
    book.add(row, best, allocation.units, slow=slow)
    return best if best != allocation.tier else None
