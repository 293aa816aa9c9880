"""Ended use into the sums: SQL shared by batches, settlements and re-weighing.

A caller gives a `WITH ... closed AS (...)` clause that yields records that ended, one row each,
with `sign` -1 where a record is taken back. From it come the daily rollup, split at midnight of
the organization's time zone (days of 23 and 25 hours included), and the forward-decayed sums.
"""

from typing import Any
from uuid import UUID

import msgspec
import psycopg

from accounting.domain import decay


def start_of_day(*, day: str, zone: str) -> str:
    """SQL for the instant at which a date of a time zone begins.

    Where clocks go back over midnight (the Azores, Havana), that date has its first hour twice and
    PostgreSQL takes the second: the day begins with the first.
    """
    local = f"({day})::timestamp"
    start = f"({local} AT TIME ZONE {zone})"
    return (
        f"({start} - CASE WHEN ({start} - interval '1 hour') AT TIME ZONE {zone} >= {local} "
        "THEN interval '1 hour' ELSE interval '0' END)"
    )


_EPOCH = decay.sql_epoch(end="c.b", half_life_seconds="c.h")
_WEIGHT = decay.sql_forward_weight(rate="c.r", start="c.a", end="c.b", half_life_seconds="c.h")

_SPLIT = f"""
, local AS (
    SELECT c.*, o.time_zone,
        (c.started_at AT TIME ZONE o.time_zone)::date AS first_day,
        (c.ended_at AT TIME ZONE o.time_zone)::date AS last_day
    FROM closed c JOIN tenancy_organization o ON o.id = c.organization_id
), split AS (
    SELECT l.organization_id, l.first_day AS day, l.account_id, l.person_id, l.pool_id, l.tier,
        l.compute_util, l.productive_util,
        l.sign * l.units * extract(epoch FROM l.ended_at - l.started_at) AS amount
    FROM local l WHERE l.first_day = l.last_day
    UNION ALL
    SELECT l.organization_id, d.day, l.account_id, l.person_id, l.pool_id, l.tier,
        l.compute_util, l.productive_util,
        l.sign * l.units * extract(epoch FROM
            least(l.ended_at, {start_of_day(day="d.day + 1", zone="l.time_zone")})
            - greatest(l.started_at, {start_of_day(day="d.day", zone="l.time_zone")}))
    FROM local l
    CROSS JOIN LATERAL generate_series(0, l.last_day - l.first_day) AS s(n)
    CROSS JOIN LATERAL (SELECT l.first_day + s.n AS day) d
    WHERE l.first_day < l.last_day
)
"""

_DAYS = """
INSERT INTO accounting_usageday (organization_id, account_id, day, person_id, pool_id, tier,
    unit_seconds, compute_known, compute_busy, productive_known, productive_busy)
SELECT organization_id, account_id, day, person_id, pool_id, tier, sum(amount),
    coalesce(sum(amount) FILTER (WHERE compute_util IS NOT NULL), 0),
    coalesce(sum(amount * compute_util), 0),
    coalesce(sum(amount) FILTER (WHERE productive_util IS NOT NULL), 0),
    coalesce(sum(amount * productive_util), 0)
FROM split WHERE amount <> 0
GROUP BY organization_id, account_id, day, person_id, pool_id, tier
ON CONFLICT (organization_id, account_id, day, person_id, pool_id, tier) DO UPDATE SET
    unit_seconds = accounting_usageday.unit_seconds + excluded.unit_seconds,
    compute_known = accounting_usageday.compute_known + excluded.compute_known,
    compute_busy = accounting_usageday.compute_busy + excluded.compute_busy,
    productive_known = accounting_usageday.productive_known + excluded.productive_known,
    productive_busy = accounting_usageday.productive_busy + excluded.productive_busy
"""

# The inner selects (kept apart by OFFSET 0) compute each number once and not once per mention.
_SUMS = f"""
INSERT INTO accounting_decayedusage
    (organization_id, account_id, person_id, pool_id, epoch, forward, changed_in)
SELECT w.organization_id, w.account_id, w.person_id, w.pool_id, w.epoch, sum(w.weight), %b::bigint
FROM (
    SELECT c.organization_id, c.account_id, c.person_id, c.pool_id, {_EPOCH} AS epoch,
        c.sign * {_WEIGHT} AS weight
    FROM (
        SELECT u.organization_id, u.account_id, u.person_id, u.pool_id, u.sign,
            u.units::float8 AS r,
            date_part('epoch', greatest(u.started_at, st.reset_at)) AS a,
            date_part('epoch', u.ended_at) AS b,
            st.half_life_seconds::float8 AS h
        FROM closed u
        JOIN accounting_fairsharestate st ON st.organization_id = u.organization_id
        WHERE u.ended_at > greatest(u.started_at, st.reset_at)
        OFFSET 0
    ) c
) w
GROUP BY w.organization_id, w.account_id, w.person_id, w.pool_id, w.epoch
ON CONFLICT (organization_id, account_id, person_id, pool_id, epoch) DO UPDATE SET
    forward = accounting_decayedusage.forward + excluded.forward,
    changed_in = excluded.changed_in
"""


def add(cursor: psycopg.Cursor, closed: str, params: tuple, organization_id: UUID) -> None:
    """Add the records of `closed` to the daily rollup and to the decayed sums."""
    version = _next_version(cursor, organization_id)
    cursor.execute(f"{closed} {_SPLIT}, days AS ({_DAYS}) {_SUMS}", (*params, version))


def roll_up(cursor: psycopg.Cursor, closed: str, params: Any) -> None:
    """Add the records of `closed` to the daily rollup only."""
    cursor.execute(f"{closed} {_SPLIT} {_DAYS}", params)


def weigh(cursor: psycopg.Cursor, closed: str, params: tuple, organization_id: UUID) -> None:
    """Add the records of `closed` to the decayed sums only."""
    version = _next_version(cursor, organization_id)
    cursor.execute(f"{closed} {_SUMS}", (*params, version))


def as_json(value: Any) -> str:
    """JSON text for a jsonb column."""
    return msgspec.json.encode(value, order="sorted").decode()


def _next_version(cursor: psycopg.Cursor, organization_id: UUID) -> int:
    """The usage version of this change. The row lock it takes orders versions by commit."""
    return cursor.execute(
        "UPDATE accounting_fairsharestate SET usage_version = nextval('accounting_usage_version') "
        "WHERE organization_id = %b RETURNING usage_version",
        (organization_id,),
    ).fetchone()[0]
