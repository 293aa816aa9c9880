"""Decay by hand: worked numbers, bounds, epochs."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.domain.decay import (
    LANDMARK_SECONDS,
    ForwardWeight,
    HalfLife,
    Scale,
    add_weight,
    decay_factor,
    decayed,
    decayed_total,
    epoch_of,
    exact_total,
    forward_weight,
    forward_weights_at,
    landmark_of,
    quanta_of,
    sql_epoch,
    sql_forward_weight,
)
from ledger.errors import Invalid

DAY = 86_400
WEEK = HalfLife.from_days(7)
T0 = LANDMARK_SECONDS + 100 * DAY


@pytest.mark.parametrize(
    ("case", "start", "end", "at", "want"),
    [
        ("not yet started", 0, 7 * DAY, -1, 0.0),
        ("at its start", 0, 7 * DAY, 0, 0.0),
        ("one half-life, just ended", 0, 7 * DAY, 7 * DAY, 0.5),
        ("one half-life, ended one ago", 0, 7 * DAY, 14 * DAY, 0.25),
        ("one half-life, ended three ago", 0, 7 * DAY, 28 * DAY, 0.0625),
        ("still running after one half-life", 0, None, 7 * DAY, 0.5),
        ("end in the future counts up to now", 0, 70 * DAY, 7 * DAY, 0.5),
        ("two half-lives running", 0, None, 14 * DAY, 0.75),
        ("running for ever approaches r h / ln 2", -9000 * DAY, None, 0, 1.0),
        ("no length", 5, 5, 7 * DAY, 0.0),
    ],
)
def test_closed_form(case: str, start: float, end: float | None, at: float, want: float) -> None:
    """In units of r h / ln 2, that of somebody who has always held r."""
    whole = 3 * WEEK.seconds / math.log(2)
    found = decayed(rate=3, start=start, end=end, at=at, half_life=WEEK)
    assert found == pytest.approx(want * whole, rel=1e-14), case


def test_worked_number() -> None:
    """8 units for a day, ended 7 days ago, half-life 7 days: 329,040 of 691,200 unit-seconds."""
    found = decayed(rate=8, start=0, end=DAY, at=8 * DAY, half_life=WEEK)
    assert found == pytest.approx(329_040.24, abs=0.01)


def test_short_records_keep_their_digits() -> None:
    """A millisecond in a year's half-life: the difference of two powers would lose 6 digits."""
    year = HalfLife.from_days(365)
    found = decayed(rate=1, start=0.0, end=0.001, at=0.001, half_life=year)
    assert found == pytest.approx(0.001, rel=1e-10)


@pytest.mark.parametrize(
    "days", [None, 0, -1, 0.5, 366, math.nan, math.inf, True, Decimal("NaN"), 7.000001]
)
def test_half_life_refused(days: float | None) -> None:
    with pytest.raises(Invalid) as caught:
        HalfLife.from_days(days)
    assert caught.value.field == "half_life_days"


@pytest.mark.parametrize(("days", "seconds"), [(1, DAY), (3.5, 302_400), (365, 365 * DAY)])
def test_half_life_offered(days: float, seconds: int) -> None:
    half_life = HalfLife.from_days(days)
    assert half_life.seconds == seconds
    assert half_life.days == days


def test_half_life_is_whole_seconds() -> None:
    with pytest.raises(Invalid):
        HalfLife(86_400.5)  # type: ignore[arg-type]  # what a careless caller would pass


def test_epochs_are_64_half_lives_from_2020() -> None:
    length = 64 * WEEK.seconds
    for epoch in (-2, -1, 0, 1, 5):
        landmark = landmark_of(epoch=epoch, half_life=WEEK)
        assert landmark == LANDMARK_SECONDS + epoch * length
        assert epoch_of(end=landmark, half_life=WEEK) == epoch
        assert epoch_of(end=landmark - 0.001, half_life=WEEK) == epoch - 1


def test_weight_told_at_its_end_is_the_closed_form() -> None:
    weight = forward_weight(rate=2.5, start=T0, end=T0 + DAY, half_life=WEEK)
    value = decayed_total({weight.epoch: weight.quanta}, at=T0 + DAY, half_life=WEEK)
    want = decayed(rate=2.5, start=T0, end=T0 + DAY, at=T0 + DAY, half_life=WEEK)
    assert value == pytest.approx(want, rel=1e-13)


