"""Usage rows into the database: `COPY` to staging, set-based verdicts, one digest per batch.

Everything here runs inside one command's transaction. The lock on the organization's fair-share
state comes first after staging, so batches of one organization enter one after the other; that is
what makes key checks, rollups and the usage version simple and free of deadlocks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting.staging import COLUMNS, CREATE, Batch
from ledger.execution import Unit
from ledger.sql import server_cursor

NOTHING = UUID(int=0)
"""Content of a key that was superseded before its record came."""
LINE_MAX = 2**30
"""Lines are numbered below this, so that a row number has room for two reversals of each."""

ROW_COLUMNS = (
    "organization_id, batch_id, row_no, sign, source_id, key, account_id, person_id, pool_id, "
    "tier, units, started_at, ended_at, compute_util, productive_util, memory_gb, supersedes, "
    "labels, content"
)

_STORE = f"""
WITH src(name, id) AS (SELECT * FROM unnest(%b::text[], %b::uuid[])),
judged AS MATERIALIZED (
    SELECT s.*, src.id AS source_id, a.id AS account_id, p.id AS person_id, q.id AS pool_id,
        CASE
            WHEN k.content = s.content THEN 'duplicate'
            WHEN k.content = '{NOTHING}' AND s.supersedes IS NULL THEN 'superseded'
            WHEN k.content <> '{NOTHING}' THEN 'key_conflict'
            WHEN a.id IS NULL THEN 'account_unknown'
            WHEN p.id IS NULL THEN 'person_unknown'
            WHEN q.id IS NULL THEN 'pool_unknown'
            WHEN %b::uuid[] IS NOT NULL AND q.id <> ALL(%b::uuid[]) THEN 'pool_denied'
            WHEN s.supersedes IS NOT NULL AND t.superseded_by IS NOT NULL THEN 'already_superseded'
            WHEN s.supersedes IS NOT NULL AND t.key IS NULL AND NOT s.supersedes_optional
                THEN 'supersedes_unknown'
            WHEN k.key IS NOT NULL AND EXISTS (
                WITH RECURSIVE newer(key) AS (
                    SELECT k.superseded_by
                    UNION
                    SELECT up.superseded_by FROM newer
                    CROSS JOIN LATERAL (SELECT superseded_by FROM accounting_usagekey
                        WHERE organization_id = %b AND source_id = src.id AND key = newer.key
                        LIMIT 1) up
                    WHERE up.superseded_by IS NOT NULL
                )
                SELECT FROM newer WHERE newer.key = s.supersedes) THEN 'supersedes_itself'
        END AS code
    FROM staged_usage s
    JOIN src ON src.name = s.source
    -- Sub-selects with a limit stay index probes, however few keys the planner thinks there are:
    -- a join could read every key ever seen.
    LEFT JOIN LATERAL (SELECT key, content, superseded_by FROM accounting_usagekey
        WHERE organization_id = %b AND source_id = src.id AND key = s.key LIMIT 1) k ON true
    LEFT JOIN LATERAL (SELECT key, superseded_by FROM accounting_usagekey
        WHERE s.supersedes IS NOT NULL
            AND organization_id = %b AND source_id = src.id AND key = s.supersedes
        LIMIT 1) t ON true
    LEFT JOIN tenancy_account a ON a.organization_id = %b AND a.name = s.account
    LEFT JOIN tenancy_person p ON p.organization_id = %b AND p.name = s.person
    LEFT JOIN quota_pool q ON q.organization_id = %b AND q.name = s.pool
),
stored AS (
    INSERT INTO accounting_usagerecord ({ROW_COLUMNS})
    SELECT %b::uuid, %b::uuid, line, 1, source_id, key, account_id, person_id, pool_id, tier,
        units, started_at, ended_at, compute_util, productive_util, memory_gb, supersedes, labels,
        content
    FROM judged WHERE code IS NULL ORDER BY line
)
SELECT line, key, code, account, person, pool, supersedes FROM judged
WHERE code IS NOT NULL ORDER BY line
"""

_REVERSAL = f"""
INSERT INTO accounting_usagerecord ({ROW_COLUMNS})
SELECT old.organization_id, %b, %s, -1, old.source_id, old.key, old.account_id,
    old.person_id, old.pool_id, old.tier, old.units, old.started_at, old.ended_at,
    old.compute_util, old.productive_util, old.memory_gb, NULL, old.labels, old.content
"""
_REVERSE = f"""
{_REVERSAL.replace("%s", "-new.row_no")}
FROM accounting_usagerecord new
-- Index probes, as above: finished jobs of sacct all supersede a key that is mostly not known.
CROSS JOIN LATERAL (SELECT batch_id, row_no, started_at FROM accounting_usagekey
    WHERE organization_id = new.organization_id AND source_id = new.source_id
        AND key = new.supersedes LIMIT 1) k
CROSS JOIN LATERAL (SELECT * FROM accounting_usagerecord
    WHERE organization_id = new.organization_id AND batch_id = k.batch_id
        AND row_no = k.row_no AND started_at = k.started_at LIMIT 1) old
WHERE new.organization_id = %b AND new.batch_id = %b AND new.supersedes IS NOT NULL
    AND new.started_at BETWEEN %b AND %b
RETURNING started_at
"""

# Both are of this batch: the keys do not know them yet, but the lines are known.
_REVERSE_REPLACED = f"""
WITH pair(newer, older) AS (SELECT * FROM unnest(%b::integer[], %b::integer[])),
batch AS (SELECT %b::uuid AS organization_id, %b::uuid AS id)
{_REVERSAL.replace("%b", "batch.id").replace("%s", "-pair.newer")}
FROM pair CROSS JOIN batch
CROSS JOIN LATERAL (SELECT FROM accounting_usagerecord
    WHERE organization_id = batch.organization_id AND batch_id = batch.id
        AND row_no = pair.newer AND started_at BETWEEN %b AND %b LIMIT 1) new
