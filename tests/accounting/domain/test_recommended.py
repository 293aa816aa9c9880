"""The recommended figure: what all of them together leave is enough at every level."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.domain.evidence import Holder, recommended


def tree(*rows: tuple[str, str | None, int, int | None]) -> dict[str, Holder]:
    return {name: Holder(parent=above, own=own, needed=need) for name, above, own, need in rows}


def test_idle_units_are_taken_once():
    # The child is idle, so what its parent's own jobs use stays with the parent.
    found = recommended(tree(("parent", None, 20, 22), ("child", "parent", 40, 0)))
    assert found == {"parent": 20, "child": 2}
    found = recommended(tree(("parent", None, 30, 22), ("child", "parent", 40, 0)))
    assert found == {"parent": 22, "child": 0}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("a", None, 40, 9)], [9], id="alone"),
        pytest.param([("a", None, 40, 60)], [40], id="never a raise"),
        pytest.param([("a", None, 40, None)], [None], id="unknown"),
        pytest.param([("a", None, 0, 5), ("b", "a", 10, 2)], [0, 5], id="used above"),
        pytest.param(
            [("a", None, 20, 30), ("b", "a", 10, None), ("c", "b", 30, 4)],
            [16, None, 4],
            id="an unknown account keeps what it has",
        ),
        pytest.param(
            [("a", None, 0, 9), ("b", "a", 10, 0), ("c", "a", 20, 0)],
            [0, 3, 6],
            id="what is used above stays in proportion",
        ),
        pytest.param([("a", None, 5, 3), ("b", None, 7, 7)], [3, 7], id="two tops"),
        pytest.param([], [], id="none"),
    ],
)
def test_examples(rows, expected):
    assert list(recommended(tree(*rows)).values()) == expected


@st.composite
def trees(draw) -> dict[int, Holder]:
    count = draw(st.integers(1, 12))
    amounts, needs = st.integers(0, 50), st.none() | st.integers(0, 150)
    holders = {
        key: Holder(
            parent=draw(st.none() | st.integers(0, key - 1)) if key else None,
            own=draw(amounts),
            needed=draw(needs),
        )
        for key in range(count)
    }
    order = draw(st.permutations(range(count)))
    return {key: holders[key] for key in order}


@given(trees())
def test_every_subtree_keeps_what_it_needs_and_nobody_is_raised(holders):
    found = recommended(holders)
    assert list(found) == list(holders)

    def within(key: int, top: int) -> bool:
        above: int | None = key
        while above is not None and above != top:
            above = holders[above].parent
        return above == top

    for top, one in holders.items():
        own = found[top]
        assert (own is None) == (one.needed is None)
        assert own is None or 0 <= own <= one.own
        below = [key for key in holders if within(key, top)]
        kept = sum(holders[key].own if found[key] is None else found[key] for key in below)
        promised = sum(holders[key].own for key in below)
        if one.needed is not None:
            assert kept >= min(one.needed, promised)


@given(trees())
def test_where_nothing_below_is_used_above_it_is_the_formula(holders):
    """own - max(0, own + recommended below - needed), clamped, from the figures themselves."""
    found = recommended(holders)
    kept = {key: holders[key].own if own is None else own for key, own in found.items()}
    totals = dict(kept)
    for key in sorted(holders, reverse=True):  # a parent's number is below its children's
        above = holders[key].parent
        if above is not None:
            totals[above] += totals[key]
    for key, one in holders.items():
        if one.needed is None:
            continue
        below = totals[key] - kept[key]
        formula = one.own - max(0, one.own + below - one.needed)
        # More than that is kept only for the use of an account above.
        assert found[key] >= min(one.own, max(0, formula))
        if one.parent is None:
            assert found[key] == min(one.own, max(0, formula))
