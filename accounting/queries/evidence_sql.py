"""The statements behind the evidence: which accounts count, their records, their guarantees, and in
which time use is known. Each answers for any number of places; `accounting.domain.steps` adds up.

Columns come as one packed value each: a million records are a few values to the driver.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import psycopg

from accounting.closed_usage import start_of_day

RECENT_DAYS = timedelta(days=31)
RECENT = f"interval '{RECENT_DAYS.days} days'"
"""Shorter records are found by their start, longer ones by their end: see migration 0007."""


def window(start: datetime, end: datetime) -> dict[str, datetime]:
    """A window as the statements want it. `recent` is worked out here, once: in SQL it would be,
    for the sake of time zones, at every row."""
    return {"start": start, "end": end, "recent": start - RECENT_DAYS}


# The accounts at and below each place, first: their number decides how records are best found.
MEMBERS = """
SELECT p.n - 1, t.id, p.pool_id
FROM unnest(%(accounts)b::uuid[], %(pools)b::uuid[]) WITH ORDINALITY AS p(account_id, pool_id, n)
JOIN (SELECT t.id, a.id AS above FROM tenancy_account t
    CROSS JOIN LATERAL unnest(t.ancestors) AS a(id)
    WHERE t.organization_id = %(organization)b AND t.ancestors && %(tops)b::uuid[]
) t ON t.above = p.account_id
"""

MANY = 200
"""From so many places on, accounts are not first picked by overlap: that goes through all places
again for each account, so the work would grow with the product of both."""

MEMBERS_OF_MANY = MEMBERS.replace("AND t.ancestors && %(tops)b::uuid[]", "")

_COUNTED = """
counted AS (
    SELECT * FROM unnest(%(counted_account)b::uuid[], %(counted_pool)b::uuid[])
        WITH ORDINALITY AS c(account_id, pool_id, key)
)
"""
_AMONG = "AND u.account_id = ANY (%(members)b::uuid[])"
_PACKED = """
    coalesce(string_agg(int8send(c.key - 1), ''), ''),
    coalesce(string_agg(timestamptz_send(u.started_at), ''), ''),
    coalesce(string_agg(timestamptz_send(coalesce(u.ended_at, 'infinity')), ''), ''),
    coalesce(string_agg(int8send(u.units), ''), '')
"""

# The jobs that their scheduler reports as running, of the pools of `live`, by their key here.
REPORTED = """
reported AS MATERIALIZED (
    SELECT o.pool_id, j.job
    FROM accounting_openusage o
    JOIN accounting_usagekey k ON k.organization_id = o.organization_id
        AND k.source_id = o.source_id AND k.key = o.key
    JOIN accounting_usagerecord r ON r.organization_id = k.organization_id
        AND r.batch_id = k.batch_id AND r.row_no = k.row_no AND r.started_at = k.started_at
    CROSS JOIN LATERAL unnest(ARRAY[o.key, r.labels->>'job_id']) AS j(job)
    WHERE o.organization_id = %(organization)b AND j.job IS NOT NULL
        AND o.pool_id IN (SELECT pool_id FROM live)
)
"""

# Reversals (sign -1) take back what they repeat. Recent records, most of all, are by themselves:
# PostgreSQL can let several processes pack parts.
_RECENT_USED = f"""
WITH {_COUNTED}
SELECT {_PACKED}
FROM (SELECT u.account_id, u.pool_id, u.sign * u.units AS units, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b
        AND u.started_at >= %(recent)b AND u.started_at < %(end)b
        AND (u.ended_at > %(start)b OR u.ended_at IS NULL) {_AMONG}
) u JOIN counted c ON c.account_id = u.account_id AND c.pool_id = u.pool_id
"""

# What runs in an allocation is no record yet; one that the scheduler reports as running counts
# once, as its record.
_OTHER_USED = f"""
WITH {_COUNTED}, pool AS MATERIALIZED (
    SELECT DISTINCT pool_id FROM counted
), live AS MATERIALIZED (
    SELECT a.* FROM quota_allocation a
    WHERE a.organization_id = %(organization)b AND a.lapses_at IS NOT NULL
        AND a.account_id = ANY (%(members)b::uuid[]) AND a.pool_id IN (SELECT pool_id FROM pool)
), {REPORTED}, used AS (
    SELECT u.account_id, u.pool_id, u.sign * u.units AS units, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b AND u.ended_at - u.started_at > {RECENT}
        AND u.ended_at > %(start)b AND u.started_at < %(recent)b {_AMONG}
    UNION ALL
    SELECT u.account_id, u.pool_id, u.units, u.started_at, NULL
    FROM accounting_openusage u
    WHERE u.organization_id = %(organization)b AND u.ended_at IS NULL
        AND u.started_at < %(recent)b {_AMONG}
    UNION ALL
    SELECT a.account_id, a.pool_id, s.units, s.at,
        least(a.lapses_at, lead(s.at) OVER (PARTITION BY a.id ORDER BY s.step))
    FROM live a
    CROSS JOIN LATERAL (SELECT (e.value->>0)::timestamptz AS at, (e.value->>1)::bigint AS units,
        e.ordinality AS step FROM jsonb_array_elements(a.steps) WITH ORDINALITY AS e) s
    WHERE NOT EXISTS (SELECT FROM reported r WHERE r.pool_id = a.pool_id AND r.job = a.key)
)
SELECT {_PACKED}
FROM used u JOIN counted c ON c.account_id = u.account_id AND c.pool_id = u.pool_id
"""
USED = (_RECENT_USED, _OTHER_USED)


def used(cursor: psycopg.Cursor, values: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Key (from 0), begin, end and units of everything that ran, each packed as big-endian 64 bits;
    instants in microseconds since 2000.

    Planned for the values at hand each time: a plan for any number of places would go through the
    records once for each of thousands.
    """
    parts = [cursor.execute(each, values, binary=True, prepare=False).fetchone() for each in USED]
    return tuple(b"".join(column) for column in zip(*parts, strict=True))


