"""kill -9 between any two steps of a plan, a report or a cancellation leaves a state that is whole,
and who asks again gets the same answer: nothing is taken twice, no budget and no unit leaks."""

from collections.abc import Iterator

import pytest

from ledger import verification
from quota import wire
from quota.commands.admissions import AdmitBatch
from tests import killing
from tests.database import TestDatabase
from tests.killing import STEPS_MAX, Victim
from tests.preemption.conftest import Preemption
from tests.preemption.killed import CALLS, NOW
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def victim(test_database: TestDatabase) -> Iterator[Victim]:
    with killing.victim(test_database, "tests.preemption.killed") as found:
        yield found


@pytest.fixture
def place(acme: Tenant) -> Tenant:
    """h100 is full of spot jobs of five units, and budgets hinder nothing."""
    it = Preemption(acme)
    it.promise(nlp=70)
    it.budgets(pool_share="1", pool_window_seconds=0, min_run_seconds=0, job_window_seconds=0)
    for number in range(20):
        it.running(f"v{number}", 5, at=NOW)
    return acme


def again(place: Tenant, name: str, number: int):
    """The same command under the same key."""
    return killing.again(place, CALLS, name, number)


def units(owner) -> tuple[int, int, int]:
    """In use, kept by open plans, and free of a hundred."""
    used = owner.execute("SELECT sum(units) FROM quota_allocation WHERE ended_at IS NULL")
    kept = owner.execute("SELECT count(*) FROM quota_reservation").fetchone()[0]
    (in_use,) = used.fetchone()
    return in_use, kept, 100 - in_use


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CALLS))
def test_killed_before_any_step(place, owner, victim, name):
    replayed = []
    for steps in range(1, STEPS_MAX):
        number = steps
        if name != "plan":
            again(place, "plan", number)
        survived = victim.run(place.id, name, number, steps)
        assert verification.verify(place.id).findings == [], steps
        first = again(place, name, number)
        second = again(place, name, number)
        assert second.replayed and first.result == second.result, steps
        replayed.append(first.replayed)
        if name == "plan":
            assert (first.result.status, units(owner)) == ("plan", (100, 1, 0))
            again(place, "cancel", number)
        elif name == "report":
            assert (first.result.changed, units(owner)) == (1, (95, 1, 5))
            again(place, "cancel", number)
            filler = wire.Ask(
                key=f"filler{number}", account="vision", person="bob", pool="h100", units=5
            )
            told = place.run(AdmitBatch(requests=(filler,)), now=NOW).result
            assert told.admitted == 1
        else:
            assert (first.result.changed, units(owner)) == (True, (100, 0, 0))
        if survived:
            break
    assert survived, "more steps than expected"
    # Nothing was kept up to the commit, everything after it; and each action was done once.
    assert replayed == sorted(replayed) and replayed.count(True) >= 2
    assert units(owner)[0] + units(owner)[2] == 100
    assert verification.verify(place.id).findings == []
