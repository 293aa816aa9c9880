"""From what the lifecycle says to events: what is recorded of a change, and nothing else."""

from dataclasses import dataclass
from uuid import UUID

from quota import allocation_events as ev
from quota.domain.lifecycle import LIVE, Allocation
from quota.domain.values import TIERS

_ENDED: dict[str, type[ev.Ended]] = {
    "released": ev.AllocationReleased,
    "preempted": ev.AllocationPreempted,
    "expired": ev.AllocationExpired,
}


@dataclass(frozen=True, slots=True)
class StoredAllocation:
    """An allocation with what the domain does not need to know of it."""

    id: UUID
    slow: bool
    labels: dict[str, str]
    value: Allocation


def held(made: StoredAllocation, *, leads: bool) -> ev.AllocationHeld:
    """A new hold; the first one of an admission leads."""
    return ev.AllocationHeld(**_made(made), leads=leads)


def adopted(made: StoredAllocation) -> ev.AllocationAdopted:
    """A running job that was never admitted."""
    value = made.value
    return ev.AllocationAdopted(
        **_made(made),
        started_at=value.started_at,
        heard_at=value.heard_at,
        lease_until=value.lease_until,
    )


def _made(made: StoredAllocation) -> dict:
    value = made.value
    return {
        "allocation_id": made.id,
        "pool_id": value.pool,
        "key": value.key,
        "attempt": value.attempt,
        "account_id": value.account,
        "person_id": value.person,
        "units": value.units,
        "min_units": value.min_units,
        "wanted_units": value.wanted_units,
        "priority_class": value.priority_class,
        "tier": value.tier,
        "tier_wish": value.tier_wish,
        "reclaim_seconds": value.reclaim_seconds,
        "slow": made.slow,
        "lease_seconds": value.lease_seconds,
        "duration_seconds": value.duration_seconds,
        "held_at": value.held_at,
        "hold_until": value.hold_until,
        "labels": made.labels,
    }


def change(before: StoredAllocation, after: Allocation) -> ev.Event | ev.Renewal | None:
    """The one thing that differs; a renewal is gathered with others into one event."""
    was = before.value
    if after == was:
        return None
    if after.state not in LIVE:
        return _ended(before, after)
    place = {"allocation_id": before.id, "pool_id": was.pool}
    if was.state == "held" and after.state == "running":
        return ev.AllocationStarted(
            **place,
            started_at=after.started_at,
            units=after.units,
            tier=after.tier,
            heard_at=after.heard_at,
            lease_until=after.lease_until,
        )
    if after.tier != was.tier:
        rises = TIERS.index(after.tier) < TIERS.index(was.tier)
        return (ev.AllocationPromoted if rises else ev.AllocationDemoted)(
            **place,
            account_id=was.account,
            units=after.units,
            tier=after.tier,
            tier_before=was.tier,
            slow=before.slow,
            at=after.steps[-1].at if after.state == "running" else None,
        )
    if after.units != was.units:
        return ev.AllocationResized(
            **place,
            account_id=was.account,
            at=after.steps[-1].at,
            units=after.units,
            units_before=was.units,
            tier=after.tier,
            slow=before.slow,
            heard_at=after.heard_at,
            lease_until=after.lease_until,
        )
    return ev.Renewal(
        allocation_id=before.id, heard_at=after.heard_at, lease_until=after.lease_until
    )


def _ended(before: StoredAllocation, after: Allocation) -> ev.Ended:
    was = before.value
    late = was.started_at is None and after.started_at is not None
    return _ENDED[after.state](
        allocation_id=before.id,
        pool_id=was.pool,
        account_id=was.account,
        units=was.units,
        tier=was.tier,
        slow=before.slow,
        ended_at=after.ended_at,
        started_at=after.started_at if late else None,
        heard_at=after.heard_at if late else None,
        lease_until=after.lease_until if late else None,
    )
