"""Rows of `quota_allocationwork` to values and back."""

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import msgspec

from ledger.sql import server_cursor
from quota.domain.measuring import Measured, Stretch

COLUMNS = "until, compute_util, memory_gb, progress, progress_at, stretches::text"


def measured(row: tuple) -> Measured:
    """A row in the order of `COLUMNS`."""
    until, compute_util, memory_gb, progress, progress_at, stretches = row
    return Measured(
        until=until,
        compute_util=compute_util,
        memory_gb=memory_gb,
        progress=progress,
        progress_at=progress_at,
        stretches=tuple(
            Stretch(datetime.fromisoformat(start), peak, Decimal(busy))
            for start, peak, busy in msgspec.json.decode(stretches)
        ),
    )


def encoded(stretches: Collection[Stretch]) -> str:
    """Stretches as they are stored; amounts as text, which is exact."""
    rows = [[one.start, one.peak, format(one.busy, "f")] for one in stretches]
    return msgspec.json.encode(rows).decode()


def works(organization_id: UUID, allocation_ids: Collection[UUID]) -> dict[UUID, Measured]:
    """What allocations told of their work, of those that told something."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT allocation_id, {COLUMNS} FROM quota_allocationwork "
            "WHERE organization_id = %b AND allocation_id = ANY(%b::uuid[])",
            (organization_id, list(allocation_ids)),
        ).fetchall()
    return {row[0]: measured(row[1:]) for row in rows}
