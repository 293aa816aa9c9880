"""After the next review, what left a guarantee is restored or returned."""

from uuid import UUID

import pytest

from quota.commands.cycle_close import CloseCycle
from quota.commands.cycle_decisions import Choice, DecideCycle
from quota.commands.cycles import OpenCycle
from quota.domain.cycles import Decision
from tests.preemption.reclaim.conftest import DAY, Reclaim
from tests.world import NOW


@pytest.fixture
def demoted(reclaim) -> Reclaim:
    """35 of nlp's 40 units left."""
    reclaim.promise("nlp", 40)
    reclaim.use("some", 5, days=40)
    reclaim.rule()
    reclaim.run()
    assert reclaim.run(NOW + DAY).demoted == 1
    for name in ("rita", "rolf"):
        reclaim.place.person(name)
        reclaim.place.role(name, "approver")
    return reclaim


def review(reclaim: Reclaim, *, units: int | None, now=NOW + 2 * DAY) -> None:
    """A review in which nlp's quota is kept, or set."""
    place = reclaim.place
    opened = place.run(
        OpenCycle(account_id=place.root, name="Autumn", deadline=now + 14 * DAY),
        by=place.actor("rita"),
        now=now,
    ).result
    cycle_id: UUID = opened.cycle_id
    decision = Decision.KEEP if units is None else Decision.SET
    choice = Choice(
        account_id=place.accounts["nlp"],
        pool_id=place.pools["h100"],
        decision=decision,
        units=units,
    )
    command = DecideCycle(cycle_id=cycle_id, choices=(choice,))
    place.run(command, by=place.actor("rita"), now=now, reason="test")
    close = CloseCycle(cycle_id=cycle_id, undecided_keep=True)
    place.run(close, by=place.actor("rita"), now=now, reason="test")


def test_a_review_that_keeps_what_is_left_returns_the_rest(demoted):
    review(demoted, units=None)
    assert demoted.run(NOW + 3 * DAY).settled == 1
    assert demoted.state() == "returned"
    assert (demoted.quota()[0], demoted.quota("research")[0]) == (5, 35)
    assert demoted.run(NOW + 3 * DAY).settled == 0


def test_a_review_that_gives_them_back_restores(demoted):
    review(demoted, units=40)
    assert demoted.run(NOW + 3 * DAY).settled == 1
    assert (demoted.state(), demoted.quota()[0]) == ("restored", 40)


def test_what_was_granted_since_is_not_given_twice(demoted):
    demoted.promise("nlp", 30, at=NOW + 2 * DAY)
    assert demoted.restore(now=NOW + 3 * DAY).guarantee == 40
