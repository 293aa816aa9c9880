"""What schedulers tell: starts, heartbeats, sizes, ends; repeated, late and contradictory."""

import pytest

from ledger import verification
from quota import wire
from quota.commands.allocations import ResizeAllocations
from quota.commands.settling import SettlePools
from tests.quota.allocations.conftest import after

pytestmark = pytest.mark.django_db


def said(results) -> list[tuple[str, str]]:
    return [(result.status, result.code) for result in results]


@pytest.fixture
def running(jobs, quotas):
    """Job a of nlp runs with 8 of 10 guaranteed units."""
    quotas.set("nlp", 10)
    jobs.admit(jobs.ask("a", min_units=2))
    jobs.start("a")
    return jobs


def test_a_life_from_hold_to_release(running):
    assert said(running.beat("a", now=after(minutes=10))) == [("changed", "renewed")]
    assert said(running.resize("a", 4, now=after(minutes=11))) == [("changed", "resized")]
    assert running.holding("nlp") == (4, 0, 0)
    assert said(running.resize("a", 6, now=after(minutes=12))) == [("changed", "resized")]
    (done,) = running.release("a", now=after(minutes=20))
    assert (done.status, done.code, done.allocation.state) == ("changed", "released", "released")
    assert running.holding("nlp") == (0, 0, 0)
    ((steps,),) = running.rows("steps::text")
    assert steps.count("guaranteed") == 3
    assert verification.verify(running.place.id).findings == []


def test_repeated_messages_change_nothing_and_say_so(running):
    assert said(running.start("a")) == [("unchanged", "already_running")]
    # As a scheduler tries again that got no answer: later, and without an instant.
    assert said(running.start("a", now=after(seconds=40))) == [("unchanged", "already_running")]
    assert said(running.start("a", at=after(seconds=30), now=after(minutes=1))) == [
        ("contradiction", "already_running")
    ]
    running.beat("a", now=after(minutes=5))
    assert said(running.beat("a", at=after(minutes=2), now=after(minutes=6))) == [
        ("unchanged", "nothing_newer")
    ]
    running.release("a", now=after(minutes=7))
    assert said(running.release("a", now=after(minutes=8))) == [("unchanged", "already_ended")]
    assert said(running.beat("a", now=after(minutes=8))) == [("unchanged", "already_ended")]
    assert said(running.start("nobody")) == [("unknown", "allocation_unknown")]
    assert verification.verify(running.place.id).findings == []


def test_a_lapsed_lease_ends_it_whatever_comes_later(running):
    late = after(minutes=16)
    assert said(running.beat("a", now=late)) == [("contradiction", "ended_otherwise")]
    assert running.state("a") == "expired"
    assert running.holding("nlp") == (0, 0, 0)
    assert said(running.release("a", now=late)) == [("contradiction", "ended_otherwise")]
    assert verification.verify(running.place.id).findings == []


def test_an_end_may_tell_of_a_start_that_was_never_heard(jobs, quotas):
    quotas.set("nlp", 10)
    jobs.admit(jobs.ask("a"))
    jobs.release("a", started_at=after(seconds=30), now=after(minutes=4))
    ((state, started_at),) = jobs.rows("state, started_at")
    assert (state, started_at) == ("released", after(seconds=30))
    assert verification.verify(jobs.place.id).findings == []


def test_growth_needs_room_in_the_own_tier(jobs, quotas):
    quotas.set("nlp", 10)
    jobs.admit(
        jobs.ask("a", units=10, min_units=2, tier="guaranteed"),
    )
    jobs.start("a")
    jobs.resize("a", 4, now=after(seconds=10))
    jobs.admit(jobs.ask("b", units=5, tier="guaranteed"), now=after(seconds=20))
    assert said(jobs.resize("a", 6, now=after(seconds=30))) == [("unchanged", "no_room")]
    assert said(jobs.resize("a", 5, now=after(seconds=30))) == [("changed", "resized")]
    assert said(jobs.resize("a", 11, now=after(seconds=40))) == [("contradiction", "not_elastic")]
    # The hold of b lapses, and its units are room although no sweeper came by.
    assert said(jobs.resize("a", 10, now=after(minutes=6))) == [("changed", "resized")]
    assert jobs.holding("nlp") == (10, 0, 0)
    assert verification.verify(jobs.place.id).findings == []


