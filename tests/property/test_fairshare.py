"""The array algorithms against the plain one in fractions, and laws that hold for every tree."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.domain.fairshare import RatioPolicy, evaluate
from tests.accounting.domain.fairshare_reference import Node, Reference, arrays

# Few distinct values, so that ties happen all the time; and wide ones, which no float can hold.
SHARES = st.one_of(st.none(), st.integers(0, 4), st.just(2**31 - 1))
SMALL = st.sampled_from([0, 0, 1, 2, 3, 4, 6])
WIDE = st.one_of(SMALL, st.integers(0, 2**64), st.integers(2**1200, 2**1201))
NEARLY = st.one_of(SMALL, st.integers(10**20, 10**20 + 3))


@st.composite
def trees(draw: st.DrawFn, usage: st.SearchStrategy[int] = SMALL) -> list[Node]:
    account_count = draw(st.integers(1, 8))
    several_roots = draw(st.booleans())
    nodes = []
    for at in range(account_count):
        choices = [f"A{above}" for above in range(at)]
        parent = draw(st.sampled_from([*choices, None] if several_roots else choices or [None]))
        left = draw(st.sampled_from([0, 0, 0, 1, 5]))
        nodes.append(Node(f"A{at}", parent, draw(SHARES), left))
    for at in range(draw(st.integers(0, 10))):
        parent = f"A{draw(st.integers(0, account_count - 1))}"
        nodes.append(Node(f"p{at}", parent, draw(SHARES), draw(usage), person=True))
    return nodes


def ranks(nodes: list[Node], algorithm: str = "fair_tree") -> dict[str, int]:
    tree, usage, _, people = arrays(nodes)
    result = evaluate(tree, usage, algorithm=algorithm)
    return dict(zip(people, result.people.rank.tolist(), strict=True))


@pytest.mark.parametrize("amounts", [SMALL, NEARLY, WIDE], ids=["small", "nearly equal", "wide"])
def test_every_algorithm_agrees_with_the_reference(amounts: st.SearchStrategy[int]) -> None:
    epsilon = RatioPolicy().exact_epsilon

    @settings(max_examples=150, deadline=None)
    @given(trees(amounts))
    def check(nodes: list[Node]) -> None:
        reference = Reference(nodes)
        assert ranks(nodes) == reference.ranks()
        if amounts is not WIDE:  # beyond 2^-1000 of the whole, a factor cannot tell from nothing
            assert ranks(nodes, "classic") == reference.ranks_by_load()
            assert ranks(nodes, "ratio") == reference.ranks_by_load(epsilon)

    check()


@settings(max_examples=100, deadline=None)
@given(trees())
def test_shown_numbers_are_those_of_the_reference(nodes: list[Node]) -> None:
    tree, usage, account_names, people_names = arrays(nodes)
    reference = Reference(nodes)
    fair, classic = evaluate(tree, usage), evaluate(tree, usage, algorithm="classic")
    for names, ours, flowing in (
        (account_names, fair.accounts, classic.accounts),
        (people_names, fair.people, classic.people),
    ):
        for at, name in enumerate(names):
            assert ours.usage[at] == reference.usage(name)
            share, effective = reference.down(name)
            assert flowing.norm_shares[at] == pytest.approx(float(share))
            assert flowing.effective_usage[at] == pytest.approx(float(effective))
            if name == reference.root or (
                reference.nodes[name].shares is None and not reference.nodes[name].person
            ):
                assert np.isnan(ours.level_fs[at])
            else:
                level = reference.level(name)
                want = float("inf") if level is None else float(level)
                assert ours.level_fs[at] == pytest.approx(want)
    for at, load in enumerate(reference.loads().values()):
        assert classic.people.fairshare[at] == pytest.approx(
            0.0 if load is None else 2.0 ** -float(load)
        )


@settings(max_examples=100, deadline=None)
@given(trees(), st.randoms(use_true_random=False))
def test_order_of_siblings_does_not_matter(nodes: list[Node], chance: random.Random) -> None:
    waiting, shuffled, known = list(nodes), [], {None}
    chance.shuffle(waiting)
    while waiting:
        ready = next(node for node in waiting if node.parent in known)
        waiting.remove(ready)
        shuffled.append(ready)
        known.add(ready.name)
    for algorithm in ("fair_tree", "classic", "ratio"):
        assert ranks(shuffled, algorithm) == ranks(nodes, algorithm)


@settings(max_examples=100, deadline=None)
@given(trees(), st.integers(1, 10**6), st.data())
def test_more_use_never_lifts_a_person_among_its_siblings(
    nodes: list[Node], more: int, data: st.DataObject
) -> None:
    people = [at for at, node in enumerate(nodes) if node.person]
    if not people:
        return
    at = data.draw(st.sampled_from(people))
    after = list(nodes)
    after[at] = replace(nodes[at], usage=nodes[at].usage + more)
    me, before_ranks, after_ranks = nodes[at], ranks(nodes), ranks(after)
    for other in nodes:
        if other.person and other.parent == me.parent and other.name != me.name:
            was = before_ranks[me.name] - before_ranks[other.name]
            now = after_ranks[me.name] - after_ranks[other.name]
            assert not (was <= 0 < now) and not (was < 0 <= now)


@settings(max_examples=100, deadline=None)
@given(trees(WIDE), st.integers(1, 2**70))
def test_scale_of_usage_does_not_matter(nodes: list[Node], factor: int) -> None:
    """Time passing shrinks every value alike, so nobody moves between records."""
    scaled = [replace(node, usage=node.usage * factor) for node in nodes]
    assert ranks(scaled) == ranks(nodes)


@settings(max_examples=100, deadline=None)
@given(trees(), st.data())
def test_adding_usage_equals_building_with_it(nodes: list[Node], data: st.DataObject) -> None:
    tree, usage, _, people = arrays(nodes)
    count = len(people)
    changes = data.draw(
        st.lists(
            st.tuples(st.integers(0, count - 1), st.one_of(SMALL, st.just(2**1100))), max_size=5
        )
        if count
        else st.just([])
    )
    before = usage.exact.copy()
    grown = usage.copy()
    grown.add([who for who, _ in changes], [delta for _, delta in changes])
    assert (usage.exact == before).all()

    totals = {node.name: node.usage for node in nodes}
    for who, delta in changes:
        totals[people[who]] += delta
    _, built, _, _ = arrays([replace(node, usage=totals[node.name]) for node in nodes])
    assert (grown.exact == built.exact).all()
    assert evaluate(tree, grown).people.rank.tolist() == evaluate(tree, built).people.rank.tolist()


@settings(max_examples=100, deadline=None)
@given(trees())
def test_ranks_are_a_count_down_with_ties(nodes: list[Node]) -> None:
    """N for the first; k people on one rank use up k ranks; factors lie in (0, 1]."""
    tree, usage, _, people = arrays(nodes)
    for algorithm in ("classic", "ratio"):
        found = sorted(
            evaluate(tree, usage, algorithm=algorithm).people.rank.tolist(), reverse=True
        )
        want = [len(people) - found.index(rank) for rank in found]
        assert found == want
    fair = evaluate(tree, usage).people
    assert all(1 <= rank <= len(people) for rank in fair.rank.tolist())
    assert all(0 < factor <= 1 for factor in fair.fairshare.tolist())
    assert sorted(fair.rank.tolist(), reverse=True)[:1] in ([], [len(people)])


def test_reference_knows_the_exact_gap() -> None:
    """Two levels 1e-40 apart: no float tells them from each other, and yet they do not tie."""
    big = 10**40
    nodes = [
        Node("root", None),
        Node("ana", "root", 1, big, person=True),
        Node("ben", "root", 1, big + 1, person=True),
        Node("cyd", "root", 2, 2 * big, person=True),
    ]
    assert ranks(nodes) == {"ana": 3, "cyd": 3, "ben": 1}
    assert Fraction(1, big) > Fraction(1, big + 1)
