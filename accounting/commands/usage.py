"""Record usage, and settle records whose end has passed."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounting import events, ingest
from accounting.staging import Batch, RecordVerdict
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from tenancy.domain.roles import SYSTEM_ONLY, Scope


@dataclass(frozen=True, slots=True)
class RecordUsage:
    """Store a checked batch of records, each counted exactly once.

    `content_digest` binds an idempotency key to the content.
    """

    batch: Batch
    content_digest: bytes
    pool_ids: frozenset[UUID] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecorded:
    """What became of a batch. `records` lists every record that was not accepted."""

    batch_id: UUID | None
    accepted: int
    duplicates: int
    conflicts: int
    rejected: int
    records: tuple[RecordVerdict, ...]


_STATUS = {
    "duplicate": "duplicate",
    "superseded": "duplicate",
    "key_conflict": "conflict",
    "already_superseded": "conflict",
}
_FIELD = {
    "duplicate": None,
    "superseded": None,
    "key_conflict": "key",
    "account_unknown": "account",
    "person_unknown": "person",
    "pool_unknown": "pool",
    "pool_denied": "pool",
    "already_superseded": "supersedes",
    "supersedes_unknown": "supersedes",
    "supersedes_itself": "supersedes",
}


@handles(RecordUsage, permission=Scope.USAGE_WRITE)
def record_usage(command: RecordUsage, unit: Unit) -> UsageRecorded:
    """Stage, judge and store the rows; one event says how many they are and what their
    digest is."""
    batch = command.batch
    verdicts = list(batch.verdicts)
    batch_id = None
    left_out: list[tuple] = []
    if batch.staged:
        batch_id = unit.new_id()
        ingest.stage(batch)
        ingest.lock(unit)
        sources = _sources(batch, unit)
        left_out = ingest.store(unit, batch_id, sources=sources, pool_ids=command.pool_ids)
        verdicts.extend(_verdict(row) for row in left_out)
        verdicts.sort(key=lambda verdict: verdict.line)
        if len(left_out) < batch.staged:
            _record_batch(batch, batch_id, sources, verdicts, unit)
        else:
            batch_id = None
    counts = Counter(verdict.status for verdict in verdicts)
    return UsageRecorded(
        batch_id=batch_id,
        accepted=batch.staged - len(left_out),
        duplicates=counts["duplicate"],
        conflicts=counts["conflict"],
        rejected=counts["rejected"],
        records=tuple(verdicts),
    )


def _sources(batch: Batch, unit: Unit) -> dict[str, UUID]:
    """Ids of the batch's sources; new ones are registered in this command."""
    known = ingest.known_sources(unit, sorted(batch.sources))
    for name in sorted(batch.sources - known.keys()):
        known[name] = unit.new_id()
        unit.record(events.UsageSourceRegistered(source_id=known[name], name=name))
    return known


def _record_batch(
    batch: Batch,
    batch_id: UUID,
    sources: dict[str, UUID],
    verdicts: list[RecordVerdict],
    unit: Unit,
) -> None:
    starts = [batch.first_started_at, batch.last_started_at]
    if batch.supersedes:
        starts += ingest.reverse_superseded(unit, batch_id, batch)
    stored = ingest.summarize(unit.organization_id, batch_id, first=min(starts), last=max(starts))
    unit.record(
        events.UsageBatchRecorded(
            batch_id=batch_id,
            source_ids=tuple(sorted(sources.values())),
            rows=stored.rows,
            duplicates=sum(v.status == "duplicate" for v in verdicts),
            conflicts=sum(v.status == "conflict" for v in verdicts),
            rejected=sum(v.status == "rejected" for v in verdicts),
            unit_seconds=stored.unit_seconds,
            first_started_at=stored.first_started_at,
            last_started_at=stored.last_started_at,
            digest=stored.digest,
        )
    )


def _verdict(row: tuple) -> RecordVerdict:
    line, key, code, account, person, pool, supersedes = row
    details = {
        "duplicate": "Counted before, with the same content.",
        "superseded": "A later record has superseded this one already.",
        "key_conflict": "This key was recorded with other content. Send a correction under a new "
        "key that supersedes it.",
        "account_unknown": f"There is no account {account}.",
        "person_unknown": f"There is no person {person}.",
        "pool_unknown": f"There is no pool {pool}.",
        "pool_denied": f"This token may not report use of pool {pool}.",
        "already_superseded": f"{supersedes} was superseded by another record already.",
        "supersedes_unknown": f"No record {supersedes} of this source is known.",
        "supersedes_itself": "By way of others the record would supersede itself.",
    }
    return RecordVerdict(
        line, key, _STATUS.get(code, "rejected"), code, _FIELD[code], details[code]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleUsage:
    """Let records whose end has passed by `until` count as ended use."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSettledAnswer:
    """How many records were settled."""

    records: int


@handles(SettleUsage, permission=SYSTEM_ONLY)
def settle_usage(command: SettleUsage, unit: Unit) -> UsageSettledAnswer:
    """Record the settlement when there is something to settle; never beyond the present."""
    ingest.lock(unit)
    until = min(command.until, unit.now)
    with server_cursor() as cursor:
        due = cursor.execute(
            "SELECT count(*) FROM accounting_openusage "
            "WHERE organization_id = %b AND ended_at <= %b",
            (unit.organization_id, until),
        ).fetchone()[0]
    if due:
        unit.record(events.UsageSettled(organization_id=unit.organization_id, until=until))
    return UsageSettledAnswer(records=due)