def test_a_record_of_ten_years_does_not_overflow() -> None:
    day = HalfLife.from_days(1)
    weight = forward_weight(rate=1e6, start=T0, end=T0 + 3650 * DAY, half_life=day)
    value = decayed_total({weight.epoch: weight.quanta}, at=T0 + 3650 * DAY, half_life=day)
    assert value == pytest.approx(1e6 * DAY / math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"end": T0 - 1}, "end_before_start"),
        ({"rate": -1.0}, "rate_out_of_bounds"),
        ({"rate": math.nan}, "rate_out_of_bounds"),
        ({"rate": math.inf}, "rate_out_of_bounds"),
    ],
)
def test_weights_refused(fields: dict[str, float], code: str) -> None:
    with pytest.raises(Invalid) as caught:
        forward_weight(**{"rate": 1.0, "start": T0, "end": T0 + 1, "half_life": WEEK, **fields})
    assert caught.value.code == code


def test_nothing_weighs_nothing() -> None:
    assert forward_weight(rate=5, start=T0, end=T0, half_life=WEEK).quanta == 0
    assert forward_weight(rate=0, start=T0, end=T0 + 9, half_life=WEEK).quanta == 0


def test_running_records_weigh_as_if_they_ended_now() -> None:
    starts = [T0 - 10 * DAY, T0 - 1, T0, T0 + 5]
    epoch, quanta = forward_weights_at(rates=[1, 2.5, 3, 4], starts=starts, at=T0, half_life=WEEK)
    assert quanta[2:] == [0, 0]
    for found, rate, start in zip(quanta[:2], [1, 2.5], starts[:2], strict=True):
        one = forward_weight(rate=rate, start=start, end=T0, half_life=WEEK)
        assert one.epoch == epoch
        assert found == pytest.approx(one.quanta, rel=1e-14)


def test_epochs_of_one_node_add_up_exactly() -> None:
    """64 half-lives are a factor of 2^64: an old quantum and 2^64 times as much, one later."""
    sums: dict[int, int] = {}
    add_weight(sums, ForwardWeight(epoch=-1, quanta=3))
    add_weight(sums, ForwardWeight(epoch=0, quanta=5))
    add_weight(sums, ForwardWeight(epoch=0, quanta=2))
    assert sums == {-1: 3, 0: 7}
    assert exact_total(sums, reference_epoch=-1) == 3 + 7 * 2**64
    assert exact_total(sums, reference_epoch=-2) == (3 + 7 * 2**64) * 2**64
    with pytest.raises(Invalid):
        exact_total(sums, reference_epoch=0)


def test_ratio_of_two_nodes_on_one_scale_is_that_of_their_values() -> None:
    old, new = {0: 10**9}, {1: 10**6}
    scale = Scale.covering([0, 1], WEEK)
    at = landmark_of(epoch=1, half_life=WEEK) + 3 * DAY
    ratio = Fraction(scale.total(new), scale.total(old))
    values = scale.value(scale.total(new), at=at) / scale.value(scale.total(old), at=at)
    assert ratio == Fraction(10**6 * 2**64, 10**9)
    assert values == pytest.approx(float(ratio), rel=1e-12)


def test_values_survive_a_hundred_years_of_epochs() -> None:
    """The integers have thousands of bits, which no float holds; the value is still right."""
    day = HalfLife.from_days(1)
    scale = Scale.covering([0, 500], day)
    total = scale.total({0: 1, 500: 10**6})
    assert total.bit_length() > 30_000
    at = landmark_of(epoch=500, half_life=day)
    assert scale.value(total, at=at) == pytest.approx(1.0, rel=1e-10)
    assert scale.value(0, at=at) == 0.0
    assert math.exp2(scale.unit_log2(landmark_of(epoch=0, half_life=day))) == pytest.approx(1e-6)


def test_half_of_it_is_left_after_a_half_life() -> None:
    assert decay_factor(elapsed=WEEK.seconds, half_life=WEEK) == 0.5


def test_quanta_of_a_stored_weight() -> None:
    assert quanta_of(Decimal("1.000001")) == 1_000_001
    assert quanta_of(Decimal("123456789012345678901234567890.500000")) == (
        123456789012345678901234567890500000
    )
    with pytest.raises(Invalid):
        quanta_of(Decimal("0.0000001"))


def test_sql_text_holds_its_arguments_and_our_constants() -> None:
    epoch = sql_epoch(end="r.e", half_life_seconds="h")
    assert "r.e" in epoch and str(LANDMARK_SECONDS) in epoch and "64.0" in epoch
    weight = sql_forward_weight(rate="r.r", start="r.s", end="r.e", half_life_seconds="h")
    for part in ("r.r", "r.s", "r.e", "sinh", epoch):
        assert part in weight
