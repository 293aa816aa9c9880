"""The one statement behind the evidence: use and guarantees as steps in time, for many places.

Each record is two edges (units more, units less), each quota two more. Summed in the order of time
they give what was in use and what was promised in every stretch between two edges, exactly; how
long each amount held gives the percentiles. The work grows with the records of the window, never
with its hours, and all places share it. Instants are microseconds since 1970.
"""

from accounting.closed_usage import start_of_day

RECENT = "interval '31 days'"
"""Shorter records are found by their start, longer ones by their end: see migration 0007."""


def _us(instant: str) -> str:
    return f"(date_part('epoch', {instant}) * 1000000)::bigint"


# The accounts at and below each place, first: their number decides how records are best found.
MEMBERS = """
SELECT p.n, t.id, p.pool_id
FROM unnest(%(accounts)b::uuid[], %(pools)b::uuid[]) WITH ORDINALITY AS p(account_id, pool_id, n)
JOIN (SELECT t.id, a.id AS above FROM tenancy_account t
    CROSS JOIN LATERAL unnest(t.ancestors) AS a(id)
    WHERE t.organization_id = %(organization)b AND t.ancestors && %(accounts)b::uuid[]
) t ON t.above = p.account_id
"""

_PLACES = """
WITH place AS MATERIALIZED (
    SELECT w.n, w.account_id, w.pool_id
    FROM unnest(%(accounts)b::uuid[], %(pools)b::uuid[])
        WITH ORDINALITY AS w(account_id, pool_id, n)
), pool AS MATERIALIZED (
    SELECT DISTINCT pool_id FROM place
), member AS (
    SELECT * FROM unnest(%(member_place)b::bigint[], %(member_account)b::uuid[],
        %(member_pool)b::uuid[]) AS m(n, account_id, pool_id)
), counted AS (
    SELECT * FROM unnest(%(counted_account)b::uuid[], %(counted_pool)b::uuid[])
        AS c(account_id, pool_id)
)
"""

# The time in which a pool's use is known: from the first word of it to the last. Where units are
# handed out here, or something runs, the last word is the end of the window.
_KNOWN = f"""
, known AS MATERIALIZED (
    SELECT pool.pool_id,
        greatest({_us("%(start)b::timestamptz")}, coalesce(least(
            {_us(start_of_day(day="d.first", zone="o.time_zone"))}, {_us("r.first")},
            {_us("a.held_at")}), {_us("%(end)b::timestamptz")})) AS since,
        least({_us("%(end)b::timestamptz")}, CASE
            WHEN a.held_at IS NULL AND r.first IS NULL
            THEN {_us(start_of_day(day="d.last + 1", zone="o.time_zone"))}
            ELSE {_us("%(end)b::timestamptz")} END) AS until
    FROM pool
    JOIN tenancy_organization o ON o.id = %(organization)b
    LEFT JOIN (SELECT u.pool_id, min(u.started_at) AS first FROM accounting_openusage u
        WHERE u.organization_id = %(organization)b GROUP BY u.pool_id) r USING (pool_id)
    LEFT JOIN LATERAL (SELECT
        (SELECT day FROM accounting_usageday u WHERE u.organization_id = %(organization)b
            AND u.pool_id = pool.pool_id ORDER BY day LIMIT 1) AS first,
        (SELECT day FROM accounting_usageday u WHERE u.organization_id = %(organization)b
            AND u.pool_id = pool.pool_id ORDER BY day DESC LIMIT 1) AS last) d ON true
    LEFT JOIN LATERAL (SELECT q.held_at FROM quota_allocation q
        WHERE q.organization_id = %(organization)b AND q.pool_id = pool.pool_id
        ORDER BY q.id LIMIT 1) a ON true
)
"""

_AMONG = "AND u.account_id = ANY (%(members)b::uuid[])"

