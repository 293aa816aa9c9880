"""Reads of allocations: what was admitted, judged at an instant, in pages over the whole list."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from ledger.sql import server_cursor
from quota.queries.allocation_order import ORDERS, STATES, Order, Place, order_for

__all__ = (
    "ORDERS",
    "STATES",
    "AllocationRow",
    "Place",
    "allocations",
    "jobs_of",
    "of_key",
    "place_of",
)

LIST_MAX = 1_000
FEW_ACCOUNTS = 64
"""Up to so many accounts, each one's own index is walked; more than that are a filter."""

_COLUMNS = """
a.id, a.key, a.attempt, p.name, c.name, s.name, a.units, a.min_units, a.wanted_units,
    a.priority_class, a.tier, CASE WHEN a.lapses_at <= %b THEN 'expired' ELSE a.state END,
    a.held_at, a.hold_until, a.started_at, a.heard_at, a.lease_until, a.lease_seconds,
    a.duration_seconds,
    CASE WHEN a.lapses_at <= %b THEN a.lapses_at ELSE a.ended_at END,
    a.lapses_at, a.reclaim_seconds, a.adopted, a.labels, a.steps
"""
_NAMES = """
JOIN quota_pool p ON p.organization_id = a.organization_id AND p.id = a.pool_id
JOIN tenancy_account c ON c.organization_id = a.organization_id AND c.id = a.account_id
LEFT JOIN tenancy_person s ON s.organization_id = a.organization_id AND s.id = a.person_id
"""
_FILTERS = """
SELECT (SELECT id FROM quota_pool WHERE organization_id = %b AND name = %b),
    (SELECT id FROM tenancy_person WHERE organization_id = %b AND name = %b),
    CASE WHEN %b::text IS NULL AND coalesce((SELECT bool_or(parent_id IS NULL)
        FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b::uuid[])), true) THEN NULL
    ELSE ARRAY(SELECT id FROM tenancy_account WHERE organization_id = %b
        AND (%b::text IS NULL OR ancestors @> ARRAY(SELECT id FROM tenancy_account
            WHERE organization_id = %b AND name = %b))
        AND (%b::uuid[] IS NULL OR ancestors && %b::uuid[])) END
"""


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """An allocation with names, as it is at the instant of the question. `lapses_at`: when it
    expires unless something is heard; None once its end is recorded."""

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
    lapses_at: datetime | None
    reclaim_seconds: int
    adopted: bool
    labels: dict[str, str]
    steps: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filters as ids. `accounts`, `pools`: None is all; `person`: None is everybody."""

    accounts: list[UUID] | None
    pools: list[UUID] | None
    person: UUID | None


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
    sort: str = "newest",
    after: Place | None = None,
    limit: int = 100,
) -> list[AllocationRow]:
    """A page in an order of the whole list; at most LIST_MAX.

    Args:
        under: only accounts at or below any of these; None: all.
        pool_ids: only these pools; None: all.
        account, person, pool: names; the account with all below it.
        state: one of STATES.
        sort: one of ORDERS.
        after: the place of the last one of the page before.

    Raises:
        Invalid: the order is not one of the state, as `order_for` says.
    """
    order = order_for(sort, state)
    wanted = _wanted(
        organization_id, under=under, pool_ids=pool_ids, account=account, person=person, pool=pool
    )
    if wanted is None:
        return []
    sql, values = statement(
        organization_id,
        wanted,
        now=now,
        state=state,
        order=order,
        after=after,
        limit=min(limit, LIST_MAX),
    )
    return _rows(sql, values)


def place_of(row: AllocationRow, sort: str) -> Place:
    """Where a row stands in an order."""
    return Place(value=getattr(row, ORDERS[sort].field), id=row.id)


def statement(
    organization_id: UUID,
    wanted: Wanted,
    *,
    now: datetime,
    state: str | None,
    order: Order,
    after: Place | None,
    limit: int,
) -> tuple[str, tuple]:
    """The SQL of a page and its parameters; a test looks at its plan.

    Each branch is one range of one index, read in the order of the page and no further than its
    length; the branches are merged and only the rows of the page get their names.
    """
    branches, values = [], []
    for condition, asks_now in order.branches[state]:
        conditions = [
            ("a.organization_id = %b", [organization_id]),
            (condition, [now] * asks_now),
            *_narrowed(wanted, order, after),
        ]
        sql, more = _branch(wanted.accounts, conditions, order, limit)
        branches.append(f"({sql})")
        values += more
    found = " UNION ALL ".join(branches)
    sql = (
        f"SELECT {_COLUMNS} FROM (SELECT id FROM ({found}) found "
        f"ORDER BY place {order.direction}, id {order.direction} LIMIT %b) page "
        f"JOIN quota_allocation a ON a.organization_id = %b AND a.id = page.id {_NAMES} "
        f"ORDER BY a.{order.column} {order.direction}, a.id {order.direction}"
    )
    return sql, (now, now, *values, limit, organization_id)


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
        f"SELECT {_COLUMNS} FROM quota_allocation a {_NAMES} WHERE a.organization_id = %b "
        "AND a.key = %b AND (%b::uuid[] IS NULL OR c.ancestors && %b::uuid[]) "
        "AND (%b::uuid[] IS NULL OR a.pool_id = ANY(%b::uuid[])) "
        "ORDER BY a.attempt DESC, p.name LIMIT %b",
        (
            *(now, now, organization_id, key),
            *([None if under is None else list(under)] * 2),
            *([None if pool_ids is None else list(pool_ids)] * 2),
            LIST_MAX,
        ),
    )


@dataclass(frozen=True, slots=True)
class Job:
    """What an allocation is known as."""

    key: str
    account_id: UUID


def jobs_of(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, Job]:
    """Allocations by id; unknown ones are missing."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, key, account_id FROM quota_allocation "
            "WHERE organization_id = %b AND id = ANY(%b::uuid[])",
            (organization_id, list(ids)),
        ).fetchall()
    return {row[0]: Job(*row[1:]) for row in rows}


