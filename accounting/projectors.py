"""Events of usage and fair-share to rows: keys, open records, daily rollups, decayed sums.

All sums come from the stored rows by set-based SQL, the same in the recording transaction and in
a rebuild. The order of arrival cannot matter: sums are `numeric`, and each record's forward
weight is rounded once, on its own (docs/design.md part 5).
"""

from collections.abc import Sequence
from uuid import UUID

from accounting import closed_usage
from accounting import events as ev
from accounting.domain.policy import DEFAULT_ALGORITHM, DEFAULT_HALF_LIFE_SECONDS
from accounting.ingest import NOTHING
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import Event, RecordedEvent
from quota.events import FlavorWeightSet
from tenancy import events as tenancy

Run = Sequence[RecordedEvent]

_ROWS = """
SELECT r.* FROM accounting_usagerecord r
WHERE r.organization_id = %b AND r.batch_id = %b AND r.started_at BETWEEN %b AND %b
"""

_KEYS = f"""
INSERT INTO accounting_usagekey
    (organization_id, source_id, key, batch_id, row_no, started_at, content)
SELECT organization_id, source_id, key, batch_id, row_no, started_at, content
FROM ({_ROWS}) r WHERE r.sign = 1
ON CONFLICT (organization_id, source_id, key) DO UPDATE SET batch_id = excluded.batch_id,
    row_no = excluded.row_no, started_at = excluded.started_at, content = excluded.content
WHERE accounting_usagekey.content = '{NOTHING}'
"""

# A record may be superseded before it comes: then its key is taken with no content.
_SUPERSEDED = f"""
INSERT INTO accounting_usagekey
    (organization_id, source_id, key, batch_id, row_no, started_at, content, superseded_by)
SELECT organization_id, source_id, supersedes, batch_id, row_no, started_at, '{NOTHING}', key
FROM ({_ROWS}) r WHERE r.sign = 1 AND r.supersedes IS NOT NULL
ON CONFLICT (organization_id, source_id, key) DO UPDATE SET superseded_by = excluded.superseded_by
"""

_OPEN = f"""
INSERT INTO accounting_openusage (organization_id, source_id, key, account_id, person_id, pool_id,
    tier, units, started_at, ended_at, compute_util, productive_util)
SELECT organization_id, source_id, key, account_id, person_id, pool_id, tier, units, started_at,
    ended_at, compute_util, productive_util
FROM ({_ROWS}) r WHERE r.sign = 1 AND (r.ended_at IS NULL OR r.ended_at > %b)
"""

# A reversal either takes back an open record, or a part of the sums.
_CLOSED_OF_BATCH = f"""
WITH batch AS ({_ROWS}),
gone AS (
    DELETE FROM accounting_openusage o USING batch r
    WHERE r.sign = -1 AND o.organization_id = r.organization_id
        AND o.source_id = r.source_id AND o.key = r.key
    RETURNING o.source_id, o.key
),
closed AS MATERIALIZED (
    SELECT r.organization_id, r.account_id, r.person_id, r.pool_id, r.tier, r.sign, r.units,
        r.started_at, r.ended_at, r.compute_util, r.productive_util
    FROM batch r
    WHERE CASE WHEN r.sign = 1 THEN r.ended_at <= %b
          ELSE NOT EXISTS (
              SELECT 1 FROM gone g WHERE g.source_id = r.source_id AND g.key = r.key) END
)
"""

_CLOSED_BY_SETTLEMENT = """
WITH closed AS (
    DELETE FROM accounting_openusage WHERE organization_id = %b AND ended_at <= %b
    RETURNING organization_id, account_id, person_id, pool_id, tier, 1 AS sign, units,
        started_at, ended_at, compute_util, productive_util
)
"""

# Everything that ended and is not still counted as open; records and reversals of records that
# never ended cancel out and have no weight anyway. Only of batches projected so far: a rebuild
# comes by here while the rows of all later batches are in the table already.
_CLOSED_EVER = """
WITH closed AS (
    SELECT r.organization_id, r.account_id, r.person_id, r.pool_id, r.tier, r.sign, r.units,
        r.started_at, r.ended_at, r.compute_util, r.productive_util
    FROM accounting_usagerecord r
    JOIN accounting_usagebatch b ON b.organization_id = r.organization_id AND b.id = r.batch_id
    WHERE r.organization_id = %b AND r.ended_at IS NOT NULL
        AND NOT (r.sign = 1 AND EXISTS (
            SELECT 1 FROM accounting_openusage o WHERE o.organization_id = r.organization_id
                AND o.source_id = r.source_id AND o.key = r.key))
)
"""


def organization_created(run: Run) -> None:
    """A new organization starts with the default policy."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "INSERT INTO accounting_fairsharestate (organization_id, algorithm, "
                "half_life_seconds, weights, boosts, tree_version, usage_version) "
                "VALUES (%b, %b, %b, '{}', '{}', 1, 1)",
                (event.organization_id, DEFAULT_ALGORITHM, DEFAULT_HALF_LIFE_SECONDS),
            )


def tree_changed(run: Run) -> None:
    """Caches of the tree are stale from now on."""
    with server_cursor() as cursor:
        cursor.execute(
            "UPDATE accounting_fairsharestate SET tree_version = tree_version + 1 "
            "WHERE organization_id = %b",
            (run[0].organization_id,),
        )


def source_registered(run: Run) -> None:
    """New sources."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "INSERT INTO accounting_usagesource (organization_id, id, name) "
                "VALUES (%b, %b, %b)",
                (event.organization_id, event.data.source_id, event.data.name),
            )


