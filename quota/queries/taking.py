"""What plans of preemption are decided on: who holds units of a pool, and who lost some lately."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.values import PriorityClass, Tier

CHECKPOINT_LABEL = "checkpoint"
"""A job labeled `checkpoint: no` cannot save itself."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Holder(NamedTuple):
    """An allocation that holds units now.

    Attributes:
        is_held: it has not started yet.
        is_latest: of its job's attempts in the pool that live.
    """

    id: UUID
    key: str
    attempt: int
    account_id: UUID
    units: int
    min_units: int
    tier: Tier
    priority_class: PriorityClass
    since: datetime
    reclaim_seconds: int
    saves: bool
    is_held: bool
    is_latest: bool


class Lost(NamedTuple):
    """An allocation that was preempted, as its scheduler told."""

    id: UUID
    pool_id: UUID
    key: str
    units: int
    at: datetime


_HOLDERS = """
SELECT id, key, attempt, account_id, units, min_units, tier, priority_class,
    (extract(epoch FROM coalesce(started_at, held_at)) * 1000000)::bigint, reclaim_seconds,
    coalesce(labels->>%b::text, '') <> 'no', state = 'held'
FROM quota_allocation
WHERE organization_id = %b AND pool_id = %b AND lapses_at > %b AND units > 0
"""
_LOST = """
SELECT id, pool_id, key, units, ended_at FROM quota_allocation
WHERE organization_id = %b AND state = 'preempted' AND ended_at > %b
ORDER BY ended_at, id
"""


def holders(organization_id: UUID, pool_id: UUID, *, now: datetime) -> list[Holder]:
    """Everybody who holds units of a pool at an instant, in no order: sorting tens of thousands by
    their keys takes as long as reading them."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            _HOLDERS, (CHECKPOINT_LABEL, organization_id, pool_id, now)
        ).fetchall()
    # Numbers of microseconds are read ten times as fast as instants, and accounts that are the very
    # same object are compared at once; there may be tens of thousands.
    accounts: dict[UUID, UUID] = {}
    latest: dict[str, int] = {}
    for _, key, attempt, *_ in rows:
        if attempt > latest.get(key, 0):
            latest[key] = attempt
    return [
        Holder(
            *row[:3],
            accounts.setdefault(row[3], row[3]),
            *row[4:8],
            _EPOCH + timedelta(microseconds=row[8]),
            *row[9:],
            row[2] == latest[row[1]],
        )
        for row in rows
    ]


def lost_since(organization_id: UUID, *, since: datetime) -> list[Lost]:
    """Allocations of any pool that were preempted after an instant, for a plan or without one."""
    with server_cursor() as cursor:
        rows = cursor.execute(_LOST, (organization_id, since)).fetchall()
    return [Lost(*row) for row in rows]
