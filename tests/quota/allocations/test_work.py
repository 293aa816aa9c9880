"""Heartbeats that tell of a job's work: recorded once, with those that count, and cheaply."""

from decimal import Decimal

import pytest

from ledger import scope, verification
from ledger.sql import server_cursor
from quota import wire
from quota.measuring_rows import works
from tests.quota.allocations.conftest import Jobs, after
from tests.world import NOW


def work(jobs: Jobs, key: str):
    with scope.reading(jobs.place.id), server_cursor() as cursor:
        (id_,) = cursor.execute("SELECT id FROM quota_allocation WHERE key = %b", (key,)).fetchone()
        return works(jobs.place.id, [id_]).get(id_)


def events(jobs: Jobs) -> int:
    with scope.reading(jobs.place.id), server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM ledger_event WHERE type = 'allocation.work_measured'"
        ).fetchone()[0]


@pytest.fixture
def running(jobs: Jobs, quotas) -> Jobs:
    quotas.set("nlp", 20)
    jobs.admit(jobs.ask("a"), jobs.ask("b"), now=NOW)
    jobs.start("a", "b", now=NOW)
    return jobs


def test_work_is_known_as_last_told(running):
    running.beat("a", now=after(minutes=5), compute_util=0.03, memory_gb=80.5, progress=7)
    running.beat("a", now=after(minutes=10), compute_util=0.05)
    known = work(running, "a")
    assert known.until == after(minutes=10)
    assert (known.compute_util, known.memory_gb) == (Decimal("0.05"), Decimal("80.5"))
    assert (known.progress, known.progress_at) == (7, after(minutes=5))
    assert known.stretches[0].start == NOW


def test_a_heartbeat_that_only_tells_that_a_job_lives_records_no_work(running):
    running.beat("a", "b", now=after(minutes=5))
    assert work(running, "a") is None
    assert events(running) == 0


def test_jobs_that_tell_together_are_one_event(running):
    running.beat("a", "b", now=after(minutes=5), compute_util=0.5)
    assert events(running) == 1
    assert work(running, "a").until == work(running, "b").until == after(minutes=5)


def test_a_repeated_heartbeat_and_an_older_one_tell_nothing(running):
    running.beat("a", now=after(minutes=5), compute_util=0.03)
    known = work(running, "a")
    for minutes in (5, 3):
        told = running.beat(
            "a", now=after(minutes=6), at=after(minutes=minutes), compute_util=0.9, progress=1
        )
        assert told[0].code == "nothing_newer"
    assert work(running, "a") == known
    assert events(running) == 1


def test_an_ended_job_tells_nothing(running):
    running.release("a", now=after(minutes=2))
    running.beat("a", now=after(minutes=5), compute_util=0.03)
    assert work(running, "a") is None


def test_a_job_in_two_pools_tells_of_both(jobs, quotas):
    for pool in ("h100", "a100"):
        quotas.set("nlp", 2, pool=pool)
    needs = [wire.PoolNeed(pool=pool, units=2) for pool in ("h100", "a100")]
    jobs.admit(jobs.ask("c", needs=needs), now=NOW)
    jobs.start("c", now=NOW)
    jobs.beat("c", now=after(minutes=5), compute_util=0.03)
    assert events(jobs) == 2
    assert verification.verify(jobs.place.id).findings == []