# Reversals (sign -1) take back what they repeat. What runs in an allocation is no record yet; one
# that the scheduler reports as running counts once, as its record.
_USED = f"""
, used AS (
    SELECT u.account_id, u.pool_id, u.sign * u.units AS units, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b
        AND u.started_at >= %(start)b::timestamptz - {RECENT} AND u.started_at < %(end)b
        AND (u.ended_at > %(start)b OR u.ended_at IS NULL)
        {_AMONG}
    UNION ALL
    SELECT u.account_id, u.pool_id, u.sign * u.units, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b AND u.ended_at - u.started_at > {RECENT}
        AND u.ended_at > %(start)b AND u.started_at < %(start)b::timestamptz - {RECENT}
        {_AMONG}
    UNION ALL
    SELECT u.account_id, u.pool_id, u.units, u.started_at, NULL
    FROM accounting_openusage u
    WHERE u.organization_id = %(organization)b AND u.ended_at IS NULL
        AND u.started_at < %(start)b::timestamptz - {RECENT}
    UNION ALL
    SELECT a.account_id, a.pool_id, s.units, s.at,
        least(a.lapses_at, lead(s.at) OVER (PARTITION BY a.id ORDER BY s.step))
    FROM quota_allocation a
    CROSS JOIN LATERAL (SELECT (e.value->>0)::timestamptz AS at, (e.value->>1)::bigint AS units,
        e.ordinality AS step FROM jsonb_array_elements(a.steps) WITH ORDINALITY AS e) s
    WHERE a.organization_id = %(organization)b AND a.lapses_at IS NOT NULL
        AND a.pool_id IN (SELECT pool_id FROM pool)
        AND (a.pool_id, a.key) NOT IN (SELECT pool_id, job FROM reported WHERE job IS NOT NULL)
)
"""
_REPORTED = """
, reported AS MATERIALIZED (
    SELECT o.pool_id, j.job
    FROM accounting_openusage o
    JOIN accounting_usagekey k ON k.organization_id = o.organization_id
        AND k.source_id = o.source_id AND k.key = o.key
    JOIN accounting_usagerecord r ON r.organization_id = k.organization_id
        AND r.batch_id = k.batch_id AND r.row_no = k.row_no AND r.started_at = k.started_at
    CROSS JOIN LATERAL unnest(ARRAY[o.key, r.labels->>'job_id']) AS j(job)
    WHERE o.organization_id = %(organization)b AND o.pool_id IN (SELECT pool_id FROM pool)
)
"""

# Per account first: where one record ends as the next begins, the edges meet and cancel.
_EDGES = f"""
, used_edge AS MATERIALIZED (
    SELECT u.account_id, u.pool_id, e.at, sum(e.units::float8) AS units
    FROM used u
    JOIN counted c ON c.account_id = u.account_id AND c.pool_id = u.pool_id
    CROSS JOIN LATERAL (VALUES
        (greatest({_us("u.started_at")}, {_us("%(start)b::timestamptz")}), u.units),
        ({_us("u.ended_at")}, -u.units)) AS e(at, units)
    WHERE e.at < {_us("%(end)b::timestamptz")} AND u.started_at < %(end)b
        AND (u.ended_at IS NULL OR u.ended_at > greatest(u.started_at, %(start)b))
    GROUP BY u.account_id, u.pool_id, e.at
    HAVING sum(e.units::float8) <> 0
), edge AS (
    SELECT m.n, u.at, u.units, 0::float8 AS promised, 0::float8 AS own
    FROM used_edge u JOIN member m ON m.account_id = u.account_id AND m.pool_id = u.pool_id
    UNION ALL
    SELECT m.n, e.at, 0, e.units, CASE WHEN p.account_id = m.account_id THEN e.units ELSE 0 END
    FROM quota_quotahistory h
    JOIN member m ON m.account_id = h.account_id AND m.pool_id = h.pool_id
    JOIN place p ON p.n = m.n
    CROSS JOIN LATERAL (VALUES
        (greatest({_us("h.valid_from")}, {_us("%(start)b::timestamptz")}), h.guaranteed),
        ({_us("h.valid_to")}, -h.guaranteed)) AS e(at, units)
    WHERE h.organization_id = %(organization)b AND h.valid_from < %(end)b
        AND (h.valid_to IS NULL OR h.valid_to > greatest(h.valid_from, %(start)b))
        AND e.at < {_us("%(end)b::timestamptz")}
    UNION ALL
    SELECT p.n, b.at, 0, 0, 0
    FROM place p JOIN known k USING (pool_id)
    CROSS JOIN LATERAL unnest(ARRAY[k.since, k.until] || %(changes)b::bigint[]) AS b(at)
    WHERE b.at IS NOT NULL
)
"""

