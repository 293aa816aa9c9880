"""Events of use-it-or-lose-it to rows. They decide nothing: an event says everything."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from preemption import reclaim_events as ev

Run = Sequence[RecordedEvent]

RULE = ProjectedTable(name="preemption_reclaimrule", key=("organization_id", "pool_id"))
STATE = ProjectedTable(
    name="preemption_reclaimstate", key=("organization_id", "account_id", "pool_id")
)

_RULE = """
INSERT INTO preemption_reclaimrule (organization_id, pool_id, enabled, threshold, window_seconds,
    watch_seconds, clear_margin, cooldown_seconds, gap_seconds_max, unknown_seconds_max, exempt_ids,
    maintenance, event_id)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b::uuid[], %b::text::jsonb, %b)
ON CONFLICT (organization_id, pool_id) DO UPDATE SET enabled = excluded.enabled,
    threshold = excluded.threshold, window_seconds = excluded.window_seconds,
    watch_seconds = excluded.watch_seconds, clear_margin = excluded.clear_margin,
    cooldown_seconds = excluded.cooldown_seconds, gap_seconds_max = excluded.gap_seconds_max,
    unknown_seconds_max = excluded.unknown_seconds_max, exempt_ids = excluded.exempt_ids,
    maintenance = excluded.maintenance, event_id = excluded.event_id
"""
# What an event does not say stays as the events before it said.
_STATE = """
INSERT INTO preemption_reclaimstate AS s (organization_id, account_id, pool_id, state, at,
    guarantee, units, utilisation, p95, in_use, due_at, until, judged_from, demotions,
    justifications)
VALUES (%(organization)b, %(account)b, %(pool)b, %(state)b::text, %(at)b, %(guarantee)b,
    coalesce(%(units)b::bigint, 0), %(utilisation)b::numeric, %(p95)b::bigint, %(in_use)b::bigint,
    %(due_at)b::timestamptz, %(until)b::timestamptz, %(until)b::timestamptz,
    (%(state)b::text = 'demoted')::int, (%(state)b::text = 'justified')::int)
ON CONFLICT (organization_id, account_id, pool_id) DO UPDATE SET
    state = excluded.state, at = excluded.at, guarantee = excluded.guarantee,
    units = CASE WHEN excluded.state IN ('demoted', 'restored', 'returned') THEN excluded.units
        ELSE s.units END,
    utilisation = coalesce(excluded.utilisation, s.utilisation),
    p95 = coalesce(excluded.p95, s.p95), in_use = coalesce(excluded.in_use, s.in_use),
    due_at = excluded.due_at, until = coalesce(excluded.until, s.until),
    judged_from = coalesce(excluded.judged_from, s.judged_from),
    demotions = s.demotions + excluded.demotions,
    justifications = s.justifications + excluded.justifications
"""


def rule_set(run: Run) -> None:
    """The newest rule of a pool is the one that holds."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            windows = [[window.start, window.end] for window in data.maintenance]
            cursor.execute(
                _RULE,
                (
                    *(event.organization_id, data.pool_id, data.enabled, data.threshold),
                    *(data.window_seconds, data.watch_seconds, data.clear_margin),
                    *(data.cooldown_seconds, data.gap_seconds_max, data.unknown_seconds_max),
                    *(list(data.exempt_ids), msgspec.json.encode(windows).decode(), event.id),
                ),
            )


def _moved(state: str) -> Callable[[Run], None]:
    def project(run: Run) -> None:
        with server_cursor() as cursor:
            # Not one by one: a run may say something of thousands.
            cursor.executemany(_STATE, [_said(event, state) for event in run])

    project.__doc__ = f"Guarantees that are {state} now."
    return project


def _said(event: RecordedEvent, state: str) -> dict[str, Any]:
    data = event.data
    said = {
        name: getattr(data, name, None)
        for name in ("units", "utilisation", "p95", "in_use", "due_at", "until")
    }
    place = {"organization": event.organization_id, "account": data.account_id}
    place |= {"pool": data.pool_id, "state": state, "at": event.occurred_at}
    return place | said | {"guarantee": data.guarantee}


def _projector(event_type: type, project: Callable[[Run], None], table) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"preemption:{name}", project=project, types=frozenset({name}), tables=(table,)
    )


PROJECTORS = (
    _projector(ev.ReclaimRuleSet, rule_set, RULE),
    _projector(ev.GuaranteeWatched, _moved("watched"), STATE),
    _projector(ev.GuaranteeCleared, _moved("cleared"), STATE),
    _projector(ev.GuaranteeJustified, _moved("justified"), STATE),
    _projector(ev.GuaranteeDemoted, _moved("demoted"), STATE),
    _projector(ev.GuaranteeRestored, _moved("restored"), STATE),
    _projector(ev.GuaranteeReturned, _moved("returned"), STATE),
)
