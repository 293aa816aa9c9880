"""Whose limit decides: the nearest of the smallest on the way up."""

import pytest

from quota.domain.binding import binding
from quota.domain.tree import QuotaTree, Shape, evaluate

# root > department > team, and a second department.
PARENTS = (-1, 0, 1, 0)


def _found(*, guaranteed, borrowing, use, row=2):
    tree = QuotaTree.build(
        Shape.build(PARENTS),
        guaranteed=[[units] for units in guaranteed],
        borrowing=[[limit] for limit in borrowing],
        lending=[[None]] * 4,
    )
    standing = evaluate(tree, [[units] for units in use])
    found = binding(tree, standing.used, standing.headroom, row, 0)
    return (found.row, found.limit, found.lets_through), int(standing.headroom[row, 0])


@pytest.mark.parametrize(
    ("guaranteed", "borrowing", "use", "expected"),
    [
        ((0, 0, 10, 90), (None, None, 5, None), (0, 0, 4, 0), (2, "borrowing_limit", 11)),
        ((0, 0, 10, 90), (None, 3, None, None), (0, 0, 4, 0), (1, "borrowing_limit", 9)),
        ((0, 0, 10, 90), (None, 3, 40, None), (0, 0, 4, 0), (1, "borrowing_limit", 9)),
        ((0, 0, 10, 90), (None, None, None, None), (0, 0, 4, 70), (0, "guarantees", 26)),
        ((0, 0, 10, 90), (7, None, None, None), (0, 0, 4, 0), (0, "guarantees", 96)),
        ((0, 0, 10, 90), (None, None, 0, None), (0, 0, 15, 0), (2, "borrowing_limit", -5)),
    ],
)
def test_the_limit_that_decides(guaranteed, borrowing, use, expected):
    found, headroom = _found(guaranteed=guaranteed, borrowing=borrowing, use=use)
    assert found == expected
    # Nobody lends to a limit here, so what it lets through is what the account could get.
    assert found[2] == headroom
