"""A month's use, added up by PostgreSQL: account, pool, tier and segment of the month.

Records are not joined with segments, which would look at each record once per segment. They are
grouped by the segments in which they begin (a) and end (b). Of a group within one segment the sum
of units x length is enough; of those that cross bounds, the sums of the units and of units x begin
are needed too. In segment n, from s to e, a group was in use for

    (n = b ? sum(units x end) : sum(units) x e) - (n = a ? sum(units x begin) : sum(units) x s)

where sum(units x end) is sum(units x length) + sum(units x begin).

Instants are whole microseconds from the begin of the month: the double that `date_part` answers has
them exactly until 2106. Below SMALL_UNITS the product of one record fits 63 bits in a month of 31
days and an hour, and sums of such integers are as exact as of `numeric`, in half the time.
Runs inside `scope.reading` or a command.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from accounting.queries.evidence_sql import RECENT, RECENT_DAYS, REPORTED
from accounting.staging import TIER_NAMES, TIERS
from ledger.sql import server_cursor

SMALL_UNITS: Final = 3_000_000
COMPARED_BOUNDS: Final = 3
"""Up to so many bounds between segments are compared one by one; more are looked up, by joins with
the few numbers there are. The planner knows that a comparison has two outcomes, and a join no more
than it has rows, so it lets several processes group in memory; of a number that is worked out from
a record it believes that every record has another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be added up.

    Attributes:
        bounds: where segments begin, ascending, and the end of the last: no gaps.
        accounts: of whose own use; None: everybody's.
        tier: of which tier; None: of all.
        columns: what else to tell apart: expressions over `u`, with their `values` by name.
        memory: whether GB are added up as well.
        by_account: whether accounts are told apart.
        unsettled_only: only what is not in the daily rollup yet: what runs, or ended so lately that
            the rollup was not told, as records or in allocations.
    """

    organization_id: UUID
    bounds: Sequence[datetime]
    accounts: Collection[UUID] | None = None
    tier: str | None = None
    columns: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    memory: bool = False
    by_account: bool = True
    unsettled_only: bool = False


def added_up(wanted: Wanted) -> list[tuple]:
    """Account, pool, tier, segment (from 1), unit-seconds, GB-seconds and the columns.

    The account is None where accounts are not told apart, GB-seconds where there are none. The same
    place may come more than once: from records, and from what no record tells of yet.
    """
    parts = _parts(wanted)
    values: dict[str, Any] = {
        **filter_values(wanted),
        "bounds": list(wanted.bounds[:-1]),
        "ends": list(wanted.bounds[1:]),
        "start": wanted.bounds[0],
        "until": wanted.bounds[-1],
        # Worked out once: in SQL it would be, for the sake of time zones, at every row.
        "recent": wanted.bounds[0] - RECENT_DAYS,
        "origin": wanted.bounds[0].timestamp(),
        "tiers": list(TIER_NAMES),
    } | dict(wanted.values)
    found: list[tuple] = []
    with server_cursor() as cursor:
        # There are few groups: records never need to be put in order to find them.
        cursor.execute("SET LOCAL enable_sort = off")
        for statement in _UNSETTLED if wanted.unsettled_only else _ALL:
            found += cursor.execute(statement.format(**parts), values, prepare=False).fetchall()
        cursor.execute("SET LOCAL enable_sort TO DEFAULT")
    return found


def _offset(instant: str) -> str:
    return f"((date_part('epoch', {instant}) - %(origin)b::float8) * 1e6)::bigint"


def _in_segment(lasted: str, began: str, units: str) -> str:
    """What falls into a segment of the groups that touch it: see above."""
    return f"""CASE WHEN z.first_segment = z.last_segment THEN z.{lasted}
        ELSE CASE WHEN g.n = z.last_segment THEN z.{lasted} + z.{began}
            ELSE z.{units} * g.until END
        - CASE WHEN g.n = z.first_segment THEN z.{began} ELSE z.{units} * g.since END END"""


_LENGTH = "((date_part('epoch', u.ends) - date_part('epoch', u.begins)) * 1e6)::bigint"
_LASTED = (
    f"coalesce(sum(CASE WHEN u.size <= {SMALL_UNITS} THEN u.units * {_LENGTH} END), 0) + coalesce("
    f"sum(CASE WHEN u.size > {SMALL_UNITS} THEN u.units::numeric * {_LENGTH} END), 0)"
)
_MEMORY = f"""sum(u.memory_gb) AS memory, sum(u.memory_gb * {_offset("u.begins")}) AS memory_began,
        sum(u.memory_gb * {_LENGTH}) AS memory_lasted"""
_NO_MEMORY = """NULL::numeric AS memory, NULL::numeric AS memory_began,
        NULL::numeric AS memory_lasted"""

_SUMS = f"""
, piece AS (
    SELECT u.*, {{begins}} AS begins, least(u.ended_at, %(until)b) AS ends
    FROM used u
    WHERE true {{among}} {{only}}
), summed AS (
    SELECT {{keys}}, {_LASTED} AS lasted, sum(CASE WHEN {{crosses}} THEN u.units END) AS units,
        sum(CASE WHEN {{crosses}} THEN u.units::numeric * {_offset("u.begins")} END) AS began,
        {{memory}}
    FROM piece u {{found}} GROUP BY {{key_numbers}}
), placed AS (
    SELECT z.*, {{first}} AS first_segment, {{last}} AS last_segment FROM summed z
), segment AS (
    SELECT n, {_offset("g.since")} AS since, {_offset("g.until")} AS until
    FROM unnest(%(bounds)b::timestamptz[], %(ends)b::timestamptz[])
        WITH ORDINALITY AS g(since, until, n)
)
SELECT z.account_id, z.pool_id, z.tier, g.n,
    0.000001 * sum({_in_segment("lasted", "began", "units")}),
    0.000001 * sum({_in_segment("memory_lasted", "memory_began", "memory")}) {{details}}
