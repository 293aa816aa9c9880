"""kill -9 at any instant loses no acknowledged record and doubles none."""

import random
import threading
import time

import pytest

from accounting.partitions import ensure
from ledger import verification
from tests import killing, world
from tests.killing import Victim
from tests.ledger.killed import BATCHES, NOW, RECORDS, records

KILLS = 25


def acknowledged_by(victim: Victim, place, first: int, *, kill_after: float | None) -> list[int]:
    """Numbers that a child acknowledged before it was killed, or was done."""
    found: list[int] = []
    for words in victim.tell(place.id, first):
        match words:
            case ["pid", pid] if kill_after is not None:
                threading.Timer(kill_after, killing.kill, [int(pid)]).start()
            case ["ack", number]:
                found.append(int(number))
    return found


@pytest.mark.slow
def test_kill_nine_loses_nothing_and_doubles_nothing(owner, test_database):
    place = world.acme()
    ensure(NOW.date().replace(day=1), NOW.date())
    dice = random.Random(20261129)
    victim = Victim(test_database, "tests.ledger.killed")
    acknowledged: list[int] = []
    kills = 0
    deadline = time.monotonic() + 15
    try:
        for _ in range(KILLS):
            # Now and then go back: a client that lost an answer sends the batch again.
            first = max(0, len(set(acknowledged)) - dice.choice([0, 0, 1]))
            acknowledged += acknowledged_by(
                victim, place, first, kill_after=dice.uniform(0.0, 0.12)
            )
            kills += BATCHES - 1 not in acknowledged
            if time.monotonic() > deadline:
                break
        acknowledged += acknowledged_by(victim, place, len(set(acknowledged)), kill_after=None)
    finally:
        victim.close()
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
