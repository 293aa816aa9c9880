"""Dominant shares: the paper's example, weights, the tree by subtree sums."""

from fractions import Fraction

import pytest

from accounting.domain.drf import (
    Amounts,
    Holder,
    dominant_share,
    furthest_above_share,
    hierarchical_shares,
)
from ledger.errors import Invalid

CAPACITY = {"cpu": 9, "ram-gb": 18}


@pytest.mark.parametrize(
    ("case", "use", "weight", "resource", "share", "weighted"),
    [
        # Ghodsi et al., section 4.1: three tasks of <1, 4> and two of <3, 1> end level at 2/3.
        ("user A of the paper", {"cpu": 3, "ram-gb": 12}, 1, "ram-gb", Fraction(2, 3), "2/3"),
        ("user B of the paper", {"cpu": 6, "ram-gb": 2}, 1, "cpu", Fraction(2, 3), "2/3"),
        ("twice the weight, half as far", {"cpu": 6}, 2, "cpu", Fraction(2, 3), "1/3"),
        ("a weight below one", {"cpu": 3}, Fraction(1, 2), "cpu", Fraction(1, 3), "2/3"),
        ("equal parts name the first", {"ram-gb": 2, "cpu": 1}, 1, "cpu", Fraction(1, 9), "1/9"),
        ("more than there is", {"cpu": 18}, 1, "cpu", Fraction(2), "2"),
        ("nothing", {}, 1, None, Fraction(0), "0"),
        ("nothing of the unknown", {"fpga": 0}, 1, None, Fraction(0), "0"),
        ("weight 0 and something held: infinite", {"cpu": 1}, 0, "cpu", Fraction(1, 9), None),
        ("weight 0 and nothing held", {}, 0, None, Fraction(0), "0"),
    ],
)
def test_dominant_share(
    case: str,
    use: Amounts,
    weight: Fraction | int,
    resource: str | None,
    share: Fraction,
    weighted: str | None,
) -> None:
    found = dominant_share(use, CAPACITY, weight=weight)
    assert (found.resource, found.share) == (resource, share), case
    assert found.weighted == (None if weighted is None else Fraction(weighted)), case


@pytest.mark.parametrize(("use", "weight"), [({"fpga": 1}, 1), ({"cpu": -1}, 1), ({"cpu": 1}, -1)])
def test_refused(use: Amounts, weight: int) -> None:
    with pytest.raises(Invalid) as caught:
        dominant_share(use, CAPACITY, weight=weight)
    assert caught.value.code == "drf_out_of_bounds"


TREE = [
    Holder(name="physics", parent=None, weight=1, use={}),
    Holder(name="biology", parent=None, weight=3, use={"cpu": 1}),
    Holder(name="ana", parent="physics", use={"cpu": 3}),
    Holder(name="ben", parent="physics", use={"ram-gb": 9}),
    Holder(name="cyd", parent="biology", use={"ram-gb": 17}),
]


def test_hierarchy_adds_up_what_is_below() -> None:
    """Complementary siblings: physics holds 3/9 and 9/18, so its share is 1/2, not 5/6."""
    found = hierarchical_shares(TREE, CAPACITY)
    assert found["physics"].share == Fraction(1, 2)
    assert found["physics"].resource == "ram-gb"
    assert found["biology"].share == Fraction(17, 18)
    assert found["biology"].weighted == Fraction(17, 54)


def test_who_gives_back_first_is_decided_where_paths_part() -> None:
    """cyd holds the most, but below biology, which with its weight is not far above its share."""
    shares = hierarchical_shares(TREE, CAPACITY)
    assert furthest_above_share(TREE, shares) == ["ben", "ana", "cyd"]


def test_weight_zero_gives_back_first_and_equals_by_name() -> None:
    tree = [
        Holder(name="b", parent=None, use={"cpu": 3}),
        Holder(name="a", parent=None, use={"cpu": 3}),
        Holder(name="none", parent=None, weight=0, use={"cpu": 1}),
    ]
    shares = hierarchical_shares(tree, CAPACITY)
    assert furthest_above_share(tree, shares) == ["none", "a", "b"]


@pytest.mark.parametrize(
    "tree",
    [
        [Holder(name="a", parent="later", use={}), Holder(name="later", parent=None, use={})],
        [Holder(name="a", parent=None, use={}), Holder(name="a", parent=None, use={})],
    ],
)
def test_trees_refused(tree: list[Holder]) -> None:
    with pytest.raises(Invalid) as caught:
        hierarchical_shares(tree, CAPACITY)
    assert caught.value.code == "drf_tree"
