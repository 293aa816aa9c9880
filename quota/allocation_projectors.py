"""Events of allocations to rows, set-based. They decide nothing: an event says everything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from ledger import trips
from ledger.projection import ProjectedTable, Projector
from ledger.sql import row_values, rows_of, server_cursor
from ledger.types import RecordedEvent
from quota import allocation_events as ev
from quota.events import PoolReclaimTargetSet

Run = Sequence[RecordedEvent]

ALLOCATION = ProjectedTable(name="quota_allocation", key=("organization_id", "id"))
HOLDING = ProjectedTable(name="quota_holding", key=("organization_id", "pool_id", "account_id"))
POLICY = ProjectedTable(name="quota_admissionpolicy", key=("organization_id",))

_MADE_COLUMNS = {
    "id": "uuid",
    "pool_id": "uuid",
    "key": "text",
    "attempt": "int",
    "account_id": "uuid",
    "person_id": "uuid",
    "units": "bigint",
    "min_units": "bigint",
    "wanted_units": "bigint",
    "priority_class": "text",
    "tier": "text",
    "tier_wish": "text",
    "reclaim_seconds": "int",
    "slow": "boolean",
    "lease_seconds": "int",
    "duration_seconds": "int",
    "held_at": "timestamptz",
    "hold_until": "timestamptz",
    "started_at": "timestamptz",
    "heard_at": "timestamptz",
    "lease_until": "timestamptz",
    "labels": "text",
    "steps": "text",
    "leads": "boolean",
}
_MADE = """
INSERT INTO quota_allocation (organization_id, id, pool_id, key, attempt, account_id, person_id,
    units, min_units, wanted_units, priority_class, tier, tier_wish, reclaim_seconds, slow,
    lease_seconds, duration_seconds, state, held_at, hold_until, started_at, heard_at, lease_until,
    lapses_at, ended_at, adopted, labels, steps, leads)
SELECT %b::uuid, id, pool_id, key, attempt, account_id, person_id, units, min_units, wanted_units,
    priority_class, tier, tier_wish, reclaim_seconds, slow, lease_seconds, duration_seconds,
    %b::text, held_at, hold_until, started_at, heard_at, lease_until,
    coalesce(lease_until, hold_until), NULL, %b::boolean, labels::jsonb, steps::jsonb, leads
FROM {rows}
"""

_AMOUNTS = ("guaranteed", "borrowed", "spot", "slow_borrowed", "slow_spot")
_DELTA_COLUMNS = {"pool_id": "uuid", "account_id": "uuid", **dict.fromkeys(_AMOUNTS, "bigint")}
_COME = f"""
INSERT INTO quota_holding AS h (organization_id, pool_id, account_id, {", ".join(_AMOUNTS)})
SELECT %b::uuid, n.* FROM {{rows}}
ON CONFLICT (organization_id, pool_id, account_id) DO UPDATE
SET {", ".join(f"{name} = h.{name} + excluded.{name}" for name in _AMOUNTS)}
"""
_MOVE = f"""
UPDATE quota_holding h SET {", ".join(f"{name} = h.{name} + n.{name}" for name in _AMOUNTS)}
FROM {{rows}}
WHERE h.organization_id = %b::uuid AND h.pool_id = n.pool_id AND h.account_id = n.account_id
"""

_STARTED_COLUMNS = {
    "id": "uuid",
    "started_at": "timestamptz",
    "heard_at": "timestamptz",
    "lease_until": "timestamptz",
    "steps": "text",
}
_STARTED = """
UPDATE quota_allocation a SET state = 'running', started_at = n.started_at, heard_at = n.heard_at,
    lease_until = n.lease_until, lapses_at = n.lease_until, steps = a.steps || n.steps::jsonb
FROM {rows} WHERE a.organization_id = %b::uuid AND a.id = n.id
"""
_RENEWED_COLUMNS = {"id": "uuid", "heard_at": "timestamptz", "lease_until": "timestamptz"}
_RENEWED = """
UPDATE quota_allocation a SET heard_at = n.heard_at, lease_until = n.lease_until,
    lapses_at = n.lease_until
FROM {rows} WHERE a.organization_id = %b::uuid AND a.id = n.id
"""
_RESIZED_COLUMNS = {
    "id": "uuid",
    "units": "bigint",
    "heard_at": "timestamptz",
    "lease_until": "timestamptz",
    "steps": "text",
}
_RESIZED = """
UPDATE quota_allocation a SET units = n.units, heard_at = n.heard_at, lease_until = n.lease_until,
    lapses_at = n.lease_until, steps = a.steps || n.steps::jsonb
