"""What the demo finds to be odd at `now`, and what somebody knows of already."""

from datetime import datetime, timedelta
from typing import Final

from demo.quota_history import OPERATOR
from demo.tenant import Tenant
from ledger import scope
from preemption.commands.detections import AcknowledgeDetection, FindDetections
from preemption.detection_queries import detections

QUIET: Final = timedelta(days=2)


def find(tenant: Tenant, *, now: datetime) -> None:
    """Look at every pool as the tasks do; the oldest hanging job is known."""
    for name, pool_id in sorted(tenant.pools.items()):
        for consumption in (False, True):
            look = FindDetections(pool_id=pool_id, consumption=consumption)
            what = "consumption" if consumption else "jobs"
            tenant.run(look, f"detections/{name}/{what}", at=now, reason="detection")
    with scope.reading(tenant.id):
        hanging = detections(tenant.id, kind="zombie", state="open")
    for row in hanging[-1:]:
        known = AcknowledgeDetection(
            detection_id=row.id, account_id=row.account_id, until=now + QUIET
        )
        reason = "The file system is being repaired; it goes on by itself then"
        tenant.run(known, "detections/known", at=now, by=tenant.person(OPERATOR), reason=reason)
