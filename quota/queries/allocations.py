"""Reads of allocations: what was admitted, judged at an instant, in pages, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from ledger.sql import server_cursor

LIST_MAX = 1_000

_SELECT = """
SELECT a.id, a.key, a.attempt, p.name, c.name, s.name, a.units, a.min_units, a.wanted_units,
    a.priority_class, a.tier, CASE WHEN a.lapses_at <= %b THEN 'expired' ELSE a.state END,
    a.held_at, a.hold_until, a.started_at, a.heard_at, a.lease_until, a.lease_seconds,
    a.duration_seconds,
    CASE WHEN a.lapses_at <= %b THEN a.lapses_at ELSE a.ended_at END,
    a.reclaim_seconds, a.adopted, a.labels, a.steps
FROM quota_allocation a
JOIN quota_pool p ON p.organization_id = a.organization_id AND p.id = a.pool_id
JOIN tenancy_account c ON c.organization_id = a.organization_id AND c.id = a.account_id
LEFT JOIN tenancy_person s ON s.organization_id = a.organization_id AND s.id = a.person_id
WHERE a.organization_id = %b
"""
_NAMED = "WHERE x.organization_id = a.organization_id AND x.name = %b"
_STATES = {
    "live": "a.lapses_at > %b",
    "held": "a.lapses_at > %b AND a.state = 'held'",
    "running": "a.lapses_at > %b AND a.state = 'running'",
    "released": "a.state = 'released' AND %b::timestamptz IS NOT NULL",
    "preempted": "a.state = 'preempted' AND %b::timestamptz IS NOT NULL",
    "expired": "(a.lapses_at <= %b OR a.state = 'expired')",
}
STATES = tuple(_STATES)
"""What a list can be narrowed to; `live` is held or running."""


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """An allocation with names, as it is at the instant of the question."""

    id: UUID
    key: str
    attempt: int
    pool: str
    account: str
    person: str | None
    units: int
    min_units: int
    wanted_units: int
    priority_class: str
    tier: str
    state: str
    held_at: datetime
    hold_until: datetime
    started_at: datetime | None
    heard_at: datetime | None
    lease_until: datetime | None
    lease_seconds: int
    duration_seconds: int | None
    ended_at: datetime | None
    reclaim_seconds: int
    adopted: bool
    labels: dict[str, str]
    steps: list[Any]


def allocations(
    organization_id: UUID,
    *,
    now: datetime,
    under: Sequence[UUID] | None = None,
    pool_ids: Sequence[UUID] | None = None,
    account: str | None = None,
    person: str | None = None,
    pool: str | None = None,
    state: str | None = None,
    before_id: UUID | None = None,
    limit: int = 100,
) -> list[AllocationRow]:
    """A page, newest first; at most LIST_MAX.

    Args:
        under: only accounts at or below any of these; None: all.
        pool_ids: only these pools; None: all.
        account, person, pool: names; the account with all below it.
        state: one of STATES.
        before_id: the last one of the page before.
    """
    where, values = [], []
    for condition, value in (
        ("c.ancestors && %b::uuid[]", under),
        ("a.pool_id = ANY(%b::uuid[])", pool_ids),
        (f"c.ancestors && (SELECT array_agg(x.id) FROM tenancy_account x {_NAMED})", account),
        ("s.name = %b", person),
        (f"a.pool_id = (SELECT x.id FROM quota_pool x {_NAMED})", pool),
        ("a.id < %b", before_id),
    ):
        if value is not None:
            where.append(condition)
            values.append(list(value) if isinstance(value, (list, tuple, frozenset)) else value)
    if state is not None:
        where.append(_STATES[state])
        values.append(now)
    conditions = "".join(f" AND {condition}" for condition in where)
    return _rows(
        f"{_SELECT}{conditions} ORDER BY a.id DESC LIMIT %b",
        (now, now, organization_id, *values, min(limit, LIST_MAX)),
    )


def of_key(
    organization_id: UUID,
    key: str,
    *,
    now: datetime,
    under: Sequence[UUID] | None = None,
    pool_ids: Sequence[UUID] | None = None,
) -> list[AllocationRow]:
    """All allocations of a job, the newest attempt first; at most LIST_MAX."""
    return _rows(
        f"{_SELECT} AND a.key = %b AND (%b::uuid[] IS NULL OR c.ancestors && %b::uuid[]) "
        "AND (%b::uuid[] IS NULL OR a.pool_id = ANY(%b::uuid[])) "
        "ORDER BY a.attempt DESC, p.name LIMIT %b",
        (
            *(now, now, organization_id, key),
            *([None if under is None else list(under)] * 2),
            *([None if pool_ids is None else list(pool_ids)] * 2),
            LIST_MAX,
        ),
    )


def _rows(sql: str, values: tuple) -> list[AllocationRow]:
    with server_cursor() as cursor:
        rows = cursor.execute(sql, values).fetchall()
    return [AllocationRow(*row[:-2], _json(row[-2]), _json(row[-1])) for row in rows]


def _json(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, str | bytes) else value
