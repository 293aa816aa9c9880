"""What detections look like on the wire: exact types, nothing unknown, zones required."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from preemption.wire import Reason
from quota.wire import Instant

DetectionKind = Literal["idle", "zombie", "surge"]
DetectionState = Literal["open", "acknowledged", "acted", "cleared"]


class DetectionWorkStretch(msgspec.Struct, kw_only=True, gc=False):
    """From `start` on, compute was `mean` busy and at most `peak`, 0 to 1."""

    start: datetime
    mean: float
    peak: float


class DetectionWork(msgspec.Struct, kw_only=True):
    """What the job told: it was `compute_util` busy, which is less than `below`; allowed for
    `limit_seconds`. `until`: the instant of the newest figure. `progress_at`: the last sign that it
    gets on."""

    until: datetime
    compute_util: float
    below: float
    limit_seconds: int
    memory_gb: float | None
    progress_at: datetime | None
    stretches: list[DetectionWorkStretch]


class DetectionUse(msgspec.Struct, kw_only=True):
    """What the account used on `day`, in unit-seconds: `times` the `median` of `days`, which begin
    on `first_day`; null: not known. `deviation` is their robust standard deviation. Found from
    `factor` medians on, and more than `spread` deviations above the median."""

    day: date
    consumed: int
    median: float
    deviation: float
    times: float
    factor: int
    spread: int
    first_day: date
    days: list[int | None]


class DetectionFacts(msgspec.Struct, kw_only=True):
    """Something that was found. `job`, `person`: whose allocation it is; null: it is the account's
    use. `units`: of the allocation, or above the usual day. `worth_per_hour`: what the idle or
    additional part costs; null: unrated. `work` or `use` is the evidence. `by`, `reason`: who
    acknowledged or released it and why; quiet until `quiet_until`. `why`: what closed it."""

    id: str
    kind: DetectionKind
    state: DetectionState
    account: str
    pool: str
    person: str | None
    job: str | None
    units: int
    worth_per_hour: Decimal | None
    since: datetime
    found_at: datetime
    by: str
    reason: str
    acknowledged_at: datetime | None
    quiet_until: datetime | None
    closed_at: datetime | None
    why: str
    work: DetectionWork | None
    use: DetectionUse | None


class DetectionPage(msgspec.Struct, kw_only=True):
    """Detections, the newest first. `next` is the address of the following page."""

    at: datetime
    detections: list[DetectionFacts]
    next: str | None


class DetectionAcknowledgement(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True
):
    """Why it is so. `until`: quiet until then, within 366 days; absent: as long as it lasts."""

    reason: Reason
    until: Instant | None = None


class DetectionRelease(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Why the allocation is released."""

    reason: Reason


class DetectionDecision(msgspec.Struct, kw_only=True):
    """`changed` false: it was so before. `units` are free now."""

    id: str
    changed: bool
    state: DetectionState
    units: int


class DetectionPolicy(msgspec.Struct, kw_only=True):
    """What is found. `idle`: less than `idle_below` busy for `idle_minutes`. `zombie`: memory held,
    less than `zombie_below` busy, no progress for more than `progress_seconds_max`. `surge`: a day
    of `baseline_factor` medians or more, and more than `baseline_spread` robust standard
    deviations above the median, where at least `baseline_days_min` days are known. Kinds that are
    not in `kinds` are not looked for."""

    kinds: list[DetectionKind]
    idle_below: Decimal
    idle_minutes: int
    zombie_below: Decimal
    progress_seconds_max: int
    baseline_factor: int
    baseline_spread: int
    baseline_days_min: int


Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class NewDetectionPolicy(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A policy as a whole, and why. What is absent is the default."""

    kinds: Annotated[list[DetectionKind], Meta(max_length=3)] = msgspec.field(
        default_factory=lambda: ["idle", "zombie", "surge"]
    )
    idle_below: Decimal = Decimal("0.1")
    idle_minutes: Count = 60
    zombie_below: Decimal = Decimal("0.05")
    progress_seconds_max: Count = 600
    baseline_factor: Count = 3
    baseline_spread: Count = 3
    baseline_days_min: Count = 14
    reason: Reason
