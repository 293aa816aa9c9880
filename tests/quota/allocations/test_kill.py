"""kill -9 between any two steps of an admission leaves a state that is whole, and who asks again
gets the same answer."""

from collections.abc import Iterator

import pytest

from ledger import verification
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations
from quota.commands.quotas import SetQuota
from tests import killing
from tests.database import TestDatabase
from tests.killing import STEPS_MAX, Victim
from tests.quota.allocations.killed import CALLS, NOW
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def victim(test_database: TestDatabase) -> Iterator[Victim]:
    with killing.victim(test_database, "tests.quota.allocations.killed") as found:
        yield found


@pytest.fixture
def place(acme: Tenant) -> Tenant:
    """nlp has a guarantee in two pools; a borrower waits to rise into what its jobs give back."""
    for pool in ("h100", "a100"):
        for account, units in (("nlp", 10), ("production", 40)):
            command = SetQuota(
                account_id=acme.accounts[account], pool_id=acme.pools[pool], guaranteed=units
            )
            acme.run(command, reason="test")
    return acme


def again(place: Tenant, name: str, number: int):
    """The same command under the same key."""
    return killing.again(place, CALLS, name, number)


def survivors(owner) -> dict[str, int]:
    """How often each job's attempt has units of a pool, by state."""
    rows = owner.execute(
        "SELECT key || '/' || pool_id, count(*) FROM quota_allocation GROUP BY 1"
    ).fetchall()
    return dict(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CALLS))
def test_killed_before_any_step(place, owner, victim, name):
    replayed = []
    for steps in range(1, STEPS_MAX):
        number = steps
        if name == "release":
            again(place, "admit", number)
            key = f"{number}-b"
            ask = wire.Ask(key=key, account="nlp", person="bob", pool="h100", units=7)
            place.run(AdmitBatch(requests=(ask,)), now=NOW)
        survived = victim.run(place.id, name, number, steps)
        assert verification.verify(place.id).findings == [], steps
        first = again(place, name, number)
        second = again(place, name, number)
        assert second.replayed and first.result == second.result, steps
        replayed.append(first.replayed)
        if name == "admit":
            assert [one.status for one in first.result.results] == ["admitted"] * 2 + ["denied"]
            again(place, "release", number)
        else:
            assert first.result.changed == 3
            end = wire.ReleaseMessage(key=key)
            place.run(ReleaseAllocations(messages=(end,)), now=NOW)
        if survived:
            break
    assert survived, "more steps than expected"
    # Nothing was kept up to the commit, everything after it; and each job was counted once.
    assert replayed == sorted(replayed) and replayed.count(True) >= 2
    assert set(survivors(owner).values()) == {1}
    assert verification.verify(place.id).findings == []
