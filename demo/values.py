"""What the demo's generator works from and what it gives. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from accounting.importers.record import ImportedRecord
from tenancy.importers.tree import TreePlan

Rhythm: TypeAlias = Literal["always", "office", "evenings", "nights", "weekends", "bursts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFlavor:
    """A kind of device, its weight in fair-share and its memory."""

    name: str
    weight: Decimal
    memory_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPool:
    """One flavor in one cluster; amounts in whole units."""

    name: str
    flavor: str
    cluster: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuota:
    """What an account is promised in a pool, how far beyond it may go and how much of it others
    may use (None: no bound)."""

    account: str
    pool: str
    guaranteed: int
    borrowing_limit: int | None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRole:
    """A role of a person on an account; account None is the whole organization."""

    person: str
    role: str
    account: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One kind of work of a team: how often, how large, how long, how well used.

    ``jobs_per_day`` is a mean over the week, shaped by ``rhythm``. ``units`` are sizes with their
    weights. Hours are lognormal around ``hours_median``, cut to ``hours_max``. ``job_class`` P0
    streams are services: they run without a break, replaced every ``hours_median``. ``busy`` and
    ``productive`` are mean shares of time; None is work without telemetry. ``scavenges`` marks
    work that asks for no entitlement and runs as spot.
    """

    account: str
    pool: str
    workload: str
    job_class: Literal["P0", "P1", "P2", "P3"]
    rhythm: Rhythm
    jobs_per_day: float
    units: Mapping[int, float]
    hours_median: float
    hours_spread: float
    hours_max: float
    busy: float | None
    productive: float | None
    models: tuple[str, ...]
    project: str
    scavenges: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """A job that waits at ``now``, with the fields of a priorities call (``job_class`` is
    ``class`` there)."""

    key: str
    account: str
    person: str
    pool: str
    units: int
    job_class: str
    submitted_at: datetime
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A whole organization with its history. Records are ordered by start; those that still run
    at ``now`` have no end."""

    name: str
    slug: str
    currency: str
    time_zone: str
    tree: TreePlan
    flavors: tuple[DemoFlavor, ...]
    pools: tuple[DemoPool, ...]
    quotas: tuple[DemoQuota, ...]
    roles: tuple[DemoRole, ...]
    records: tuple[ImportedRecord, ...]
    pending: tuple[PendingJob, ...]