FROM placed z JOIN segment g ON g.n BETWEEN z.first_segment AND z.last_segment
GROUP BY 1, 2, 3, 4 {{detail_numbers}}
"""
_FIRST_DETAIL: Final = 7

# As `accounting.queries.evidence_sql.USED`: records, those that have run since long before, and
# what runs in allocations that no record tells of yet. No union, whose rows would be copied on
# their way: the first statement may read millions, and what it need not ask of each is left out.
_RECORDS = f"""
WITH used AS (
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, u.labels, u.sign * u.units AS units,
        u.units AS size, u.sign * u.memory_gb AS memory_gb, u.started_at, u.ended_at,
        u.sign, u.source_id, u.key, u.batch_id
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b AND {{when}}
){_SUMS}
"""
_OF_MONTH = _RECORDS.replace("{when}", "u.started_at >= %(start)b AND u.started_at < %(until)b")
_OF_MONTH = _OF_MONTH.replace("{begins}", "u.started_at")
_RECENT = _RECORDS.replace(
    "{when}",
    "u.started_at >= %(recent)b AND u.started_at < %(start)b"
    " AND (u.ended_at > %(start)b OR u.ended_at IS NULL)",
)
_OPEN = """
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, r.labels, u.units, u.units AS size,
        r.memory_gb, u.started_at, u.ended_at, 1::smallint AS sign, u.source_id,
        u.key, r.batch_id
    FROM accounting_openusage u
    JOIN accounting_usagekey k ON k.organization_id = u.organization_id
        AND k.source_id = u.source_id AND k.key = u.key
    JOIN accounting_usagerecord r ON r.organization_id = k.organization_id
        AND r.batch_id = k.batch_id AND r.row_no = k.row_no AND r.started_at = k.started_at
    WHERE u.organization_id = %(organization)b
