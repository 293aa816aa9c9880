"""Events of preemption to rows. They decide nothing: an event says everything."""

from collections.abc import Callable, Sequence

from ledger.projection import ProjectedTable, Projector
from ledger.sql import row_values, rows_of, server_cursor
from ledger.types import RecordedEvent
from preemption import events as ev
from quota.reservation_events import ReservationEnded

Run = Sequence[RecordedEvent]

PLAN = ProjectedTable(name="preemption_plan", key=("organization_id", "id"))
CHECKPOINT = ProjectedTable(name="preemption_checkpoint", key=("organization_id", "allocation_id"))
ACTION = ProjectedTable(
    name="preemption_action", key=("organization_id", "plan_id", "allocation_id")
)
POLICY = ProjectedTable(name="preemption_policy", key=("organization_id",))

_ACTION_COLUMNS = {
    "plan_id": "uuid",
    "allocation_id": "uuid",
    "ordinal": "int",
    "pool_id": "uuid",
    "account_id": "uuid",
    "key": "text",
    "attempt": "int",
    "step": "text",
    "mode": "text",
    "units": "bigint",
    "remains": "bigint",
    "grace_seconds": "int",
    "returns_at": "timestamptz",
    "tax": "numeric",
}
_NAMES = ", ".join(_ACTION_COLUMNS)
_PLANNED = f"""
INSERT INTO preemption_action (organization_id, {_NAMES}, state, given, at, late, tax_reported,
    detail)
SELECT %b::uuid, n.*, 'open', NULL, NULL, false, NULL, '' FROM {{rows}}
"""
_MADE = """
INSERT INTO preemption_plan (organization_id, id, pool_id, account_id, key, units, priority_class,
    tier, deadline, aged, reclaim_seconds, override, reason, made_by, made_at, until, ready_at,
    meets_deadline, returns_guarantee, within_target, free_units, pool_used, pool_limit, price, tax,
    wanted, min_units, state, settled_at, used_at)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b,
    %b, %b, %b, %b, 'open', NULL, NULL)
"""
_REPORTED = """
UPDATE preemption_action SET state = %b::text, given = %b::bigint, at = %b::timestamptz,
    late = %b::boolean, tax_reported = %b::numeric, detail = %b::text, remains = %b::bigint
WHERE organization_id = %b AND plan_id = %b AND allocation_id = %b
"""
_SETTLED = """
UPDATE preemption_plan SET state = %b::text, settled_at = %b::timestamptz
WHERE organization_id = %b AND id = %b
"""
_CALLED_OFF = """
UPDATE preemption_action SET state = 'void'
WHERE organization_id = %b AND plan_id = %b AND state = 'open'
"""
_USED = """
UPDATE preemption_plan SET used_at = %b::timestamptz WHERE organization_id = %b AND id = %b
"""
_SAVED_COLUMNS = {
    "allocation_id": "uuid",
    "pool_id": "uuid",
    "saved_at": "timestamptz",
    "reload_seconds": "int",
    "warm_up_seconds": "int",
    "seconds": "int",
}
_SAVED = """
INSERT INTO preemption_checkpoint (organization_id, {names})
SELECT %b::uuid, n.* FROM {rows} AS n({names})
ON CONFLICT (organization_id, allocation_id) DO UPDATE SET saved_at = excluded.saved_at,
    reload_seconds = excluded.reload_seconds, warm_up_seconds = excluded.warm_up_seconds,
    seconds = excluded.seconds
"""
_POLICY = """
INSERT INTO preemption_policy (organization_id, pool_share, pool_window_seconds,
    job_window_seconds, aged_per_day, cooldown_seconds, min_run_seconds, plan_seconds, event_id)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b)
ON CONFLICT (organization_id) DO UPDATE SET pool_share = excluded.pool_share,
    pool_window_seconds = excluded.pool_window_seconds,
    job_window_seconds = excluded.job_window_seconds, aged_per_day = excluded.aged_per_day,
    cooldown_seconds = excluded.cooldown_seconds, min_run_seconds = excluded.min_run_seconds,
    plan_seconds = excluded.plan_seconds, event_id = excluded.event_id
"""


