"""An approved justification keeps an idle guarantee; what runs, and what serves, is never taken."""

import pytest

from ledger import scope
from notices.queries import notices
from quota.commands.requests import Submit
from quota.commands.reviews import Approve
from quota.domain.requests import Terms
from tests.notices.test_reading import read
from tests.preemption.reclaim.conftest import DAY, HOUR
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW


def justify(reclaim, *, now=NOW, days: int = 10) -> None:
    """Alice asks, and Otto approves."""
    place = reclaim.place
    terms = Terms(
        account_id=place.accounts["nlp"],
        pool_id=place.pools["h100"],
        kind="justification",
        units=None,
        ends_at=now + days * DAY,
        purpose="waiting for data",
        workload="training",
    )
    asked = place.run(Submit(terms=terms), by=place.actor("alice"), now=now).result
    command = Approve(request_id=asked.request_id)
    place.run(command, by=place.actor("otto"), now=now, reason="fine")


@pytest.fixture
def idle(reclaim):
    reclaim.promise("nlp", 40)
    reclaim.rule()
    return reclaim


def test_a_justification_ends_the_watch_and_stops_everything_until_its_end(idle):
    idle.run()
    justify(idle, now=NOW + HOUR)
    assert idle.run(NOW + DAY).justified == 1
    assert idle.run(NOW + 5 * DAY) == type(idle.run(NOW + 6 * DAY))()
    assert idle.state() == "justified"
    # After its end the window begins anew: a watch takes its time.
    ended = NOW + HOUR + 10 * DAY
    assert idle.run(ended + 47 * HOUR).watched == 0
    assert idle.run(ended + 50 * HOUR).watched == 1
    assert idle.quota()[0] == 40


def test_what_is_in_use_at_that_instant_stays(idle):
    idle.run()
    jobs = Jobs(idle.place)
    asked = jobs.ask("late", units=12, account="nlp", pool="h100", tier="guaranteed")
    assert jobs.admit(asked, now=NOW + DAY).results[0].status == "admitted"
    assert idle.run(NOW + DAY).demoted == 1
    assert idle.quota()[0] == 12


def test_what_serves_is_exempt(idle):
    jobs = Jobs(idle.place)
    asked = jobs.ask("serves", units=1, account="nlp", pool="h100", job_class="P0")
    assert jobs.admit(asked, now=NOW).results[0].status == "admitted"
    assert idle.run().watched == 0


def test_the_lead_is_told_of_each_step(idle):
    idle.run()
    idle.run(NOW + DAY)
    idle.restore(now=NOW + DAY, by="otto")
    read(idle.place, now=NOW + DAY)
    with scope.reading(idle.place.id):
        rows = notices(idle.place.id, idle.place.people["alice"]).rows
    told = {row.kind: row for row in rows if row.kind.startswith("reclaim.")}
    assert told["reclaim.watched"].title == "nlp uses 0% of 40 units on h100"
    assert told["reclaim.watched"].deadline == NOW + DAY
    assert told["reclaim.demoted"].title == "40 units of h100 left the guarantee of nlp"
    assert told["reclaim.settled"].title == "nlp on h100: 40 units are guaranteed again"
