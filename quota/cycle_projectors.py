"""Events of review cycles to rows."""

from collections.abc import Sequence

import msgspec

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import Event, RecordedEvent
from quota import cycle_events as ev

Run = Sequence[RecordedEvent]

_CYCLE = ProjectedTable(name="quota_cycle", key=("organization_id", "id"))
_ENTRY = ProjectedTable(
    name="quota_cycleentry", key=("organization_id", "cycle_id", "account_id", "pool_id")
)
_POLICY = ProjectedTable(name="quota_cyclepolicy", key=("organization_id",))


def opened(run: Run) -> None:
    """New cycles."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_cycle (organization_id, id, account_id, name, quarter, "
                "deadline, window_days, quota_count, state, reason, opened_by_id, opened_at, "
                "end_reason, changed, kept, undecided, impossible) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, 'open', %b, %b, %b, '', 0, 0, 0, 0)",
                (
                    event.organization_id,
                    data.cycle_id,
                    data.account_id,
                    data.name,
                    data.quarter,
                    data.deadline,
                    data.window_days,
                    data.quota_count,
                    event.reason,
                    event.actor_id,
                    event.occurred_at,
                ),
            )


def listed(run: Run) -> None:
    """The quotas under review."""
    with server_cursor() as cursor:
        for event in run:
            rows = event.data.quotas
            cursor.execute(
                "INSERT INTO quota_cycleentry (organization_id, cycle_id, account_id, pool_id, "
                "guaranteed, idle_units, idle_cost, state, version, reason, question, answer) "
                "SELECT %b, %b, n.account_id, n.pool_id, n.guaranteed, n.idle_units, n.idle_cost, "
                "'undecided', 0, '', '', '' FROM unnest(%b::uuid[], %b::uuid[], %b::bigint[], "
                "%b::bigint[], %b::numeric[]) "
                "AS n(account_id, pool_id, guaranteed, idle_units, idle_cost)",
                (
                    event.organization_id,
                    event.data.cycle_id,
                    [one.account_id for one in rows],
                    [one.pool_id for one in rows],
                    [one.guaranteed for one in rows],
                    [one.idle_units for one in rows],
                    [one.idle_cost for one in rows],
                ),
            )


_HERE = "WHERE organization_id = %b AND cycle_id = %b AND account_id = %b AND pool_id = %b"


def _place(event: RecordedEvent) -> tuple:
    data = event.data
    return (event.organization_id, data.cycle_id, data.account_id, data.pool_id)


def decided(run: Run) -> None:
    """The decision that stands; the one before is in the ledger."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE quota_cycleentry SET state = 'decided', version = version + 1, "
                "decision = %b, units = %b, seen_guaranteed = %b, seen_base = %b, "
                "reviewer_id = %b, reason = %b, moved_at = %b, figures = %b::text::jsonb "
                f"{_HERE}",
                (
                    data.decision,
                    data.units,
                    data.guaranteed,
                    data.base,
                    data.reviewer_id,
                    event.reason,
                    event.occurred_at,
                    msgspec.json.encode(data.figures).decode(),
                    *_place(event),
                ),
            )


def asked(run: Run) -> None:
    """Questions. What was decided or answered before is void."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE quota_cycleentry SET state = 'asked', version = version + 1, "
                "decision = NULL, units = NULL, seen_guaranteed = NULL, seen_base = NULL, "
                "figures = NULL, reason = '', reviewer_id = %b, question = %b, moved_at = %b, "
                f"answer = '', answer_units = NULL, answered_by_id = NULL {_HERE}",
                (
                    event.data.reviewer_id,
                    event.data.question,
                    event.occurred_at,
                    *_place(event),
                ),
            )


def answered(run: Run) -> None:
    """Answers of leads."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE quota_cycleentry SET state = 'answered', version = version + 1, "
                "answer = %b, answer_units = %b, answered_by_id = %b, moved_at = %b "
                f"{_HERE}",
                (data.text, data.units, data.author_id, event.occurred_at, *_place(event)),
            )


def settled(run: Run) -> None:
    """What the close made of the quotas."""
    with server_cursor() as cursor:
        for event in run:
            rows = event.data.quotas
            cursor.execute(
                "UPDATE quota_cycleentry e SET outcome = n.outcome, before = n.before, "
                "after = n.after, code = n.code, detail = n.detail "
                "FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::bigint[], %b::bigint[], "
                "%b::text[], %b::text[]) "
                "AS n(account_id, pool_id, outcome, before, after, code, detail) "
                "WHERE e.organization_id = %b AND e.cycle_id = %b "
                "AND e.account_id = n.account_id AND e.pool_id = n.pool_id",
                (
                    [one.account_id for one in rows],
                    [one.pool_id for one in rows],
                    [one.outcome for one in rows],
                    [one.before for one in rows],
                    [one.after for one in rows],
                    [one.code for one in rows],
                    [one.detail for one in rows],
                    event.organization_id,
                    event.data.cycle_id,
                ),
            )


def ended(run: Run) -> None:
    """Cycles that were closed or given up."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            is_closed = isinstance(data, ev.CycleClosed)
            cursor.execute(
                "UPDATE quota_cycle SET state = %b, ended_by_id = %b, ended_at = %b, "
                "end_reason = %b, changed = %b, kept = %b, undecided = %b, impossible = %b "
                "WHERE organization_id = %b AND id = %b",
                (
                    "closed" if is_closed else "cancelled",
                    event.actor_id,
                    event.occurred_at,
                    event.reason,
                    data.changed if is_closed else 0,
                    data.kept if is_closed else 0,
                    data.undecided if is_closed else 0,
                    data.impossible if is_closed else 0,
                    event.organization_id,
                    data.cycle_id,
                ),
            )


def policy_set(run: Run) -> None:
    """The policy that stands."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_cyclepolicy (organization_id, automatic, window_days, "
                "decide_days, set_at) VALUES (%b, %b, %b, %b, %b) "
                "ON CONFLICT (organization_id) DO UPDATE SET automatic = excluded.automatic, "
                "window_days = excluded.window_days, decide_days = excluded.decide_days, "
                "set_at = excluded.set_at",
                (
                    event.organization_id,
                    data.automatic,
                    data.window_days,
                    data.decide_days,
                    event.occurred_at,
                ),
            )


def _projector(event_type: type[Event], project, *tables: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(name=f"quota:{name}", project=project, types=frozenset({name}), tables=tables)


PROJECTORS = (
    _projector(ev.CycleOpened, opened, _CYCLE),
    _projector(ev.CycleListed, listed, _ENTRY),
    _projector(ev.CycleDecided, decided, _ENTRY),
    _projector(ev.CycleAsked, asked, _ENTRY),
    _projector(ev.CycleAnswered, answered, _ENTRY),
    _projector(ev.CycleSettled, settled, _ENTRY),
    _projector(ev.CycleClosed, ended, _CYCLE),
    _projector(ev.CycleCancelled, ended, _CYCLE),
    _projector(ev.CyclePolicySet, policy_set, _POLICY),
)