def batch_recorded(run: Run) -> None:
    """Keys, open records, rollups and decayed sums of each batch's rows."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            _batch_row(cursor, event)
            which = (
                event.organization_id,
                data.batch_id,
                data.first_started_at,
                data.last_started_at,
            )
            cursor.execute(_KEYS, which)
            cursor.execute(_SUPERSEDED, which)
            # Open ones first: a batch may hold a record and the one that takes its place.
            cursor.execute(_OPEN, (*which, event.recorded_at))
            closed_usage.add(
                cursor, _CLOSED_OF_BATCH, (*which, event.recorded_at), event.organization_id
            )


def _batch_row(cursor, event: RecordedEvent) -> None:
    data = event.data
    cursor.execute(
        "INSERT INTO accounting_usagebatch (organization_id, id, event_id, source_ids, "
        "recorded_at, rows, duplicates, conflicts, rejected, unit_seconds, "
        "first_started_at, last_started_at, digest) "
        "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b)",
        (
            event.organization_id,
            data.batch_id,
            event.id,
            list(data.source_ids),
            event.recorded_at,
            data.rows,
            data.duplicates,
            data.conflicts,
            data.rejected,
            data.unit_seconds,
            data.first_started_at,
            data.last_started_at,
            data.digest,
        ),
    )


def usage_settled(run: Run) -> None:
    """Records whose end has passed move from the open ones into the sums."""
    with server_cursor() as cursor:
        for event in run:
            which = (event.organization_id, event.data.until)
            closed_usage.add(cursor, _CLOSED_BY_SETTLEMENT, which, event.organization_id)


def policy_set(run: Run) -> None:
    """The policy; another half-life weighs all use anew from the rows."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "WITH old AS (SELECT half_life_seconds FROM accounting_fairsharestate "
                "             WHERE organization_id = %b) "
                "UPDATE accounting_fairsharestate SET algorithm = %b, half_life_seconds = %b, "
                "weights = %b::text::jsonb, boosts = %b::text::jsonb, "
                "tree_version = tree_version + 1 "
                "WHERE organization_id = %b RETURNING (SELECT half_life_seconds FROM old)",
                (
                    event.organization_id,
                    data.algorithm,
                    data.half_life_seconds,
                    closed_usage.as_json(data.weights),
                    closed_usage.as_json(data.boosts),
                    event.organization_id,
                ),
            )
            if cursor.fetchone()[0] != data.half_life_seconds:
                _weigh_anew(cursor, event)


def reset(run: Run) -> None:
    """Earlier use no longer counts for priority."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_fairsharestate SET reset_at = %b, "
                "tree_version = tree_version + 1 "
                "WHERE organization_id = %b",
                (event.data.at, event.organization_id),
            )
            _weigh_anew(cursor, event)


def rebuilt(organization_id: UUID, changed: frozenset[str]) -> None:
    """Rows changed without an event: caches must load everything anew, and fetch changed sums."""
    with server_cursor() as cursor:
        version = cursor.execute(
            "UPDATE accounting_fairsharestate SET tree_version = tree_version + 1, "
            "usage_version = nextval('accounting_usage_version') WHERE organization_id = %b "
            "RETURNING usage_version",
            (organization_id,),
        ).fetchone()
        if version and "accounting_decayedusage" in changed:
            cursor.execute(
                "UPDATE accounting_decayedusage SET changed_in = %b WHERE organization_id = %b",
                (version[0], organization_id),
            )


def _weigh_anew(cursor, event: RecordedEvent) -> None:
    cursor.execute(
        "DELETE FROM accounting_decayedusage WHERE organization_id = %b", (event.organization_id,)
    )
    closed_usage.weigh(cursor, _CLOSED_EVER, (event.organization_id,), event.organization_id)


_TABLES = (
    ProjectedTable(name="accounting_usagebatch", key=("organization_id", "id")),
    ProjectedTable(name="accounting_usagekey", key=("organization_id", "source_id", "key")),
    ProjectedTable(name="accounting_openusage", key=("organization_id", "source_id", "key")),
    ProjectedTable(
        name="accounting_usageday",
        key=("organization_id", "account_id", "day", "person_id", "pool_id", "tier"),
    ),
    ProjectedTable(
        name="accounting_decayedusage",
        key=("organization_id", "account_id", "person_id", "pool_id", "epoch"),
        ignored=("changed_in",),
    ),
)
_SOURCE = ProjectedTable(name="accounting_usagesource", key=("organization_id", "id"))
_STATE = ProjectedTable(
    name="accounting_fairsharestate",
    key=("organization_id",),
    ignored=("tree_version", "usage_version"),
)

_TREE_EVENTS = frozenset(
    event.event_type
    for event in (
        tenancy.AccountOpened,
        tenancy.AccountMoved,
        tenancy.AccountRenamed,
        tenancy.AccountSharesSet,
        tenancy.AccountArchived,
        tenancy.PersonAdded,
        tenancy.PersonChanged,
        tenancy.AssociationSet,
        tenancy.AssociationEnded,
        FlavorWeightSet,
    )
) | {"flavor.defined", "pool.opened"}


def _projector(event_type: type[Event], project, *tables: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"accounting:{name}", project=project, types=frozenset({name}), tables=tables
    )


PROJECTORS = (
    _projector(tenancy.OrganizationCreated, organization_created, _STATE),
    Projector(name="accounting:tree", project=tree_changed, types=_TREE_EVENTS, tables=(_STATE,)),
    _projector(ev.UsageSourceRegistered, source_registered, _SOURCE),
    _projector(ev.UsageBatchRecorded, batch_recorded, *_TABLES),
    _projector(ev.UsageSettled, usage_settled, *_TABLES),
    _projector(ev.FairsharePolicySet, policy_set, _STATE, *_TABLES),
    _projector(ev.FairshareReset, reset, _STATE, *_TABLES),
)
