"""Units in use of a pool, hour by hour and account by account, and in which hours that is known.

Exact use (`accounting.queries.evidence_sql`) averaged over each hour of UTC. A day, in the
organization's time zone, on which nobody used the pool and nothing ran in it is not known: missing
telemetry is unknown, never zero. Three statements for a pool, however many accounts.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from accounting.closed_usage import start_of_day
from accounting.queries import evidence_sql as sql
from ledger.sql import server_cursor

Ints = NDArray[np.int64]
HOUR_SECONDS = 3600
_ORIGIN = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolUse:
    """Use of one pool.

    Attributes:
        start: of the first hour, in seconds since 1970.
        hours: mean units in use in each hour, up to whole units, by account; without those of
            whom nothing is recorded.
        now: units in use at the end.
        known: of each hour, whether use is known in all of it.
    """

    start: int
    hours: dict[UUID, Ints]
    now: dict[UUID, int]
    known: NDArray[np.bool_]


# Day by day, one look each (hence the limit), as thousands of accounts have a row on each.
_KNOWN = f"""
SELECT extract(epoch FROM {start_of_day(day="d.day", zone="o.time_zone")})::bigint,
    extract(epoch FROM {start_of_day(day="d.day + 1", zone="o.time_zone")})::bigint
FROM (SELECT g.at::date AS day FROM generate_series(
        (%(start)b::timestamptz::date - 1)::timestamp,
        (%(end)b::timestamptz::date + 1)::timestamp, interval '1 day') AS g(at)
    CROSS JOIN LATERAL (SELECT FROM accounting_usageday u
        WHERE u.organization_id = %(organization)b AND u.pool_id = %(pool)b
            AND u.day = g.at::date LIMIT 1) u
) d
JOIN tenancy_organization o ON o.id = %(organization)b
UNION ALL
SELECT extract(epoch FROM r.since)::bigint, extract(epoch FROM %(end)b::timestamptz)::bigint
FROM (
    SELECT min(u.started_at) AS since FROM accounting_openusage u
    WHERE u.organization_id = %(organization)b AND u.pool_id = %(pool)b AND u.ended_at IS NULL
    UNION ALL
    SELECT min(a.held_at) FROM quota_allocation a
    WHERE a.organization_id = %(organization)b AND a.pool_id = %(pool)b AND a.lapses_at > %(end)b
) r WHERE r.since < %(end)b
"""


def use_by_hour(
    organization_id: UUID,
    pool_id: UUID,
    *,
    start: datetime,
    end: datetime,
    under: UUID | None = None,
) -> PoolUse:
    """Use over the full hours of [start, end). `under`: of accounts at or below this one alone;
    what is known is the pool's all the same."""
    first = int(start.timestamp()) // HOUR_SECONDS * HOUR_SECONDS
    count = max(0, (int(end.timestamp()) - first) // HOUR_SECONDS)
    with server_cursor() as cursor:
        accounts = [
            row[0]
            for row in cursor.execute(
                "SELECT id FROM tenancy_account WHERE organization_id = %b "
                "AND (%b::uuid IS NULL OR ancestors @> ARRAY[%b::uuid]) ORDER BY id",
                (organization_id, under, under),
            )
        ]
        values = {
            "organization": organization_id,
            **sql.window(datetime.fromtimestamp(first, UTC), end),
            "counted_account": accounts,
            "counted_pool": [pool_id] * len(accounts),
            "members": accounts,
            "pool": pool_id,
        }
        columns = sql.used(cursor, values)
        spans = cursor.execute(_KNOWN, values).fetchall()
    key, since, until, units = (np.frombuffer(each, ">i8").astype(np.int64) for each in columns)
    until = np.minimum(_seconds(until), int(end.timestamp()) + 1)
    since = _seconds(since)
    users, row = np.unique(key, return_inverse=True)
    area = _areas(row, since, until, units, first=first, shape=(len(users), count))
    runs = (since <= int(end.timestamp())) & (until > int(end.timestamp()))
    now = np.zeros(len(accounts), dtype=np.int64)
    np.add.at(now, key[runs], units[runs])
    return PoolUse(
        start=first,
        hours={accounts[n]: area[at] for at, n in enumerate(users)},
        now={accounts[n]: int(now[n]) for n in np.flatnonzero(now)},
        known=_known(spans, first=first, count=count),
    )


def _seconds(at: Ints) -> Ints:
    """From microseconds since 2000, as PostgreSQL sends them; infinity stays far away."""
    return at // 1_000_000 + _ORIGIN


def _areas(
    key: Ints, since: Ints, until: Ints, units: Ints, *, first: int, shape: tuple[int, int]
) -> Ints:
    """Units by account and hour, the mean of its seconds, up: each edge counts in its own hour by
    what is left of it, and in every later hour whole."""
    count = shape[1]
    area = np.zeros((shape[0], count + 1), dtype=np.int64)
    level = np.zeros((shape[0], count + 1), dtype=np.int64)
    for at, sign in ((since, 1), (until, -1)):
        inside = np.clip(at - first, 0, count * HOUR_SECONDS)
        hour = inside // HOUR_SECONDS
        left = (hour + 1) * HOUR_SECONDS - inside
        np.add.at(area, (key, hour), sign * units * left)
        np.add.at(level, (key, np.minimum(hour + 1, count)), sign * units * HOUR_SECONDS)
    np.cumsum(level, axis=1, out=level)
    area += level
    np.maximum(area, 0, out=area)
    # In place, as tens of thousands of accounts times a year of hours are no small table.
    area += HOUR_SECONDS - 1
    area //= HOUR_SECONDS
    return area[:, :count]


def _known(spans: list[tuple[int, int]], *, first: int, count: int) -> NDArray[np.bool_]:
    """Hours that days with use, or something that runs, cover whole."""
    merged: list[list[int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    known = np.zeros(count, dtype=bool)
    for low, high in merged:
        begin = max(0, -(-(low - first) // HOUR_SECONDS))
        known[begin : max(begin, (high - first) // HOUR_SECONDS)] = True
    return known
