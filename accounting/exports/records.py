"""Usage records behind a month's statements as rows: every stored row that touches the month, the
ones that take a corrected record back among them, so that the unit-seconds add up.

Of a closed month those that had come when its close ended: rows are never changed, so the file is
the same whenever it is made. Runs inside `scope.snapshot`.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from accounting.exports.extent import Extent
from accounting.exports.tables import (
    RENAMED,
    Column,
    Kind,
    SqlTable,
    instant_in_sql,
    named,
    names_in_sql,
)
from accounting.queries.evidence_sql import RECENT
from accounting.staging import TIER_NAMES
from ledger.sql import server_cursor

# As in `accounting.usage_sums`: recent ones by their start, long ones by their end, and those that
# have run since long before.
_FOUND = f"""
WITH r AS NOT MATERIALIZED (
    SELECT u.* FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)s AND u.started_at < %(until)s
        AND u.started_at >= %(start)s::timestamptz - {RECENT}
        AND (u.ended_at > %(start)s OR u.ended_at IS NULL) {{among}}
    UNION ALL
    SELECT u.* FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)s AND u.ended_at - u.started_at > {RECENT}
        AND u.ended_at > %(start)s AND u.started_at < %(start)s::timestamptz - {RECENT} {{among}}
    UNION ALL
    SELECT u.* FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)s AND u.ended_at IS NULL
        AND u.started_at < %(start)s::timestamptz - {RECENT} {{among}}
)
"""


# As the key of the table has them: nearly as they are stored, so that sorting is quick. Ordering
# each part of the union would need no sort, and would read every older partition by its key.
_ORDER = "ORDER BY r.batch_id, r.row_no, r.started_at"
_KNOWN = """
FROM r WHERE r.batch_id NOT IN (SELECT id FROM accounting_usagebatch
    WHERE organization_id = %(organization)s AND recorded_at > %(known_by)s)
"""
_RECORDED_AT = f"""
(SELECT jsonb_object_agg(id, {instant_in_sql("recorded_at")}) FROM accounting_usagebatch
    WHERE organization_id = %(organization)s)->>r.batch_id::text"""
_SUBTREE: Final = "AND u.account_id = ANY (%(accounts)s::uuid[])"
_WHILE_BELOW: Final = """AND EXISTS (
    SELECT FROM unnest(%(accounts)s::uuid[], %(since)s::timestamptz[], %(left)s::timestamptz[])
        AS m(account_id, since, until)
    WHERE m.account_id = u.account_id AND m.since < coalesce(u.ended_at, 'infinity')
        AND m.until > u.started_at)"""
_TIERS = ", ".join(f"'{name}'" for name in TIER_NAMES)
_SECONDS = """r.sign * r.units * extract(epoch FROM
    least(r.ended_at, %(until)s) - greatest(r.started_at, %(start)s))"""
COLUMNS: Final = (
    named("source", Kind.TEXT, "r.source_id::text", names_in_sql("accounting_usagesource")),
    Column("key", Kind.TEXT, "r.key"),
    Column("sign", Kind.INTEGER, "r.sign"),
    Column("account_id", Kind.ID, "r.account_id"),
    named("account", Kind.TEXT, "r.account_id::text", names_in_sql("tenancy_account", RENAMED)),
    named("person", Kind.TEXT, "r.person_id::text", names_in_sql("tenancy_person")),
    named("pool", Kind.TEXT, "r.pool_id::text", names_in_sql("quota_pool")),
    Column("tier", Kind.ID, f"(ARRAY[{_TIERS}])[r.tier + 1]"),
    Column("units", Kind.INTEGER, "r.units"),
    Column("started_at", Kind.INSTANT, "r.started_at"),
    Column("ended_at", Kind.INSTANT, "r.ended_at"),
    Column("unit_seconds", Kind.DECIMAL, _SECONDS),
    Column("compute_util", Kind.DECIMAL, "r.compute_util"),
    Column("productive_util", Kind.DECIMAL, "r.productive_util"),
    Column("memory_gb", Kind.DECIMAL, "r.memory_gb"),
    Column("project", Kind.TEXT, "r.labels->>'project'"),
    Column("model", Kind.TEXT, "r.labels->>'model'"),
    Column("workload", Kind.TEXT, "r.labels->>'workload'"),
    Column("labels", Kind.TEXT, "r.labels::text"),
    Column("supersedes", Kind.TEXT, "r.supersedes"),
    Column("batch_id", Kind.ID, "r.batch_id"),
    Column("row", Kind.INTEGER, "r.row_no"),
    Column("recorded_at", Kind.INSTANT, f"({_RECORDED_AT})::timestamptz", _RECORDED_AT),
)


def table(extent: Extent) -> SqlTable:
    """The records of an export."""
    among, values = _among(extent)
    return SqlTable(
        columns=COLUMNS,
        facts=extent.facts,
        head=_FOUND.format(among=among),
        tail=f"{_KNOWN} {_ORDER}",
        values=values,
    )


def expected(extent: Extent) -> int:
    """About how many records there are, to tell how far an export is: of the whole organization as
    the batches say, which may be more than the month's."""
    if not extent.whole:
        return count(extent)
    month = extent.ground.month
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT coalesce(sum(rows), 0)::bigint FROM accounting_usagebatch "
            "WHERE organization_id = %b AND last_started_at >= %b AND first_started_at < %b",
            (extent.ground.organization_id, month.start, month.end),
        ).fetchone()[0]


