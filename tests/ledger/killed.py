"""A process that records usage and gets killed: `python -m tests.ledger.killed`.

Reads organization ids and batch numbers, and lets a child record the batches one after the other;
each one that is committed is acknowledged by a line.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.killing import say, serve

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BATCHES = 150
RECORDS = 40


def records(number: int) -> list[dict]:
    """The records of a batch: the same whenever it is sent; half overlap with the next."""
    from tests.world import record

    first = number * RECORDS // 2
    start = NOW - timedelta(days=4)
    return [
        record(f"r{n}", units=1 + n % 7, start=start + timedelta(minutes=n), hours=1)
        for n in range(first, first + RECORDS)
    ]


def work(organization_id: str, first: str) -> None:
    """Record batches from `first` on, and acknowledge each once it is committed."""
    from tests.world import Tenant

    place = Tenant(id=UUID(organization_id), root=UUID(organization_id))
    for number in range(int(first), BATCHES):
        place.use(*records(number), idempotency_key=f"batch-{number}")
        say(f"ack {number}")


if __name__ == "__main__":
    serve(work)
