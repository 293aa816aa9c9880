"""What use looks like on the wire when it is read; see accounting.wire for what is reported."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

import msgspec

Tier = Literal["guaranteed", "borrowed", "spot"]


class UsageGroup(msgspec.Struct, kw_only=True):
    """Use of a group; what it is not grouped by is null.

    `compute_known` and `productive_known` are the measured parts of the use; utilizations are
    those of the measured part, null where nothing was measured.
    """

    day: date | None
    account: str | None
    person: str | None
    pool: str | None
    tier: Tier | None
    unit_seconds: Decimal | None
    weighted: Decimal
    compute_util: float | None
    compute_known: float
    productive_util: float | None
    productive_known: float


class UsageGroups(msgspec.Struct, kw_only=True):
    """Groups in order. `next` is the address of the following page."""

    since: date
    until: date
    groups: list[UsageGroup]
    next: str | None


class BatchFacts(msgspec.Struct, kw_only=True):
    """One accepted batch. `unit_seconds` is the sum of the records that have ended, less what they
    correct; `digest` the SHA-256 of the rows, which the event holds too."""

    id: UUID
    event_id: UUID
    sources: list[str]
    recorded_at: datetime
    rows: int
    duplicates: int
    conflicts: int
    rejected: int
    unit_seconds: Decimal
    digest: str


class Batches(msgspec.Struct):
    """Batches, newest first. `next` is the address of the page with older ones."""

    batches: list[BatchFacts]
    next: str | None


class BatchRecord(msgspec.Struct, kw_only=True):
    """A stored row. `sign` -1 takes back the values of a corrected record."""

    sign: Literal[1, -1]
    source: str
    key: str
    account: str
    person: str
    pool: str
    tier: Tier
    units: int
    start: datetime
    end: datetime | None
    compute_util: float | None
    productive_util: float | None
    supersedes: str | None


class BatchRecords(msgspec.Struct):
    """Rows in their order. `next` is the address of the following page."""

    records: list[BatchRecord]
    next: str | None