def count(extent: Extent, *, limit: int | None = None) -> int:
    """How many records there are; with a limit, at most so many are counted."""
    among, values = _among(extent)
    bound = "" if limit is None else f"LIMIT {limit}"
    sql = f"{_FOUND.format(among=among)} SELECT count(*) FROM (SELECT 1 {_KNOWN} {bound}) counted"
    with server_cursor() as cursor:
        return cursor.execute(sql, values).fetchone()[0]


def measured_in_sql(extent: Extent) -> tuple[str, Mapping[str, Any]]:
    """A query of the same records by account, pool and tier (as it is stored): unit-seconds of
    which compute was measured, the busy part of them, and both of productive use."""
    among, values = _among(extent)
    sql = f"""{_FOUND.format(among=among)}
    SELECT account_id, pool_id, tier,
        sum(s) FILTER (WHERE compute_util IS NOT NULL), sum(s * compute_util),
        sum(s) FILTER (WHERE productive_util IS NOT NULL), sum(s * productive_util)
    FROM (SELECT r.*, {_SECONDS} AS s {_KNOWN}
        AND (r.compute_util IS NOT NULL OR r.productive_util IS NOT NULL)) k
    GROUP BY 1, 2, 3"""
    return sql, values


def _among(extent: Extent) -> tuple[str, Mapping[str, Any]]:
    """The condition that tells whose records, and all values."""
    here = extent.ground
    values: dict[str, Any] = {
        "organization": here.organization_id,
        "start": here.month.start,
        "until": here.until,
        "known_by": extent.known_by,
        "renamed": msgspec.json.encode(extent.renamed).decode(),
    }
    if extent.whole:
        return "", values
    members = _members(extent)
    accounts, since, until = (list(column) for column in zip(*members, strict=True))
    if len(here.trees) == 1:
        return _SUBTREE, values | {"accounts": accounts}
    return _WHILE_BELOW, values | {"accounts": accounts, "since": since, "left": until}


def _members(extent: Extent) -> list[tuple[UUID, Any, Any]]:
    """The account and all below it, each with the stretches of the month in which it was there."""
    here = extent.ground
    ends = [*here.tree_starts[1:], here.month.end]
    return [
        (account, since, until)
        for tree, since, until in zip(here.trees, here.tree_starts, ends, strict=True)
        for account, above in sorted(tree.items())
        if extent.spec.account_id in above
    ]
