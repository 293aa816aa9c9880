"""Sort by floats, then let exact arithmetic decide wherever floats are too close to tell.

Equal rationals tie, unequal ones never do. Floats err by some 1e-15, a gap above NEAR is therefore
already in the right order; only neighbours nearer than that are compared exactly.
"""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounting.domain.fairshare.tree import Bools, Ints

NEAR = 1e-9

Compare = Callable[[Ints, Ints], NDArray[np.int8]]
"""Pairs (left[i], right[i]) of nodes -> sign of the exact comparison: -1 left goes first, 0 tie."""


def settle(order: Ints, starts: Bools, near: Bools, compare: Compare) -> tuple[Ints, Bools]:
    """Make a nearly sorted order exact.

    Args:
        order: nodes, sorted by their floats inside groups.
        starts: True where a run of equal nodes begins as far as floats can tell; where `near` is
            set for a position it is still open.
        near: True at position i when the nodes i-1 and i must be compared exactly.
        compare: the exact comparison.

    Returns:
        The order, with too-close nodes put right, and the final starts of runs.
    """
    places = np.flatnonzero(near)
    if not len(places):
        return order, starts
    signs = compare(order[places - 1], order[places])
    starts = starts.copy()
    starts[places] = signs != 0
    if not bool(np.any(signs > 0)):
        return order, starts
    order = order.copy()
    for first, last in _clusters(places, signs):
        members = sorted(order[first : last + 1].tolist(), key=cmp_to_key(_scalar(compare)))
        order[first : last + 1] = members
        cluster = order[first : last + 1]
        starts[first + 1 : last + 1] = compare(cluster[:-1], cluster[1:]) != 0
    return order, starts


def _clusters(places: Ints, signs: NDArray[np.int8]) -> list[tuple[int, int]]:
    """(first, last) positions of each run of near neighbours that holds an inversion."""
    breaks = np.flatnonzero(np.diff(places) > 1) + 1
    return [
        (int(run[0]) - 1, int(run[-1]))
        for run, run_signs in zip(np.split(places, breaks), np.split(signs, breaks), strict=True)
        if bool(np.any(run_signs > 0))
    ]


def _scalar(compare: Compare) -> Callable[[int, int], int]:
    def one(left: int, right: int) -> int:
        return int(compare(np.asarray([left]), np.asarray([right]))[0])

    return one


def signs_of(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int8]:
    """-1, 0, 1 for left < right, equal, left > right; works on object arrays of any numbers."""
    above = (left > right).astype(np.int8)
    below = (left < right).astype(np.int8)
    return above - below
