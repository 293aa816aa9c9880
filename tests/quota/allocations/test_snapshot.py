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
