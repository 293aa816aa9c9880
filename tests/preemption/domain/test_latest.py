"""Asked every hour, `latest` says what `stages` says of the whole.

A gap that is bridged is known of only when it is over: there `latest` is later, so none is here.
"""

from datetime import timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from preemption.domain.reclaim import HOUR_SECONDS, QuotaHistory, ReclaimRule, latest, stages
from preemption.domain.series import UseSeries, moment

START = 1_764_000_000 // HOUR_SECONDS * HOUR_SECONDS
RULE = ReclaimRule(
    window_seconds=6 * HOUR_SECONDS,
    threshold=Fraction(1, 5),
    cooldown_seconds=366 * 86_400,
    gap_seconds_max=0,
    unknown_seconds_max=3 * HOUR_SECONDS,
)
USE = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 10, None]), min_size=1, max_size=40)


def history(units) -> QuotaHistory:
    return QuotaHistory(guarantee=10, use=UseSeries.hourly(START, units))


def asked_hourly(units) -> list[tuple]:
    """(stage, instant, units) of runs at each full hour, up to the first demotion."""
    told, watched_at = [], None
    for hours in range(1, len(units) + 1):
        if units[hours - 1] is None:
            continue  # nothing new is known
        now = moment(START + hours * HOUR_SECONDS)
        stage = latest(history(units[:hours]), RULE, watched_at=watched_at)
        if stage is None:
            continue
        told.append((stage.name, now, stage.units))
        if stage.name == "demoted":
            break
        watched_at = now if stage.name == "watch" else None
    return told


@given(USE)
@settings(max_examples=300, deadline=None)
def test_asked_hourly_it_is_the_same(units):
    whole = stages(history(units), RULE)
    wanted = [(stage.name, stage.at, stage.units) for stage in whole]
    found = asked_hourly(units)
    assert found[: len(wanted)] == wanted
    assert len(found) == len(wanted)


def test_asked_late_it_tells_before_it_takes():
    idle = history([0] * 40)
    assert latest(idle, RULE, watched_at=None).name == "watch"
    now = moment(START + 40 * HOUR_SECONDS)
    assert latest(idle, RULE, watched_at=now) is None
    before = now - timedelta(hours=2)
    assert latest(idle, RULE, watched_at=before).name == "demoted"
