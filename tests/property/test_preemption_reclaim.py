"""Use it or lose it over any use, gaps, maintenance and decisions."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from preemption.domain.reclaim import (
    Decided,
    Justification,
    QuotaHistory,
    ReclaimRule,
    stages,
)
from preemption.domain.series import Observed, UseSeries, seconds

START = datetime(2026, 11, 1, tzinfo=UTC)
RULE = ReclaimRule(window_seconds=12 * 3600, cooldown_seconds=24 * 3600)
GUARANTEE = 20

blocks = st.lists(
    st.tuples(st.none() | st.integers(0, 25), st.integers(1, 20)), min_size=1, max_size=16
)
spans = st.lists(st.tuples(st.integers(0, 150), st.integers(1, 30)), max_size=2)


def at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def flat(found) -> list[int | None]:
    return [units for units, count in found for _ in range(count)]


@st.composite
def histories(draw) -> tuple[list[int | None], QuotaHistory]:
    units = flat(draw(blocks))
    return units, QuotaHistory(
        guarantee=GUARANTEE,
        use=UseSeries.hourly(seconds(START), units),
        maintenance=[(at(low), at(low + length)) for low, length in draw(spans)],
        justifications=[
            Justification(start=at(low), end=at(low + length)) for low, length in draw(spans)
        ],
        decisions=[
            Decided(at=at(hour), decision=decision)
            for hour, decision in draw(
                st.lists(
                    st.tuples(st.integers(0, 200), st.sampled_from(["restore", "return"])),
                    max_size=3,
                )
            )
        ],
    )


@given(histories())
@settings(max_examples=300, deadline=None)
def test_what_holds_for_every_demotion(given_):
    units, quota = given_
    found = stages(quota, RULE)
    assert [stage.at for stage in found] == sorted(stage.at for stage in found)
    demoted = [stage for stage in found if stage.name == "demoted"]
    for earlier, later in pairwise(demoted):
        assert later.at - earlier.at >= timedelta(seconds=RULE.cooldown_seconds)
    guarantee = GUARANTEE
    for stage in found:
        if stage.name == "demoted":
            assert stage.guarantee == guarantee - stage.units == max(stage.p95, stage.in_use)
            assert 0 < stage.units <= guarantee
            assert stage.utilisation < RULE.threshold
            assert units[(stage.at - START) // timedelta(hours=1) - 1] in (stage.in_use, None)
            told = [s for s in found if s.name == "watch" and s.at < stage.at]
            assert stage.at - told[-1].at >= timedelta(hours=4), "a third of the window before"
            for each in quota.justifications:
                assert not each.start < stage.at < each.end
            for low, high in quota.maintenance:
                assert not low < stage.at < high
        guarantee = stage.guarantee
    names = [stage.name for stage in found if stage.name in ("watch", "cleared", "demoted")]
    for before, after in pairwise(names):
        assert (before, after) != ("cleared", "demoted")
        assert (before, after) != ("cleared", "cleared")


@given(blocks)
@settings(max_examples=200, deadline=None)
def test_the_first_demotion_is_when_a_plain_count_says(found):
    """Hour by hour, in plain Python: no gaps, no maintenance, nothing decided."""
    units = [n or 0 for n in flat(found)]
    got = [
        ((stage.at - START) // timedelta(hours=1), stage.units)
        for stage in stages(
            QuotaHistory(guarantee=GUARANTEE, use=UseSeries.hourly(seconds(START), units)), RULE
        )
        if stage.name == "demoted"
    ]
    assert got[:1] == first_demotion(units)


def first_demotion(units: list[int]) -> list[tuple[int, int]]:
    watched: int | None = None
    for hour in range(1, len(units) + 1):
        short = [min(n, GUARANTEE) for n in units[max(0, hour - 8) : hour]]
        long = units[max(0, hour - 12) : hour]
        mean = Fraction(sum(short), GUARANTEE * 8)
        if watched is None and hour >= 8 and mean < RULE.threshold:
            watched = hour
        elif watched is not None and mean >= RULE.threshold + RULE.clear_margin:
            watched = None
        if watched is None or hour < 12 or hour < watched + 4:
            continue
        if Fraction(sum(min(n, GUARANTEE) for n in long), GUARANTEE * 12) >= RULE.threshold:
            continue
        p95 = sorted(long)[-(-12 * 95 // 100) - 1]
        idle = GUARANTEE - max(p95, long[-1])
        if idle > 0:
            return [(hour, idle)]
    return []


@given(histories())
@settings(max_examples=100, deadline=None)
def test_what_was_judged_stays_judged(given_):
    """With fewer hours known the same stages, up to there: late and repeated runs agree."""
    units, quota = given_
    if None in units:  # the end of a gap decides whether it is bridged
        return
    whole = stages(quota, RULE)
    for until in range(1, len(units), 13):
        part = QuotaHistory(
            guarantee=GUARANTEE,
            use=UseSeries.hourly(seconds(START), units[:until]),
            maintenance=quota.maintenance,
            justifications=quota.justifications,
            decisions=quota.decisions,
        )
        seen = [s for s in stages(part, RULE) if s.name in ("watch", "cleared", "demoted")]
        known = [s for s in whole if s.name in ("watch", "cleared", "demoted")]
        assert seen == known[: len(seen)]


@given(blocks, spans)
def test_the_observed_clock_counts_what_is_known(found, cut):
    units = flat(found)
    series = UseSeries.hourly(seconds(START), units)
    observed = Observed.build(
        series,
        gap_seconds_max=0,
        excluded=[(seconds(at(low)), seconds(at(low + length))) for low, length in cut],
    )
    out = {hour for low, length in cut for hour in range(low, low + length)}
    known = [hour for hour, n in enumerate(units) if n is not None and hour not in out]
    assert observed.total == 3600 * len(known)
    for place, hour in enumerate(known):
        assert observed.wall(3600 * (place + 1)) == seconds(at(hour + 1))
        assert observed.clock_at(seconds(at(hour + 1))) == 3600 * (place + 1)
