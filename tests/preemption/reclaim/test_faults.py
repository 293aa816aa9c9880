"""The task comes twice, at once, days late, with a clock that was put back, or after the broker was
gone: one effect, and nothing leaks."""

from datetime import datetime, timedelta
from functools import partial

import pytest

from ledger import verification
from preemption import tasks
from preemption.tasks import run_reclaim_of
from tests.ledger.sample import together
from tests.preemption.reclaim.conftest import DAY, HOUR, Reclaim
from tests.world import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def idle(reclaim: Reclaim) -> Reclaim:
    """nlp's 40 units lie idle, and so do vision's 20 but for five."""
    reclaim.promise("nlp", 40)
    reclaim.promise("vision", 20)
    reclaim.use("some", 3, account="vision", days=40)
    reclaim.rule()
    return reclaim


@pytest.fixture
def clock(monkeypatch) -> list[datetime]:
    """What the tasks' clock shows: the last one."""
    shown = [NOW]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return shown[-1]

    monkeypatch.setattr(tasks, "datetime", Clock)
    return shown


def told(it: Reclaim) -> list[str]:
    """Every event of the runs, in order."""
    from ledger import scope
    from ledger.sql import server_cursor

    with scope.reading(it.place.id), server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT substr(type, 9) FROM ledger_event WHERE type LIKE 'reclaim.%%' "
            "AND type <> 'reclaim.rule_set' ORDER BY 1"
        ).fetchall()
    return [row[0] for row in rows]


def whole(it: Reclaim, demoted: int) -> None:
    """Both were watched once and demoted so often; guarantees say so; the ledger is clean."""
    assert told(it) == ["demoted"] * demoted + ["watched"] * 2
    taken = (0, 3) if demoted else (40, 20)
    assert (it.quota("nlp")[0], it.quota("vision")[0]) == taken
    assert verification.verify(it.place.id).findings == []


def test_the_task_delivered_twice_has_one_effect(idle, clock):
    for now in (NOW, NOW + DAY):
        clock.append(now)
        for _ in range(2):
            run_reclaim_of(str(idle.place.id))
    whole(idle, demoted=2)


def test_the_task_on_four_workers_at_once_has_one_effect(idle, clock):
    for now in (NOW, NOW + DAY):
        clock.append(now)
        answers = together([partial(run_reclaim_of, str(idle.place.id))] * 4)
        assert not [one for one in answers if isinstance(one, Exception)], answers
    whole(idle, demoted=2)


def test_a_task_that_comes_days_late_tells_before_it_takes(idle, clock):
    """The broker was gone for six days between the watch and the next run; what was due long ago
    is done once. Gone from the beginning, the first run tells and takes nothing."""
    run_reclaim_of(str(idle.place.id))
    clock.append(NOW + 6 * DAY)
    run_reclaim_of(str(idle.place.id))
    run_reclaim_of(str(idle.place.id))
    whole(idle, demoted=2)


def test_a_first_run_that_comes_days_late_takes_nothing_yet(idle, clock):
    clock.append(NOW + 6 * DAY)
    run_reclaim_of(str(idle.place.id))
    whole(idle, demoted=0)


@pytest.mark.parametrize("back", [timedelta(seconds=1), HOUR, 3 * DAY])
def test_a_clock_that_is_put_back_between_two_runs_takes_nothing_twice(idle, clock, back):
    for now in (NOW, NOW - back, NOW):
        clock.append(now)
        run_reclaim_of(str(idle.place.id))
    whole(idle, demoted=0)
    for now in (NOW + DAY, NOW + DAY - back, NOW + DAY):
        clock.append(now)
        run_reclaim_of(str(idle.place.id))
    whole(idle, demoted=2)


def test_a_decision_at_the_same_time_as_runs_is_one_of_both(idle, clock):
    """The lead restores while four workers run the rule: it is demoted once, restored once."""
    for now in (NOW, NOW + DAY, NOW + DAY + HOUR):
        clock.append(now)
        if now != clock[-2] + HOUR:
            run_reclaim_of(str(idle.place.id))
    jobs = [partial(run_reclaim_of, str(idle.place.id))] * 4
    answers = together(
        [*jobs, partial(idle.restore, now=clock[-1]), partial(idle.restore, now=clock[-1])]
    )
    assert not [one for one in answers if isinstance(one, Exception)], answers
    assert sorted(one.changed for one in answers[4:]) == [False, True]
    assert told(idle) == ["demoted"] * 2 + ["restored"] + ["watched"] * 2
    assert (idle.quota("nlp")[0], idle.quota("vision")[0]) == (40, 3)
    assert verification.verify(idle.place.id).findings == []
