"""Events of jobs' work to rows, set-based."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from ledger.projection import ProjectedTable, Projector
from ledger.sql import row_values, rows_of, server_cursor
from ledger.types import RecordedEvent
from quota.domain.measuring import NOTHING, Measured, Telling, told
from quota.measuring_events import AllocationWorkMeasured
from quota.measuring_rows import encoded, works

WORK = ProjectedTable(name="quota_allocationwork", key=("organization_id", "allocation_id"))

_COLUMNS = {
    "allocation_id": "uuid",
    "pool_id": "uuid",
    "until": "timestamptz",
    "compute_util": "numeric",
    "memory_gb": "numeric",
    "progress": "bigint",
    "progress_at": "timestamptz",
    "stretches": "text",
}
_WORK = """
INSERT INTO quota_allocationwork (organization_id, allocation_id, pool_id, until, compute_util,
    memory_gb, progress, progress_at, stretches)
SELECT %b::uuid, allocation_id, pool_id, until, compute_util, memory_gb, progress, progress_at,
    stretches::jsonb
FROM {rows}
ON CONFLICT (organization_id, allocation_id) DO UPDATE SET until = excluded.until,
    compute_util = excluded.compute_util, memory_gb = excluded.memory_gb,
    progress = excluded.progress, progress_at = excluded.progress_at,
    stretches = excluded.stretches
"""


def work_measured(run: Sequence[RecordedEvent]) -> None:
    """Work as last told: two statements, however many jobs told."""
    here = run[0].organization_id
    tellings = [(event.data.pool_id, one) for event in run for one in event.data.measurements]
    pools: dict[UUID, UUID] = {one.allocation_id: pool_id for pool_id, one in tellings}
    known: dict[UUID, Measured] = works(here, pools)
    for _, one in tellings:
        telling = Telling(
            at=one.at,
            since=one.started_at,
            gap=timedelta(seconds=one.lease_seconds),
            compute_util=one.compute_util,
            memory_gb=one.memory_gb,
            progress=one.progress,
        )
        known[one.allocation_id] = told(known.get(one.allocation_id, NOTHING), telling)
    rows = [
        (
            *(id_, pools[id_], work.until, work.compute_util, work.memory_gb, work.progress),
            *(work.progress_at, encoded(work.stretches)),
        )
        for id_, work in sorted(known.items())
    ]
    source = f"{rows_of(_COLUMNS, len(rows))} AS n({', '.join(_COLUMNS)})"
    with server_cursor() as cursor:
        cursor.execute(_WORK.format(rows=source), (here, *row_values(rows)))


PROJECTORS = (
    Projector(
        name=f"quota:{AllocationWorkMeasured.event_type}",
        project=work_measured,
        types=frozenset({AllocationWorkMeasured.event_type}),
        tables=(WORK,),
    ),
)
