"""Words of allocations for tests on the database."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger import scope
from ledger.sql import server_cursor
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import (
    HeartbeatAllocations,
    ReleaseAllocations,
    ResizeAllocations,
    StartAllocations,
)
from tests.world import NOW, Tenant


class Jobs:
    """acme's jobs in short: `jobs.ask("a", units=8)`."""

    def __init__(self, place: Tenant) -> None:
        self.place = place

    def ask(self, key: str, **values: Any) -> wire.Ask:
        """A waiting job of Bob's in nlp on h100."""
        if "needs" not in values:
            values = {"pool": "h100", "units": 8} | values
        return wire.Ask(key=key, **({"account": "nlp", "person": "bob"} | values))

    def admit(self, *asks: wire.Ask, now: datetime = NOW, **context: Any) -> wire.Admissions:
        """Decide jobs."""
        return self.place.run(AdmitBatch(requests=asks), now=now, **context).result

    def start(self, *keys: str, now: datetime = NOW, **values: Any) -> list[wire.MessageResult]:
        messages = tuple(wire.Message(key=key, **values) for key in keys)
        return self.place.run(StartAllocations(messages=messages), now=now).result.results

    def beat(self, *keys: str, now: datetime = NOW, **values: Any) -> list[wire.MessageResult]:
        messages = tuple(wire.HeartbeatMessage(key=key, **values) for key in keys)
        return self.place.run(HeartbeatAllocations(messages=messages), now=now).result.results

    def resize(
        self, key: str, units: int, *, now: datetime = NOW, **values: Any
    ) -> list[wire.MessageResult]:
        message = wire.ResizeMessage(key=key, units=units, **values)
        return self.place.run(ResizeAllocations(messages=(message,)), now=now).result.results

    def release(self, *keys: str, now: datetime = NOW, **values: Any) -> list[wire.MessageResult]:
        messages = tuple(wire.ReleaseMessage(key=key, **values) for key in keys)
        return self.place.run(ReleaseAllocations(messages=messages), now=now).result.results

    def rows(self, columns: str = "key, pool_id, state, tier, units") -> list[tuple]:
        """What is recorded, by key."""
        with scope.reading(self.place.id), server_cursor() as cursor:
            return cursor.execute(
                f"SELECT {columns} FROM quota_allocation ORDER BY key, attempt, pool_id"
            ).fetchall()

    def state(self, key: str) -> str:
        """The recorded state of a job with one allocation."""
        with scope.reading(self.place.id), server_cursor() as cursor:
            return cursor.execute(
                "SELECT state FROM quota_allocation WHERE key = %b ORDER BY attempt DESC", (key,)
            ).fetchone()[0]

    def holding(self, account: str, pool: str = "h100") -> tuple[int, ...]:
        """Units by tier: guaranteed, borrowed, spot."""
        with scope.reading(self.place.id), server_cursor() as cursor:
            row = cursor.execute(
                "SELECT guaranteed, borrowed, spot FROM quota_holding "
                "WHERE account_id = %b AND pool_id = %b",
                (self.place.accounts[account], self.place.pools[pool]),
            ).fetchone()
        return row or (0, 0, 0)


@pytest.fixture
def jobs(acme) -> Jobs:
    return Jobs(acme)


def after(**period: float) -> datetime:
    """An instant later than NOW."""
    return NOW + timedelta(**period)
