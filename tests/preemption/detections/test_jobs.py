"""Idle and zombie allocations: found once, with evidence and worth, and cleared when it ends."""

from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest

from ledger import verification
from preemption.commands.detections import DetectionsFound, FindDetections
from tests.world import NOW

pytestmark = pytest.mark.django_db
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def idle(detections):
    """Job a has used 4 % of 8 units for an hour."""
    detections.running("a")
    detections.works("a", 0.04, start=NOW, minutes=60)
    return detections


def test_an_allocation_below_ten_percent_for_an_hour_is_idle(idle):
    assert idle.look(NOW + 60 * MINUTE) == DetectionsFound(found=1)
    assert idle.only("kind, state, job, units, since") == ("idle", "open", "a", 8, NOW)
    evidence = msgspec.json.decode(idle.only("work::text"))
    assert Decimal(evidence["compute_util"]) == Decimal("0.04")
    assert (Decimal(evidence["below"]), evidence["limit_seconds"]) == (Decimal("0.1"), 3600)
    assert [Decimal(one["peak"]) for one in evidence["stretches"]] == [Decimal("0.04")]
    assert verification.verify(idle.place.id).findings == []


def test_its_worth_is_what_the_idle_part_costs_an_hour(idle):
    idle.look(NOW + 60 * MINUTE)
    assert idle.only("worth_per_hour") == Decimal("15.36"), "8 units x 96 % x 2"


def test_where_nothing_is_rated_there_is_no_worth(detections):
    place = detections.place
    detections.running("a", pool="a100", tier="spot")
    detections.works("a", 0, start=NOW, minutes=60)
    place.run(FindDetections(pool_id=place.pools["a100"]), now=NOW + HOUR)
    assert detections.only("kind, worth_per_hour") == ("idle", None)


def test_it_is_found_once_however_often_and_late_somebody_looks(idle):
    idle.look(NOW + 60 * MINUTE)
    assert idle.look(NOW + 60 * MINUTE) == DetectionsFound()
    later = idle.works("a", 0.04, start=NOW + 60 * MINUTE, minutes=120)
    assert idle.look(later) == DetectionsFound()
    assert idle.rows() == [("idle", "open")]


@pytest.mark.parametrize(
    ("share", "minutes"), [(0.1, 60), (0.04, 50), (0.5, 120)], ids=["at 10 %", "50 min", "busy"]
)
def test_what_is_not_idle(detections, share, minutes):
    detections.running("a")
    end = detections.works("a", share, start=NOW, minutes=minutes)
    assert detections.look(end) == DetectionsFound()


def test_one_busy_message_in_between_starts_anew(detections):
    detections.running("a")
    at = detections.works("a", 0.04, start=NOW, minutes=50)
    at = detections.works("a", 0.3, start=at, minutes=10)
    at = detections.works("a", 0.04, start=at, minutes=50)
    assert detections.look(at) == DetectionsFound()
    at = detections.works("a", 0.04, start=at, minutes=10)
    assert detections.look(at).found == 1
    assert detections.only("since") == NOW + 60 * MINUTE


def test_a_job_that_does_not_tell_of_its_work_is_unknown_not_idle(detections):
    detections.running("a")
    for minutes in range(10, 130, 10):
        detections.jobs.beat("a", now=NOW + minutes * MINUTE)
    assert detections.look(NOW + 2 * HOUR) == DetectionsFound()


def test_it_clears_when_the_job_works_again(idle):
    idle.look(NOW + HOUR)
    at = idle.works("a", 0.8, start=NOW + HOUR, minutes=10)
    assert idle.look(at) == DetectionsFound(cleared=1)
    assert idle.only("state, why, closed_at") == ("cleared", "over", at)
    assert idle.look(at) == DetectionsFound()


def test_it_clears_when_the_job_ends(idle):
    idle.look(NOW + HOUR)
    idle.jobs.release("a", now=NOW + 61 * MINUTE)
    assert idle.look(NOW + 62 * MINUTE) == DetectionsFound(cleared=1)
    assert idle.only("state, why") == ("cleared", "ended")


def test_it_clears_when_nothing_is_told_any_more(idle):
    idle.look(NOW + HOUR)
    for minutes in (70, 80):
        idle.jobs.beat("a", now=NOW + minutes * MINUTE)
    assert idle.look(NOW + 80 * MINUTE) == DetectionsFound(cleared=1)
    assert idle.only("why") == "unknown"


def test_a_lapsed_lease_is_not_idle_even_before_it_is_recorded(idle):
    assert idle.look(NOW + 76 * MINUTE) == DetectionsFound()


def test_idle_again_is_another_detection(idle):
    idle.look(NOW + HOUR)
    at = idle.works("a", 0.8, start=NOW + HOUR, minutes=10)
    idle.look(at)
    at = idle.works("a", 0.01, start=at, minutes=60)
    assert idle.look(at) == DetectionsFound(found=1)
    assert idle.rows() == [("idle", "cleared"), ("idle", "open")]


def test_a_zombie_holds_memory_and_does_not_get_on(detections):
    detections.running("a")
    at = detections.works("a", 0.04, start=NOW, minutes=10, every=5, memory_gb=400, progress=7)
    assert detections.look(at) == DetectionsFound(), "progress was told five minutes after NOW"
    at = detections.works("a", 0.02, start=at, minutes=10, every=5, memory_gb=400, progress=7)
    assert detections.look(at).found == 1
    assert detections.only("kind, since") == ("zombie", NOW + 5 * MINUTE)
    evidence = msgspec.json.decode(detections.only("work::text"))
    assert Decimal(evidence["memory_gb"]) == 400
    assert detections.only("worth_per_hour") == 16, "8 units x 2: nothing of it is of use"


@pytest.mark.parametrize(
    "told",
    [{}, {"memory_gb": 0}],
    ids=["memory unknown", "no memory"],
)
def test_without_memory_there_is_no_zombie(detections, told):
    detections.running("a")
    at = detections.works("a", 0.01, start=NOW, minutes=30, **told)
    assert detections.look(at) == DetectionsFound()


def test_whoever_counts_steps_gets_on(detections):
    detections.running("a")
    at = NOW
    for step in range(1, 7):
        at = detections.works("a", 0.01, start=at, minutes=10, memory_gb=400, progress=step)
        assert detections.look(at).found == (1 if step == 6 else 0)
    assert detections.only("kind") == "idle", "an hour of 1 % is idle, however it gets on"


def test_a_zombie_is_not_told_as_idle_too(idle):
    idle.look(NOW + HOUR)
    at = idle.works("a", 0.01, start=NOW + HOUR, minutes=10, memory_gb=80)
    assert idle.look(at) == DetectionsFound(found=1, cleared=1)
    assert idle.rows("kind, state, why") == [("idle", "cleared", "worse"), ("zombie", "open", "")]


def test_a_kind_that_is_off_is_not_looked_for(idle):
    idle.look(NOW + HOUR)
    idle.policy(kinds=("surge",))
    assert idle.look(NOW + HOUR) == DetectionsFound(cleared=1)
    assert idle.only("why") == "off"


def test_thresholds_are_the_policys(idle):
    idle.policy(idle_below=Decimal("0.04"))
    assert idle.look(NOW + HOUR) == DetectionsFound()
    idle.policy(idle_below=Decimal("0.05"), idle_minutes=61)
    assert idle.look(NOW + HOUR) == DetectionsFound()
    idle.policy(idle_below=Decimal("0.05"), idle_minutes=60)
    assert idle.look(NOW + HOUR).found == 1
