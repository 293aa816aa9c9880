"""A scheduler's whole truth: what was lost on the way is caught up with, and told."""

import pytest

from ledger import verification
from ledger.errors import Invalid, NotFound
from quota import wire
from quota.commands.snapshots import ReconcilePool
from tests.quota.allocations.conftest import Jobs, after

pytestmark = pytest.mark.django_db


def runs(key: str, units: int = 4, **values) -> wire.SnapshotJob:
    return wire.SnapshotJob(key=key, units=units, **({"account": "nlp", "person": "bob"} | values))


def snapshot(jobs: Jobs, *running: wire.SnapshotJob, minutes: int = 1, **values):
    at = after(minutes=minutes)
    command = ReconcilePool(pool="h100", at=at, jobs=running)
    told = jobs.place.run(command, now=at, **values).result
    return told.known, [(d.key, d.done, d.code) for d in told.differences]


@pytest.fixture
def three(jobs, quotas):
    """a and b run with 4 units each, c is held; nlp has 16 guaranteed."""
    quotas.set("nlp", 16)
    quotas.set("production", 20)
    jobs.admit(*(jobs.ask(key, units=4, min_units=2) for key in "abc"))
    jobs.start("a", "b")
    return jobs


def test_nothing_differs(three):
    assert snapshot(three, runs("a"), runs("b")) == (2, [])
    assert three.rows("key, state, heard_at")[0] == ("a", "running", after(minutes=1))
    assert three.holding("nlp") == (12, 0, 0)
    assert verification.verify(three.place.id).findings == []


def test_every_difference_is_told_and_resolved(three):
    known, told = snapshot(
        three, runs("a", 2), runs("c"), runs("d", 5, account="vision"), runs("e", account="nowhere")
    )
    assert known == 0
    assert told == [
        ("b", "ended", "not_running"),
        ("a", "resized", "resized"),
        ("c", "started", "started"),
        ("d", "adopted", "not_admitted"),
        ("e", "disputed", "unknown_owner"),
    ]
    assert three.holding("nlp") == (6, 0, 0)
    assert three.holding("vision") == (0, 5, 0)
    assert snapshot(three, runs("a", 2), runs("c"), runs("d", 5, account="vision"), minutes=2) == (
        3,
        [],
    )
    assert verification.verify(three.place.id).findings == []


def test_a_running_job_whose_heartbeats_were_lost_counts_again(three):
    told = snapshot(three, runs("a"), minutes=20)
    assert told == (0, [("a", "adopted", "not_admitted")])
    assert three.rows("key, attempt, state")[:2] == [("a", 1, "expired"), ("a", 2, "running")]
    assert three.holding("nlp") == (4, 0, 0)
    assert three.beat("a", now=after(minutes=25))[0].code == "renewed"
    assert snapshot(three, runs("a"), minutes=26) == (1, [])
    assert verification.verify(three.place.id).findings == []


def test_what_cannot_be_resolved_is_disputed(three):
    three.release("b", now=after(seconds=30))
    known, told = snapshot(three, runs("a", 9), runs("b"), runs("c", account="vision"))
    assert (known, told) == (
        0,
        [
            ("a", "disputed", "other_units"),
            ("b", "disputed", "already_ended"),
            ("c", "disputed", "other_account"),
        ],
    )


def test_what_came_later_than_the_snapshot_stands(three):
    """b ended and c started after the scheduler had looked."""
    three.release("b", now=after(minutes=2))
    three.start("c", now=after(minutes=2))
    command = ReconcilePool(pool="h100", at=after(minutes=1), jobs=(runs("a"), runs("b")))
    told = three.place.run(command, now=after(minutes=3)).result
    assert (told.known, told.differences) == (1, [])
    assert [row[2] for row in three.rows()] == ["running", "released", "running"]


def test_adopted_jobs_count_although_nothing_is_free(jobs, quotas):
    quotas.set("nlp", 10)
    snapshot(jobs, runs("a", 8), runs("b", 99))
    assert jobs.holding("nlp") == (8, 0, 99)
    assert jobs.admit(jobs.ask("c", units=1), now=after(minutes=1)).admitted == 0
    assert verification.verify(jobs.place.id).findings == []


def test_snapshots_that_cannot_be_used(three):
    for minutes, jobs, code in (
        (-20, (), "snapshot_too_old"),
        (5, (), "snapshot_from_the_future"),
        (0, (runs("a"), runs("a")), "duplicate_key"),
    ):
        command = ReconcilePool(pool="h100", at=after(minutes=minutes), jobs=jobs)
        with pytest.raises(Invalid) as refusal:
            three.place.run(command)
        assert refusal.value.code == code
    with pytest.raises(NotFound):
        three.place.run(ReconcilePool(pool="h200", at=after(minutes=0), jobs=()))


def test_a_dry_run_only_tells(three):
    assert snapshot(three, dry_run=True)[1] == [
        ("a", "ended", "not_running"),
        ("b", "ended", "not_running"),
    ]
    assert three.state("a") == "running"


def used(jobs: Jobs) -> list[tuple]:
    """(attempt, started, ended) of a's runs; None where it goes on."""
    return [row[1:] for row in jobs.rows("key, attempt, started_at, ended_at") if row[0] == "a"]


def test_what_an_expired_run_counted_is_not_counted_again(three):
    """The scheduler names the true start; units up to the expiry are the first run's."""
    snapshot(three, runs("a", started_at=after(minutes=0)), minutes=20)
    assert used(three) == [
        (1, after(minutes=0), after(minutes=15)),
        (2, after(minutes=15), None),
    ]


def test_an_adopted_run_stays_the_job_although_the_scheduler_counts_no_requeue(three):
    assert snapshot(three, runs("a", attempt=1), minutes=20) == (
        0,
        [("a", "adopted", "not_admitted")],
    )
    assert snapshot(three, runs("a", attempt=1), minutes=21) == (1, [])
    assert snapshot(three, runs("a", attempt=1), minutes=22) == (1, [])
    assert len(used(three)) == 2
    assert verification.verify(three.place.id).findings == []


def test_a_job_named_with_and_without_its_attempt_is_named_twice(three):
    with pytest.raises(Invalid) as refusal:
        snapshot(three, runs("new"), runs("new", attempt=1))
    assert refusal.value.code == "duplicate_key"


def test_what_ended_is_disputed_although_its_account_has_nothing_left(jobs, quotas):
    quotas.set("nlp", 10)
    jobs.admit(jobs.ask("a", account="vision", units=4))
    jobs.start("a")
    jobs.release("a", now=after(seconds=30))
    assert snapshot(jobs, runs("a")) == (0, [("a", "disputed", "already_ended")])


def test_an_expired_job_keeps_its_class_and_how_long_it_takes_to_give_back(jobs, quotas):
    quotas.set("nlp", 16)
    ask = jobs.ask("a", job_class="P0", reclaim_seconds=7, labels={"model": "m"})
    jobs.admit(ask)
    jobs.start("a")
    snapshot(jobs, runs("a", 8), minutes=20)
    assert jobs.rows("attempt, priority_class, reclaim_seconds, labels->>'model'") == [
        (1, "P0", 7, "m"),
        (2, "P0", 7, "m"),
    ]
