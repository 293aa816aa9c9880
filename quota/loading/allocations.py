"""Allocations, read into values of the domain."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from ledger.sql import server_cursor
from quota.allocation_facts import StoredAllocation
from quota.domain.lifecycle import Allocation, Step

_COLUMNS = (
    "id, slow, labels, key, attempt, account_id, person_id, pool_id, units, min_units, "
    "wanted_units, priority_class, tier, tier_wish, reclaim_seconds, lease_seconds, "
    "duration_seconds, state, held_at, hold_until, started_at, heard_at, lease_until, ended_at, "
    "steps"
)
_FIELDS = (
    *("key", "attempt", "account", "person", "pool", "units", "min_units", "wanted_units"),
    *("priority_class", "tier", "tier_wish", "reclaim_seconds", "lease_seconds"),
    *("duration_seconds", "state", "held_at", "hold_until", "started_at", "heard_at"),
    *("lease_until", "ended_at"),
)


def of_keys(
    organization_id: UUID, keys: Collection[str], *, attempts: Collection[int] | None = None
) -> list[StoredAllocation]:
    """Allocations of jobs: of all attempts, or of pairs of key and attempt."""
    if not keys:
        return []
    if attempts is None:
        where, values = "key = ANY(%b::text[])", (list(keys),)
    else:
        where = "(key, attempt) IN (SELECT * FROM unnest(%b::text[], %b::int[]))"
        values = (list(keys), list(attempts))
    return _read(organization_id, f"{where} ORDER BY key, attempt, pool_id", values)


def pools_of_keys(organization_id: UUID, keys: Collection[str]) -> list[UUID]:
    """The pools in which jobs have allocations; read before the locks, so only a first look."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT pool_id FROM quota_allocation "
            "WHERE organization_id = %b AND key = ANY(%b::text[])",
            (organization_id, list(keys)),
        ).fetchall()
    return [row[0] for row in rows]


def of_ids(organization_id: UUID, ids: Collection[UUID]) -> list[StoredAllocation]:
    """Allocations by id."""
    return _read(organization_id, "id = ANY(%b::uuid[]) ORDER BY id", (list(ids),))


def lapsed(
    organization_id: UUID, pool_ids: Collection[UUID], *, now: datetime
) -> list[StoredAllocation]:
    """What holds capacity on paper only: its hold, lease or run was over by `now`."""
    return _read(
        organization_id,
        "pool_id = ANY(%b::uuid[]) AND lapses_at <= %b ORDER BY pool_id, lapses_at, id",
        (list(pool_ids), now),
    )


def live(organization_id: UUID, pool_id: UUID) -> list[StoredAllocation]:
    """Everything of a pool that has not ended on paper."""
    return _read(
        organization_id,
        "pool_id = %b AND lapses_at IS NOT NULL ORDER BY held_at, key, attempt",
        (pool_id,),
    )


def slow_units(
    organization_id: UUID, pool_id: UUID, *, target_seconds: int
) -> dict[UUID, tuple[int, int]]:
    """Units, borrowed and spot, that take longer than a target to come back, by account."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT account_id, coalesce(sum(units) FILTER (WHERE tier = 'borrowed'), 0)::bigint, "
            "coalesce(sum(units) FILTER (WHERE tier = 'spot'), 0)::bigint FROM quota_allocation "
            "WHERE organization_id = %b AND pool_id = %b AND lapses_at IS NOT NULL "
            "AND reclaim_seconds > %b GROUP BY account_id",
            (organization_id, pool_id, target_seconds),
        ).fetchall()
    return {account: (borrowed, spot) for account, borrowed, spot in rows}


def risers(
    organization_id: UUID, pool_id: UUID, *, accounts: Collection[UUID]
) -> list[StoredAllocation]:
    """Opportunistic allocations that may rise: spot ones, and borrowed ones of `accounts`."""
    return _read(
        organization_id,
        "pool_id = %b AND lapses_at IS NOT NULL "
        "AND (tier_wish IS NULL OR (tier_wish = 'guaranteed' AND tier = 'borrowed')) "
        "AND (tier = 'spot' OR (tier = 'borrowed' AND account_id = ANY(%b::uuid[]))) "
        "ORDER BY held_at, key, attempt",
        (pool_id, list(accounts)),
    )


def guaranteed_of(
    organization_id: UUID, pool_id: UUID, *, accounts: Collection[UUID]
) -> list[StoredAllocation]:
    """Guaranteed allocations of accounts that have not ended on paper."""
    return _read(
        organization_id,
        "pool_id = %b AND lapses_at IS NOT NULL AND tier = 'guaranteed' "
        "AND account_id = ANY(%b::uuid[]) ORDER BY held_at, key, attempt",
        (pool_id, list(accounts)),
    )


def pools_with_lapses(organization_id: UUID, *, now: datetime) -> list[UUID]:
    """Pools in which something is over that is not recorded yet."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id FROM quota_pool p WHERE p.organization_id = %b AND EXISTS ("
            "SELECT 1 FROM quota_allocation a WHERE a.organization_id = p.organization_id "
            "AND a.pool_id = p.id AND a.lapses_at <= %b) ORDER BY p.id",
            (organization_id, now),
        ).fetchall()
    return [row[0] for row in rows]


def pools_with_opportunists(
    organization_id: UUID, *, among: Collection[UUID] | None = None
) -> list[UUID]:
    """Pools, of all or among some, in which somebody uses more than is guaranteed."""
    some = "" if among is None else "AND pool_id = ANY(%b::uuid[]) "
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT pool_id FROM quota_holding "
            f"WHERE organization_id = %b {some}AND borrowed + spot > 0 ORDER BY pool_id",
            (organization_id, *(() if among is None else (list(among),))),
        ).fetchall()
    return [row[0] for row in rows]


def person_names(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """Short names of people by id."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_person "
            "WHERE organization_id = %b AND id = ANY(%b::uuid[])",
            (organization_id, list(ids)),
        ).fetchall()
    return dict(rows)


def pool_names(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """Names of pools by id."""
    if not ids:
        return {}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM quota_pool WHERE organization_id = %b AND id = ANY(%b::uuid[])",
            (organization_id, list(ids)),
        ).fetchall()
    return dict(rows)


def account_names(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """Names of accounts by id."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account "
            "WHERE organization_id = %b AND id = ANY(%b::uuid[])",
            (organization_id, list(ids)),
        ).fetchall()
    return dict(rows)


def _read(organization_id: UUID, where: str, values: tuple) -> list[StoredAllocation]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_COLUMNS} FROM quota_allocation WHERE organization_id = %b AND {where}",
            (organization_id, *values),
        ).fetchall()
    return [_stored(row) for row in rows]


def _stored(row: tuple) -> StoredAllocation:
    values = dict(zip(_FIELDS, row[3:-1], strict=True))
    value = Allocation(**values, steps=_steps(row[-1]))
    return StoredAllocation(row[0], row[1], _json(row[2]), value)


def _steps(stored: Any) -> tuple[Step, ...]:
    return tuple(Step(datetime.fromisoformat(at), units, tier) for at, units, tier in _json(stored))


def _json(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, str | bytes) else value