def made(run: Run) -> None:
    """New plans with what they take."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                _MADE,
                (
                    *(event.organization_id, data.plan_id, data.pool_id, data.account_id),
                    *(data.key, data.units, data.priority_class, data.tier, data.deadline),
                    *(data.aged, data.reclaim_seconds, data.override, event.reason),
                    *(event.actor_label, event.occurred_at, data.until, data.ready_at),
                    *(data.meets_deadline, data.returns_guarantee, data.within_target),
                    *(data.free_units, data.pool_used, data.pool_limit, data.price, data.tax),
                    *(data.wanted, data.min_units),
                ),
            )
            rows = [
                (
                    *(data.plan_id, action.allocation_id, ordinal, data.pool_id),
                    *(action.account_id, action.key, action.attempt, action.step, action.mode),
                    *(action.units, action.left, action.grace_seconds, action.returns_at),
                    action.tax,
                )
                for ordinal, action in enumerate(data.actions)
            ]
            source = f"{rows_of(_ACTION_COLUMNS, len(rows))} AS n({_NAMES})"
            cursor.execute(_PLANNED.format(rows=source), (event.organization_id, *row_values(rows)))


def reported(run: Run) -> None:
    """What became of actions."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                _REPORTED,
                (
                    *(data.outcome, data.units, data.at, data.late, data.tax, data.detail),
                    data.left,
                    *(event.organization_id, data.plan_id, data.allocation_id),
                ),
            )


def settled(run: Run) -> None:
    """Plans that are over, and with them what nobody reported."""
    with server_cursor() as cursor:
        for event in run:
            place = (event.organization_id, event.data.plan_id)
            cursor.execute(_SETTLED, (event.data.how, event.occurred_at, *place))
            cursor.execute(_CALLED_OFF, place)


def reservation_ended(run: Run) -> None:
    """What was set aside for a plan has the plan's id: its job was admitted."""
    with server_cursor() as cursor:
        for event in run:
            if event.data.why == "used":
                place = (event.organization_id, event.data.reservation_id)
                cursor.execute(_USED, (event.occurred_at, *place))


def checkpoints_recorded(run: Run) -> None:
    """The last word about each counts; its command has seen to it that it is the latest."""
    latest = {
        one.allocation_id: (event.data.pool_id, one)
        for event in run
        for one in event.data.checkpoints
    }
    rows = [
        (
            *(one.allocation_id, pool_id, one.saved_at, one.reload_seconds),
            *(one.warm_up_seconds, one.seconds),
        )
        for pool_id, one in latest.values()
    ]
    sql = _SAVED.format(names=", ".join(_SAVED_COLUMNS), rows=rows_of(_SAVED_COLUMNS, len(rows)))
    with server_cursor() as cursor:
        cursor.execute(sql, (run[0].organization_id, *row_values(rows)))


def policy_set(run: Run) -> None:
    """The newest policy of a run is the one that holds."""
    event = run[-1]
    data = event.data
    with server_cursor() as cursor:
        cursor.execute(
            _POLICY,
            (
                *(event.organization_id, data.pool_share, data.pool_window_seconds),
                *(data.job_window_seconds, data.aged_per_day, data.cooldown_seconds),
                *(data.min_run_seconds, data.plan_seconds, event.id),
            ),
        )


def _projector(event_type: type, project: Callable[[Run], None], *tables) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"preemption:{name}", project=project, types=frozenset({name}), tables=tables
    )


PROJECTORS = (
    _projector(ev.PlanMade, made, PLAN, ACTION),
    _projector(ev.ActionReported, reported, ACTION),
    _projector(ev.PlanSettled, settled, PLAN, ACTION),
    _projector(ev.CheckpointsRecorded, checkpoints_recorded, CHECKPOINT),
    _projector(ev.PreemptionPolicySet, policy_set, POLICY),
    _projector(ReservationEnded, reservation_ended, PLAN),
)
