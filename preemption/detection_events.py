"""Events of what was found to be odd, in the hash-chain lane of their pool. Pure; names and
versions are fixed."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@event("detection.policy_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionPolicySet(Event):
    """What is worth a notice from now on; see `preemption.domain.detection.DetectionRule`. Kinds
    that are not in `kinds` are not looked for."""

    organization_id: UUID
    kinds: tuple[str, ...]
    idle_below: Decimal
    idle_minutes: int
    zombie_below: Decimal
    progress_seconds_max: int
    baseline_factor: int
    baseline_spread: int
    baseline_days_min: int

    @property
    def stream(self) -> str:
        return f"detection_policy:{self.organization_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStretch:
    """From `start` on, compute was `mean` busy and at most `peak`, 0 to 1."""

    start: datetime
    mean: Decimal
    peak: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEvidence:
    """What a job told. `below`, `limit_seconds`: the thresholds it was held against; `until`: the
    instant of the newest figure; `progress_at`: last sign that it gets on."""

    until: datetime
    compute_util: Decimal
    below: Decimal
    limit_seconds: int
    memory_gb: Decimal | None
    progress_at: datetime | None
    stretches: tuple[WorkStretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseEvidence:
    """What an account used on `day`, against its days before it; unit-seconds. `median` and
    `deviation` (robust standard deviation) are of `days`, `times` is `consumed` over `median`."""

    day: date
    consumed: int
    median: Decimal
    deviation: Decimal
    times: Decimal
    factor: int
    spread: int
    first_day: date
    days: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfDetection(Event):
    """Something about one detection."""

    detection_id: UUID
    pool_id: UUID
    account_id: UUID

    @property
    def stream(self) -> str:
        return f"detection:{self.detection_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.account_id, self.pool_id})


@event("detection.found")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionFound(_OfDetection):
    """An allocation that does nothing (`idle`), or holds memory and does not get on (`zombie`), or
    an account that uses a multiple of what it usually does (`surge`). `worth_per_hour`: what the
    idle or additional part costs; None: unrated."""

    kind: str
    since: datetime
    units: int
    worth_per_hour: Decimal | None
    allocation_id: UUID | None = None
    person_id: UUID | None = None
    job: str | None = None
    work: WorkEvidence | None = None
    use: UseEvidence | None = None


@event("detection.acknowledged")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionAcknowledged(_OfDetection):
    """Somebody knows of it and says why it is so. With `until` the same is quiet until then, and
    told again if it is still so; without, as long as it lasts."""

    until: datetime | None


@event("detection.acted")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionActed(_OfDetection):
    """The allocation was released for it: its units are free."""

    units: int


@event("detection.reopened")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionReopened(_OfDetection):
    """It is still so, and the time for which it was acknowledged is over."""

    kind: str


@event("detection.cleared")
@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionCleared(_OfDetection):
    """It is no longer so: it is `over`, the allocation has `ended`, nothing is known any more
    (`unknown`), another kind says it better (`worse`), or it is not looked for any more (`off`)."""

    why: str
