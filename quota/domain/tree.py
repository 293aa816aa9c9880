"""The quota tree: what every account may use, for many pools at once. Pure, exact, linear.

For node n with guarantee g, borrowing limit B, lending limit L (either may be absent), children c
(docs/design.md part 3; Kueue, `pkg/cache/scheduler/resource_node.go`):

    subtree(n)   = g(n) + sum of (subtree(c) - local(c))
    local(n)     = max(0, subtree(n) - L(n)) where L is set, else 0
    used(n)      = own use + sum of max(0, used(c) - local(c))
    available(n) = max(0, local(n) - used(n)) + p,  p = available(parent); where B is set also
                   p <= (subtree(n) - local(n)) - max(0, used(n) - local(n)) + B
    available(root) = subtree(root) - used(root)
    potential(n) = the same without any use

`local` is the part that nobody else can borrow, so use within it is invisible further up. Limits
of a root have no effect: there is nobody to borrow from or lend to. A deficit further up is not
clamped inside the recursion, so it eats into what a node below it could take; only the answer is
clamped at 0. Arrays are nodes x pools and are worked level by level, so the cost is linear in
their size, whatever the shape of the tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ledger.errors import Invalid

DEPTH_MAX = 16
"""Levels below a root, as in `tenancy.domain.tree`: a tree has at most 17 levels with its root."""
NO_PARENT = -1
NO_LIMIT = -1
"""No limit, where limits come as an array. Nowhere else is it a number."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Limit = int | None
Rows = Sequence[Sequence[int]]
LimitRows = Sequence[Sequence[Limit]]