FROM {rows} WHERE a.organization_id = %b::uuid AND a.id = n.id
"""
_RECLASSIFIED_COLUMNS = {"id": "uuid", "tier": "text", "steps": "text"}
_RECLASSIFIED = """
UPDATE quota_allocation a SET tier = n.tier, steps = a.steps || n.steps::jsonb
FROM {rows} WHERE a.organization_id = %b::uuid AND a.id = n.id
"""
_ENDED_COLUMNS = {
    "id": "uuid",
    "ended_at": "timestamptz",
    "started_at": "timestamptz",
    "heard_at": "timestamptz",
    "lease_until": "timestamptz",
    "steps": "text",
}
_ENDED = """
UPDATE quota_allocation a SET state = %b::text, ended_at = n.ended_at, lapses_at = NULL,
    started_at = coalesce(n.started_at, a.started_at), heard_at = coalesce(n.heard_at, a.heard_at),
    lease_until = coalesce(n.lease_until, a.lease_until), steps = a.steps || n.steps::jsonb
FROM {rows} WHERE a.organization_id = %b::uuid AND a.id = n.id
"""
_SLOW = """
UPDATE quota_allocation SET slow = reclaim_seconds > %b::int
WHERE organization_id = %b AND pool_id = %b AND lapses_at IS NOT NULL
    AND slow <> (reclaim_seconds > %b::int)
"""
_SLOW_HOLDINGS = """
UPDATE quota_holding h SET slow_borrowed = n.borrowed, slow_spot = n.spot
FROM (
    SELECT h.account_id,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'borrowed'), 0) AS borrowed,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'spot'), 0) AS spot
    FROM quota_holding h LEFT JOIN quota_allocation a
        ON a.organization_id = h.organization_id AND a.pool_id = h.pool_id
        AND a.account_id = h.account_id AND a.lapses_at IS NOT NULL AND a.slow
    WHERE h.organization_id = %b AND h.pool_id = %b GROUP BY h.account_id
) n
WHERE h.organization_id = %b AND h.pool_id = %b AND h.account_id = n.account_id
"""


class _Deltas:
    """What comes to and goes from holdings in a run, added up by pool and account."""

    def __init__(self) -> None:
        self._found: dict[tuple, list[int]] = {}

    def add(self, data: Any, tier: str, units: int) -> None:
        amounts = self._found.setdefault((data.pool_id, data.account_id), [0] * len(_AMOUNTS))
        amounts[_AMOUNTS.index(tier)] += units
        if data.slow and tier != "guaranteed":
            amounts[_AMOUNTS.index(f"slow_{tier}")] += units

    def rows(self) -> list[tuple]:
        # Sorted, so that rows are locked in one order whatever was in the batch.
        return [(*place, *amounts) for place, amounts in sorted(self._found.items())]


def made(run: Run) -> None:
    """New allocations: held ones, and running ones that were adopted."""
    adopted = isinstance(run[0].data, ev.AllocationAdopted)
    deltas = _Deltas()
    rows = []
    for event in run:
        data = event.data
        deltas.add(data, data.tier, data.units)
        times = (data.started_at, data.heard_at, data.lease_until) if adopted else (None,) * 3
        steps = _step(data.started_at, data.units, data.tier) if adopted else "[]"
        rows.append(
            (
                *(data.allocation_id, data.pool_id, data.key, data.attempt, data.account_id),
                *(data.person_id, data.units, data.min_units, data.wanted_units),
                *(data.priority_class, data.tier, data.tier_wish, data.reclaim_seconds, data.slow),
                *(data.lease_seconds, data.duration_seconds, data.held_at, data.hold_until),
                *(*times, msgspec.json.encode(data.labels).decode(), steps),
                not adopted and data.leads,
            )
        )
    organization_id = run[0].organization_id
    state = "running" if adopted else "held"
    changes = deltas.rows()
    trips.send(
        _made_sql(len(rows) == 1, len(changes) == 1),
        (
            *(organization_id, state, adopted, *row_values(rows)),
            *(organization_id, *row_values(changes)),
        ),
        kept=len(rows) == 1,
    )


@cache
def _made_sql(one_row: bool, one_holding: bool) -> str:
    made = _MADE.format(rows=_new(_MADE_COLUMNS, 1 if one_row else 2))
    come = _COME.format(rows=_new(_DELTA_COLUMNS, 1 if one_holding else 2))
    return f"WITH made AS ({made}) {come}"


def started(run: Run) -> None:
    """Jobs that run."""
    _update(
        _STARTED,
        _STARTED_COLUMNS,
        run,
        (
            (
                *(data.allocation_id, data.started_at, data.heard_at, data.lease_until),
                _step(data.started_at, data.units, data.tier),
            )
            for data in _data(run)
        ),
    )


def renewed(run: Run) -> None:
    """Leases that were extended; the last word about each counts."""
    latest = {one.allocation_id: one for data in _data(run) for one in data.renewals}
    rows = ((one.allocation_id, one.heard_at, one.lease_until) for one in latest.values())
    _update(_RENEWED, _RENEWED_COLUMNS, run, rows)


def resized(run: Run) -> None:
    """Other units since an instant."""
    deltas = _Deltas()
    latest: dict[Any, Any] = {}
    steps: dict[Any, list] = {}
    for data in _data(run):
        deltas.add(data, data.tier, data.units - data.units_before)
        latest[data.allocation_id] = data
        steps.setdefault(data.allocation_id, []).append([data.at, data.units, data.tier])
    _update(
        _RESIZED,
        _RESIZED_COLUMNS,
        run,
        (
            (data.allocation_id, data.units, data.heard_at, data.lease_until, _json(steps[key]))
            for key, data in latest.items()
        ),
    )
    _move(run, deltas)


def reclassified(run: Run) -> None:
    """Other tiers. An allocation rises or falls once in a command."""
    deltas = _Deltas()
    for data in _data(run):
        deltas.add(data, data.tier_before, -data.units)
        deltas.add(data, data.tier, data.units)
    _update(
        _RECLASSIFIED,
        _RECLASSIFIED_COLUMNS,
        run,
        (
            (data.allocation_id, data.tier, _step(data.at, data.units, data.tier))
            for data in _data(run)
        ),
    )
    _move(run, deltas)


def ended(run: Run) -> None:
    """Units that are free again."""
    deltas = _Deltas()
    for data in _data(run):
        deltas.add(data, data.tier, -data.units)
    state = run[0].data.event_type.split(".")[1]
    rows = (
        (
            *(data.allocation_id, data.ended_at, data.started_at, data.heard_at),
            *(data.lease_until, _step(data.started_at, data.units, data.tier)),
        )
        for data in _data(run)
    )
    _update(_ENDED, _ENDED_COLUMNS, run, rows, state)
    _move(run, deltas)


def reclaim_target_set(run: Run) -> None:
    """What is slow is measured against the pool's new target."""
    with server_cursor() as cursor:
        for event in run:
            pool = (event.organization_id, event.data.pool_id)
            target = event.data.reclaim_target_seconds
            cursor.execute(_SLOW, (target, *pool, target))
            cursor.execute(_SLOW_HOLDINGS, (*pool, *pool))


