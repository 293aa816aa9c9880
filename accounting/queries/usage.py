"""Use as pages and REST show it: by day, account, person, pool and tier, and what runs now.

All run inside `scope.reading` and go by subtree: one account and everything below it, found first,
so that each account's days are one range of the rollup's key. Amounts are unit-seconds. Units of
unlike flavors never add up: a sum over several is None, and `weighted`, by the flavors' economic
weights, stands beside it. Utilisations are None where nothing was measured.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from accounting.staging import TIER_NAMES, TIERS
from ledger.errors import Invalid
from ledger.sql import server_cursor

DAYS_MAX = 366
PAGE_MAX = 500
RUNNING_MAX = 200
DIMENSIONS = ("day", "account", "person", "pool", "tier")
SORTS = ("key", "use")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFilter:
    """Ended use of an account's subtree from `since` to `until`, both days included."""

    account_id: UUID
    since: date
    until: date
    person_id: UUID | None = None
    pool_id: UUID | None = None
    tier: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            Invalid: `period_out_of_range` (backwards or above DAYS_MAX), `tier_unknown`.
        """
        if not 0 <= (self.until - self.since).days < DAYS_MAX:
            raise Invalid(
                "period_out_of_range",
                f"Choose a period of 1 to {DAYS_MAX} days, the earlier day first.",
                field="since",
            )
        if self.tier is not None and self.tier not in TIERS:
            raise Invalid("tier_unknown", f"A tier is one of {', '.join(TIERS)}.", field="tier")


@dataclass(frozen=True, slots=True)
class DayUse:
    """Use of one pool on one day, or over the period where `day` is None."""

    day: date | None
    pool_id: UUID
    pool: str
    unit_seconds: Decimal


@dataclass(frozen=True, slots=True)
class Measured:
    """An amount with what was measured of it: `known` has a measurement, `busy` is its part."""

    known: Decimal
    busy: Decimal

    @property
    def utilisation(self) -> Decimal | None:
        """Busy share of the known part; None where nothing is known."""
        return self.busy / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A group of ended use. Names are None for what it is not grouped by.

    `unit_seconds` is None for a group of several flavors; `weighted` counts all.
    """

    day: date | None
    account: str | None
    person: str | None
    pool: str | None
    tier: str | None
    unit_seconds: Decimal | None
    weighted: Decimal
    compute: Measured
    productive: Measured
    all_seconds: Decimal


@dataclass(frozen=True, slots=True)
class UsagePage:
    """Rows in order. `next_after` continues; None at the end."""

    rows: tuple[UsageRow, ...]
    next_after: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RunningRow:
    """A record that runs. `end` is set where the source promised one in the future."""

    source: str
    key: str
    account: str
    person: str
    pool: str
    tier: str
    units: int
    start: datetime
    end: datetime | None
    batch_id: UUID


@dataclass(frozen=True, slots=True)
class AccountUse:
    """What an account's subtree used in a period and holds now.

    `weighted` in weighted unit-seconds; `running` are (pool, units), pools by name.
    """

    weighted: Decimal
    running: tuple[tuple[str, int], ...]


_SUBTREE = (
    "u.organization_id = %b AND u.account_id IN (SELECT t.id FROM tenancy_account t "
    "WHERE t.organization_id = %b AND t.ancestors @> ARRAY[%b::uuid])"
)


def usage_by_day(
    organization_id: UUID, *, account_id: UUID, since: date, until: date
) -> list[DayUse]:
    """Ended use of a subtree by day and pool, in order; days without use are left out.

    Raises:
        Invalid: the period is backwards or above DAYS_MAX.
    """
    chosen = UsageFilter(account_id=account_id, since=since, until=until)
    where, params = _where(organization_id, chosen)
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT u.day, u.pool_id, q.name, sum(u.unit_seconds) FROM accounting_usageday u "
            "JOIN quota_pool q ON q.organization_id = u.organization_id AND q.id = u.pool_id "
            f"WHERE {where} GROUP BY u.day, u.pool_id, q.name ORDER BY u.day, q.name",
            params,
        ).fetchall()
    return [DayUse(*row) for row in rows]


