"""What is set aside for a job is kept from all others, grows as units come free, and is the job's
as soon as it is admitted."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest

from ledger import verification
from ledger.execution import Unit, handles
from ledger.ids import new_id
from quota.commands.quotas import SetQuota
from quota.commands.taking_back import PoolInHand
from quota.reservation_events import Claim
from tenancy.domain.roles import SYSTEM_ONLY
from tests.quota.allocations.conftest import after


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A command of the tests' own: units for a job, ten minutes long."""

    id: UUID
    pool_id: UUID
    account_id: UUID
    key: str
    units: int
    free_units: int
    claims: tuple[Claim, ...] = ()


@handles(SetAside, permission=SYSTEM_ONLY)
def set_aside(command: SetAside, unit: Unit) -> None:
    pool = PoolInHand(unit, pool_id=command.pool_id)
    pool.set_aside(
        command.id,
        account_id=command.account_id,
        key=command.key,
        tier="borrowed",
        reclaim_seconds=60,
        units=command.units,
        free_units=command.free_units,
        until=unit.now + timedelta(minutes=10),
        claims=command.claims,
    )
    pool.record()


@pytest.fixture
def reserve(acme):
    """`reserve("job", 30, free=10, claims=(...))` for nlp in h100."""
    for account in ("nlp", "production"):
        acme.run(
            SetQuota(account_id=acme.accounts[account], pool_id=acme.pools["h100"], guaranteed=50),
            reason="test",
        )

    def run(key: str, units: int, *, free: int, claims: tuple[Claim, ...] = ()) -> UUID:
        id_ = new_id()
        where = {"pool_id": acme.pools["h100"], "account_id": acme.accounts["nlp"]}
        acme.run(SetAside(id=id_, key=key, units=units, free_units=free, claims=claims, **where))
        return id_

    return run


MINUTE_LATER = after(minutes=1)


def admitted(jobs, key, units, *, now=MINUTE_LATER, **values) -> bool:
    told = jobs.admit(jobs.ask(key, units=units, **values), now=now)
    return told.results[0].status == "admitted"


def test_what_is_free_for_one_job_is_not_for_others(acme, jobs, reserve):
    reserve("mine", 30, free=30)
    assert not admitted(jobs, "other", 71, account="vision")
    assert admitted(jobs, "other", 70, account="vision")
    assert not admitted(jobs, "more", 1)
    assert admitted(jobs, "mine", 30)
    assert verification.verify(acme.id).findings == []


def test_a_denied_job_keeps_what_is_set_aside(acme, jobs, reserve):
    reserve("mine", 30, free=30)
    assert not admitted(jobs, "mine", 101)
    assert not admitted(jobs, "other", 71, account="vision")
    assert admitted(jobs, "mine", 30)
    assert admitted(jobs, "other", 70, account="vision")


def test_units_are_kept_as_they_come_free_whoever_tells_of_it(acme, jobs, reserve, owner):
    assert admitted(jobs, "all", 100, account="vision", now=after())
    jobs.start("all", now=after(seconds=1))
    (row,) = owner.execute("SELECT id FROM quota_allocation").fetchall()
    reserve("mine", 40, free=0, claims=(Claim(allocation_id=row[0], units=100, left=0),))
    assert not admitted(jobs, "other", 1, account="vision")
    jobs.release("all", now=after(minutes=1))
    assert not admitted(jobs, "other", 61, account="vision")
    assert admitted(jobs, "other", 60, account="vision")
    assert admitted(jobs, "mine", 40)
    assert verification.verify(acme.id).findings == []


def test_after_its_time_nothing_is_kept(acme, jobs, reserve):
    reserve("mine", 30, free=30)
    late = after(minutes=10)
    assert admitted(jobs, "other", 100, account="vision", now=late)
    assert not admitted(jobs, "mine", 30, now=late)


def test_the_same_key_of_another_account_gets_nothing(acme, jobs, reserve):
    reserve("mine", 30, free=30)
    assert not admitted(jobs, "mine", 71, account="vision")
