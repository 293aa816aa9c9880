"""One pool's column of the quota tree, changed use by use in the depth of the tree. Pure.

`tree.evaluate` answers for everybody at once; a batch of admissions changes one path at a time and
asks along it. Both follow the same formulas, and a property test holds them together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from quota.domain.tree import NO_PARENT, Limit
from quota.domain.values import Quota

LimitKind = Literal["borrowing_limit", "guarantees"]
"""What stops somebody in the tree: a node's own borrowing limit, or all that its root has."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Node `row` lets at most `units` more through (negative in a deficit)."""

    row: int
    limit: LimitKind
    units: int


class PoolTree:
    """One pool's quotas, one per row, and what follows from them without any use: for few accounts
    much less work than the arrays of a tree, for many hardly more. Never changed, so it may be
    kept and shared.

    Attributes:
        parent: row of each account's parent, NO_PARENT for a root.
        guaranteed, borrowing: of each account's own quota.
        subtree, local: as in `tree`.
        promised: all guarantees together.
    """

    __slots__ = ("_upward", "borrowing", "guaranteed", "local", "parent", "promised", "subtree")

    def __init__(self, parent: list[int], order: Iterable[int], quotas: Sequence[Quota]) -> None:
        """Args:
        order: all rows, parents before their children.
        """
        self.parent = parent
        self.guaranteed = [quota.guaranteed for quota in quotas]
        self.borrowing: list[Limit] = [quota.borrowing_limit for quota in quotas]
        self.promised = sum(self.guaranteed)
        self._upward = [row for row in reversed(list(order)) if parent[row] != NO_PARENT]
        self.subtree, self.local = list(self.guaranteed), [0] * len(parent)
        for row in self._upward:
            limit = quotas[row].lending_limit
            if limit is not None:
                self.local[row] = max(0, self.subtree[row] - limit)
            self.subtree[parent[row]] += self.subtree[row] - self.local[row]

    def entitled(self, own_use: Sequence[int]) -> "Column":
        """The column with the use entered at each row, and flowed up."""
        used, local, parent = list(own_use), self.local, self.parent
        for row in self._upward:
            if used[row] > local[row]:
                used[parent[row]] += used[row] - local[row]
        return Column(
            parent=parent, subtree=self.subtree, local=local, borrowing=self.borrowing, used=used
        )

    def lasting(self) -> "Column":
        """An empty column in which each own guarantee absorbs what it covers."""
        return Column(
            parent=self.parent,
            subtree=self.guaranteed,
            local=self.guaranteed,
            borrowing=self.borrowing,
            used=[0] * len(self.parent),
        )


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