# Expressions that sort ascending as pages list: newest day first, then by name.
_SORT = {
    "day": "(date '2100-01-01' - u.day)",
    "account": "a.name",
    "person": "p.name",
    "pool": "q.name",
    "tier": "u.tier",
}
_SHOWN = _SORT | {"day": "u.day"}
_NUMBER = re.compile(r"-?[0-9]{1,60}(?:\.[0-9]{1,60})?", re.ASCII)
_LIMITS = {"integer": 2**31, "smallint": 2**15}
_CASTS = {"day": "integer", "account": "text", "person": "text", "pool": "text", "tier": "smallint"}
_FROM = """
FROM accounting_usageday u
JOIN tenancy_account a ON a.organization_id = u.organization_id AND a.id = u.account_id
JOIN tenancy_person p ON p.organization_id = u.organization_id AND p.id = u.person_id
JOIN quota_pool q ON q.organization_id = u.organization_id AND q.id = u.pool_id
JOIN quota_flavor f ON f.organization_id = q.organization_id AND f.id = q.flavor_id
"""
_SUMS = """
CASE WHEN count(DISTINCT f.id) = 1 THEN sum(u.unit_seconds) END,
sum(u.unit_seconds * f.weight), sum(u.compute_known), sum(u.compute_busy),
sum(u.productive_known), sum(u.productive_busy), sum(u.unit_seconds)
"""


def usage_rows(
    organization_id: UUID,
    chosen: UsageFilter,
    *,
    by: Sequence[str],
    sort: str = "key",
    after: tuple[str, ...] | None = None,
    limit: int = 50,
) -> UsagePage:
    """A page of ended use, grouped.

    Args:
        by: one or more of DIMENSIONS.
        sort: `key` (newest day first, then names) or `use` (weighted use, largest first).
        after: `next_after` of the page before.

    Raises:
        Invalid: `grouping_unknown`, `sort_unknown`, `page_unknown` (an `after` of other groups).
    """
    keys = [name for name in DIMENSIONS if name in by]
    if not keys or len(keys) != len(set(by)):
        raise Invalid("grouping_unknown", f"Group by some of {', '.join(DIMENSIONS)}.", field="by")
    if sort not in SORTS:
        raise Invalid("sort_unknown", f"Sort by one of {', '.join(SORTS)}.", field="sort")
    limit = max(1, min(limit, PAGE_MAX))
    order = [_SORT[name] for name in keys]
    casts = [_CASTS[name] for name in keys]
    if sort == "use":
        order.insert(0, "-sum(u.unit_seconds * f.weight)")
        casts.insert(0, "numeric")
    where, params = _where(organization_id, chosen)
    having, having_params = _having(order, casts, after)
    shown = ", ".join(_SHOWN[name] if name in keys else "NULL" for name in DIMENSIONS)
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {shown}, {_SUMS}, ARRAY[{', '.join(f'({one})::text' for one in order)}] "
            f"{_FROM} WHERE {where} GROUP BY {', '.join(_SHOWN[name] for name in keys)} {having} "
            f"ORDER BY {', '.join(order)} LIMIT %b",
            (*params, *having_params, limit + 1),
        ).fetchall()
    found = tuple(_usage_row(row) for row in rows[:limit])
    return UsagePage(found, tuple(rows[limit - 1][-1]) if len(rows) > limit else None)


def usage_total(organization_id: UUID, chosen: UsageFilter) -> UsageRow | None:
    """Everything that a filter finds as one row; None for nothing."""
    where, params = _where(organization_id, chosen)
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT NULL, NULL, NULL, NULL, NULL, {_SUMS}, NULL {_FROM} WHERE {where}", params
        ).fetchone()
    return _usage_row(row) if row[-2] is not None else None


