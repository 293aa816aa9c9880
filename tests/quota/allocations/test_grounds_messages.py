"""Messages about jobs are decided on what is kept as well: who rises when units come free, and what
room a job has to grow."""

import pytest

from ledger import scope
from quota import wire
from quota.commands.snapshots import ReconcilePool
from quota.loading import standings
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tests.quota.allocations.conftest import Jobs, after
from tests.quota.allocations.grounds_kept import Process
from tests.world import Tenant

LATER, LAST = after(minutes=1), after(minutes=2)


def ask(key: str, account: str = "nlp", **values) -> wire.Ask:
    return wire.Ask(key=key, account=account, person="bob", pool="h100", **values)


@pytest.fixture
def full(acme, jobs, quotas) -> Jobs:
    """nlp and serving use all of their 40 units; vision has 15 as spot."""
    quotas.set("nlp", 40)
    quotas.set("serving", 40)
    jobs.admit(
        ask("own", units=40, min_units=5),
        ask("served", "serving", units=40),
        ask("waits", "vision", units=15, spot_allowed=True),
    )
    jobs.start("own", "served", "waits")
    assert jobs.holding("vision") == (0, 0, 15)
    return jobs


@pytest.fixture
def here(full) -> Process:
    """A process that knows h100, and who is in it."""
    process = Process(full)
    process.would(ask("any", units=1))
    assert process.knows(ask("any", units=1))
    return process


def released(process: Process, key: str) -> str:
    with process.at_work():
        [told] = process.jobs.release(key, now=LATER)
    return told.code


def resized(process: Process, key: str, units: int) -> str:
    with process.at_work():
        [told] = process.jobs.resize(key, units, now=LAST)
    return told.code


def test_nothing_has_changed_and_who_waits_rises(here, full):
    assert released(here, "own") == "released"
    assert full.holding("vision") == (0, 15, 0)


def test_who_may_not_borrow_any_more_does_not_rise(here, full, quotas):
    quotas.set("vision", 0, borrowing_limit=0, now=LATER)
    assert released(here, "own") == "released"
    assert full.holding("vision") == (0, 0, 15)


def test_who_may_not_borrow_where_it_moved_does_not_rise(acme, here, full, quotas):
    quotas.set("production", 0, borrowing_limit=0)
    ids = acme.accounts
    move = MoveAccount(account_id=ids["vision"], to_parent_id=ids["production"])
    acme.run(move, now=LATER)
    assert released(here, "own") == "released"
    assert full.holding("vision") == (0, 0, 15)


def test_who_may_borrow_again_rises(full, quotas):
    quotas.set("vision", 0, borrowing_limit=0)
    here = Process(full)
    here.would(ask("any", units=1))
    quotas.set("vision", 0, borrowing_limit=20)
    assert full.holding("vision") == (0, 0, 15), "nothing is free yet"
    assert released(here, "own") == "released"
    assert full.holding("vision") == (0, 15, 0)


@pytest.mark.parametrize(
    ("guarantee", "units", "code"),
    [(40, 40, "resized"), (30, 40, "no_room"), (30, 30, "resized"), (30, 31, "no_room")],
)
def test_a_job_grows_within_the_guarantee_in_force(here, quotas, guarantee, units, code):
    assert released(here, "waits") == "released"
    assert resized(here, "own", 5) == "resized"
    quotas.set("nlp", guarantee, now=LAST)
    assert resized(here, "own", units) == code


def test_what_another_process_gave_away_is_no_room(here, full):
    there = Process(full)
    assert released(here, "waits") == "released"
    assert resized(here, "own", 5) == "resized"
    mine = ask("new", units=30, tier="guaranteed")
    assert there.admit(mine, now=LAST) == ["guaranteed 30"]
    assert resized(here, "own", 11) == "no_room"
    assert resized(here, "own", 10) == "resized"


def test_of_an_archived_account_that_holds_units_all_is_known_at_once(acme: Tenant, jobs):
    """A scheduler ran a job on it all the same, and told another process."""
    vision = acme.accounts["vision"]
    acme.run(ArchiveAccount(account_id=vision))
    here, there = Process(jobs), Process(jobs)
    here.would(ask("any", units=1))
    stray = wire.SnapshotJob(key="stray", account="vision", person="bob", units=8)
    with there.at_work():
        acme.run(ReconcilePool(pool="h100", at=LATER, jobs=(stray,)), now=LATER)
    assert here.knows(ask("any", units=1))
    with here.at_work(), scope.reading(acme.id):
        pools = standings.lock_pools(acme.id, names=["h100"])
        found = standings.standing_on_ground(acme.id, pools, now=LAST)
    assert found.ground is None, "not all of it is known"
    assert (found.names[vision], found.closed) == ("vision", {vision})
    assert found.accounts[vision] == acme.accounts["research"]
