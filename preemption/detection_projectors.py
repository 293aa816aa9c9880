"""Events of detections to rows. They decide nothing: an event says everything."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from preemption import detection_events as ev

Run = Sequence[RecordedEvent]

POLICY = ProjectedTable(name="preemption_detectionpolicy", key=("organization_id",))
DETECTION = ProjectedTable(name="preemption_detection", key=("organization_id", "id"))

_POLICY_FIELDS = tuple(
    field.name for field in fields(ev.DetectionPolicySet) if field.name != "organization_id"
)
_POLICY = f"""
INSERT INTO preemption_detectionpolicy (organization_id, {", ".join(_POLICY_FIELDS)}, event_id)
VALUES (%b, {", ".join("%b" for _ in _POLICY_FIELDS)}, %b)
ON CONFLICT (organization_id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (*_POLICY_FIELDS, "event_id"))}
"""
_FOUND = """
INSERT INTO preemption_detection (organization_id, id, kind, state, pool_id, account_id,
    allocation_id, person_id, job, units, worth_per_hour, since, found_at, work, use, by, reason,
    why)
VALUES (%b, %b, %b, 'open', %b, %b, %b, %b, %b, %b, %b, %b, %b, %b::text::jsonb, %b::text::jsonb,
    '', '', '')
"""
_WHERE = "WHERE organization_id = %b AND id = %b"
_ACKNOWLEDGED = f"""
UPDATE preemption_detection SET state = 'acknowledged', by = %b, reason = %b,
    acknowledged_at = %b, quiet_until = %b {_WHERE}
"""
_REOPENED = f"UPDATE preemption_detection SET state = 'open', quiet_until = NULL {_WHERE}"
_ACTED = f"""
UPDATE preemption_detection SET state = 'acted', by = %b, reason = %b, closed_at = %b,
    why = 'released' {_WHERE}
"""
_CLEARED = f"UPDATE preemption_detection SET state = 'cleared', closed_at = %b, why = %b {_WHERE}"


def policy_set(run: Run) -> None:
    """The newest policy of a run is the one that holds."""
    event = run[-1]
    values = {name: getattr(event.data, name) for name in _POLICY_FIELDS}
    values["kinds"] = list(event.data.kinds)
    with server_cursor() as cursor:
        cursor.execute(_POLICY, (event.organization_id, *values.values(), event.id))


def found(run: Run) -> None:
    """New detections."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                _FOUND,
                (
                    *(event.organization_id, data.detection_id, data.kind, data.pool_id),
                    *(data.account_id, data.allocation_id, data.person_id, data.job, data.units),
                    *(data.worth_per_hour, data.since, event.occurred_at),
                    *(_json(data.work), _json(data.use)),
                ),
            )


def acknowledged(run: Run) -> None:
    """Known, and why."""
    _each(
        run,
        _ACKNOWLEDGED,
        lambda event: (event.actor_label, event.reason, event.occurred_at, event.data.until),
    )


def reopened(run: Run) -> None:
    """Told again."""
    _each(run, _REOPENED, lambda event: ())


def acted(run: Run) -> None:
    """Released for it."""
    _each(run, _ACTED, lambda event: (event.actor_label, event.reason, event.occurred_at))


def cleared(run: Run) -> None:
    """No longer so."""
    _each(run, _CLEARED, lambda event: (event.occurred_at, event.data.why))


def _each(run: Run, sql: str, values: Any) -> None:
    with server_cursor() as cursor:
        for event in run:
            place = (event.organization_id, event.data.detection_id)
            cursor.execute(sql, (*values(event), *place))


def _json(evidence: Any) -> str | None:
    return None if evidence is None else msgspec.json.encode(evidence).decode()


def _projector(event_type: type, project: Any, table: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"preemption:{name}", project=project, types=frozenset({name}), tables=(table,)
    )


PROJECTORS = (
    _projector(ev.DetectionPolicySet, policy_set, POLICY),
    _projector(ev.DetectionFound, found, DETECTION),
    _projector(ev.DetectionAcknowledged, acknowledged, DETECTION),
    _projector(ev.DetectionReopened, reopened, DETECTION),
    _projector(ev.DetectionActed, acted, DETECTION),
    _projector(ev.DetectionCleared, cleared, DETECTION),
)
