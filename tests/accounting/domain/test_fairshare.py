"""Fair-share by hand: each rule once, on the smallest tree that shows it."""

import math
from typing import Any

import numpy as np
import pytest

from accounting.domain.fairshare import (
    ALGORITHMS,
    NO_PARENT,
    Fairshare,
    FairshareTree,
    RatioPolicy,
    Usage,
    evaluate,
    path_of_person,
)
from ledger.errors import Invalid
from tests.accounting.domain.fairshare_reference import Node, account, arrays, person


def standing(nodes: list[Node], **options: Any) -> dict[str, dict[str, float]]:
    tree, usage, accounts, people = arrays(nodes)
    result = evaluate(tree, usage, **options)
    return {
        name: {
            column: getattr(rows, column)[at].item()
            for column in (
                "norm_shares",
                "norm_usage",
                "effective_usage",
                "level_fs",
                "fairshare",
                "rank",
            )
        }
        for names, rows in ((accounts, result.accounts), (people, result.people))
        for at, name in enumerate(names)
    }


def column(nodes: list[Node], name: str, *, of: str, **options: Any) -> list[float]:
    found = standing(nodes, **options)
    return [found[who][name] for who in of.split()]


TIED = [
    # x and y tie (same shares, same usage); p is a person beside them with the very same level.
    account("root", None),
    person("p", "root", 1, 10),
    account("x", "root", 1),
    person("x1", "x", 1, 4),
    person("x2", "x", 1, 6),
    account("y", "root", 1),
    person("y1", "y", 1, 4),
    person("y2", "y", 3, 6),
    account("last", "root", 0),
    person("z", "last", 1, 0),
]


def test_ties_of_people_and_accounts() -> None:
    """p shares the rank of the best of the merged accounts (y2: 0.75/0.6 = 1.25, tied with x1:
    0.5/0.4), ranks 6, 6, 6; then x2 (0.5/0.6) and y1 (0.25/0.4); z has a share of nothing."""
    assert column(TIED, "rank", of="p y2 x1 x2 y1 z") == [6, 6, 6, 3, 2, 1]


def test_an_account_stands_where_its_best_person_stands() -> None:
    assert column(TIED, "rank", of="root x y last") == [6, 6, 6, 1]
    assert column(TIED, "fairshare", of="root last") == [1.0, 1 / 6]


def test_a_tie_reaches_through_accounts_to_the_best_person() -> None:
    nodes = [
        account("root", None),
        person("p", "root", 1, 5),
        account("a", "root", 1),
        account("empty", "a", 9),
        account("b", "a", 1),
        person("b1", "b", 1, 2),
        person("b2", "b", 1, 3),
    ]
    assert column(nodes, "rank", of="p b1 b2") == [3, 3, 1]


def test_usage_of_people_who_left_stays_with_the_account() -> None:
    nodes = [
        account("root", None),
        account("a", "root", 1, usage=90),
        person("ana", "a", 1, 10),
        account("b", "root", 1),
        person("ben", "b", 1, 50),
    ]
    assert column(nodes, "rank", of="ana ben") == [1, 2]
    assert column(nodes, "norm_usage", of="a b") == [100 / 150, 50 / 150]
    assert column(nodes, "effective_usage", of="ana") == [0.1]


def test_several_top_accounts_share_below_an_implied_root() -> None:
    nodes = [
        account("a", None, 3),
        person("ana", "a", 1, 30),
        account("b", None, 1),
        person("ben", "b", 1, 30),
    ]
    assert column(nodes, "norm_shares", of="a b") == [0.75, 0.25]
    assert column(nodes, "level_fs", of="a b") == [1.5, 0.5]
    assert column(nodes, "rank", of="ana ben") == [2, 1]


def test_a_single_top_account_is_the_root_whatever_its_shares() -> None:
    for shares in (0, 5, None):
        nodes = [account("root", None, shares), person("ana", "root", 1, 3), person("ben", "root")]
        assert column(nodes, "fairshare", of="ben ana") == [1.0, 0.5]
        assert column(nodes, "norm_shares", of="root") == [1.0]


