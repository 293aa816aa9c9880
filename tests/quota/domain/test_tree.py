"""The quota tree beyond the published cases: Q_eff, deficits, overshoot, bounds, shapes."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from ledger.errors import Invalid
from quota.domain.tree import DEPTH_MAX, NO_PARENT, QuotaTree, Shape, Standing, evaluate
from tenancy.domain import tree as tenancy


def stand(rows: list[tuple[int, int, int | None, int | None, int]]) -> tuple[QuotaTree, Standing]:
    """Rows of (parent row, g, B, L, own use) in one pool."""
    tree = QuotaTree.build(
        Shape.build([parent for parent, *_ in rows]),
        guaranteed=[[g] for _, g, _, _, _ in rows],
        borrowing=[[limit] for _, _, limit, _, _ in rows],
        lending=[[limit] for _, _, _, limit, _ in rows],
    )
    return tree, evaluate(tree, [[use] for *_, use in rows])


def column(array: Any) -> list[int]:
    return array[:, 0].tolist()


def test_q_eff_of_capped_teams_is_the_case_of_no_guarantees() -> None:
    """Q_eff = min(Q_team, Q_dept - use of the other teams), the textbook rule for capped teams.

    It is a department with g = Q_dept, B = 0 over teams with g = 0, B = Q_team; available is then
    Q_eff - own use, clamped at 0.
    """
    for department, cap, own, others in product((0, 10, 100), (0, 7, 40), (0, 3, 40), (0, 5, 70)):
        _, standing = stand(
            [
                (NO_PARENT, department, 0, None, 0),
                (0, 0, cap, None, own),
                (0, 0, 90, None, others),
            ]
        )
        q_eff = min(cap, department - others)
        assert column(standing.available)[1] == max(0, q_eff - own)


def test_a_deficit_above_eats_into_who_neither_lends_nor_borrows() -> None:
    _, standing = stand(
        [
            (NO_PARENT, 0, None, None, 5),
            (0, 10, 0, 0, 2),
        ]
    )
    assert column(standing.headroom) == [-5, 3]
    assert column(standing.available) == [0, 3]


def test_limits_of_a_root_have_no_effect() -> None:
    free, _ = stand([(NO_PARENT, 10, None, None, 0), (0, 5, None, None, 0)])
    bound, standing = stand([(NO_PARENT, 10, 0, 0, 0), (0, 5, None, None, 0)])
    assert column(free.potential) == column(bound.potential) == [15, 15]
    assert column(standing.available) == [15, 15]


def test_overshoot_is_its_own_number_and_never_borrowed() -> None:
    """The guarantee was lowered from 30 to 10 while 30 run, of which 12 may be borrowed."""
    _, standing = stand(
        [
            (NO_PARENT, 100, None, None, 0),
            (0, 10, 12, None, 30),
        ]
    )
    assert column(standing.overshoot) == [0, 8]
    assert column(standing.borrowed) == [0, 12]
    assert column(standing.available) == [80, 0]


def test_a_shrunk_root_shows_what_is_too_much() -> None:
    _, standing = stand([(NO_PARENT, 50, None, None, 0), (0, 0, None, None, 60)])
    assert column(standing.overshoot) == [10, 10]
    assert column(standing.headroom) == [-10, -10]


def test_a_child_without_limit_shares_all_of_its_parent_s() -> None:
    tree, standing = stand(
        [(NO_PARENT, 90, None, None, 0), (0, 60, None, None, 20), (0, 0, None, None, 100)]
    )
    assert column(tree.subtree) == [150, 60, 0]
    assert column(standing.available) == [30, 30, 30]


def test_rows_may_come_in_any_order() -> None:
    straight = stand([(NO_PARENT, 5, None, None, 0), (0, 6, 3, 2, 4), (1, 7, 1, None, 9)])
    turned = stand([(1, 7, 1, None, 9), (2, 6, 3, 2, 4), (NO_PARENT, 5, None, None, 0)])
    assert column(straight[1].headroom) == column(turned[1].headroom)[::-1]


def test_amounts_beyond_64_bits_are_exact() -> None:
    huge = 2**63 - 1
    tree, standing = stand([(NO_PARENT, huge, None, None, 0), (0, huge, None, 1, 5)])
    assert column(tree.subtree) == [huge + 1, huge]
    assert column(standing.available) == [huge + 1, 2 * huge - 5]


def test_usual_amounts_are_native_integers() -> None:
    tree, standing = stand([(NO_PARENT, 2**53, None, None, 2**53)])
    assert tree.subtree.dtype == standing.headroom.dtype == np.int64


def test_no_nodes_and_no_pools_are_no_fault() -> None:
    tree = QuotaTree.build(Shape.build([]), guaranteed=[], borrowing=[], lending=[])
    assert evaluate(tree, []).available.size == 0
    tree = QuotaTree.build(
        Shape.build([NO_PARENT, 0]), guaranteed=[[], []], borrowing=[[], []], lending=[[], []]
    )
    assert evaluate(tree, [[], []]).available.shape == (2, 0)


def test_the_deepest_tree_that_tenancy_lets_stand_has_its_arithmetic() -> None:
    assert DEPTH_MAX == tenancy.DEPTH_MAX
    shape = Shape.build([NO_PARENT, *range(DEPTH_MAX)])
    assert len(shape.levels) == DEPTH_MAX + 1
    assert len(shape.path(DEPTH_MAX)) == DEPTH_MAX + 1
    amounts = [[1]] * len(shape)
    limits = [[None]] * len(shape)
    tree = QuotaTree.build(shape, guaranteed=amounts, borrowing=limits, lending=limits)
    assert tree.subtree[0, 0] == DEPTH_MAX + 1


def test_path_leads_from_the_node_to_its_root() -> None:
    assert Shape.build([NO_PARENT, 0, 1]).path(2) == [2, 1, 0]


@pytest.mark.parametrize(
    ("case", "parents", "row"),
    [
        ("a parent that does not exist", [NO_PARENT, 2], 1),
        ("its own parent", [NO_PARENT, 1], 1),
        ("a circle", [NO_PARENT, 2, 1], 1),
        ("too deep", [NO_PARENT, *range(DEPTH_MAX + 1)], DEPTH_MAX + 1),
    ],
)
def test_shapes_that_are_no_tree(case: str, parents: list[int], row: int) -> None:
    with pytest.raises(Invalid) as caught:
        Shape.build(parents)
    assert caught.value.facts == {"row": row}, case


@pytest.mark.parametrize(
    "change",
    [
        {"guaranteed": [[-1], [0]]},
        {"guaranteed": [[0, 0], [0]]},
        {"guaranteed": [[0]]},
        {"borrowing": [[None]]},
        {"lending": [[None], [-1]]},
    ],
)
def test_amounts_that_cannot_be(change: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "guaranteed": [[0], [0]],
        "borrowing": [[None], [None]],
        "lending": [[None], [None]],
    }
    with pytest.raises(Invalid):
        QuotaTree.build(Shape.build([NO_PARENT, 0]), **{**usual, **change})


def test_use_is_never_negative() -> None:
    tree, _ = stand([(NO_PARENT, 0, None, None, 0)])
    with pytest.raises(Invalid):
        evaluate(tree, [[-1]])
