"""From what a job told to what is found, and what it costs. Exact."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from preemption.domain.detection import DEFAULT_DETECTION
from preemption.domain.findings import JobFinding, of_account, of_job, samples
from preemption.domain.worth import excess_per_hour, idle_per_hour
from quota.domain.measuring import NOTHING, Measured, Telling, told
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)
BOTH = ("idle", "zombie")


def work(*percents: float, **values) -> Measured:
    """A message every ten minutes since NOW."""
    known = NOTHING
    for number, percent in enumerate(percents, start=1):
        telling = Telling(
            at=NOW + 10 * number * MINUTE,
            since=NOW,
            gap=15 * MINUTE,
            compute_util=Decimal(str(percent)) / 100,
            **values,
        )
        known = told(known, telling)
    return known


def found(known: Measured, *, late: int = 0, kinds=BOTH) -> JobFinding | None:
    at = (known.until or NOW) + late * MINUTE
    return of_job(
        known,
        started_at=NOW,
        fresh=15 * MINUTE,
        at=at,
        rule=DEFAULT_DETECTION,
        kinds=kinds,
    )


def test_stretches_are_held_against_thresholds_by_their_busiest_message():
    assert [one.highest for one in samples(work(9.9, 2, 3))] == [
        Fraction(9, 100),
        Fraction(3, 100),
    ]
    assert samples(NOTHING) == []


def test_idle_counts_from_the_first_low_message_with_the_mean_since_then():
    one = found(work(30, 8, 2, 4, 6, 2, 2))
    assert one is not None
    assert (one.kind, one.since, one.compute_util) == (
        "idle",
        NOW + 10 * MINUTE,
        Fraction(24, 600),
    )


def test_what_it_told_too_long_ago_says_nothing():
    lazy = work(*[4] * 6)
    assert found(lazy, late=15) is not None
    assert found(lazy, late=16) is None


def test_a_job_that_computes_gets_on_although_it_counts_no_steps():
    assert found(work(30, 2, memory_gb=Decimal(80))) is None
    one = found(work(30, 2, 2, memory_gb=Decimal(80)))
    assert one is not None
    assert (one.kind, one.since) == ("zombie", NOW + 10 * MINUTE)


def test_a_zombie_is_worse_than_idle_and_idle_where_zombies_are_not_looked_for():
    dead = work(*[2] * 6, memory_gb=Decimal(80))
    assert [found(dead, kinds=kinds).kind for kinds in (BOTH, ("idle",))] == ["zombie", "idle"]
    assert found(dead, kinds=("surge",)) is None


@pytest.mark.parametrize("unknown", [0, 3], ids=["all known", "three unknown"])
def test_unknown_days_do_not_count(unknown):
    days = [None] * unknown + [10] * (17 - unknown)
    assert of_account(30, days, rule=DEFAULT_DETECTION) is not None
    assert of_account(30, [None] * 4 + [10] * 13, rule=DEFAULT_DETECTION) is None


def test_what_idle_units_cost_an_hour():
    assert idle_per_hour(8, Fraction(4, 100), Decimal(2)) == Fraction(1536, 100)
    assert idle_per_hour(8, Fraction(0), Decimal("1.5")) == 12


def test_what_is_above_the_usual_day_costs_an_hour_of_it():
    day = 24 * 3600
    assert excess_per_hour(4 * day, Fraction(day), Decimal(2)) == 6
