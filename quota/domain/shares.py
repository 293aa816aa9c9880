"""Dominant shares of what is borrowed, and the order in which accounts give back. Pure, exact.

The dominant share of a node is the largest, over resources, of what it borrows over what it could
borrow from, divided by its weight (Kueue, `pkg/cache/scheduler/fair_sharing.go`):

    share = max over resources of (sum over pools of max(0, used - subtree)) / lendable
    lendable = sum over the resource's pools of the potential of the node's *parent*

Pools of one resource (h100 in two clusters) add up in both sums, but headroom in one never offsets
borrowing in another. A resource with nothing lendable takes no part. A root borrows from nobody.
Whoever stays within its guarantee has share 0; weight 0 while borrowing is infinite, here None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ledger.errors import Invalid
from quota.domain.tree import NO_PARENT, QuotaTree, Standing

PER_MILLE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class BorrowedShare:
    """What a node borrows, against what it could borrow from.

    Attributes:
        borrowing: some pool is used above the subtree's guarantee.
        resource: the dominant one, or None where nothing lendable is borrowed.
        borrowed, lendable: units of that resource.
        weight: of the node among its siblings.
    """

    borrowing: bool
    resource: str | None
    borrowed: int
    lendable: int
    weight: Fraction

    @property
    def share(self) -> Fraction:
        """Borrowed over lendable, not weighted."""
        return Fraction(self.borrowed, self.lendable) if self.resource is not None else Fraction(0)

    @property
    def weighted(self) -> Fraction | None:
        """Share / weight; None is infinite."""
        return weighted(self.share, self.weight)

    @property
    def rounded(self) -> int | None:
        """Weighted share in per mille, rounded up so that any borrowing shows; None: infinite."""
        return None if self.weighted is None else ceil(self.weighted * PER_MILLE)


def weighted(share: Fraction, weight: Fraction | int) -> Fraction | None:
    """A share divided by its weight; weight 0 is infinite (None), but nothing stays nothing."""
    if not share:
        return Fraction(0)
    return share / weight if weight else None


def borrowed_share(
    tree: QuotaTree,
    standing: Standing,
    row: int,
    *,
    resources: Sequence[str],
    weight: Fraction | int = 1,
    requested: Mapping[int, int] | None = None,
) -> BorrowedShare:
    """The dominant share of one node.

    Args:
        resources: of each pool (column), the resource it belongs to.
        requested: units by pool that are to be counted as used on top.

    Raises:
        Invalid: `weight_out_of_range`.
    """
    if weight < 0:
        raise Invalid("weight_out_of_range", "A weight is never negative.", field="weight")
    parent = int(tree.shape.parent[row])
    borrowed: dict[str, int] = {}
    if parent != NO_PARENT:
        for pool, resource in enumerate(resources):
            use = int(standing.used[row, pool]) + (requested or {}).get(pool, 0)
            above = use - int(tree.subtree[row, pool])
            if above > 0:
                borrowed[resource] = borrowed.get(resource, 0) + above
    found: tuple[Fraction, str, int] | None = None
    for resource in sorted(borrowed):
        lendable = sum(
            int(tree.potential[parent, pool])
            for pool, name in enumerate(resources)
            if name == resource
        )
        if lendable > 0:
            part = Fraction(borrowed[resource], lendable)
            if found is None or part > found[0]:
                found = part, resource, lendable
    return BorrowedShare(
        borrowing=bool(borrowed),
        resource=found[1] if found else None,
        borrowed=borrowed[found[1]] if found else 0,
        lendable=found[2] if found else 0,
        weight=Fraction(weight),
    )


def is_borrowing_on(
    tree: QuotaTree, standing: Standing, row: int, requested: Mapping[int, int]
) -> bool:
    """Does the node borrow in any pool of which something is requested?"""
    if tree.shape.parent[row] == NO_PARENT:
        return False
    return any(
        units > 0 and standing.used[row, pool] > tree.subtree[row, pool]
        for pool, units in requested.items()
    )


def at_most_final_share(preemptor_new: Fraction | None, target_new: Fraction | None) -> bool:
    """Kueue's LessThanOrEqualToFinalShare (rule S2-a): take only from who still has as much after.

    Shares are weighted ones at the level where the two paths meet; None is infinite.
    """
    return _order(preemptor_new) <= _order(target_new)


def below_initial_share(preemptor_new: Fraction | None, target_old: Fraction | None) -> bool:
    """Kueue's LessThanInitialShare (rule S2-b): take from who had more before."""
    return _order(preemptor_new) < _order(target_old)


def _order(share: Fraction | None) -> tuple[bool, Fraction]:
    """Sorts shares, the infinite one last."""
    return share is None, share or Fraction(0)


class GivingBack:
    """The accounts to take from, one candidate at a time, the furthest above its share first.

    From the root down, the child with the highest weighted share is followed (an inner node before
    a leaf that ties, then the later row, as published). Pruned are leaves that do not borrow (but
    for the one that asks) or have no candidate left, and inner nodes that do not borrow unless the
    one that asks stands below. Shares are looked up at every step, so a caller who simulates each
    removal gets an order that follows it.
    """

    def __init__(
        self,
        *,
        parents: Sequence[int],
        shares: Sequence[Fraction | None],
        asking: int,
        candidates: Mapping[int, int],
    ) -> None:
        """`candidates`: how many can be taken, by leaf row. `asking`: the row that wants units."""
        self.shares = list(shares)
        self._parents = list(parents)
        self._children: list[list[int]] = [[] for _ in parents]
        for row, parent in enumerate(parents):
            if parent != NO_PARENT:
                self._children[parent].append(row)
        self._left = dict(candidates)
        self._asking = asking
        self._pruned: set[int] = set()
        self._asking_path: list[int] = []
        here = asking
        while here != NO_PARENT:
            self._asking_path.append(here)
            here = self._parents[here]

    def following(self) -> int | None:
        """The leaf to take from now; None when there is none. Take with `take` or `drop`."""
        root = self._asking_path[-1]
        if root == self._asking:  # alone in its tree: it can only give to itself
            return root if self._has_candidate(root) else None
        while root not in self._pruned:
            found = self._descend(root)
            if found is not None:
                return found
        return None

    def take(self, leaf: int) -> None:
        """One candidate of the leaf was taken."""
        self._left[leaf] -= 1

    def drop(self, leaf: int) -> None:
        """Nothing more is to be taken from the leaf."""
        self._left[leaf] = 0

    def _has_candidate(self, leaf: int) -> bool:
        return self._left.get(leaf, 0) > 0

    def _descend(self, node: int) -> int | None:
        best: int | None = None
        for child in self._children[node]:
            if child in self._pruned:
                continue
            if self._spent(child):
                self._pruned.add(child)
            elif best is None or self._rank(child) >= self._rank(best):
                best = child
        if best is None:
            self._pruned.add(node)
            return None
        return self._descend(best) if self._children[best] else best

    def _spent(self, node: int) -> bool:
        borrows = self.shares[node] is None or self.shares[node]
        if self._children[node]:
            return not borrows and node not in self._asking_path
        return not self._has_candidate(node) or (not borrows and node != self._asking)

    def _rank(self, node: int) -> tuple[bool, Fraction, bool]:
        return (*_order(self.shares[node]), bool(self._children[node]))
