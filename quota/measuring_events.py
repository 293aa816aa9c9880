"""What running jobs told of their work, in the hash-chain lane of their pool. Pure; names and
versions are fixed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A running job as of `at`: how busy it was since it last told so (0 to 1), the memory that it
    holds, how far it got. None: not told. It has run since `started_at`; silence longer than
    `lease_seconds` is unknown."""

    allocation_id: UUID
    at: datetime
    started_at: datetime
    lease_seconds: int
    compute_util: Decimal | None
    memory_gb: Decimal | None
    progress: int | None


@event("allocation.work_measured")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWorkMeasured(Event):
    """Running jobs of a pool told of their work, with heartbeats that counted. One event for all
    that told at once, and none where heartbeats tell only that jobs are alive."""

    pool_id: UUID
    measurements: tuple[Measurement, ...]

    @property
    def stream(self) -> str:
        return f"work:{self.pool_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset()
