"""kill -9 at any instant loses no acknowledged record and doubles none."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from accounting.partitions import ensure
from ledger import verification
from tests import world
from tests.database import TestDatabase
from tests.ledger.killed import BATCHES, NOW, RECORDS, records

KILLS = 25


class Victim:
    """The warm process and the children it forks."""

    def __init__(self, database: TestDatabase) -> None:
        from psycopg.conninfo import make_conninfo

        owner = database.server.owner_url
        environment = os.environ | {
            "DATABASE_URL": make_conninfo(database.server.app_url, dbname=database.name),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "APPORTION_TEST": "1",
        }
        if owner:
            environment["DATABASE_OWNER_URL"] = make_conninfo(owner, dbname=database.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.killed"],
            cwd=Path(__file__).resolve().parent.parent.parent,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, organization_id, first: int, *, kill_after: float | None) -> list[int]:
        """Numbers that a child acknowledged before it was killed, or was done."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{organization_id} {first}\n")
        self.process.stdin.flush()
        acknowledged: list[int] = []
        for line in self.process.stdout:
            match line.split():
                case ["pid", pid] if kill_after is not None:
                    threading.Timer(kill_after, kill, [int(pid)]).start()
                case ["ack", number]:
                    acknowledged.append(int(number))
                case ["gone"]:
                    return acknowledged
        raise AssertionError("the process that forks has ended")


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was done


@pytest.mark.slow
def test_kill_nine_loses_nothing_and_doubles_nothing(owner, test_database):
    place = world.acme()
    ensure(NOW.date().replace(day=1), NOW.date())
    dice = random.Random(20261129)
    victim = Victim(test_database)
    acknowledged: list[int] = []
    kills = 0
    deadline = time.monotonic() + 15
    try:
        for _ in range(KILLS):
            # Now and then go back: a client that lost an answer sends the batch again.
            first = max(0, len(set(acknowledged)) - dice.choice([0, 0, 1]))
            acknowledged += victim.run(place.id, first, kill_after=dice.uniform(0.0, 0.12))
            kills += BATCHES - 1 not in acknowledged
            if time.monotonic() > deadline:
                break
        acknowledged += victim.run(place.id, len(set(acknowledged)), kill_after=None)
    finally:
        victim.process.stdin.close()
        victim.process.wait(timeout=10)
    assert kills > KILLS / 2
    assert set(acknowledged) == set(range(BATCHES))
    keys = {one["key"]: one["units"] for number in range(BATCHES) for one in records(number)}
    stored = owner.execute("SELECT key, units FROM accounting_usagerecord").fetchall()
    assert len(stored) == len(keys) == (BATCHES + 1) * RECORDS // 2
    assert dict(stored) == keys
    hours = owner.execute("SELECT sum(unit_seconds) / 3600 FROM accounting_usageday").fetchone()[0]
    assert hours == sum(keys.values())
    receipts = owner.execute("SELECT count(*) FROM ledger_receipt").fetchone()[0]
    assert receipts == BATCHES
    assert verification.verify(place.id).findings == []