Condition = tuple[str, list[Any]]


def _narrowed(wanted: Wanted, order: Order, after: Place | None) -> list[Condition]:
    found: list[Condition] = []
    if wanted.pools is not None:
        if len(wanted.pools) == 1:
            found.append(("a.pool_id = %b", wanted.pools))
        else:
            found.append(("a.pool_id = ANY(%b::uuid[])", [wanted.pools]))
    if wanted.person is not None:
        found.append(("a.person_id = %b", [wanted.person]))
    if after is not None:
        than = "<" if order.direction == "DESC" else ">"
        if order.column == "id":
            found.append((f"a.id {than} %b", [after.id]))
        else:
            found.append((f"(a.{order.column}, a.id) {than} (%b, %b)", [after.value, after.id]))
    return found


def _branch(
    accounts: list[UUID] | None, conditions: list[Condition], order: Order, limit: int
) -> tuple[str, list[Any]]:
    """Ids and places of at most a page out of one range. Where the account's own index has the
    order and accounts are few, each one's newest are read."""
    few = accounts is not None and order.column == "id" and 1 < len(accounts) <= FEW_ACCOUNTS
    if few:
        conditions = [*conditions, ("a.account_id = u.account_id", [])]
    elif accounts is not None and len(accounts) == 1:
        conditions = [*conditions, ("a.account_id = %b", accounts)]
    elif accounts is not None:
        conditions = [*conditions, ("a.account_id = ANY(%b::uuid[])", [accounts])]
    where = " AND ".join(sql for sql, _ in conditions)
    values = [value for _, given in conditions for value in given]
    sql = (
        f"SELECT a.id, a.{order.column} AS place FROM quota_allocation a WHERE {where} "
        f"ORDER BY a.{order.column} {order.direction}"
        f"{'' if order.column == 'id' else f', a.id {order.direction}'} LIMIT %b"
    )
    values.append(limit)
    if not few:
        return sql, values
    return (
        f"SELECT x.id, x.place FROM unnest(%b::uuid[]) u(account_id) CROSS JOIN LATERAL ({sql}) x",
        [accounts, *values],
    )


def _wanted(
    organization_id: UUID,
    *,
    under: Sequence[UUID] | None,
    pool_ids: Sequence[UUID] | None,
    account: str | None,
    person: str | None,
    pool: str | None,
) -> Wanted | None:
    """Names and bounds as ids, in one question; None: nothing fits."""
    tops = None if under is None else list(under)
    if tops == []:
        return None
    here = organization_id
    with server_cursor() as cursor:
        pool_id, person_id, accounts = cursor.execute(
            _FILTERS,
            (
                here,
                pool,
                here,
                person,
                account,
                here,
                tops,
                here,
                account,
                here,
                account,
                tops,
                tops,
            ),
        ).fetchone()
    pools = None if pool_ids is None else list(pool_ids)
    if pool is not None:
        pools = [pool_id] if pool_id and (pools is None or pool_id in pools) else []
    if pools == [] or accounts == [] or (person is not None and person_id is None):
        return None
    return Wanted(accounts=accounts, pools=pools, person=person_id)


def _rows(sql: str, values: tuple) -> list[AllocationRow]:
    with server_cursor() as cursor:
        rows = cursor.execute(sql, values).fetchall()
    return [AllocationRow(*row[:-2], _json(row[-2]), _json(row[-1])) for row in rows]


def _json(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, str | bytes) else value