def running_now(
    organization_id: UUID, *, account_id: UUID, now: datetime, limit: int = 50
) -> list[RunningRow]:
    """Records of a subtree that run at `now`, the longest-running first; at most RUNNING_MAX."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT s.name, u.key, a.name, p.name, q.name, u.tier, u.units, u.started_at, "
            "u.ended_at, k.batch_id FROM accounting_openusage u "
            "JOIN accounting_usagekey k ON k.organization_id = u.organization_id "
            "  AND k.source_id = u.source_id AND k.key = u.key "
            "JOIN accounting_usagesource s "
            "  ON s.organization_id = u.organization_id AND s.id = u.source_id "
            "JOIN tenancy_account a ON a.organization_id = u.organization_id "
            "  AND a.id = u.account_id "
            "JOIN tenancy_person p ON p.organization_id = u.organization_id AND p.id = u.person_id "
            "JOIN quota_pool q ON q.organization_id = u.organization_id AND q.id = u.pool_id "
            f"WHERE {_SUBTREE} AND u.started_at <= %b AND (u.ended_at IS NULL OR u.ended_at > %b) "
            "ORDER BY u.started_at, u.source_id, u.key LIMIT %b",
            (
                *(organization_id, organization_id, account_id),
                *(now, now, max(1, min(limit, RUNNING_MAX))),
            ),
        ).fetchall()
    return [RunningRow(*row[:5], TIER_NAMES[row[5]], *row[6:]) for row in rows]


def use_of_accounts(
    organization_id: UUID,
    account_ids: Sequence[UUID],
    *,
    since: date,
    until: date,
    now: datetime,
) -> dict[UUID, AccountUse]:
    """Ended use in a period and units running at `now`, of each account with all below it.

    At most PAGE_MAX accounts. One that is not found has used nothing.
    """
    ids = list(account_ids)[:PAGE_MAX]
    below = (
        "unnest(%b::uuid[]) AS top(id) JOIN tenancy_account t ON t.organization_id = %b "
        "AND t.ancestors @> ARRAY[top.id]"
    )
    weight = (
        "JOIN quota_pool q ON q.organization_id = u.organization_id AND q.id = u.pool_id "
        "JOIN quota_flavor f ON f.organization_id = q.organization_id AND f.id = q.flavor_id"
    )
    join = "u.organization_id = t.organization_id AND u.account_id = t.id"
    with server_cursor() as cursor:
        used = cursor.execute(
            f"SELECT top.id, sum(u.unit_seconds * f.weight) FROM {below} "
            f"JOIN accounting_usageday u ON {join} AND u.day BETWEEN %b AND %b {weight} "
            "GROUP BY top.id",
            (ids, organization_id, since, until),
        ).fetchall()
        running = cursor.execute(
            f"SELECT top.id, q.name, sum(u.units)::bigint FROM {below} "
            f"JOIN accounting_openusage u ON {join} AND u.started_at <= %b "
            f"AND (u.ended_at IS NULL OR u.ended_at > %b) {weight} "
            "GROUP BY top.id, q.name ORDER BY top.id, q.name",
            (ids, organization_id, now, now),
        ).fetchall()
    totals: dict[UUID, Decimal] = dict(used)
    return {
        one: AccountUse(
            totals.get(one, Decimal(0)),
            tuple((pool, units) for top, pool, units in running if top == one),
        )
        for one in ids
    }


def _where(organization_id: UUID, chosen: UsageFilter) -> tuple[str, tuple]:
    given = (
        ("u.person_id = %b", chosen.person_id),
        ("u.pool_id = %b", chosen.pool_id),
        ("u.tier = %b::smallint", None if chosen.tier is None else TIERS[chosen.tier]),
    )
    wanted = [(sql, value) for sql, value in given if value is not None]
    return (
        " AND ".join([_SUBTREE, "u.day BETWEEN %b AND %b", *(sql for sql, _ in wanted)]),
        (
            *(organization_id, organization_id, chosen.account_id),
            *(chosen.since, chosen.until, *(value for _, value in wanted)),
        ),
    )


def _having(
    order: list[str], casts: list[str], after: tuple[str, ...] | None
) -> tuple[str, tuple[str, ...]]:
    """What comes after the last row of the page before, in the order of the list."""
    if after is None:
        return "", ()
    if len(after) != len(order) or not all(map(_castable, after, casts)):
        raise Invalid("page_unknown", "Start again at the first page.")
    places = ", ".join(f"%b::text::{cast}" for cast in casts)
    return f"HAVING ({', '.join(order)}) > ({places})", after


def _castable(value: str, cast: str) -> bool:
    """Whether PostgreSQL can read a place of a cursor, which may be anything, as that type."""
    if cast == "text":
        return value.isprintable()
    if not _NUMBER.fullmatch(value):
        return False
    return cast == "numeric" or ("." not in value and abs(int(value)) < _LIMITS[cast])


def _usage_row(row: tuple) -> UsageRow:
    day, account, person, pool, tier, unit_seconds, weighted, *measured, _ = row
    compute_known, compute_busy, productive_known, productive_busy, all_seconds = measured
    return UsageRow(
        day=day,
        account=account,
        person=person,
        pool=pool,
        tier=None if tier is None else TIER_NAMES[tier],
        unit_seconds=unit_seconds,
        weighted=weighted,
        compute=Measured(compute_known, compute_busy),
        productive=Measured(productive_known, productive_busy),
        all_seconds=all_seconds,
    )
