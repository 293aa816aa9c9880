"""Events of usage and fair-share. Pure; names and versions are fixed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@event("usage.source_registered")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSourceRegistered(Event):
    """A source of usage records was seen for the first time: a namespace of keys."""

    source_id: UUID
    name: str

    @property
    def stream(self) -> str:
        return f"usage_source:{self.source_id}"


@event("usage.batch_recorded")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBatchRecorded(Event):
    """A batch of usage rows was stored. `digest` is the SHA-256 of the rows as PostgreSQL copies
    them out in row order; `rows` counts them, reversals of superseded records included;
    `unit_seconds` is their signed sum over the rows that have an end."""

    batch_id: UUID
    source_ids: tuple[UUID, ...]
    rows: int
    duplicates: int
    conflicts: int
    rejected: int
    unit_seconds: Decimal
    first_started_at: datetime
    last_started_at: datetime
    digest: str

    @property
    def stream(self) -> str:
        return f"usage_batch:{self.batch_id}"


@event("usage.settled")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSettled(Event):
    """Records whose end lay in the future when they came, and has passed by `until`, now count as
    ended use: they move from the open records into the sums."""

    organization_id: UUID
    until: datetime

    @property
    def stream(self) -> str:
        return f"usage_settlement:{self.organization_id}"


@event("fairshare.policy_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class FairsharePolicySet(Event):
    """Algorithm, half-life and priority weights that hold from now on, for all use ever made.
    `weights` are the fields of the priority policy, `boosts` boosts by account id, all as decimal
    strings."""

    organization_id: UUID
    algorithm: str
    half_life_seconds: int
    weights: dict[str, str]
    boosts: dict[str, str]

    @property
    def stream(self) -> str:
        return f"fairshare:{self.organization_id}"


@event("fairshare.reset")
@dataclass(frozen=True, slots=True, kw_only=True)
class FairshareReset(Event):
    """Use before `at` no longer counts for priority. Bills do not change."""

    organization_id: UUID
    at: datetime

    @property
    def stream(self) -> str:
        return f"fairshare:{self.organization_id}"
