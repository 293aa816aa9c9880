"""An account that uses a multiple of its own usual day, and what is left alone."""

from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest

from ledger import verification
from preemption.commands.detections import DetectionsFound
from tests.world import NOW, record

pytestmark = pytest.mark.django_db
USUAL = (10, 12, 9, 11, 10, 13, 8, 10, 11, 9, 10, 12, 10, 11)


def look(detections, now=NOW):
    return detections.look(now, consumption=True)


def test_three_times_the_usual_day_is_a_surge(detections):
    detections.used(*USUAL, 40)
    assert look(detections) == DetectionsFound(found=1)
    assert detections.only("kind, state, job") == ("surge", "open", None)
    evidence = msgspec.json.decode(detections.only("use::text"))
    assert evidence["day"] == "2026-11-28"
    assert evidence["consumed"] == 40 * 3600
    assert Decimal(evidence["median"]) == Decimal(10) * 3600
    assert Decimal(evidence["times"]) == 4
    assert [day for day in evidence["days"] if day is not None] == [n * 3600 for n in USUAL]
    assert verification.verify(detections.place.id).findings == []


def test_its_worth_is_what_is_above_the_usual_an_hour_of_the_day(detections):
    detections.used(*USUAL, 40)
    look(detections)
    assert detections.only("worth_per_hour") == Decimal("2.5"), "30 unit-hours x 2 / 24"


@pytest.mark.parametrize(
    "days",
    [
        (*USUAL, 29),
        (*USUAL[1:], 40),
        (*[0] * 20, *USUAL[:10], 40),
        (*[1, 90] * 8, 60),
        (),
    ],
    ids=["less than three times", "13 days", "new account", "wild days", "no use"],
)
def test_what_is_no_surge(detections, days):
    detections.used(*[day or None for day in days])
    assert look(detections) == DetectionsFound()


def test_days_on_which_nothing_is_known_do_not_count(detections):
    detections.used(*USUAL[:7], None, None, *USUAL[7:13], None, 40)
    assert look(detections) == DetectionsFound(), "13 days are known"


def test_today_counts_as_far_as_it_is(detections):
    detections.used(*USUAL)
    detections.place.use(record("now", units=20, hours=2, start=NOW - timedelta(hours=3)))
    assert look(detections).found == 1
    assert msgspec.json.decode(detections.only("use::text"))["day"] == "2026-11-29"


def test_what_runs_now_counts(detections):
    detections.used(*USUAL)
    detections.running("a", 30, at=NOW - timedelta(hours=2))
    detections.works("a", 0.9, start=NOW - timedelta(hours=2), minutes=120)
    assert look(detections).found == 1


def test_it_clears_when_a_usual_day_follows(detections):
    detections.used(*USUAL, 40)
    look(detections)
    assert look(detections) == DetectionsFound()
    tomorrow = NOW + timedelta(days=1)
    one = record("usual", hours=1, units=10, start=NOW, account="nlp")
    detections.place.use(one, now=tomorrow)
    assert look(detections, tomorrow) == DetectionsFound(cleared=1)
    assert detections.only("state, why") == ("cleared", "over")


def test_jobs_and_consumption_do_not_clear_each_other(detections):
    detections.used(*USUAL, 40)
    look(detections)
    assert detections.look(NOW) == DetectionsFound()
    assert detections.rows() == [("surge", "open")]


def test_what_accounts_below_use_is_their_own(detections):
    """research is above nlp and uses nothing itself."""
    detections.used(*USUAL, 40)
    look(detections)
    assert detections.rows("account_id") == [(detections.place.accounts["nlp"],)]
