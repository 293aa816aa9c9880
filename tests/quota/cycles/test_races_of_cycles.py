"""Closing while others decide, close, give quota away: one order, nothing half done."""

from functools import partial

import pytest

from ledger import verification
from quota.commands.cycles import OpenQuarterlyCycle
from tests.quota.cycles.test_opening import NEW_YEAR, cycles
from tests.races import became

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*jobs) -> list[str]:
    """What became of each job, run at the same time; the code of its error, or `done`."""

    def run(job) -> str:
        job()
        return "done"

    return became(partial(run, job) for job in jobs)


def test_two_close_at_once(table):
    it = table.open()
    table.decide(it, "nlp", "set", 10)
    told = at_once(
        *(lambda by=by: table.close(it, by=by, undecided_keep=True) for by in ("rita", "rolf"))
    )
    assert sorted(told) == ["cycle_not_open", "done"]
    assert table.quotas.stored()["nlp"] == 10
    assert verification.verify(table.place.id).clean


def test_a_decision_comes_before_the_close_or_not_at_all(table):
    it = table.open()
    told = at_once(
        lambda: table.decide(it, "nlp", "set", 10, by="petra"),
        lambda: table.close(it, undecided_keep=True),
    )
    assert told[1] == "done"
    applied = table.quotas.stored()["nlp"]
    assert (told[0], applied) in (("done", 10), ("cycle_not_open", 40))
    assert verification.verify(table.place.id).clean


def test_room_is_given_once(table):
    """A close and an operator want the last 10 units of the pool."""
    it = table.open()
    table.decide(it, "nlp", "set", 50)
    told = at_once(
        lambda: table.close(it, undecided_keep=True),
        lambda: table.quotas.set("serving", 40),
    )
    assert sum(table.quotas.stored().values()) <= 100
    assert sorted(told) in (["cycle_impossible", "done"], ["done", "promise_exceeded"])


def test_a_quarter_opens_once_though_two_workers_run(table):
    told = at_once(*(lambda: table.place.run(OpenQuarterlyCycle(), now=NEW_YEAR) for _ in range(3)))
    assert told == ["done"] * 3
    assert len(cycles(table)) == 1
