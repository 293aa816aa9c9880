"""What heartbeats tell of a job's work: small, and exact for every threshold in whole percents."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from quota.domain.measuring import BUSY, NOTHING, Measured, Telling, told
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


def after(*percents: float | None, every: int = 5, start: Measured = NOTHING) -> Measured:
    """One message in five minutes, the first five minutes after the start at NOW."""
    known = start
    for number, percent in enumerate(percents, start=1):
        share = None if percent is None else Decimal(str(percent)) / 100
        known = told(known, telling(number * every, compute_util=share))
    return known


def telling(minutes: float, **values) -> Telling:
    return Telling(at=NOW + minutes * MINUTE, since=NOW, gap=15 * MINUTE, **values)


def below(known: Measured, percent: int) -> float | None:
    """Minutes since NOW from which it has been below so many percent."""
    for one in known.stretches:
        if one.peak < percent:
            return (one.start - NOW) / MINUTE
    return None


def test_busier_messages_swallow_those_before_them():
    known = after(3, 7, 2, 4, 1)
    assert [one.peak for one in known.stretches] == [7, 4, 1]
    assert [below(known, percent) for percent in (1, 2, 5, 8)] == [None, 20, 10, 0]
    assert known.mean == Fraction(17, 500)


def test_the_mean_is_weighted_by_time():
    known = told(after(10), telling(20, compute_util=Decimal("0.02")))
    assert known.mean == Fraction(10 * 5 + 2 * 15, 100 * 20)


def test_a_busy_job_starts_anew():
    assert after(3, BUSY).stretches == ()
    assert below(after(3, BUSY, 4), 10) == 10


def test_just_below_a_threshold_is_below_it_and_the_threshold_is_not():
    assert below(after(9.99), 10) == 0
    assert below(after(10), 10) is None


def test_after_a_silence_nothing_is_known_of_the_time_between():
    known = told(after(3, 3), telling(30, compute_util=Decimal("0.03")))
    assert below(known, 10) == 30
    assert known.mean is None
    assert below(told(known, telling(35, compute_util=Decimal("0.03"))), 10) == 30


def test_a_job_that_tells_first_long_after_its_start_is_not_known_before():
    assert below(told(NOTHING, telling(16, compute_util=Decimal(0))), 10) == 16


def test_older_messages_and_repeated_ones_change_nothing():
    known = after(3, 30)
    assert told(known, telling(10, compute_util=Decimal("0.01"), memory_gb=Decimal(9))) == known
    assert told(known, telling(7, compute_util=Decimal("0.01"))) == known


def test_progress_is_when_the_count_last_changed():
    known = told(NOTHING, telling(5, progress=7))
    for minutes, count in ((10, 7), (15, 8), (20, 8)):
        known = told(known, telling(minutes, progress=count))
    assert (known.progress, known.progress_at) == (8, NOW + 15 * MINUTE)
    again = told(known, telling(25, progress=2))
    assert again.progress_at == NOW + 25 * MINUTE, "back to a checkpoint is getting on, too"


def test_what_is_not_told_stays():
    known = told(NOTHING, telling(5, compute_util=Decimal("0.03"), memory_gb=Decimal(40)))
    after_it = told(known, telling(10, progress=1))
    assert (after_it.memory_gb, after_it.compute_util, after_it.until) == (
        Decimal(40),
        Decimal("0.03"),
        NOW + 5 * MINUTE,
    )


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.integers(1, BUSY))
def test_it_says_what_all_messages_would_say(percents: list[int], threshold: int):
    known = after(*percents)
    run = 0
    for percent in reversed(percents):
        if percent >= threshold:
            break
        run += 1
    told_since = below(known, threshold)
    assert told_since == (5 * (len(percents) - run) if run else None)
    assert len(known.stretches) <= BUSY
    if run:
        first = next(n for n, one in enumerate(known.stretches) if one.peak < threshold)
        last = percents[len(percents) - run :]
        assert known.mean_from(first) == Fraction(sum(last), 100 * run)
