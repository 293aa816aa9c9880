"""An archived account that still holds allocations keeps counting, and takes nothing new."""

import pytest

from ledger import scope, verification
from ledger.errors import Refused
from quota import wire
from quota.commands.snapshots import ReconcilePool
from quota.in_use import units_in_use
from tenancy.commands.accounts import ArchiveAccount
from tests.quota.allocations.conftest import after
from tests.world import NOW

LATER = after(minutes=1)


@pytest.fixture
def archived(jobs, quotas, acme):
    """vision borrows 20 units of production and holds 5 more; then it is archived."""
    quotas.set("production", 60)
    ask = jobs.ask("v", account="vision", units=20, min_units=4)
    jobs.admit(ask, jobs.ask("held", account="vision", units=5))
    jobs.start("v")
    acme.run(ArchiveAccount(account_id=acme.accounts["vision"]), now=NOW)
    return jobs


def test_what_it_holds_counts_and_can_be_given_back(archived, acme):
    h100, vision = acme.pools["h100"], acme.accounts["vision"]

    def used() -> int:
        with scope.reading(acme.id):
            return units_in_use(acme.id, [h100], now=LATER).get((vision, h100), 0)

    assert used() == 25
    # 35 of production's 60 are left for whoever borrows.
    got = archived.admit(archived.ask("n", units=36), now=LATER).results[0]
    assert got.status == "denied"
    assert {block.limit: block.available for block in got.blocks}["guarantees"] == 35
    archived.release("v", now=LATER)
    assert used() == 5
    assert archived.admit(archived.ask("n2", units=55), now=LATER).admitted == 1
    assert verification.verify(acme.id).findings == []


def test_it_goes_on_with_what_it_has(archived):
    assert archived.start("held", now=LATER)[0].code == "started"
    assert archived.beat("v", now=LATER)[0].code == "renewed"
    assert archived.resize("v", 10, now=LATER)[0].code == "resized"
    assert archived.holding("vision") == (0, 15, 0)


def test_it_takes_nothing_new(archived):
    got = archived.admit(archived.ask("new", account="vision", units=1), now=LATER).results[0]
    assert got.status == "invalid"
    assert [(fault.code, fault.field) for fault in got.errors] == [("account_archived", "account")]
    archived.resize("v", 10, now=LATER)
    assert archived.resize("v", 20, now=after(minutes=2))[0].code == "no_room"


def test_a_job_that_runs_on_it_all_the_same_is_adopted(archived, acme):
    running = wire.SnapshotJob(key="stray", account="vision", person="bob", units=3)
    told = acme.run(ReconcilePool(pool="h100", at=LATER, jobs=(running,)), now=LATER).result
    assert ("stray", "adopted") in [(one.key, one.done) for one in told.differences]
    assert sum(archived.holding("vision")) == 8, "what the scheduler does not run has ended"


def test_a_guarantee_has_to_be_given_back_first(jobs, quotas, acme):
    quotas.set("vision", 5)
    with pytest.raises(Refused) as caught:
        acme.run(ArchiveAccount(account_id=acme.accounts["vision"]))
    assert caught.value.code == "quota_held"
    quotas.set("vision", 0)
    acme.run(ArchiveAccount(account_id=acme.accounts["vision"]))
    with pytest.raises(Refused) as caught:
        quotas.set("vision", 5)
    assert caught.value.code == "account_archived"
