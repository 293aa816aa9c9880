"""What would make room for a request that was denied. Pure; for explanation only."""

from collections.abc import Callable, Sequence
from datetime import datetime

from quota.domain.batch import Block, Occupant, PoolState, Relief
from quota.domain.book import Accounts
from quota.domain.values import AccountKey

RELIEF_MAX = 10
"""Allocations named per list; more would not be read."""

SCAN_MAX = 1_000
"""Allocations looked at per list, so that a batch of denials stays linear."""

_RELIEVABLE = frozenset(
    {"guarantee", "borrowing_limit", "guarantees", "capacity", "reclaim_target"}
)
_CLASS_ORDER = {"P3": 0, "P2": 1, "P1": 2, "P0": 3}


class ReliefIndex:
    """The occupants of a pool below every account, sorted once, when first asked."""

    def __init__(self, key: AccountKey, state: PoolState, accounts: Accounts) -> None:
        self._key = key
        self._occupants = state.occupants
        self._accounts = accounts
        self._by_reclaim: dict[int | None, list[Occupant]] | None = None
        self._by_end: dict[int | None, list[Occupant]] = {}

    def relief(self, account: AccountKey, blocks: Sequence[Block]) -> Relief | None:
        """What would lift these blocks of one pool; None where room alone would not."""
        if not self._occupants or any(block.limit not in _RELIEVABLE for block in blocks):
            return None
        if self._by_reclaim is None:
            self._by_reclaim = self._index()
        in_tree = [block for block in blocks if block.account is not None]
        own_guarantee = any(block.limit == "guarantee" for block in in_tree)
        # Paths are nested: who stands below the lowest blocking node stands below all of them.
        scope = self._accounts.row_of[_lowest(in_tree)] if in_tree else None
        short_by = max(block.short_by for block in blocks)

        def counts(occupant: Occupant) -> bool:
            if own_guarantee:
                return occupant.account == account and occupant.tier == "guaranteed"
            return not in_tree or occupant.tier != "spot"

        reclaim, enough, _ = _until_covered(
            self._by_reclaim.get(scope, ()),
            short_by,
            lambda o: o.account != account and o.tier != "guaranteed" and counts(o),
        )
        ends, ends_enough, at = _until_covered(self._by_end.get(scope, ()), short_by, counts)
        return Relief(
            pool=self._key,
            reclaim=tuple(reclaim),
            reclaim_enough=enough,
            ends=tuple(ends),
            ends_enough_at=at if ends_enough else None,
        )

    def _index(self) -> dict[int | None, list[Occupant]]:
        scopes: dict[int | None, list[Occupant]] = {None: list(self._occupants)}
        for occupant in self._occupants:
            for row in self._accounts.shape.path(self._accounts.row_of[occupant.account]):
                scopes.setdefault(row, []).append(occupant)
        for scope, found in scopes.items():
            ending = [occupant for occupant in found if occupant.ends_at is not None]
            self._by_end[scope] = sorted(ending, key=lambda o: (o.ends_at, o.key))
            found.sort(key=_giving_order)
        return scopes


def _lowest(blocks: Sequence[Block]) -> AccountKey:
    """Blocks come from the account upward, so the first is the lowest."""
    account = blocks[0].account
    if account is None:
        raise AssertionError("blocks of the tree name their account")
    return account


def _giving_order(occupant: Occupant) -> tuple[bool, int, int, str]:
    """Spot, then borrowed P3, P2, P1 (docs/design.md part 8); the largest first, fewest to stop."""
    return (
        occupant.tier != "spot",
        _CLASS_ORDER[occupant.priority_class],
        -occupant.units,
        occupant.key,
    )


def _until_covered(
    occupants: Sequence[Occupant], short_by: int, counts: Callable[[Occupant], bool]
) -> tuple[list[Occupant], bool, datetime | None]:
    found: list[Occupant] = []
    covered = 0
    for occupant in occupants[:SCAN_MAX]:
        if covered >= short_by or len(found) == RELIEF_MAX:
            break
        if counts(occupant):
            found.append(occupant)
            covered += occupant.units
    return found, covered >= short_by, found[-1].ends_at if found else None
