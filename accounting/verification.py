"""Usage rows against the events that vouch for them. Part of `manage.py ledger verify`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounting import ingest
from accounting.events import UsageBatchRecorded
from ledger import store
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from ledger.verification import Finding

CHECK = "usage"
EXAMPLES_MAX = 20

# A row outside the span of its batch is in no digest, whatever month it hides in.
_UNVOUCHED = """
WITH batch AS (
    SELECT (payload->>'batch_id')::uuid AS id, (payload->>'first_started_at')::timestamptz AS first,
        (payload->>'last_started_at')::timestamptz AS last
    FROM ledger_event WHERE organization_id = %b AND type = %b
)
SELECT r.batch_id, count(*), min(r.row_no), min(r.started_at)::text
FROM accounting_usagerecord r
LEFT JOIN batch b ON b.id = r.batch_id AND r.started_at BETWEEN b.first AND b.last
WHERE r.organization_id = %b AND b.id IS NULL
GROUP BY r.batch_id ORDER BY r.batch_id LIMIT %b
"""


def verify_usage(organization_id: UUID) -> Iterator[Finding]:
    """Summarize the rows of every batch again and compare; then look for rows that no event
    names. Runs in the organization's snapshot."""
    name = UsageBatchRecorded.event_type
    for event in store.read_type(organization_id, name):
        finding = _batch(event)
        if finding is not None:
            yield finding
    with server_cursor() as cursor:
        rows = cursor.execute(
            _UNVOUCHED, (organization_id, name, organization_id, EXAMPLES_MAX)
        ).fetchall()
    for batch_id, count, row_no, started_at in rows:
        yield Finding(
            check=CHECK,
            problem=(
                f"{count} usage rows of batch {batch_id} are in no event, "
                f"the first is row {row_no}, started {started_at}"
            ),
            facts={"batch_id": str(batch_id), "rows": count},
        )


def _batch(event: RecordedEvent) -> Finding | None:
    data: UsageBatchRecorded = event.data
    stored = ingest.summarize(
        event.organization_id,
        data.batch_id,
        first=_utc(data.first_started_at),
        last=_utc(data.last_started_at),
    )
    said = _facts(data)
    found = _facts(stored) if stored is not None else {"rows": 0}
    wrong = [name for name, value in said.items() if found.get(name) != value]
    if not wrong:
        return None
    details = "; ".join(f"{name} is {found.get(name)}, recorded was {said[name]}" for name in wrong)
    return Finding(
        check=CHECK,
        problem=f"the rows of usage batch {data.batch_id} have changed: {details}",
        lane=event.lane,
        lane_seq=event.lane_seq,
        position=event.position,
        event_id=event.id,
        event_type=data.event_type,
        facts={"batch_id": str(data.batch_id), "wrong": wrong},
    )


def _facts(batch: UsageBatchRecorded | ingest.StoredRows) -> dict[str, Any]:
    return {
        "rows": batch.rows,
        "unit_seconds": Decimal(batch.unit_seconds),
        "first_started_at": _utc(batch.first_started_at),
        "last_started_at": _utc(batch.last_started_at),
        "digest": batch.digest,
    }


def _utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)