def test_transparent_accounts_in_a_row() -> None:
    nodes = [
        account("root", None),
        account("t1", "root", None),
        account("t2", "t1", None),
        person("deep", "t2", 3, 30),
        person("high", "root", 1, 10),
        person("free", "t2", None, 99),
    ]
    assert column(nodes, "norm_shares", of="deep high") == [0.75, 0.25]
    assert column(nodes, "rank", of="free deep high") == [3, 2, 2]
    assert all(math.isnan(level) for level in column(nodes, "level_fs", of="t1 t2"))


def flat(*usage: int) -> list[Node]:
    people = [person(f"p{at}", "root", 1, used) for at, used in enumerate(usage)]
    return [account("root", None), *people]


def test_ratio_halves_with_twice_the_share() -> None:
    """Four people, a share of 0.25 each, use 0.5, 0.25, 0.125, 0.125 of the whole."""
    found = column(flat(4, 2, 1, 1), "fairshare", of="p0 p1 p2 p3", algorithm="ratio")
    assert found == pytest.approx([0.25, 0.5, 1.0, 1.0], rel=1e-4)


def test_ratio_ranks_beyond_its_cut_at_one() -> None:
    """p1 and p2 both have the factor 1, and yet p2 used less."""
    nodes = flat(100, 2, 1)
    assert column(nodes, "fairshare", of="p1 p2", algorithm="ratio") == [1.0, 1.0]
    assert column(nodes, "rank", of="p0 p1 p2", algorithm="ratio") == [1, 2, 3]


def test_ratio_policy() -> None:
    policy = RatioPolicy(base=0.25, epsilon=1e-9)
    found = column(flat(1, 1), "fairshare", of="p0", algorithm="ratio", ratio=policy)
    assert found == pytest.approx([0.25])
    for fields in ({"base": 0.0}, {"base": 1.5}, {"epsilon": 0.0}, {"epsilon": math.nan}):
        with pytest.raises(Invalid) as caught:
            RatioPolicy(**fields)
        assert caught.value.field == next(iter(fields))


def test_classic_halves_at_the_share() -> None:
    found = column(flat(4, 2, 1, 1), "fairshare", of="p0 p1 p2", algorithm="classic")
    assert found == [0.25, 0.5, 2**-0.5]


def test_classic_passes_the_burden_of_the_account_down() -> None:
    """Nobody idle in a busy account is worth more than the account, and idle siblings tie."""
    nodes = [
        account("root", None),
        account("a", "root", 1),
        person("busy", "a", 1, 8),
        person("idle", "a", 1),
        person("idle2", "a", 7),
        account("b", "root", 1),
        person("other", "b", 1, 2),
    ]
    found = standing(nodes, algorithm="classic")
    assert found["idle"]["fairshare"] == found["idle2"]["fairshare"] == 2**-1.6
    assert found["idle"]["rank"] == found["idle2"]["rank"] == 3
    assert found["other"]["rank"] == 4


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nobody_and_nothing(algorithm: Any) -> None:
    assert standing([], algorithm=algorithm) == {}
    alone = standing([account("root", None)], algorithm=algorithm)["root"]
    assert alone["rank"] == 0
    idle = standing(flat(0, 0), algorithm=algorithm)
    assert [idle[who]["rank"] for who in ("p0", "p1")] == [2, 2]
    assert idle["p0"]["fairshare"] == 1.0
    shareless = [account("root", None), person("a", "root", 0, 1), person("b", "root", 0)]
    assert column(shareless, "rank", of="a b", algorithm=algorithm) == [2, 2]


def test_unknown_algorithm() -> None:
    tree, usage, _, _ = arrays(flat(1))
    with pytest.raises(Invalid) as caught:
        evaluate(tree, usage, algorithm="fair")  # type: ignore[arg-type]  # what a caller may pass
    assert caught.value.code == "unknown_algorithm"


def test_the_path_explains_a_person() -> None:
    tree, usage, accounts, people = arrays(TIED)
    result = evaluate(tree, usage)
    steps = path_of_person(tree, result, people.index("y2"))
    assert [None if s.account is None else accounts[s.account] for s in steps] == [
        "root",
        "y",
        None,
    ]
    last = steps[-1]
    assert (last.shares, last.level_shares, last.norm_shares) == (3, 4, 0.75)
    assert (last.usage, last.effective_usage, last.level_fs) == (6.0, 0.6, pytest.approx(1.25))
    assert (last.rank, last.fairshare) == (6, 1.0)


