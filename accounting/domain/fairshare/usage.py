"""Decayed usage of every node of a tree: exact integers, and floats derived from them.

The integers are totals on one `decay.Scale`, so their ratios are the exact ratios of the decayed
values at any instant and need no update as time passes. A record changes its person and the
accounts above, at most 18 nodes; the next evaluation sees it.

Floats are always the nearest ones to the exact integer (never sums of floats), so each carries at
most one rounding. Their logarithms order nodes whose values a float could not hold.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounting.domain.fairshare.tree import FairshareTree, Floats, Ints
from ledger.errors import Invalid

MANTISSA_BITS = 64
FLOAT_BITS_MAX = 960
"""Totals of more bits are shifted before they become floats; 2^1023 is the largest float."""
SHIFT_TARGET_BITS = 512


class Usage:
    """Exact usage per node. Mutable: `add` keeps every ancestor right. Not shared by threads.

    Attributes:
        exact: object array of `int`, a node each.
        value: exact / 2^shift as float64 (0 only when below the smallest float).
        log2: log2(exact); -inf where unused.
        unit_log2: log2 of the unit-seconds that the integer 1 is worth (`Scale.unit_log2`); 0
            when the integers already are what should be shown.
    """

    __slots__ = ("_tree", "exact", "log2", "shift", "unit_log2", "value")

    def __init__(
        self,
        *,
        tree: FairshareTree,
        people: Sequence[int],
        residual: Sequence[int] | None = None,
        unit_log2: float = 0.0,
    ) -> None:
        """Sum up the tree.

        Args:
            people: exact usage per person, in the tree's order.
            residual: exact usage per account that belongs to nobody listed (people who left): it
                counts for the account and those above, and nobody is ranked for it.

        Raises:
            Invalid: `usage_shape`, `usage_negative`.
        """
        self._tree = tree
        self.unit_log2 = unit_log2
        kept = [0] * tree.account_count if residual is None else list(residual)
        if len(people) != tree.person_count or len(kept) != tree.account_count:
            raise Invalid("usage_shape", "One usage per person, one residual per account.")
        if min(people, default=0) < 0 or min(kept, default=0) < 0:
            raise Invalid("usage_negative", "Decayed usage is never negative.")
        exact = [*kept, *people, 0]
        parent = tree.parent.tolist()
        for node in range(tree.account_count, tree.account_count + tree.person_count):
            exact[parent[node]] += exact[node]
        for node in range(tree.account_count - 1, -1, -1):
            if parent[node] != node:
                exact[parent[node]] += exact[node]
        self.exact: NDArray[Any] = np.empty(len(exact), dtype=object)
        self.exact[:] = exact
        self.shift = 0
        self.value: Floats = np.zeros(len(exact))
        self.log2: Floats = np.full(len(exact), -np.inf)
        self._refresh_all()

    @property
    def total(self) -> int:
        """Exact usage of the whole tree."""
        return int(self.exact[self._tree.root])

    def copy(self) -> "Usage":
        """A second one to add to, for instance what runs at the instant of a question."""
        twin = object.__new__(Usage)
        twin._tree, twin.unit_log2, twin.shift = self._tree, self.unit_log2, self.shift
        twin.exact, twin.value, twin.log2 = self.exact.copy(), self.value.copy(), self.log2.copy()
        return twin

    def at_unit(self, unit_log2: float) -> "Usage":
        """The same usage told at another instant; shares the arrays, so only to be read."""
        twin = object.__new__(Usage)
        twin._tree, twin.unit_log2, twin.shift = self._tree, unit_log2, self.shift
        twin.exact, twin.value, twin.log2 = self.exact, self.value, self.log2
        return twin

    def add(self, people: Sequence[int] | Ints, deltas: Sequence[int]) -> None:
        """Add exact usage to people (indexes from 0; one may occur twice) and all above them.

        Raises:
            Invalid: `usage_shape`, or `usage_negative` (nothing is changed then).
        """
        self._add([self._tree.account_count + int(person) for person in people], deltas)

    def add_residual(self, accounts: Sequence[int] | Ints, deltas: Sequence[int]) -> None:
        """Add exact usage that belongs to nobody listed to accounts and all above them."""
        self._add([int(account) for account in accounts], deltas)

    def shown(self) -> Floats:
        """Usage per node as it is shown, value x unit: decayed unit-seconds at the instant."""
        power = self.shift + self.unit_log2
        whole = math.floor(power)
        with np.errstate(over="ignore"):  # beyond every float is shown as infinite
            return np.ldexp(self.value * math.exp2(power - whole), whole)

    def _add(self, nodes: Sequence[int], deltas: Sequence[int]) -> None:
        if len(nodes) != len(deltas):
            raise Invalid("usage_shape", "One delta for each index.")
        tree, changes = self._tree, {}
        root, parent = tree.root, tree.parent
        for node, delta in zip(nodes, deltas, strict=True):
            here = node
            while True:
                changes[here] = changes.get(here, 0) + delta
                if here == root:
                    break
                here = int(parent[here])
        after = {node: self.exact[node] + change for node, change in changes.items()}
        if min(after.values(), default=0) < 0:
            raise Invalid("usage_negative", "Decayed usage is never negative.")
        for node, total in after.items():
            self.exact[node] = total
        if self.total.bit_length() - self.shift > FLOAT_BITS_MAX:
            self._refresh_all()
        else:
            self._refresh(after)

    def _refresh_all(self) -> None:
        bits = self.total.bit_length()
        self.shift = 0 if bits <= FLOAT_BITS_MAX else bits - SHIFT_TARGET_BITS
        if self.shift == 0:
            self.value = self.exact.astype(np.float64)  # each the nearest float
            with np.errstate(divide="ignore"):
                self.log2 = np.log2(self.value)
        else:
            self._refresh(range(len(self.exact)))

    def _refresh(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            self.value[node], self.log2[node] = _floats(self.exact[node], self.shift)


def _floats(exact: int, shift: int) -> tuple[float, float]:
    """(exact / 2^shift, log2 exact)."""
    if exact == 0:
        return 0.0, -math.inf
    excess = max(0, exact.bit_length() - MANTISSA_BITS)
    mantissa = float(exact >> excess)
    value = float(exact) if shift == 0 else math.ldexp(mantissa, excess - shift)
    return value, math.log2(mantissa) + excess
