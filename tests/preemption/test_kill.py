"""kill -9 between any two steps of a plan, a report or a cancellation leaves a state that is whole,
and who asks again gets the same answer: nothing is taken twice, no budget and no unit leaks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from ledger import verification
from quota import wire
from quota.commands.admissions import AdmitBatch
from tests.database import TestDatabase
from tests.preemption.conftest import Preemption
from tests.preemption.killed import COMMANDS, NOW
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
STEPS_MAX = 60


class Victim:
    """The warm process and the children it forks."""

    def __init__(self, database: TestDatabase) -> None:
        owner = database.server.owner_url
        environment = os.environ | {
            "DATABASE_URL": make_conninfo(database.server.app_url, dbname=database.name),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "APPORTION_TEST": "1",
        }
        if owner:
            environment["DATABASE_OWNER_URL"] = make_conninfo(owner, dbname=database.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.preemption.killed"],
            cwd=Path(__file__).resolve().parents[2],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, place: Tenant, name: str, number: int, steps: int) -> bool:
        """Whether the child survived its command."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{place.id} {name} {number} {steps}\n")
        self.process.stdin.flush()
        survived = False
        for line in self.process.stdout:
            if line == "gone\n":
                return survived
            survived = line == "done\n"
        raise AssertionError("the process that forks has ended")


@pytest.fixture
def victim(test_database: TestDatabase) -> Iterator[Victim]:
    found = Victim(test_database)
    yield found
    found.process.stdin.close()
    found.process.wait(timeout=10)


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
    return place.run(COMMANDS[name](number), now=NOW, idempotency_key=f"{name}-{number}")


def units(owner) -> tuple[int, int, int]:
    """In use, kept by open plans, and free of a hundred."""
    used = owner.execute("SELECT sum(units) FROM quota_allocation WHERE ended_at IS NULL")
    kept = owner.execute("SELECT count(*) FROM quota_reservation").fetchone()[0]
    (in_use,) = used.fetchone()
    return in_use, kept, 100 - in_use


@pytest.mark.slow
@pytest.mark.parametrize("name", list(COMMANDS))
def test_killed_before_any_step(place, owner, victim, name):
    replayed = []
    for steps in range(1, STEPS_MAX):
        number = steps
        if name != "plan":
            again(place, "plan", number)
        survived = victim.run(place, name, number, steps)
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
