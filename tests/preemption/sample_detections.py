"""A detection, and a policy, for tests that want a row in every table."""

from datetime import timedelta
from decimal import Decimal

from ledger import scope
from ledger.sql import server_cursor
from preemption.commands.detection_policy import SetDetectionPolicy
from preemption.commands.detections import AcknowledgeDetection, FindDetections
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW, Tenant


def found(place: Tenant, *, key: str = "lazy", account: str = "vision") -> str:
    """A spot job in a100 did nothing for an hour until NOW; somebody knows why. The id of that."""
    jobs = Jobs(place)
    start = NOW - timedelta(hours=1)
    jobs.admit(jobs.ask(key, units=2, pool="a100", account=account, tier="spot"), now=start)
    jobs.start(key, now=start)
    for minutes in range(5, 65, 5):
        at = start + timedelta(minutes=minutes)
        jobs.beat(key, now=at, compute_util=0.03, memory_gb=80, progress=minutes)
    place.run(SetDetectionPolicy(zombie_below=Decimal("0.02")), reason="test")
    place.run(FindDetections(pool_id=place.pools["a100"]))
    with scope.reading(place.id), server_cursor() as cursor:
        id_, account_id = cursor.execute(
            "SELECT id, account_id FROM preemption_detection WHERE job = %b", (key,)
        ).fetchone()
    command = AcknowledgeDetection(
        detection_id=id_, account_id=account_id, until=NOW + timedelta(days=1)
    )
    place.run(command, reason="it waits for data")
    return str(id_)