_INT64_SUM_MAX = 2**61
"""Below this total no term of the recursion leaves 64 bits, B added; above, Python's integers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Who stands under whom: rows in any order, levels from the roots down.

    Attributes:
        parent: row of each node's parent, NO_PARENT for a root. Several roots are a forest.
        levels: rows by depth, roots first; together every row once.
    """

    parent: Ints
    levels: tuple[Ints, ...]

    @classmethod
    def build(cls, parents: Sequence[int] | Ints) -> "Shape":
        """Levels of a tree given as parent rows.

        Raises:
            Invalid: `quota_tree` with the row in `facts`: no such parent, a circle, too deep.
        """
        parent = np.asarray(parents, dtype=np.int64).reshape(-1)
        outside = (parent < NO_PARENT) | (parent >= len(parent))
        if outside.any():
            raise _refuse_row("has a parent that does not exist", int(np.flatnonzero(outside)[0]))
        depth = np.where(parent == NO_PARENT, 0, -1)
        levels: list[Ints] = []
        here = np.flatnonzero(parent == NO_PARENT)
        while len(here):
            if len(levels) > DEPTH_MAX:
                raise _refuse_row(f"is more than {DEPTH_MAX} levels below its root", int(here[0]))
            levels.append(here)
            # Rows not placed yet whose parent was placed in this round.
            placed = (depth == -1) & (parent != NO_PARENT) & (depth[parent] == len(levels) - 1)
            depth[placed] = len(levels)
            here = np.flatnonzero(placed)
        lost = np.flatnonzero(depth == -1)
        if len(lost):
            raise _refuse_row("stands in a circle", int(lost[0]))
        return cls(parent=parent, levels=tuple(levels))

    def __len__(self) -> int:
        return len(self.parent)

    def path(self, row: int) -> list[int]:
        """Rows from the node itself up to its root."""
        found = [row]
        while (above := int(self.parent[found[-1]])) != NO_PARENT:
            found.append(above)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaTree:
    """Quotas of every (node, pool) and what follows from them without any use.

    Attributes:
        guaranteed, borrowing, lending: nodes x pools; limits hold 0 where `bounded_*` is false.
        subtree, local, potential: as in the module's text.

    Arrays are int64 wherever all sums fit, else exact Python integers (dtype object).
    """

    shape: Shape
    guaranteed: Ints
    borrowing: Ints
    borrowing_bounded: Bools
    lending: Ints
    lending_bounded: Bools
    subtree: Ints
    local: Ints
    potential: Ints

    @classmethod
    def build(
        cls,
        shape: Shape,
        *,
        guaranteed: Rows | Ints,
        borrowing: LimitRows | Ints,
        lending: LimitRows | Ints,
    ) -> "QuotaTree":
        """From rows of amounts, one row per node and one column per pool; None is no limit, in an
        array NO_LIMIT.

        Raises:
            Invalid: `quota_tree`: shapes differ, or an amount is negative.
        """
        own = _amounts(guaranteed, len(shape))
        borrowing_, borrowing_bounded = _limits(borrowing, own.shape)
        lending_, lending_bounded = _limits(lending, own.shape)
        if any((amounts < 0).any() for amounts in (own, borrowing_, lending_)):
            raise Invalid("quota_tree", "Guarantees and limits are never negative.")
        exact = [own, borrowing_, lending_]
        if not _fits(exact):
            own, borrowing_, lending_ = (amounts.astype(object) for amounts in exact)
        subtree, local = _subtrees(shape, own, lending_, lending_bounded)
        tree = cls(
            shape=shape,
            guaranteed=own,
            borrowing=borrowing_,
            borrowing_bounded=borrowing_bounded,
            lending=lending_,
            lending_bounded=lending_bounded,
            subtree=subtree,
            local=local,
            potential=np.empty_like(subtree),
        )
        tree.potential[:] = headroom_of(tree, np.zeros_like(subtree))
        return tree

    @property
    def pool_count(self) -> int:
        return self.guaranteed.shape[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """What use makes of a tree: nodes x pools.

    Attributes:
        used: own use and what children's use exceeds their `local`.
        headroom: `available` before it is clamped; negative where the tree promises less than
            is in use.
        available: units that could be admitted now, at least 0.
        overshoot: use above all that the tree could ever give the node (`potential`): what a
            lowered quota leaves behind. Nothing new is admitted on it, nothing running harmed.
        borrowed: use above the subtree's guarantee that is not overshoot.
    """

    used: Ints
    headroom: Ints
    available: Ints
    overshoot: Ints
    borrowed: Ints


def evaluate(tree: QuotaTree, own_use: Rows | Ints) -> Standing:
    """Stand every node with the use entered at each (nodes x pools).

    Raises:
        Invalid: `quota_tree`: shapes differ, or a use is negative.
    """
    own = _amounts(own_use, len(tree.shape))
    if own.shape != tree.guaranteed.shape or (own < 0).any():
        raise Invalid("quota_tree", "Use is one row per node, one column per pool, never negative.")
    if tree.subtree.dtype == object or not _fits([own]):
        own = own.astype(object)
    used = flow_up(tree.shape, own, tree.local)
    headroom = headroom_of(tree, used)
    overshoot = np.maximum(0, used - tree.potential)
    return Standing(
        used=used,
        headroom=headroom,
        available=np.maximum(0, headroom),
        overshoot=overshoot,
        borrowed=np.maximum(0, used - tree.subtree) - overshoot,
    )


def flow_up(shape: Shape, own: Ints, absorbed: Ints) -> Ints:
    """Enter `own` at each node and pass what exceeds `absorbed` on to the parent."""
    total = own.copy()
    for rows in reversed(shape.levels[1:]):
        over = np.maximum(0, total[rows] - absorbed[rows])
        np.add.at(total, shape.parent[rows], over)
    return total


def _subtrees(shape: Shape, own: Ints, lending: Ints, bounded: Bools) -> tuple[Ints, Ints]:
    subtree = own.copy()
    local = np.zeros_like(own)
    for depth in range(len(shape.levels) - 1, -1, -1):
        rows = shape.levels[depth]
        kept = np.maximum(0, subtree[rows] - lending[rows])
        local[rows] = np.where(bounded[rows], kept, 0) if depth else 0
        if depth:
            np.add.at(subtree, shape.parent[rows], subtree[rows] - local[rows])
    return subtree, local


def headroom_of(tree: QuotaTree, used: Ints) -> Ints:
    """`available` of every node, not clamped, from use that has flowed up already."""
    headroom = tree.subtree - used
    for rows in tree.shape.levels[1:]:
        local, own = tree.local[rows], used[rows]
        from_parent = headroom[tree.shape.parent[rows]]
        within_limit = (
            tree.subtree[rows] - local - np.maximum(0, own - local) + tree.borrowing[rows]
        )
        bounded = np.where(
            tree.borrowing_bounded[rows], np.minimum(from_parent, within_limit), from_parent
        )
        headroom[rows] = np.maximum(0, local - own) + bounded
    return headroom


def _fits(arrays: list[Ints]) -> bool:
    """Whether no sum of these amounts can leave 64 bits. What surely fits is not added up."""
    if sum(int(amounts.max(initial=0)) * amounts.size for amounts in arrays) <= _INT64_SUM_MAX:
        return True
    return sum(int(amounts.sum(dtype=object)) for amounts in arrays) <= _INT64_SUM_MAX


def _amounts(rows: Rows | Ints, count: int) -> Ints:
    """Nodes x pools as int64, or as Python integers where one does not fit."""
    if isinstance(rows, np.ndarray):
        if rows.ndim != 2 or len(rows) != count:
            raise Invalid("quota_tree", "Every node needs one amount per pool.")
        return rows
    flat, shape = _flat(rows, count)
    try:
        return np.array(flat, dtype=np.int64).reshape(shape)
    except OverflowError:
        return np.array(flat, dtype=object).reshape(shape)


def _limits(rows: LimitRows | Ints, shape: tuple[int, ...]) -> tuple[Ints, Bools]:
    """Amounts with 0 for no limit, and where there is a limit."""
    if isinstance(rows, np.ndarray):
        if rows.shape != shape:
            raise Invalid("quota_tree", "Every node needs one limit per pool.")
        bounded = rows != NO_LIMIT
        return np.where(bounded, rows, 0), bounded
    flat, found = _flat(rows, shape[0])
    if found != shape:
        raise Invalid("quota_tree", "Every node needs one limit per pool; None is no limit.")
    amounts = _amounts([[limit or 0 for limit in flat]], 1).reshape(shape)
    return amounts, np.array([limit is not None for limit in flat], dtype=np.bool_).reshape(shape)


def _flat(rows: LimitRows, count: int) -> tuple[list[Any], tuple[int, int]]:
    """All cells in one list, and nodes x pools."""
    width = len(rows[0]) if count and len(rows) == count else 0
    if len(rows) != count or any(len(row) != width for row in rows):
        raise Invalid("quota_tree", "Every node needs one amount per pool.")
    return list(chain.from_iterable(rows)), (count, width)


def _refuse_row(why: str, row: int) -> Invalid:
    return Invalid("quota_tree", f"Node {row} {why}.", facts={"row": row})
