"""Several workers look at one pool at once, and tables are what the events say."""

from datetime import timedelta
from functools import partial

import pytest

from config.celery import BEAT_TABLE
from ledger import verification
from preemption import detection_loading, tasks
from tests.ledger.sample import together
from tests.world import NOW

HOUR = timedelta(hours=1)


def idle_jobs(detections) -> None:
    for key in ("a", "b", "c"):
        detections.running(key)
    for minutes in range(10, 70, 10):
        at = NOW + timedelta(minutes=minutes)
        detections.jobs.beat("a", "b", "c", now=at, compute_util=0.01)


@pytest.mark.django_db(transaction=True)
def test_looks_at_once_have_one_effect(detections):
    idle_jobs(detections)
    told = together([partial(detections.look, NOW + HOUR)] * 4)
    assert sum(one.found for one in told) == 3
    assert detections.rows("kind, state") == [("idle", "open")] * 3
    assert verification.verify(detections.place.id).clean


@pytest.mark.django_db(transaction=True)
def test_released_by_two_at_once_it_is_released_once(detections):
    detections.running("a")
    detections.works("a", 0.01, start=NOW, minutes=60)
    detections.look(NOW + HOUR)
    told = together(
        [
            partial(detections.release, now=NOW + HOUR),
            partial(detections.release, now=NOW + HOUR),
            partial(detections.look, NOW + HOUR),
        ]
    )
    assert sorted(one.changed for one in told[:2]) == [False, True]
    assert detections.rows() == [("idle", "acted")]
    assert detections.jobs.holding("nlp") == (0, 0, 0)
    assert verification.verify(detections.place.id).clean


@pytest.mark.parametrize(
    ("name", "task"),
    [("detections-jobs", "find_detections"), ("detections-consumption", "find_consumption")],
)
def test_it_is_in_the_beat_table(name, task):
    assert BEAT_TABLE[name]["task"] == getattr(tasks, task).name


def test_tasks_go_through_all_organizations(acme, globex, monkeypatch):
    asked = []
    monkeypatch.setattr(
        tasks.find_detections_of, "apply_async", lambda args, **options: asked.append(args)
    )
    tasks.find_detections()
    tasks.find_consumption()
    wanted = [(str(it.id), what) for what in (False, True) for it in (acme, globex)]
    assert sorted(asked) == sorted(wanted)


def test_a_task_looks_only_where_something_tells_of_its_work(detections):
    from ledger import scope

    def of_interest():
        with scope.reading(detections.place.id):
            return detection_loading.pools(detections.place.id, consumption=False)

    detections.running("a")
    assert of_interest() == []
    detections.works("a", 0.01, start=NOW, minutes=10)
    assert of_interest() == [detections.place.pools["h100"]]


def test_a_task_run_late_and_twice_clears_what_has_lapsed_once(detections):
    """By the clock of today the job's lease is over: what was found is not so any more."""
    detections.running("a")
    detections.works("a", 0.01, start=NOW, minutes=60)
    detections.look(NOW + HOUR)
    for _ in range(2):
        tasks.find_detections_of(str(detections.place.id), False)
    assert detections.only("state, why") == ("cleared", "ended")


def test_a_look_asks_a_bounded_number_of_questions(detections, statements):
    def asked() -> int:
        statements.clear()
        detections.look(NOW + HOUR)
        return len(statements)

    idle_jobs(detections)
    asked()
    few = asked()
    for number in range(10):
        key = f"more-{number}"
        detections.running(key, 1)
        detections.works(key, 0.01, start=NOW, minutes=50)
    assert asked() == few
