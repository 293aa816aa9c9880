"""Words of detections for tests on the database."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from ledger import scope
from ledger.sql import server_cursor
from preemption.commands.detection_policy import SetDetectionPolicy
from preemption.commands.detections import (
    AcknowledgeDetection,
    DetectionDecided,
    DetectionsFound,
    FindDetections,
    ReleaseDetected,
)
from quota.commands.quotas import SetQuota
from tests.accounting import sample_rates
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW, Tenant, record


class Detections:
    """acme's h100, in which nlp is promised 40; at 2 per unit-hour."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        self.jobs = Jobs(place)

    def running(self, key: str, units: int = 8, *, at: datetime = NOW, **values: Any) -> None:
        told = self.jobs.admit(self.jobs.ask(key, units=units, **values), now=at)
        assert told.results[0].status == "admitted", told.results[0]
        self.jobs.start(key, now=at)

    def works(
        self, key: str, share: float, *, start: datetime, minutes: int, every: int = 10, **told: Any
    ) -> datetime:
        """Heartbeats over some time; the instant of the last one."""
        at = start
        for _ in range(minutes // every):
            at += timedelta(minutes=every)
            self.jobs.beat(key, now=at, compute_util=share, **told)
        return at

    def look(self, now: datetime, *, consumption: bool = False) -> DetectionsFound:
        pool = self.place.pools["h100"]
        return self.place.run(
            FindDetections(pool_id=pool, consumption=consumption), now=now, reason="test"
        ).result

    def policy(self, **values: Any) -> None:
        self.place.run(SetDetectionPolicy(**values), reason="test")

    def rows(self, columns: str = "kind, state") -> list[tuple]:
        with scope.reading(self.place.id), server_cursor() as cursor:
            return cursor.execute(
                f"SELECT {columns} FROM preemption_detection ORDER BY id"
            ).fetchall()

    def only(self, columns: str) -> Any:
        """Of the only detection."""
        ((value, *rest),) = self.rows(columns)
        return (value, *rest) if rest else value

    def acknowledge(self, *, now: datetime, by: str | None = None, **values: Any) -> None:
        command = AcknowledgeDetection(**self.ids(), **values)
        actor = {"by": self.place.actor(by)} if by else {}
        self.place.run(command, now=now, reason="debugging", **actor)

    def release(self, *, now: datetime, by: str | None = None) -> DetectionDecided:
        actor = {"by": self.place.actor(by)} if by else {}
        return self.place.run(
            ReleaseDetected(**self.ids()), now=now, reason="forgotten", **actor
        ).result

    def ids(self) -> dict[str, UUID]:
        """Of the newest detection."""
        id_, account = self.rows("id, account_id")[-1]
        return {"detection_id": id_, "account_id": account}

    def used(self, *unit_hours: float | None, now: datetime = NOW) -> None:
        """nlp's use by day, the last one yesterday; None: nobody used the pool."""
        for number, hours in enumerate(reversed(unit_hours), start=1):
            if hours is None:
                continue
            start = (now - timedelta(days=number)).replace(hour=1, minute=0)
            one = record(f"d{number}", hours=1, units=int(hours), start=start, account="nlp")
            self.place.use(one, now=now)


def prepared(acme: Tenant) -> Detections:
    """acme with a promise and a price."""
    quota = {"account_id": acme.accounts["nlp"], "pool_id": acme.pools["h100"], "guaranteed": 40}
    acme.run(SetQuota(**quota), now=NOW - timedelta(days=1), reason="test")
    sample_rates.publish(acme)
    return Detections(acme)


@pytest.fixture
def detections(acme: Tenant) -> Detections:
    return prepared(acme)
