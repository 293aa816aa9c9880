"""From what a heartbeat tells of a job's work to what is recorded of it."""

from decimal import Decimal

from quota import wire
from quota.allocation_facts import StoredAllocation
from quota.measuring_events import Measurement

SHARE_PLACES = Decimal("0.000001")
MEMORY_PLACES = Decimal("0.001")


def measurement(one: StoredAllocation, message: wire.HeartbeatMessage) -> Measurement:
    """Of a running allocation whose lease the message has just renewed: as of when it counted."""
    value = one.value
    return Measurement(
        allocation_id=one.id,
        at=value.heard_at,
        started_at=value.started_at,
        lease_seconds=value.lease_seconds,
        compute_util=_exact(message.compute_util, SHARE_PLACES),
        memory_gb=_exact(message.memory_gb, MEMORY_PLACES),
        progress=message.progress,
    )


def _exact(told: float | None, places: Decimal) -> Decimal | None:
    return None if told is None else Decimal(str(told)).quantize(places)