def _data(run: Run) -> Iterable[Any]:
    return (event.data for event in run)


def _step(at: datetime | None, units: int, tier: str) -> str:
    return "[]" if at is None else _json([[at, units, tier]])


def _json(steps: list) -> str:
    return msgspec.json.encode(steps).decode()


def policy_set(run: Run) -> None:
    """The newest policy of a run is the one that holds."""
    event = run[-1]
    data = event.data
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO quota_admissionpolicy (organization_id, hold_seconds, lease_seconds, "
            "heartbeat_seconds, interactive_seconds_max, event_id) VALUES (%b, %b, %b, %b, %b, %b) "
            "ON CONFLICT (organization_id) DO UPDATE SET hold_seconds = excluded.hold_seconds, "
            "lease_seconds = excluded.lease_seconds, "
            "heartbeat_seconds = excluded.heartbeat_seconds, "
            "interactive_seconds_max = excluded.interactive_seconds_max, "
            "event_id = excluded.event_id",
            (
                *(event.organization_id, data.hold_seconds, data.lease_seconds),
                *(data.heartbeat_seconds, data.interactive_seconds_max, event.id),
            ),
        )


def _new(columns: Mapping[str, str], count: int) -> str:
    return f"{rows_of(columns, count)} AS n({', '.join(columns)})"


def _update(
    sql: str, columns: Mapping[str, str], run: Run, rows: Iterable[tuple], *before: Any
) -> None:
    found = list(rows)
    trips.send(
        sql.format(rows=_new(columns, len(found))),
        (*before, *row_values(found), run[0].organization_id),
        kept=len(found) == 1,
    )


def _move(run: Run, deltas: _Deltas) -> None:
    _update(_MOVE, _DELTA_COLUMNS, run, deltas.rows())


def _projector(event_type: type[ev.Event], project: Callable[[Run], None], *tables) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"quota:{name}",
        project=project,
        types=frozenset({name}),
        tables=tables,
    )


_BOTH = (ALLOCATION, HOLDING)
PROJECTORS = (
    _projector(ev.AllocationHeld, made, *_BOTH),
    _projector(ev.AllocationAdopted, made, *_BOTH),
    _projector(ev.AllocationStarted, started, ALLOCATION),
    _projector(ev.AllocationLeasesRenewed, renewed, ALLOCATION),
    _projector(ev.AllocationResized, resized, *_BOTH),
    _projector(ev.AllocationPromoted, reclassified, *_BOTH),
    _projector(ev.AllocationDemoted, reclassified, *_BOTH),
    _projector(ev.AllocationReleased, ended, *_BOTH),
    _projector(ev.AllocationPreempted, ended, *_BOTH),
    _projector(ev.AllocationExpired, ended, *_BOTH),
    _projector(ev.AdmissionPolicySet, policy_set, POLICY),
    Projector(
        name="quota:slow_units",
        project=reclaim_target_set,
        types=frozenset({PoolReclaimTargetSet.event_type}),
        tables=_BOTH,
    ),
)
