"""Laws of decay that hold for every record, order and instant."""

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.domain.decay import (
    EPOCH_HALF_LIVES,
    LANDMARK_SECONDS,
    HalfLife,
    Scale,
    add_weight,
    decayed,
    decayed_total,
    epoch_of,
    forward_weight,
    landmark_of,
)

DAY = 86_400
HALF_LIVES = st.integers(1, 365).map(HalfLife.from_days)
STARTS = st.floats(LANDMARK_SECONDS - 1000 * DAY, LANDMARK_SECONDS + 4000 * DAY)
LENGTHS = st.one_of(st.floats(0, 60), st.floats(0, 30 * DAY), st.floats(0, 4000 * DAY))
RATES = st.floats(0, 1e5)
RECORDS = st.tuples(RATES, STARTS, LENGTHS)

# A rounding of a float, in every step of the closed form and of an instant of 1.6e9 seconds.
RELATIVE = 1e-9


def sums_of(records: list[tuple[float, float, float]], half_life: HalfLife) -> dict[int, int]:
    sums: dict[int, int] = {}
    for rate, start, length in records:
        weight = forward_weight(rate=rate, start=start, end=start + length, half_life=half_life)
        add_weight(sums, weight)
    return sums


def quantum_at(at: float, *, epoch: int, half_life: HalfLife) -> float:
    """Unit-seconds at `at` of one quantum of an epoch: what rounding once may cost a record."""
    elapsed = (at - landmark_of(epoch=epoch, half_life=half_life)) / half_life.seconds
    return 1e-6 * 2.0 ** -min(elapsed, 1000)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=8), HALF_LIVES, st.randoms(use_true_random=False))
def test_arrival_order_changes_nothing(
    records: list[tuple[float, float, float]], half_life: HalfLife, chance: random.Random
) -> None:
    shuffled = list(records)
    chance.shuffle(shuffled)
    assert sums_of(shuffled, half_life) == sums_of(records, half_life)


@settings(deadline=None)
@given(RECORDS, HALF_LIVES, st.floats(0, 400 * DAY))
def test_forward_sum_is_the_closed_form(
    record: tuple[float, float, float], half_life: HalfLife, later: float
) -> None:
    rate, start, length = record
    end = start + length
    at = end + later
    want = decayed(rate=rate, start=start, end=end, at=at, half_life=half_life)
    found = decayed_total(sums_of([record], half_life), at=at, half_life=half_life)
    quantum = quantum_at(at, epoch=epoch_of(end=end, half_life=half_life), half_life=half_life)
    assert found == pytest.approx(want, rel=RELATIVE, abs=quantum)


@settings(deadline=None)
@given(RECORDS, HALF_LIVES, st.floats(0, 1))
def test_splitting_a_record_changes_nothing_beyond_quanta(
    record: tuple[float, float, float], half_life: HalfLife, where: float
) -> None:
    rate, start, length = record
    middle = min(start + length * where, start + length)
    parts = [(rate, start, middle - start), (rate, middle, start + length - middle)]
    at = start + length
    whole = decayed_total(sums_of([record], half_life), at=at, half_life=half_life)
    split = decayed_total(sums_of(parts, half_life), at=at, half_life=half_life)
    epochs = {epoch_of(end=s + n, half_life=half_life) for _, s, n in parts}
    slack = 3 * max(quantum_at(at, epoch=e, half_life=half_life) for e in epochs)
    # start + (end - start) may miss the end by a rounding of the instant, 2.4e-7 s each.
    assert split == pytest.approx(whole, rel=RELATIVE, abs=slack + rate * 1e-6)


@settings(deadline=None)
@given(
    st.lists(RECORDS, min_size=1, max_size=4),
    st.lists(RECORDS, min_size=1, max_size=4),
    HALF_LIVES,
    st.floats(0, 200 * DAY),
)
def test_ratios_do_not_move_between_records(
    ours: list[tuple[float, float, float]],
    theirs: list[tuple[float, float, float]],
    half_life: HalfLife,
    later: float,
) -> None:
    a, b = sums_of(ours, half_life), sums_of(theirs, half_life)
    scale = Scale.covering({*a, *b}, half_life)
    if not scale.total(a) or not scale.total(b):
        return
    ratio = Fraction(scale.total(a), scale.total(b))
    now = max(start + length for _, start, length in [*ours, *theirs])
    for at in (now, now + later):
        value_a, value_b = (scale.value(scale.total(sums), at=at) for sums in (a, b))
        if min(value_a, value_b) > 1e-150:
            assert value_a / value_b == pytest.approx(float(ratio), rel=1e-9)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=5), HALF_LIVES, st.floats(0, 100 * DAY))
def test_value_halves_every_half_life(
    records: list[tuple[float, float, float]], half_life: HalfLife, later: float
) -> None:
    sums = sums_of(records, half_life)
    at = LANDMARK_SECONDS + 9000 * DAY + later
    now = decayed_total(sums, at=at, half_life=half_life)
    after = decayed_total(sums, at=at + half_life.seconds, half_life=half_life)
    if after > 1e-280:
        assert after == pytest.approx(now / 2, rel=1e-9)


@settings(deadline=None)
@given(RECORDS, HALF_LIVES, st.floats(0, 5000 * DAY))
def test_more_time_running_never_counts_less(
    record: tuple[float, float, float], half_life: HalfLife, longer: float
) -> None:
    rate, start, length = record
    now, later = start + length, start + length + longer
    first = decayed(rate=rate, start=start, end=None, at=now, half_life=half_life)
    second = decayed(rate=rate, start=start, end=None, at=later, half_life=half_life)
    assert second >= first * (1 - 1e-12)
    assert EPOCH_HALF_LIVES == 64
