"""Priorities: each factor, aging, order of equals, explanation, bounds."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.domain import priority
from accounting.domain.priority import CLASSES, TERMS, Jobs, PriorityPolicy
from ledger.errors import Invalid

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
POLICY = PriorityPolicy()


def jobs(*rows: dict[str, Any]) -> Jobs:
    """Rows with what matters; the rest is a small fresh P3 job of somebody at half."""
    usual = {
        "key": "job",
        "fair_share": 0.5,
        "submitted": NOW,
        "class_index": 3,
        "units": 1,
        "capacity": 100,
        "boost": 0.0,
    }
    full = [{**usual, **row} for row in rows]
    keys = [row.pop("key") for row in full]
    return Jobs.of(keys, **{name: [row[name] for row in full] for name in full[0]})


def evaluate(*rows: dict[str, Any], policy: PriorityPolicy = POLICY) -> priority.Priorities:
    return priority.evaluate(jobs(*rows), now=NOW, policy=policy)


def test_the_sum_of_the_documentation() -> None:
    """P2, waiting 10 minutes, 8 of 64 units, boost 0.5, fair-share 0.75."""
    row = {
        "fair_share": 0.75,
        "submitted": NOW - 10 * MINUTE,
        "class_index": 2,
        "units": 8,
        "capacity": 64,
        "boost": 0.5,
    }
    result = evaluate(row)
    terms = priority.explain(result, 0)
    assert [term.name for term in terms] == list(TERMS)
    assert [round(term.contribution, 3) for term in terms] == [750.0, 0.198, 1000.0, 6.25, 100.0]
    assert sum(term.contribution for term in terms) == result.priority[0]
    assert result.priority[0] == pytest.approx(1856.448, abs=1e-3)


@pytest.mark.parametrize(
    ("case", "class_name", "waited", "want"),
    [
        ("fresh", "P3", 0, "P3"),
        ("just short of 30 minutes", "P3", 30 * MINUTE - 1, "P3"),
        ("30 minutes lift by one", "P3", 30 * MINUTE, "P2"),
        ("and no further", "P3", 2 * HOUR - 1, "P2"),
        ("2 hours lift to P1", "P3", 2 * HOUR, "P1"),
        ("P2 is in P1 after 30 minutes", "P2", 30 * MINUTE, "P1"),
        ("and stays there", "P2", 90 * DAY, "P1"),
        ("P1 never becomes P0", "P1", 90 * DAY, "P1"),
        ("P0 does not age", "P0", 90 * DAY, "P0"),
        ("submitted in the future", "P3", -HOUR, "P3"),
    ],
)
def test_aging(case: str, class_name: str, waited: float, want: str) -> None:
    result = evaluate({"class_index": CLASSES.index(class_name), "submitted": NOW - waited})
    assert CLASSES[result.effective_class[0]] == want, case
    assert result.factors["class"][0] == POLICY.class_factors[CLASSES.index(want)]


@pytest.mark.parametrize(
    ("waited", "want"), [(-5, 0.0), (0, 0.0), (3.5 * DAY, 0.5), (7 * DAY, 1.0), (99 * DAY, 1.0)]
)
def test_age_is_linear_to_its_cap(waited: float, want: float) -> None:
    assert evaluate({"submitted": NOW - waited}).factors["age"][0] == want


@pytest.mark.parametrize(
    ("units", "capacity", "policy", "want"),
    [
        (0, 100, POLICY, 0.0),
        (25, 100, POLICY, 0.25),
        (200, 100, POLICY, 1.0),
        (1, 0, POLICY, 1.0),
        (0, 0, POLICY, 0.0),
        (25, 100, PriorityPolicy(size_cap_units=50), 0.5),
        (25, 100, PriorityPolicy(small_first=True), 0.75),
    ],
)
def test_size(units: int, capacity: int, policy: PriorityPolicy, want: float) -> None:
    found = evaluate({"units": units, "capacity": capacity}, policy=policy)
    assert found.factors["size"][0] == want


def test_classes_are_apart_by_more_than_half_the_fair_share() -> None:
    """With the default weights a class outweighs half of the fair-share range, not all of it."""
    steps = [a - b for a, b in pairwise(POLICY.class_factors)]
    assert {step * POLICY.class_weight for step in steps} == {POLICY.fair_share_weight / 2}


def test_equals_are_ordered_by_submission_then_key() -> None:
    policy = PriorityPolicy(age_weight=0)  # or the earlier one would have more priority
    result = evaluate(
        {"key": "b", "submitted": NOW - 5},
        {"key": "a", "submitted": NOW - 5},
        {"key": "Z", "submitted": NOW - 5},
        {"key": "late", "submitted": NOW},
        {"key": "early", "submitted": NOW - 9},
        {"key": "boosted", "boost": 1.0},
        policy=policy,
    )
    assert result.rank.tolist() == [5, 4, 3, 6, 2, 1]


def test_no_jobs() -> None:
    nothing: list[float] = []
    columns = dict.fromkeys(
        ("fair_share", "submitted", "class_index", "units", "capacity", "boost"), nothing
    )
    result = priority.evaluate(Jobs.of([], **columns), now=NOW, policy=POLICY)
    assert result.rank.tolist() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fair_share_weight", -1.0),
        ("class_weight", math.nan),
        ("boost_weight", 2e9),
        ("age_cap_seconds", 0.0),
        ("rise_one_seconds", math.inf),
        ("rise_top_seconds", 60.0),
        ("class_factors", (1.0, 0.5, 0.5, 0.1)),
        ("class_factors", (1.1, 0.5, 0.4, 0.1)),
        ("class_factors", (1.0, 0.5, 0.1)),
        ("class_factors", (1.0, 0.5, 0.1, math.nan)),
        ("size_cap_units", 0),
    ],
)
def test_policies_refused(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as caught:
        PriorityPolicy(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fair_share", 1.5),
        ("fair_share", math.nan),
        ("class_index", 4),
        ("class_index", -1),
        ("units", -1),
        ("units", math.inf),
        ("boost", -0.1),
        ("submitted", math.nan),
    ],
)
def test_jobs_refused(field: str, value: float) -> None:
    with pytest.raises(Invalid) as caught:
        jobs({"key": "fine"}, {"key": "bad", field: value})
    assert caught.value.field == field
    assert caught.value.facts["key"] == "bad"


def test_columns_must_be_as_long_as_the_keys() -> None:
    names = ("fair_share", "submitted", "class_index", "units", "capacity")
    two = {name: [0, 0] for name in names}
    with pytest.raises(Invalid) as caught:
        Jobs.of(["a", "b"], **two, boost=[1.0])
    assert caught.value.code == "jobs_shape"


FACTORS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
ROWS = st.fixed_dictionaries(
    {
        "fair_share": FACTORS,
        "submitted": st.sampled_from([NOW - at for at in (0, 60, 2000, 8000, 9 * DAY)]),
        "class_index": st.integers(0, 3),
        "units": st.integers(0, 8),
        "boost": FACTORS,
    }
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_ranks_follow_priorities_whatever_the_order_of_the_question(rows: Any, chance: Any) -> None:
    named = [{"key": f"job-{at}", **row} for at, row in enumerate(rows)]
    first = evaluate(*named)
    want = sorted(
        range(len(named)),
        key=lambda at: (-first.priority[at], named[at]["submitted"], named[at]["key"]),
    )
    assert np.argsort(first.rank).tolist() == want

    shuffled = list(named)
    chance.shuffle(shuffled)
    second = evaluate(*shuffled)
    places = [shuffled.index(row) for row in named]
    assert second.rank[places].tolist() == first.rank.tolist()
    assert second.priority[places].tolist() == first.priority.tolist()
