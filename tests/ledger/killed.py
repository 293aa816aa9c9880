"""A process that records usage and gets killed: `python -m tests.ledger.killed`.

Reads organization ids and batch numbers from standard input, forks, and lets the child record
the batches one after the other; each one that is committed is acknowledged by a line. The parent
process stays warm, so that the next child starts at once.
"""

import os
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

import django

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BATCHES = 150
RECORDS = 40


def say(line: str) -> None:
    """One whole line at once: parent and child share the pipe."""
    os.write(1, f"{line}\n".encode())


def records(number: int) -> list[dict]:
    """The records of a batch: the same whenever it is sent; half overlap with the next."""
    from tests.world import record

    first = number * RECORDS // 2
    start = NOW - timedelta(days=4)
    return [
        record(f"r{n}", units=1 + n % 7, start=start + timedelta(minutes=n), hours=1)
        for n in range(first, first + RECORDS)
    ]


def work(organization_id: UUID, first: int) -> None:
    """Record batches from `first` on, and acknowledge each once it is committed."""
    from tests.world import Tenant

    place = Tenant(id=organization_id, root=organization_id)
    for number in range(first, BATCHES):
        place.use(*records(number), idempotency_key=f"batch-{number}")
        say(f"ack {number}")


def main() -> None:
    from django.db import connections

    for line in sys.stdin:
        organization_id, first = line.split()
        connections.close_all()
        child = os.fork()
        if child == 0:
            work(UUID(organization_id), int(first))
            os._exit(0)
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    django.setup()
    main()
