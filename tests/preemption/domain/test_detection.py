"""Idle, zombie and surging, each with its evidence and with what is left alone."""

from datetime import timedelta
from fractions import Fraction

import pytest

from preemption.domain.detection import DetectionRule, Sample, idle, surge, zombie
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


def samples(*percents: int | None, until: int = 0, every: int = 10) -> list[Sample]:
    """One per ten minutes, the last ending `until` minutes ago."""
    end = NOW - until * MINUTE
    return [
        Sample(
            start=end - (len(percents) - at) * every * MINUTE,
            end=end - (len(percents) - at - 1) * every * MINUTE,
            compute_util=None if percent is None else Fraction(percent, 100),
            memory_gb=Fraction(40),
        )
        for at, percent in enumerate(percents)
    ]


def test_idle_for_an_hour() -> None:
    found = idle(samples(80, *[4] * 5, 10, *[2, 8] * 3), at=NOW)
    assert found is not None
    assert (found.since, found.until) == (NOW - 60 * MINUTE, NOW)
    assert found.compute_util == Fraction(5, 100)


@pytest.mark.parametrize(
    "series",
    [
        [],
        samples(*[4] * 5),  # not long enough
        samples(*[4] * 10, 10),  # 10 % is not below 10 %
        samples(*[4] * 10, None),  # unknown now
        samples(*[4] * 3, None, *[4] * 3),  # unknown between
        samples(*[4] * 10, until=11),  # the last one is too old
        samples(*[4] * 3, until=60) + samples(*[4] * 3),  # a gap
    ],
)
def test_not_idle(series: list[Sample]) -> None:
    assert idle(series, at=NOW) is None


def test_minutes_are_the_rules() -> None:
    assert idle(samples(4, 4, 4), at=NOW, rule=DetectionRule(idle_minutes=30)) is not None


def test_a_zombie_holds_memory_and_does_not_get_on() -> None:
    (dead,) = samples(4)
    found = zombie(dead, progress_at=NOW - 11 * MINUTE, at=NOW)
    assert found is not None
    assert found.memory_gb == 40
    assert zombie(dead, progress_at=NOW - 10 * MINUTE, at=NOW) is None
    assert zombie(samples(5)[0], progress_at=NOW - 60 * MINUTE, at=NOW) is None
    assert zombie(samples(None)[0], progress_at=NOW - 60 * MINUTE, at=NOW) is None
    assert zombie(None, progress_at=NOW - 60 * MINUTE, at=NOW) is None
    empty = Sample(start=NOW - MINUTE, end=NOW, compute_util=Fraction(0), memory_gb=Fraction(0))
    assert zombie(empty, progress_at=NOW - 60 * MINUTE, at=NOW) is None


def test_three_times_its_own_baseline() -> None:
    days = [100, 110, 90, 105, 95] * 3
    found = surge(300, days)
    assert found is not None
    assert (found.median, found.times) == (100, 3)
    assert found.deviation == Fraction(14826, 10_000) * 5
    assert surge(299, days) is None


def test_one_wild_day_in_the_past_moves_no_baseline() -> None:
    assert surge(300, [100] * 14 + [1_000_000]) is not None


def test_a_new_account_and_an_idle_one_are_left_alone() -> None:
    assert surge(10_000, [100] * 13) is None
    assert surge(10_000, [0] * 60 + [100] * 13) is None
    assert surge(10_000, [0] * 90) is None
    assert surge(10_000, [5] + [0] * 30) is None  # most days without use: no baseline


def test_an_account_of_wild_days_is_not_reported_for_one_more() -> None:
    assert surge(310, [20, 100, 180] * 6) is None