_STEPS = f"""
, step AS (
    SELECT e.n, e.at, sum(sum(e.units)) OVER w AS in_use, sum(sum(e.promised)) OVER w AS promised,
        coalesce(lead(e.at) OVER w, {_us("%(end)b::timestamptz")}) - e.at AS length
    FROM edge e GROUP BY e.n, e.at
    WINDOW w AS (PARTITION BY e.n ORDER BY e.at)
), spell AS MATERIALIZED (
    SELECT s.n, width_bucket(s.at, %(changes)b::bigint[]) AS period, s.in_use, s.promised,
        sum(s.length::float8) AS length
    FROM step s JOIN place p USING (n) JOIN known k USING (pool_id)
    WHERE s.at >= k.since AND s.at < k.until AND s.length > 0
    GROUP BY s.n, period, s.in_use, s.promised
), amount AS (
    SELECT n, in_use, sum(sum(length)) OVER (PARTITION BY n ORDER BY in_use) AS up_to,
        sum(sum(length)) OVER (PARTITION BY n) AS whole
    FROM spell GROUP BY n, in_use
), quantile AS (
    SELECT n, min(in_use) FILTER (WHERE up_to * 2 >= whole) AS p50,
        min(in_use) FILTER (WHERE up_to * 20 >= whole * 19) AS p95, max(in_use) AS peak
    FROM amount GROUP BY n
), summed AS (
    SELECT n, sum(length) AS known, sum(in_use::numeric * length::numeric) AS used,
        sum(promised::numeric * length::numeric) AS promised,
        sum(greatest(0, promised - in_use)::numeric * length::numeric) AS idle
    FROM spell GROUP BY n
), idle AS (
    SELECT n, array_agg(period ORDER BY period) AS periods, array_agg(idle ORDER BY period) AS idle
    FROM (SELECT n, period, sum(greatest(0, promised - in_use)::numeric * length::numeric) AS idle
        FROM spell GROUP BY n, period) i
    WHERE idle > 0 GROUP BY n
), ending AS (
    SELECT n, sum(promised) AS promised, sum(own) AS own FROM edge GROUP BY n
), pinned AS (
    SELECT m.n, sum(a.units) AS units
    FROM quota_allocation a JOIN member m ON m.account_id = a.account_id AND m.pool_id = a.pool_id
    WHERE a.organization_id = %(organization)b AND a.lapses_at > %(end)b
        AND a.priority_class IN ('P0', 'P1')
    GROUP BY m.n
)
"""

STATEMENT = f"""
{_PLACES} {_KNOWN} {_REPORTED} {_USED} {_EDGES} {_STEPS}
SELECT p.account_id, p.pool_id, f.id, f.weight, coalesce(s.known, 0), q.p50, q.p95, q.peak, s.used,
    s.promised, s.idle, e.promised, e.own, coalesce(g.units, 0), i.periods, i.idle
FROM place p
JOIN quota_pool b ON b.organization_id = %(organization)b AND b.id = p.pool_id
JOIN quota_flavor f ON f.organization_id = b.organization_id AND f.id = b.flavor_id
LEFT JOIN summed s USING (n) LEFT JOIN quantile q USING (n) LEFT JOIN ending e USING (n)
LEFT JOIN idle i USING (n) LEFT JOIN pinned g USING (n)
ORDER BY p.n
"""