def test_borrowers_rise_when_the_guarantee_frees_up(jobs, quotas):
    quotas.set("nlp", 10)
    quotas.set("production", 20)
    jobs.admit(jobs.ask("a"), jobs.ask("b"), jobs.ask("c", units=2), jobs.ask("d", tier="borrowed"))
    jobs.start("a", "b", "c", "d")
    assert jobs.holding("nlp") == (10, 16, 0)
    jobs.release("a", now=after(minutes=1))
    assert [row[3] for row in jobs.rows()] == ["guaranteed", "guaranteed", "guaranteed", "borrowed"]
    assert jobs.holding("nlp") == (10, 8, 0)
    ((steps,),) = jobs.rows("(SELECT steps::text FROM quota_allocation WHERE key = 'b')")[:1]
    assert steps.index("borrowed") < steps.index("guaranteed")
    assert verification.verify(jobs.place.id).findings == []


def test_the_sweeper_ends_what_lapsed_and_lets_others_rise(jobs, quotas):
    quotas.set("nlp", 10)
    quotas.set("production", 20)
    jobs.admit(jobs.ask("a"), jobs.ask("b"))
    jobs.start("b")
    command = SettlePools(pool_ids=(jobs.place.pools["h100"],))
    done = jobs.place.run(command, now=after(minutes=5)).result
    assert (done.expired, done.promoted) == (1, 1)
    assert jobs.holding("nlp") == (8, 0, 0)
    again = jobs.place.run(command, now=after(minutes=5)).result
    assert (again.expired, again.promoted) == (0, 0)
    assert verification.verify(jobs.place.id).findings == []


def test_jobs_over_several_pools_are_told_of_together(jobs, quotas):
    quotas.set("nlp", 10)
    quotas.set("nlp", 20, pool="a100")
    needs = [wire.PoolNeed(pool="h100", units=8), wire.PoolNeed(pool="a100", units=16, min_units=1)]
    jobs.admit(jobs.ask("a", needs=needs))
    assert said(jobs.start("a")) == [("changed", "started")] * 2
    assert said(jobs.resize("a", 8)) == [("invalid", "pool_needed")]
    assert said(jobs.resize("a", 8, pool="a100", now=after(seconds=1))) == [("changed", "resized")]
    assert said(jobs.release("a", now=after(minutes=1))) == [("changed", "released")] * 2


def test_the_newest_attempt_is_meant_unless_it_is_named(jobs, quotas):
    quotas.set("nlp", 20)
    jobs.admit(jobs.ask("a"))
    jobs.start("a")
    jobs.admit(jobs.ask("a", attempt=2))
    jobs.start("a")
    jobs.release("a", attempt=1, now=after(minutes=1))
    assert jobs.rows("attempt, state") == [(1, "released"), (2, "running")]


def test_a_job_that_is_over_may_be_the_last_that_its_account_had(jobs, quotas):
    """Neither quota nor units in the pool are left: a late resize is answered like any other."""
    jobs.admit(jobs.ask("a", account="vision", units=4, min_units=1, spot_allowed=True))
    jobs.start("a")
    jobs.release("a", now=after(minutes=1))
    messages = (
        wire.ResizeMessage(key="a", units=2),
        wire.ResizeMessage(key="b", units=2),
    )
    told = jobs.place.run(ResizeAllocations(messages=messages), now=after(minutes=2)).result
    assert said(told.results) == [
        ("unchanged", "already_ended"),
        ("unknown", "allocation_unknown"),
    ]
