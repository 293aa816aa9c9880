"""What was held becomes usage, exactly once, also where the scheduler reports its jobs itself.

An ended allocation yields one record per stretch of its run with the same units and tier, under
the source `allocations`. The scheduler's own record of the job comes first in rank: one of another
source that names the job (its key, or its label `job_id`, is the allocation's key), in the same
pool, and overlaps the run. Where such a record is there when the allocation is metered, nothing is
recorded; where it comes later, what was recorded is withdrawn by a record without length that
supersedes it. So the totals are the same in whichever order they come
(docs/decisions/0008-allocations.md).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from accounting import partitions
from accounting.commands.usage import RecordUsage
from accounting.events import UsageBatchRecorded
from accounting.staging import KEY_LENGTH_MAX, Batch
from ledger import readers, scope
from ledger.execution import Context, execute
from ledger.readers import Reader
from ledger.sql import server_cursor
from ledger.types import SYSTEM, RecordedEvent
from quota.allocation_events import Ended
from quota.queries.runs import EndedRun, ended_runs

logger = structlog.get_logger("apportion.accounting")

SOURCE: Final = "allocations"
WITHDRAWN: Final = "#withdrawn"

# Both look-ups are index probes: by a record's key within each source, and by its label.
_COVERED = """
WITH runs AS (
    SELECT * FROM unnest(%b::uuid[], %b::text[], %b::uuid[], %b::timestamptz[], %b::timestamptz[])
        AS r(id, job, pool_id, started_at, ended_at)
), sources AS MATERIALIZED (
    SELECT id FROM accounting_usagesource WHERE organization_id = %b AND name <> %b
)
SELECT runs.id FROM runs WHERE EXISTS (
    SELECT 1 FROM sources
    CROSS JOIN LATERAL (SELECT batch_id, row_no, started_at FROM accounting_usagekey
        WHERE organization_id = %b AND source_id = sources.id AND key = runs.job
            AND superseded_by IS NULL LIMIT 1) k
    JOIN accounting_usagerecord u ON u.organization_id = %b AND u.batch_id = k.batch_id
        AND u.row_no = k.row_no AND u.started_at = k.started_at
    WHERE u.pool_id = runs.pool_id AND u.started_at < runs.ended_at
        AND coalesce(u.ended_at, 'infinity') > runs.started_at
) OR EXISTS (
    SELECT 1 FROM accounting_usagerecord u
    JOIN accounting_usagekey k ON k.organization_id = u.organization_id
        AND k.source_id = u.source_id AND k.key = u.key AND k.superseded_by IS NULL
    WHERE u.organization_id = %b AND u.labels ? 'job_id' AND u.labels->>'job_id' = runs.job
        AND u.sign = 1 AND u.source_id IN (SELECT id FROM sources)
        AND u.pool_id = runs.pool_id AND u.started_at < runs.ended_at
        AND coalesce(u.ended_at, 'infinity') > runs.started_at
)
"""
_REPORTED = """
SELECT DISTINCT a.id FROM accounting_usagerecord u
JOIN accounting_usagesource s ON s.organization_id = u.organization_id AND s.id = u.source_id
CROSS JOIN LATERAL (SELECT id FROM quota_allocation
    WHERE organization_id = u.organization_id
        AND key = ANY (ARRAY[u.key, u.labels->>'job_id']) AND pool_id = u.pool_id
        AND started_at < coalesce(u.ended_at, 'infinity') AND ended_at > u.started_at) a
WHERE u.organization_id = %b AND u.batch_id = %b AND u.started_at BETWEEN %b AND %b
    AND u.sign = 1 AND s.name <> %b
"""


def meter(organization_id: UUID, *, now: datetime) -> int:
    """Turn everything that has ended into usage, and withdraw what schedulers have reported since.
    Returns how many events were looked at. Late, doubled or interrupted, the result is the same."""

    def handle(events: Sequence[RecordedEvent]) -> None:
        _handle(organization_id, events, now)

    reader = Reader(name="allocated-usage", handle=handle)
    return readers.catch_up_with_commands(reader, organization_id)


def _handle(organization_id: UUID, events: Sequence[RecordedEvent], now: datetime) -> None:
    ended = [event.data.allocation_id for event in events if isinstance(event.data, Ended)]
    batches = [event.data for event in events if isinstance(event.data, UsageBatchRecorded)]
    with scope.reading(organization_id):
        fresh = ended_runs(organization_id, ended) if ended else []
        covered = _covered(organization_id, fresh)
        reported = {id_ for data in batches for id_ in _reported(organization_id, data)}
        withdrawn = ended_runs(organization_id, reported) if reported else []
    _record(organization_id, (run for run in fresh if run.id not in covered), now)
    _record(organization_id, withdrawn, now, withdraw=True)


def _covered(organization_id: UUID, runs: Sequence[EndedRun]) -> set[UUID]:
    """The runs of which another source has a record."""
    if not runs:
        return set()
    columns = (
        [run.id for run in runs],
        [run.key for run in runs],
        [run.pool_id for run in runs],
        [run.spans[0].start for run in runs],
        [run.spans[-1].end for run in runs],
    )
    here = organization_id
    with server_cursor() as cursor:
        rows = cursor.execute(_COVERED, (*columns, here, SOURCE, here, here, here)).fetchall()
    return {row[0] for row in rows}


def _reported(organization_id: UUID, batch: UsageBatchRecorded) -> list[UUID]:
    """The ended allocations that records of a batch are about."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            _REPORTED,
            (
                *(organization_id, batch.batch_id, batch.first_started_at),
                *(batch.last_started_at, SOURCE),
            ),
        ).fetchall()
    return [row[0] for row in rows]


def _record(
    organization_id: UUID, runs: Iterable[EndedRun], now: datetime, *, withdraw: bool = False
) -> None:
    batch = Batch(now=now)
    line = 0
    for run in runs:
        for number, span in enumerate(run.spans):
            line += 1
            key = _key(run, number)
            batch.add(
                line=line,
                source=SOURCE,
                key=key + WITHDRAWN if withdraw else key,
                account=run.account,
                person=run.person,
                pool=run.pool,
                tier=span.tier,
                units=span.units,
                start=span.start,
                end=span.start if withdraw else span.end,
                compute_util=None,
                productive_util=None,
                memory_gb=None,
                supersedes=key if withdraw else None,
                # The mark stays even if the record has not come yet: it will not count then.
                supersedes_optional=withdraw,
                labels=run.labels,
            )
    if not batch.staged:
        return
    partitions.ensure(batch.first_started_at.date(), batch.last_started_at.date())
    command = RecordUsage(batch=batch, content_digest=batch.content_digest)
    outcome = execute(command, Context(organization_id=organization_id, actor=SYSTEM, now=now))
    for verdict in outcome.result.records:
        # Duplicates are what a repetition looks like; anything else is somebody's unmetered use.
        if verdict.status == "rejected":
            logger.warning("allocation_not_metered", key=verdict.key, code=verdict.code)


def _key(run: EndedRun, number: int) -> str:
    """`<job>/<attempt>/<pool>`, and `#1` on for later stretches; the id where that is too long."""
    name = f"{run.key}/{run.attempt}/{run.pool}"
    if len(name) > KEY_LENGTH_MAX - 20 or not name.isprintable():
        name = str(run.id)
    return f"{name}#{number}" if number else name
