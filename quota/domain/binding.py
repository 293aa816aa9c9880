"""Whose limit decides what an account could still get by right (docs/design.md part 3). Pure.

`available` takes the smallest of what lies on the way up: at each account with a borrowing limit
what that limit leaves, at the root what all guarantees leave. This names the one that it took, the
nearest where several are equal.
"""

from dataclasses import dataclass
from typing import Literal

from quota.domain.tree import NO_PARENT, QuotaTree


@dataclass(frozen=True, slots=True)
class Binding:
    """The limit that decides.

    Attributes:
        row: of the account whose limit it is; the root's where all guarantees together decide.
        lets_through: units that it still lets through, to everybody below that account; negative
            where use is above it.
    """

    row: int
    limit: Literal["borrowing_limit", "guarantees"]
    lets_through: int


def binding(tree: QuotaTree, used, headroom, row: int, column: int) -> Binding:
    """The limit on the way from an account up to its root.

    Args:
        used, headroom: of `tree.Standing`.
    """
    here = row
    while (above := int(tree.shape.parent[here])) != NO_PARENT:
        if tree.borrowing_bounded[here, column]:
            local = int(tree.local[here, column])
            beyond = max(0, int(used[here, column]) - local)
            within = int(tree.subtree[here, column]) - local - beyond
            within += int(tree.borrowing[here, column])
            if within <= int(headroom[above, column]):
                return Binding(here, "borrowing_limit", within)
        here = above
    return Binding(here, "guarantees", int(headroom[here, column]))