CROSS JOIN LATERAL (SELECT * FROM accounting_usagerecord
    WHERE organization_id = batch.organization_id AND batch_id = batch.id
        AND row_no = pair.older AND started_at BETWEEN %b AND %b LIMIT 1) old
"""

# A record that was superseded before it came, and supersedes another: it counts for nothing, but
# the other is taken back. Its own reversal needs a number that no other row has.
_REVERSE_LATE = f"""
{_REVERSAL.replace("%s", f"-old.row_no - {LINE_MAX}")}
FROM accounting_usagerecord old
CROSS JOIN LATERAL (SELECT FROM (SELECT content FROM accounting_usagekey
    WHERE organization_id = old.organization_id AND source_id = old.source_id
        AND key = old.key LIMIT 1) known WHERE known.content = '{NOTHING}') k
WHERE old.organization_id = %b AND old.batch_id = %b AND old.supersedes IS NOT NULL
    AND old.started_at BETWEEN %b AND %b
"""

_ROWS = f"""
SELECT {ROW_COLUMNS} FROM accounting_usagerecord
WHERE organization_id = '%s' AND batch_id = '%s'
    AND started_at BETWEEN '%s'::timestamptz AND '%s'::timestamptz
ORDER BY row_no
"""

_TOTALS = """
SELECT count(*), coalesce(sum(sign * units * extract(epoch FROM ended_at - started_at)), 0),
    min(started_at), max(started_at)
FROM accounting_usagerecord
WHERE organization_id = %b AND batch_id = %b AND started_at BETWEEN %b AND %b
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """What one batch added to the usage table."""

    rows: int
    unit_seconds: Decimal
    first_started_at: datetime
    last_started_at: datetime
    digest: str


def stage(batch: Batch) -> None:
    """Copy a batch's good lines into the staging table of this transaction."""
    with server_cursor() as cursor:
        # A batch's sorts and hashes fit in memory, and compiling its queries takes longer than
        # running them; the settings end with the transaction.
        cursor.execute(
            "SELECT set_config('work_mem', '256MB', true), set_config('jit', 'off', true)"
        )
        cursor.execute(CREATE)
        cursor.execute("TRUNCATE staged_usage")
        with cursor.copy(f"COPY staged_usage ({COLUMNS}) FROM STDIN") as copy:
            copy.write(batch.copy_text)
        # Without numbers the planner takes a batch of 100,000 for a handful; rough ones will do.
        cursor.execute("SELECT set_config('default_statistics_target', '5', true)")
        cursor.execute("ANALYZE staged_usage")


def lock(unit: Unit) -> None:
    """Let one batch of the organization in at a time, until this transaction ends."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM accounting_fairsharestate WHERE organization_id = %b FOR UPDATE",
            (unit.organization_id,),
        )


def known_sources(unit: Unit, names: Sequence[str]) -> dict[str, UUID]:
    """Ids of the sources that exist already."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT name, id FROM accounting_usagesource "
            "WHERE organization_id = %b AND name = ANY(%b)",
            (unit.organization_id, list(names)),
        )
        return dict(cursor.fetchall())


def store(
    unit: Unit, batch_id: UUID, *, sources: Mapping[str, UUID], pool_ids: frozenset[UUID] | None
) -> list[tuple]:
    """Move staged records into the usage table; returns (line, key, code, account, person, pool,
    supersedes) of those that stay out."""
    organization_id = unit.organization_id
    pools = list(pool_ids) if pool_ids is not None else None
    with server_cursor() as cursor:
        return cursor.execute(
            _STORE,
            (
                list(sources),
                list(sources.values()),
                pools,
                pools,
                *([organization_id] * 7),
                batch_id,
            ),
        ).fetchall()


def reverse_superseded(unit: Unit, batch_id: UUID, batch: Batch) -> tuple[datetime, ...]:
    """Add a reversal for every record that this batch supersedes, and for every one of its own
    that was superseded before it came; returns when those of earlier batches started."""
    which = (unit.organization_id, batch_id)
    span = (batch.first_started_at, batch.last_started_at)
    with server_cursor() as cursor:
        cursor.execute(_REVERSE_LATE, (batch_id, *which, *span))
        if batch.replaced:
            lines = (list(batch.replaced), list(batch.replaced.values()))
            cursor.execute(_REVERSE_REPLACED, (*lines, *which, *span, *span))
        rows = cursor.execute(_REVERSE, (batch_id, *which, *span)).fetchall()
    return tuple(row[0] for row in rows)


def summarize(
    organization_id: UUID, batch_id: UUID, *, first: datetime, last: datetime
) -> StoredRows | None:
    """Count, sum and digest the rows of a batch that start from `first` to `last`, or None when
    it has none. Verification computes the same from the same statements."""
    with server_cursor() as cursor:
        rows, unit_seconds, lowest, highest = cursor.execute(
            _TOTALS, (organization_id, batch_id, first, last)
        ).fetchone()
        if rows == 0:
            return None
        digest = hashlib.sha256()
        # A fixed way of writing instants and numbers, whatever the session's settings are.
        cursor.execute(
            "SELECT set_config('datestyle', 'ISO, YMD', true), set_config('timezone', 'UTC', true)"
        )
        query = _ROWS % (organization_id, batch_id, first.isoformat(), last.isoformat())
        with cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
            for block in copy:
                digest.update(block)
    return StoredRows(
        rows=rows,
        unit_seconds=Decimal(unit_seconds),
        first_started_at=lowest,
        last_started_at=highest,
        digest=digest.hexdigest(),
    )
