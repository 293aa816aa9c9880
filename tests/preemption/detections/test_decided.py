"""Acknowledged, released, or refused; by whom; and who is told."""

from datetime import timedelta

import pytest

from ledger import scope, verification
from ledger.errors import Denied, Invalid, NotFound, Refused
from ledger.sql import server_cursor
from notices import reading
from preemption.commands.detections import DetectionsFound, ReleaseDetected
from tests.world import NOW

pytestmark = pytest.mark.django_db
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def found(detections):
    """Job a of Bob's, 8 units of nlp, was found idle."""
    detections.running("a")
    detections.works("a", 0.04, start=NOW, minutes=60)
    assert detections.look(NOW + HOUR).found == 1
    return detections


def goes_on(found, minutes: int):
    """The job stays as idle for so long after it was found."""
    return found.works("a", 0.04, start=NOW + HOUR, minutes=minutes)


def test_a_lead_acknowledges_it_and_it_stays_known(found):
    found.acknowledge(now=NOW + HOUR, by="alice")
    assert found.only("state, by, reason") == ("acknowledged", "alice", "debugging")
    assert found.look(goes_on(found, 600)) == DetectionsFound()


def test_it_is_told_again_when_its_time_is_over(found):
    until = NOW + 3 * HOUR
    found.acknowledge(now=NOW + HOUR, until=until)
    at = goes_on(found, 110)
    assert found.look(at) == DetectionsFound()
    at = found.works("a", 0.04, start=at, minutes=10)
    assert at == until
    assert found.look(at) == DetectionsFound(reopened=1)
    assert found.look(at) == DetectionsFound()
    assert found.only("state, quiet_until") == ("open", None)


def test_until_then_the_same_is_quiet_although_it_had_ended(found):
    found.acknowledge(now=NOW + HOUR, until=NOW + 24 * HOUR)
    at = found.works("a", 0.9, start=NOW + HOUR, minutes=10)
    assert found.look(at) == DetectionsFound(cleared=1)
    at = found.works("a", 0.04, start=at, minutes=60)
    assert found.look(at) == DetectionsFound()
    at = found.works("a", 0.04, start=at, minutes=24 * 60)
    assert found.look(at) == DetectionsFound(found=1)


@pytest.mark.parametrize("until", [NOW, NOW + timedelta(days=400)], ids=["past", "too far"])
def test_quiet_has_an_end_in_bounds(found, until):
    with pytest.raises(Invalid, match="366 days"):
        found.acknowledge(now=NOW + HOUR, until=until)


def test_it_is_released_and_its_units_are_free(found):
    told = found.release(now=NOW + HOUR, by="alice")
    assert (told.changed, told.state, told.units) == (True, "acted", 8)
    assert found.jobs.state("a") == "released"
    assert found.jobs.holding("nlp") == (0, 0, 0)
    assert found.only("state, why, reason") == ("acted", "released", "forgotten")
    again = found.release(now=NOW + HOUR, by="alice")
    assert (again.changed, again.state) == (False, "acted")
    assert found.look(NOW + HOUR) == DetectionsFound()
    assert verification.verify(found.place.id).findings == []


def test_the_scheduler_is_told_at_its_next_heartbeat(found):
    found.release(now=NOW + HOUR)
    (told,) = found.jobs.beat("a", now=NOW + 61 * MINUTE)
    assert told.code == "already_ended"


def test_a_job_that_works_again_is_not_released(found):
    found.works("a", 0.8, start=NOW + HOUR, minutes=10)
    with pytest.raises(Refused, match="told of work"):
        found.release(now=NOW + 70 * MINUTE)
    assert found.jobs.state("a") == "running"


def test_a_job_that_has_ended_meanwhile_clears_it(found):
    found.jobs.release("a", now=NOW + HOUR)
    told = found.release(now=NOW + HOUR)
    assert (told.changed, told.state) == (False, "cleared")
    with pytest.raises(Refused, match="no longer so"):
        found.acknowledge(now=NOW + HOUR)
    with pytest.raises(Refused, match="no longer so"):
        found.release(now=NOW + HOUR)


def test_a_surge_has_no_job_to_release(detections):
    detections.used(*[10] * 14, 40)
    detections.look(NOW, consumption=True)
    with pytest.raises(Refused, match="not about one job"):
        detections.release(now=NOW)


@pytest.mark.parametrize("who", ["bob", "uma"], ids=["member", "auditor"])
def test_it_takes_a_lead_or_an_operator(found, who):
    for decide in (found.acknowledge, found.release):
        with pytest.raises(Denied):
            decide(now=NOW + HOUR, by=who)
    found.acknowledge(now=NOW + HOUR, by="otto")


def test_a_lead_of_another_account_cannot_name_his_own(found):
    place = found.place
    place.person("vera", "vision")
    place.role("vera", "lead", on="vision")
    ids = found.ids() | {"account_id": place.accounts["vision"]}
    with pytest.raises(NotFound):
        place.run(ReleaseDetected(**ids), by=place.actor("vera"), reason="mine")


def test_nobody_decides_without_a_reason(found):
    with pytest.raises(Invalid, match="Say why"):
        found.place.run(ReleaseDetected(**found.ids()))


def test_owner_and_lead_are_told_once(found):
    reading.read_events(found.place.id, now=NOW + HOUR)
    found.look(NOW + HOUR)
    reading.read_events(found.place.id, now=NOW + HOUR)
    assert told(found, "detection.found") == [
        ("alice", "Job a with 8 units of h100 lies idle"),
        ("bob", "Job a with 8 units of h100 lies idle"),
    ]
    found.acknowledge(now=NOW + HOUR, until=NOW + 2 * HOUR)
    found.look(goes_on(found, 60))
    reading.read_events(found.place.id, now=NOW + 2 * HOUR)
    assert [who for who, _ in told(found, "detection.reopened")] == ["alice"]


def test_the_leads_are_told_of_a_surge_in_figures(detections):
    detections.used(*[10] * 14, 40)
    detections.look(NOW, consumption=True)
    reading.read_events(detections.place.id, now=NOW)
    ((who, title),) = told(detections, "detection.found")
    assert (who, title) == ("alice", "nlp uses 4.0 times its usual day on h100")


def told(found, kind: str) -> list[tuple[str, str]]:
    with scope.reading(found.place.id), server_cursor() as cursor:
        return cursor.execute(
            "SELECT p.name, n.title FROM notices_notice n "
            "JOIN tenancy_person p ON p.id = n.person_id WHERE n.kind = %b ORDER BY 1, 2",
            (kind,),
        ).fetchall()
