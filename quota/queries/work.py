"""What running allocations told of their work. Runs inside `scope.reading` or a command."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.measuring import Measured
from quota.measuring_rows import COLUMNS, measured, works

__all__ = ("WorkingJob", "barely_working", "works")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingJob:
    """A running allocation that tells of its work."""

    id: UUID
    key: str
    account_id: UUID
    person_id: UUID | None
    units: int
    tier: str
    started_at: datetime
    lease_seconds: int
    work: Measured


_JOBS = f"""
SELECT a.id, a.key, a.account_id, a.person_id, a.units, a.tier, a.started_at, a.lease_seconds,
    {COLUMNS}
FROM quota_allocation a
JOIN quota_allocationwork w
    ON w.organization_id = a.organization_id AND w.allocation_id = a.id
WHERE a.organization_id = %b AND a.pool_id = %b AND a.lapses_at > %b AND a.state = 'running'
    AND w.compute_util < %b
ORDER BY a.id
"""


def barely_working(
    organization_id: UUID, pool_id: UUID, *, now: datetime, below: Decimal
) -> list[WorkingJob]:
    """Allocations that run in a pool and were less busy than a share when they last told."""
    names = tuple(WorkingJob.__dataclass_fields__)[:-1]
    with server_cursor() as cursor:
        rows = cursor.execute(_JOBS, (organization_id, pool_id, now, below)).fetchall()
    return [
        WorkingJob(**dict(zip(names, row, strict=False)), work=measured(row[len(names) :]))
        for row in rows
    ]


def running_among(
    organization_id: UUID, allocation_ids: Collection[UUID], *, now: datetime
) -> set[UUID]:
    """Those allocations that still run."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id FROM quota_allocation WHERE organization_id = %b AND id = ANY(%b::uuid[]) "
            "AND lapses_at > %b AND state = 'running'",
            (organization_id, list(allocation_ids), now),
        ).fetchall()
    return {row[0] for row in rows}