PROMISED = f"""
WITH {_COUNTED}, u AS (
    SELECT u.account_id, u.pool_id, u.guaranteed AS units, u.valid_from AS started_at,
        u.valid_to AS ended_at
    FROM quota_quotahistory u
    WHERE u.organization_id = %(organization)b AND u.valid_from < %(end)b
        AND (u.valid_to > %(start)b OR u.valid_to IS NULL) {_AMONG}
)
SELECT {_PACKED}
FROM u JOIN counted c ON c.account_id = u.account_id AND c.pool_id = u.pool_id
"""

# The time in which a pool's use is known: from the first word of it to the last. Where units are
# handed out here, or something runs, the last word is the end of the window.
PLACES = f"""
WITH place AS (
    SELECT * FROM unnest(%(accounts)b::uuid[], %(pools)b::uuid[])
        WITH ORDINALITY AS p(account_id, pool_id, n)
), said AS MATERIALIZED (
    SELECT p.pool_id, {start_of_day(day="d.first", zone="o.time_zone")} AS first_day,
        {start_of_day(day="d.last + 1", zone="o.time_zone")} AS last_day, r.first AS runs_since,
        a.held_at
    FROM (SELECT DISTINCT pool_id FROM place) p
    JOIN tenancy_organization o ON o.id = %(organization)b
    CROSS JOIN LATERAL (SELECT
        (SELECT day FROM accounting_usageday u WHERE u.organization_id = %(organization)b
            AND u.pool_id = p.pool_id ORDER BY day LIMIT 1) AS first,
        (SELECT day FROM accounting_usageday u WHERE u.organization_id = %(organization)b
            AND u.pool_id = p.pool_id ORDER BY day DESC LIMIT 1) AS last) d
    LEFT JOIN (SELECT u.pool_id, min(u.started_at) AS first FROM accounting_openusage u
        WHERE u.organization_id = %(organization)b GROUP BY u.pool_id) r USING (pool_id)
    LEFT JOIN LATERAL (SELECT q.held_at FROM quota_allocation q
        WHERE q.organization_id = %(organization)b AND q.pool_id = p.pool_id
        ORDER BY q.id LIMIT 1) a ON true
)
SELECT p.n - 1, f.id, f.weight,
    greatest(%(start)b, coalesce(least(s.first_day, s.runs_since, s.held_at), %(end)b)),
    CASE WHEN s.runs_since IS NULL AND s.held_at IS NULL THEN least(%(end)b, s.last_day)
        ELSE %(end)b END,
    coalesce(q.own, 0)
FROM place p
JOIN said s USING (pool_id)
JOIN quota_pool b ON b.organization_id = %(organization)b AND b.id = p.pool_id
JOIN quota_flavor f ON f.organization_id = b.organization_id AND f.id = b.flavor_id
LEFT JOIN (SELECT u.account_id, u.pool_id, u.guaranteed AS own FROM quota_quotahistory u
    WHERE u.organization_id = %(organization)b AND u.valid_from < %(end)b
        AND (u.valid_to >= %(end)b OR u.valid_to IS NULL)
        AND u.account_id = ANY (%(tops)b::uuid[])
) q ON q.account_id = p.account_id AND q.pool_id = p.pool_id
ORDER BY p.n
"""

PINNED = f"""
WITH {_COUNTED}
SELECT c.key - 1, sum(a.units)::bigint
FROM quota_allocation a
JOIN counted c ON c.account_id = a.account_id AND c.pool_id = a.pool_id
WHERE a.organization_id = %(organization)b AND a.lapses_at > %(end)b
    AND a.priority_class IN ('P0', 'P1')
GROUP BY c.key
"""

# Guarantees at the end of the window that bear on each other: all at and below the topmost account
# with one at or above a place, in the place's pool.
HOLDERS = """
WITH place AS MATERIALIZED (
    SELECT p.pool_id, t.ancestors
    FROM unnest(%(accounts)b::uuid[], %(pools)b::uuid[]) AS p(account_id, pool_id)
    JOIN tenancy_account t ON t.organization_id = %(organization)b AND t.id = p.account_id
), holder AS MATERIALIZED (
    SELECT u.account_id, u.pool_id, u.guaranteed, t.ancestors
    FROM quota_quotahistory u
    JOIN tenancy_account t ON t.organization_id = u.organization_id AND t.id = u.account_id
    WHERE u.organization_id = %(organization)b AND u.guaranteed > 0
        AND u.pool_id = ANY (%(among)b::uuid[]) AND u.valid_from < %(end)b
        AND (u.valid_to >= %(end)b OR u.valid_to IS NULL)
), above AS MATERIALIZED (
    SELECT DISTINCT p.pool_id, a.id
    FROM place p
    CROSS JOIN LATERAL unnest(p.ancestors) AS a(id)
), top AS MATERIALIZED (
    SELECT h.pool_id, h.account_id
    FROM holder h
    JOIN above a ON a.pool_id = h.pool_id AND a.id = h.account_id
)
SELECT DISTINCT h.account_id, h.pool_id, h.guaranteed, h.ancestors
FROM holder h
CROSS JOIN LATERAL unnest(h.ancestors) AS a(id)
JOIN top t ON t.pool_id = h.pool_id AND t.account_id = a.id
ORDER BY h.pool_id, h.account_id
"""