def test_the_path_below_an_implied_root_starts_at_the_top_account() -> None:
    nodes = [account("a", None), account("b", None), person("ana", "a", None)]
    tree, usage, _, _ = arrays(nodes)
    steps = path_of_person(tree, evaluate(tree, usage), 0)
    assert [step.account for step in steps] == [0, None]
    assert steps[-1].shares is None


def shape(**changes: Any) -> FairshareTree:
    usual: dict[str, Any] = {
        "account_parents": [NO_PARENT, 0],
        "account_shares": [1, 1],
        "account_transparent": [False, False],
        "person_accounts": [1],
        "person_shares": [1],
        "person_transparent": [False],
    }
    return FairshareTree.build(**{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"account_parents": [1, NO_PARENT]}, "tree_shape"),
        ({"account_parents": [NO_PARENT, 1]}, "tree_shape"),
        ({"account_parents": [NO_PARENT, -2]}, "tree_shape"),
        ({"account_shares": [1]}, "tree_shape"),
        ({"person_accounts": [2]}, "tree_shape"),
        ({"person_accounts": [-1]}, "tree_shape"),
        ({"person_shares": [-1]}, "shares_out_of_bounds"),
        ({"person_shares": [2**31]}, "shares_out_of_bounds"),
    ],
)
def test_trees_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as caught:
        shape(**changes)
    assert caught.value.code == code


@pytest.mark.parametrize("roots", [1, 2])
def test_sixteen_levels_below_the_root_and_no_more(roots: int) -> None:
    """A single top account is the root; several stand below an implied one."""
    most = 17 if roots == 1 else 16

    def chain(levels: int) -> FairshareTree:
        parents = [NO_PARENT, *range(levels - 1), *[NO_PARENT] * (roots - 1)]
        return shape(
            account_parents=parents,
            account_shares=[1] * len(parents),
            account_transparent=[False] * len(parents),
        )

    assert chain(most).account_count == most + roots - 1
    with pytest.raises(Invalid) as caught:
        chain(most + 1)
    assert caught.value.code == "tree_too_deep"


def test_usage_refused() -> None:
    tree = shape()
    for people, residual, code in (
        ([], None, "usage_shape"),
        ([1], [1], "usage_shape"),
        ([-1], None, "usage_negative"),
        ([1], [0, -1], "usage_negative"),
    ):
        with pytest.raises(Invalid) as caught:
            Usage(tree=tree, people=people, residual=residual)
        assert caught.value.code == code


def test_adding_walks_up_and_refuses_what_would_be_negative() -> None:
    usage = Usage(tree=shape(), people=[5])
    usage.add([0, 0], [2, 3])
    usage.add_residual([1], [100])
    assert usage.exact[:3].tolist() == [110, 110, 10]
    for change in (lambda: usage.add([0], [-11]), lambda: usage.add([0], [1, 2])):
        with pytest.raises(Invalid):
            change()
        assert usage.exact[:3].tolist() == [110, 110, 10]
    usage.add([0], [-10])
    assert usage.total == 100
    assert usage.log2[2] == -np.inf


def test_shown_usage_follows_its_unit() -> None:
    usage = Usage(tree=shape(), people=[2**900], unit_log2=-899.0)
    assert usage.shown()[:3].tolist() == [2.0, 2.0, 2.0]
    later = usage.at_unit(-900.0)
    assert later.shown()[0] == 1.0
    huge = Usage(tree=shape(), people=[2**3000], unit_log2=-2999.5)
    assert huge.shown()[0] == pytest.approx(math.sqrt(2))


def test_new_usage_is_in_the_very_next_answer() -> None:
    tree, usage, _, _ = arrays(flat(5, 4))
    assert evaluate(tree, usage).people.rank.tolist() == [1, 2]
    usage.add([1], [2])
    answer: Fairshare = evaluate(tree, usage)
    assert answer.people.rank.tolist() == [2, 1]