"""
_LONG = f"""
WITH used AS (
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, u.labels, u.sign * u.units AS units,
        u.units AS size, u.sign * u.memory_gb AS memory_gb, u.started_at, u.ended_at,
        u.sign, u.source_id, u.key, u.batch_id
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b AND u.ended_at - u.started_at > {RECENT}
        AND u.ended_at > %(start)b AND u.started_at < %(recent)b
    UNION ALL {_OPEN} AND u.ended_at IS NULL AND u.started_at < %(recent)b
){_SUMS}
"""
_OPEN_USE = f"""
WITH used AS ({_OPEN} AND u.started_at < %(until)b
    AND (u.ended_at > %(start)b OR u.ended_at IS NULL)
){_SUMS}
"""
_LIVE = f"""
WITH live AS MATERIALIZED (
    SELECT a.* FROM quota_allocation a
    WHERE a.organization_id = %(organization)b AND a.lapses_at IS NOT NULL
), {REPORTED}, ran AS (
    SELECT u.account_id, u.person_id, u.pool_id, s.tier, u.labels, s.units,
        s.units AS size, NULL::numeric AS memory_gb, s.at AS started_at,
        least(u.lapses_at, lead(s.at) OVER (PARTITION BY u.id ORDER BY s.step)) AS ended_at,
        1::smallint AS sign, NULL::uuid AS source_id, u.key, NULL::uuid AS batch_id
    FROM live u
    CROSS JOIN LATERAL (SELECT (e.value->>0)::timestamptz AS at, (e.value->>1)::bigint AS units,
        (array_position(%(tiers)b::text[], e.value->>2) - 1)::smallint AS tier,
        e.ordinality AS step FROM jsonb_array_elements(u.steps) WITH ORDINALITY AS e) s
    WHERE NOT EXISTS (SELECT FROM reported r WHERE r.pool_id = u.pool_id AND r.job = u.key)
), used AS (
    SELECT u.* FROM ran u
    WHERE u.started_at < %(until)b AND (u.ended_at IS NULL
        OR u.ended_at > %(start)b AND u.ended_at > u.started_at)
){_SUMS}
"""
_ALL = (_OF_MONTH, _RECENT, _LONG, _LIVE)
_UNSETTLED = (_OPEN_USE, _LIVE)
_SUBTREE = "AND u.account_id = ANY (%(accounts)b::uuid[])"


def filters(wanted: Wanted) -> dict[str, str]:
    """Which rows of `u` are wanted, as the parts `among` and `only` of a statement."""
    return {
        "among": "" if wanted.accounts is None else _SUBTREE,
        "only": "" if wanted.tier is None else "AND u.tier = %(tier)b::smallint",
    }


def filter_values(wanted: Wanted) -> dict[str, Any]:
    """The parameters of `filters`, and the organization."""
    values: dict[str, Any] = {"organization": wanted.organization_id}
    if wanted.accounts is not None:
        values["accounts"] = list(wanted.accounts)
    if wanted.tier is not None:
        values["tier"] = TIERS[wanted.tier]
    return values


def _parts(wanted: Wanted) -> dict[str, str]:
    """What the statements leave open."""
    account = "u.account_id" if wanted.by_account else "NULL::uuid AS account_id"
    keys = [account, "u.pool_id", "u.tier"]
    keys += [f"{column} AS detail{n}" for n, column in enumerate(wanted.columns)]
    segments = len(wanted.bounds) - 1
    placed = _compared(segments) if segments <= COMPARED_BOUNDS + 1 else _looked_up()
    keys += placed.pop("sides").split("; ") if segments > 1 else []
    count = range(len(wanted.columns))
    return {
        "begins": "greatest(u.started_at, %(start)b)",
        **filters(wanted),
        "keys": ", ".join(keys),
        "key_numbers": ", ".join(str(n + 1) for n in range(len(keys))),
        "memory": _MEMORY if wanted.memory else _NO_MEMORY,
        **placed,
        "details": "".join(f", z.detail{n}" for n in count),
        "detail_numbers": "".join(f", {_FIRST_DETAIL + n}" for n in count),
    }


def _compared(segments: int) -> dict[str, str]:
    """Which side of each bound both ends are on; the first segment has none."""
    bounds = {n: f"(%(bounds)b::timestamptz[])[{n}]" for n in range(2, segments + 1)}
    crossed = [f"u.begins < {bound} AND u.ends >= {bound}" for bound in bounds.values()]
    sides = [
        f"u.{end} >= {bound} AS {side}{n}"
        for end, side in (("begins", "a"), ("ends", "b"))
        for n, bound in bounds.items()
    ]
    return {
        "found": "",
        "sides": "; ".join(sides),
        "crosses": " OR ".join(["false", *crossed]),
        "first": " + ".join(["1", *(f"z.a{n}::integer" for n in bounds)]),
        "last": " + ".join(["1", *(f"z.b{n}::integer" for n in bounds)]),
    }


def _looked_up() -> dict[str, str]:
    """The numbers of the segments of both ends."""
    bounds = "%(bounds)b::timestamptz[]"
    numbers = f"(SELECT n::integer FROM generate_series(1, cardinality({bounds})) AS n)"
    return {
        "found": f"""JOIN {numbers} a ON a.n = width_bucket(u.begins, {bounds})
        JOIN {numbers} b ON b.n = width_bucket(u.ends, {bounds})""",
        "sides": "a.n AS a; b.n AS b",
        "crosses": "a.n < b.n",
        "first": "z.a",
        "last": "z.b",
    }
