"""Events of allocations, in the hash-chain lane of their pool. Pure; names and versions are fixed.

Each one says all that its projector needs: whose units of which tier come or go. They are no
subjects of anything's history but their own stream, `allocation:<id>`: a busy account would have
millions of them beside the few changes that people look for.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class _InPool(Event):
    """Something in one pool."""

    pool_id: UUID

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAllocation(_InPool):
    """Something about one allocation."""

    allocation_id: UUID

    @property
    def stream(self) -> str:
        return f"allocation:{self.allocation_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made(_OfAllocation):
    """An allocation with everything that was known of it at first."""

    key: str
    attempt: int
    account_id: UUID
    person_id: UUID | None
    units: int
    min_units: int
    wanted_units: int
    priority_class: str
    tier: str
    tier_wish: str | None
    reclaim_seconds: int
    slow: bool
    lease_seconds: int
    duration_seconds: int | None
    held_at: datetime
    hold_until: datetime
    labels: dict[str, str] = field(default_factory=dict)


@event("allocation.held")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationHeld(_Made):
    """A job was admitted: units are held for it until `hold_until`, within which it must start.
    `slow`: they come back later than the pool's reclaim target. `leads`: the first allocation of
    the admission, by which the attempt is claimed once in all pools."""

    leads: bool = False


@event("allocation.adopted")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationAdopted(_Made):
    """A job runs that was never admitted here; a scheduler's snapshot told of it. It counts."""

    started_at: datetime
    heard_at: datetime
    lease_until: datetime


@event("allocation.started")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationStarted(_OfAllocation):
    """The job runs since `started_at`; `units` and `tier` are what it started with."""

    started_at: datetime
    units: int
    tier: str
    heard_at: datetime
    lease_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A sign of life at `heard_at` that extends a lease."""

    allocation_id: UUID
    heard_at: datetime
    lease_until: datetime


@event("allocation.leases_renewed")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLeasesRenewed(_InPool):
    """Running jobs of a pool were alive. One event for all that were told at once."""

    renewals: tuple[Renewal, ...]

    @property
    def stream(self) -> str:
        return f"leases:{self.pool_id}"


@event("allocation.resized")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationResized(_OfAllocation):
    """The job runs with other units since `at`."""

    account_id: UUID
    at: datetime
    units: int
    units_before: int
    tier: str
    slow: bool
    heard_at: datetime
    lease_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclassified(_OfAllocation):
    """The same units in another tier. `at`: since when a running job has it; None where the job
    has not started."""

    account_id: UUID
    units: int
    tier: str
    tier_before: str
    slow: bool
    at: datetime | None


@event("allocation.promoted")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationPromoted(Reclassified):
    """Guarantees became free, so the units rose to a better tier. `at`: since when a running job
    has it; None where the job has not started."""


@event("allocation.demoted")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationDemoted(Reclassified):
    """A guarantee was lowered by a change that exposes, so units above it are borrowed now. `at`:
    since when a running job has the tier; None where the job has not started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(_OfAllocation):
    """The units are free again. `started_at`: where the end told of a start that was not heard.
    `heard_at` and `lease_until` come with it."""

    account_id: UUID
    units: int
    tier: str
    slow: bool
    ended_at: datetime
    started_at: datetime | None = None
    heard_at: datetime | None = None
    lease_until: datetime | None = None


@event("allocation.released")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationReleased(Ended):
    """The job has ended by itself."""


@event("allocation.preempted")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationPreempted(Ended):
    """The job was stopped for somebody else."""


@event("allocation.expired")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationExpired(Ended):
    """The hold was not started, the lease not renewed, or the bounded run is over."""


@event("allocation.snapshot_reconciled")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSnapshotReconciled(_InPool):
    """A scheduler told everything that runs in the pool; `known` jobs of it were as recorded."""

    at: datetime
    known: int
    adopted: int
    ended: int
    disputed: int

    @property
    def stream(self) -> str:
        return f"snapshots:{self.pool_id}"


@event("admission.policy_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicySet(Event):
    """The organization's times of admission, in seconds, for everything admitted from now on. What
    is held or runs already keeps the times it was given."""

    organization_id: UUID
    hold_seconds: int
    lease_seconds: int
    heartbeat_seconds: int
    interactive_seconds_max: int

    @property
    def stream(self) -> str:
        return f"admission:{self.organization_id}"
