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
DEFAULT = ProjectedTable(name="preemption_reclaimdefault", key=("organization_id",))
STATE = ProjectedTable(
    name="preemption_reclaimstate", key=("organization_id", "account_id", "pool_id")
)

_FIELDS = (
    *("enabled", "threshold", "window_seconds", "watch_seconds", "clear_margin"),
    *("cooldown_seconds", "gap_seconds_max", "unknown_seconds_max"),
)
_SAID = (*_FIELDS, "exempt_ids", "maintenance", "event_id")


def _put(table: ProjectedTable) -> str:
    """The newest rule is the one that holds. Values: the key, then `_SAID`."""
    key = ", ".join(table.key)
    return f"""
INSERT INTO {table.name} ({key}, {", ".join(_SAID)})
VALUES ({", ".join("%b" for _ in (*table.key, *_FIELDS))}, %b::uuid[], %b::text::jsonb, %b)
ON CONFLICT ({key}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _SAID)}
"""


_RULE, _DEFAULT = _put(RULE), _put(DEFAULT)
_DROP = "DELETE FROM preemption_reclaimrule WHERE organization_id = %b AND pool_id = %b"
# What an event does not say stays as the events before it said.
_STATE = """
INSERT INTO preemption_reclaimstate AS s (organization_id, account_id, pool_id, state, at,
    guarantee, units, utilisation, p95, in_use, due_at, until, judged_from, demotions,
    justifications, undecided, whole, left_at)
VALUES (%(organization)b, %(account)b, %(pool)b, %(state)b::text, %(at)b, %(guarantee)b,
    coalesce(%(units)b::bigint, 0), %(utilisation)b::numeric, %(p95)b::bigint, %(in_use)b::bigint,
    %(due_at)b::timestamptz, %(until)b::timestamptz, %(until)b::timestamptz,
    (%(state)b::text = 'demoted')::int, (%(state)b::text = 'justified')::int,
    CASE %(state)b::text WHEN 'demoted' THEN %(units)b::bigint ELSE 0 END,
    CASE %(state)b::text WHEN 'demoted' THEN %(guarantee)b::bigint + %(units)b::bigint END,
    CASE %(state)b::text WHEN 'demoted' THEN %(at)b::timestamptz END)
ON CONFLICT (organization_id, account_id, pool_id) DO UPDATE SET
    state = excluded.state, at = excluded.at, guarantee = excluded.guarantee,
    units = CASE WHEN excluded.state IN ('demoted', 'restored', 'returned') THEN excluded.units
        ELSE s.units END,
    utilisation = coalesce(excluded.utilisation, s.utilisation),
    p95 = coalesce(excluded.p95, s.p95), in_use = coalesce(excluded.in_use, s.in_use),
    due_at = excluded.due_at, until = coalesce(excluded.until, s.until),
    judged_from = coalesce(excluded.judged_from, s.judged_from),
    demotions = s.demotions + excluded.demotions,
    justifications = s.justifications + excluded.justifications,
    undecided = CASE excluded.state WHEN 'returned' THEN 0
        WHEN 'restored' THEN greatest(0, s.undecided - excluded.units)
        ELSE s.undecided + excluded.undecided END,
    whole = CASE WHEN excluded.state = 'returned'
        OR excluded.state = 'restored' AND s.undecided <= excluded.units THEN NULL
        ELSE coalesce(s.whole, excluded.whole) END,
    left_at = CASE WHEN excluded.state = 'returned'
        OR excluded.state = 'restored' AND s.undecided <= excluded.units THEN NULL
        ELSE coalesce(excluded.left_at, s.left_at) END
"""


def rule_set(run: Run) -> None:
    """Rules of pools."""
    with server_cursor() as cursor:
        for event in run:
            place = (event.organization_id, event.data.pool_id)
            cursor.execute(_RULE, (*place, *_rule(event)))


def default_set(run: Run) -> None:
    """Rules of organizations."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(_DEFAULT, (event.organization_id, *_rule(event)))


def rule_dropped(run: Run) -> None:
    """Pools that have no rule of their own any more."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(_DROP, (event.organization_id, event.data.pool_id))


def _rule(event: RecordedEvent) -> tuple[Any, ...]:
    data = event.data
    windows = [[window.start, window.end] for window in data.maintenance]
    said = (getattr(data, name) for name in _FIELDS)
    return *said, list(data.exempt_ids), msgspec.json.encode(windows).decode(), event.id


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
    _projector(ev.ReclaimRuleDropped, rule_dropped, RULE),
    _projector(ev.ReclaimDefaultSet, default_set, DEFAULT),
    _projector(ev.GuaranteeWatched, _moved("watched"), STATE),
    _projector(ev.GuaranteeCleared, _moved("cleared"), STATE),
    _projector(ev.GuaranteeJustified, _moved("justified"), STATE),
    _projector(ev.GuaranteeDemoted, _moved("demoted"), STATE),
    _projector(ev.GuaranteeRestored, _moved("restored"), STATE),
    _projector(ev.GuaranteeReturned, _moved("returned"), STATE),
)
