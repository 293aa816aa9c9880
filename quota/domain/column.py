"""One pool's column of the quota tree, changed use by use in the depth of the tree. Pure.

`tree.evaluate` answers for everybody at once; a batch of admissions changes one path at a time and
asks along it. Both follow the same formulas, and a property test holds them together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from quota.domain.tree import NO_PARENT, Limit

LimitKind = Literal["borrowing_limit", "guarantees"]
"""What stops somebody in the tree: a node's own borrowing limit, or all that its root has."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Node `row` lets at most `units` more through (negative in a deficit)."""

    row: int
    limit: LimitKind
    units: int


class Column:
    """The use of one pool, open to change. Rows as in the tree's shape."""

    __slots__ = ("_borrowing", "_local", "_parent", "_subtree", "used")

    def __init__(
        self,
        *,
        parent: list[int],
        subtree: list[int],
        local: list[int],
        borrowing: list[Limit],
        used: list[int],
    ) -> None:
        self._parent = parent
        self._subtree = subtree
        self._local = local
        self._borrowing = borrowing
        self.used = used

    @classmethod
    def build(
        cls,
        *,
        parent: list[int],
        order: Iterable[int],
        guaranteed: Sequence[int],
        borrowing: list[Limit],
        lending: Sequence[Limit],
        own_use: Sequence[int],
    ) -> "Column":
        """From one pool's amounts, one per row: for few accounts much less work than the arrays
        of a tree, for many hardly more.

        Args:
            order: all rows, parents before their children.
        """
        subtree, local, used = list(guaranteed), [0] * len(parent), list(own_use)
        for row in reversed(list(order)):
            above, limit = parent[row], lending[row]
            if above == NO_PARENT:
                continue
            if limit is not None:
                local[row] = max(0, subtree[row] - limit)
            subtree[above] += subtree[row] - local[row]
            used[above] += max(0, used[row] - local[row])
        return cls(parent=parent, subtree=subtree, local=local, borrowing=borrowing, used=used)

    def add(self, row: int, units: int) -> int:
        """Enter use at a node, or take it back (negative), up to where nothing changes.

        Returns the part that the root did not absorb.
        """
        used, local, parent = self.used, self._local, self._parent
        while units and row != NO_PARENT:
            over_before = max(0, used[row] - local[row])
            used[row] += units
            units = max(0, used[row] - local[row]) - over_before
            row = parent[row]
        return units

    def bounds(self, row: int) -> Iterator[Bound]:
        """Everything on the path that limits the node, from itself upward.

        `available` unrolled: use passes if it passes each bound by itself, so those that are
        smaller than what is asked are *all* reasons to refuse.
        """
        absorbed = 0
        while self._parent[row] != NO_PARENT:
            local, used = self._local[row], self.used[row]
            absorbed += max(0, local - used)
            limit = self._borrowing[row]
            if limit is not None:
                lent = self._subtree[row] - local
                yield Bound(row, "borrowing_limit", absorbed + lent - max(0, used - local) + limit)
            row = self._parent[row]
        yield Bound(row, "guarantees", absorbed + self._subtree[row] - self.used[row])

    def headroom(self, row: int) -> int:
        """`available` before it is clamped; the same as `Standing.headroom`."""
        parent, used, locals_ = self._parent, self.used, self._local
        absorbed, least = 0, None
        while parent[row] != NO_PARENT:
            local, use = locals_[row], used[row]
            slack = max(0, local - use)
            absorbed += slack
            limit = self._borrowing[row]
            if limit is not None:
                # use + slack is local + max(0, use - local), so this is the bound as above
                bound = absorbed + self._subtree[row] - use - slack + limit
                least = bound if least is None or bound < least else least
            row = parent[row]
        bound = absorbed + self._subtree[row] - used[row]
        return bound if least is None or bound < least else least
