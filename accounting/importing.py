"""Usage from an importer into an organization: batch by batch, exactly once, with a report.

Used by `manage.py import_usage` and by whatever else has a file. Each batch is one command of its
own, so memory stays flat and a broken end of a file takes nothing back; running it again counts
nothing twice.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final
from uuid import UUID

from accounting.commands.usage import RecordUsage, UsageRecorded
from accounting.importers.pools import CPU_KIND, ResolvePool
from accounting.importers.record import ImportedRecord, ImportItem, ImportProblem, Skipped
from accounting.partitions import ensure
from accounting.staging import RECORDS_MAX, Batch, RecordVerdict
from ledger import scope
from ledger.errors import Invalid
from ledger.execution import Context, execute
from ledger.sql import server_cursor
from ledger.types import Actor
from quota.queries import PoolRow
from tenancy.commands.imports import ImportTree
from tenancy.domain.tree import check_name
from tenancy.importers.tree import AccountEntry, AssociationEntry, PersonEntry, TreePlan

BATCH_DEFAULT: Final = 50_000
EXAMPLES_MAX: Final = 5
_SECOND_OF_LINE: Final = 1_000_000_000
"""Numbers from here on stand for further records of a line that gave several."""
_UNKNOWN: Final = ("account_unknown", "person_unknown", "pool_unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One of the first lines with a finding. `line` counts from 1 in the file."""

    line: int
    field: str | None
    detail: str
    value: str = ""


@dataclass(slots=True)
class Finding:
    """All lines with the same code."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, example: Example) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(example)


@dataclass(slots=True)
class ImportReport:
    """What became of a file. `records` counts what the importer made of it; each of them was
    accepted, a duplicate, a conflict or rejected. Lines without a record are in `rejected` (by
    code) or `skipped` (by reason)."""

    records: int = 0
    batches: int = 0
    accepted: int = 0
    duplicates: int = 0
    conflicts: dict[str, Finding] = field(default_factory=dict)
    rejected: dict[str, Finding] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    unknown_accounts: Counter[str] = field(default_factory=Counter)
    unknown_people: Counter[str] = field(default_factory=Counter)
    unknown_pools: Counter[str] = field(default_factory=Counter)
    accounts_opened: int = 0
    people_added: int = 0
    places_given: int = 0
    stopped: bool = False
    """The importer could read no further."""

    @property
    def is_clean(self) -> bool:
        """Everything was read and counted, now or before."""
        return not (self.conflicts or self.rejected or self.stopped)


def pool_resolver(pools: Sequence[PoolRow]) -> ResolvePool:
    """A pool by the kind of device: that of the job's cluster, else the only one of its kind.

    A kind `h100` fits the flavors `h100` and `h100-80gb`, the exact one first. Where several fit,
    nothing is guessed; cores are never mapped without being asked to.
    """

    @cache
    def by_kind(cluster: str, kind: str | None) -> str | None:
        if kind is None or kind == CPU_KIND:
            return None
        fitting = [pool for pool in pools if _fits(pool.flavor, kind)]
        near = [pool for pool in fitting if pool.cluster == cluster] or fitting
        exact = [pool for pool in near if pool.flavor.casefold() == kind.casefold()]
        found = exact or near
        return found[0].name if len(found) == 1 else None

    return lambda cluster, partition, kind: by_kind(cluster, kind)


def _fits(flavor: str, kind: str) -> bool:
    return f"{flavor.casefold()}-".startswith(f"{kind.casefold()}-")


@dataclass(frozen=True, slots=True)
class StagedRecords:
    """A checked batch, and which record each of its line numbers stands for."""

    batch: Batch
    by_line: dict[int, ImportedRecord]


def staged(records: Iterable[ImportedRecord], *, source: str, now: datetime) -> StagedRecords:
    """Records as a checked batch. Rows are numbered by their lines, each number once."""
    by_line: dict[int, ImportedRecord] = {}
    for count, record in enumerate(records, start=1):
        line = record.line or count
        by_line[line if line not in by_line else _SECOND_OF_LINE + count] = record
    batch = Batch(now=now)
    batch.add_all(by_line.items(), source=source)
    return StagedRecords(batch, by_line)


def record_batch(batch: Batch, context: Context) -> UsageRecorded:
    """Store a staged batch, with the partitions that it needs."""
    if batch.first_started_at is not None and batch.last_started_at is not None:
        ensure(batch.first_started_at.date(), batch.last_started_at.date())
    command = RecordUsage(batch=batch, content_digest=batch.content_digest)
    return execute(command, context).result


@dataclass(slots=True, kw_only=True)
class UsageImport:
    """An import under way. `source` is the namespace of keys for records that name none.

    With `create_accounts`, accounts that are unknown are opened under the root, people added and
    put under their accounts, before the batch that names them. Pools are never invented.
    """

    organization_id: UUID
    actor: Actor
    source: str
    clock: Callable[[], datetime]
    batch_size: int = BATCH_DEFAULT
    create_accounts: bool = False
    dry_run: bool = False
    reason: str = ""
    report: ImportReport = field(default_factory=ImportReport)
    _accounts: set[str] = field(default_factory=set)
    _people: set[str] = field(default_factory=set)
    _places: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= RECORDS_MAX:
            raise Invalid("batch_size", f"A batch has 1 to {RECORDS_MAX} records.", field="batch")

    def run(
        self,
        items: Iterable[ImportItem],
        *,
        progress: Callable[[ImportReport], None] = lambda report: None,
    ) -> ImportReport:
        """Take everything the importer gives; `progress` is called after each batch."""
        records: list[ImportedRecord] = []
        for item in items:
            match item:
                case ImportedRecord():
                    records.append(item)
                    if len(records) == self.batch_size:
                        self._ingest(records)
                        progress(self.report)
                        records = []
                case Skipped():
                    self.report.skipped[item.reason] += 1
                case ImportProblem():
                    self._problem(item)
        if records:
            self._ingest(records)
            progress(self.report)
        return self.report

    def _problem(self, problem: ImportProblem) -> None:
        self.report.stopped |= problem.fatal
        if problem.code == "unknown_pool":
            self.report.unknown_pools[problem.value] += 1
        finding = self.report.rejected.setdefault(problem.code, Finding())
        finding.add(
            Example(
                line=problem.line,
                field=problem.field,
                detail=problem.detail,
                value=problem.value,
            )
        )

    def _context(self) -> Context:
        return Context(
            organization_id=self.organization_id,
            actor=self.actor,
            now=self.clock(),
            dry_run=self.dry_run,
            reason=self.reason,
        )

    def _ingest(self, records: list[ImportedRecord]) -> None:
        if self.create_accounts:
            self._create(records)
        context = self._context()
        assert context.now is not None
        content = staged(records, source=self.source, now=context.now)
        answer = record_batch(content.batch, context)
        report = self.report
        report.records += len(records)
        report.batches += 1
        report.accepted += answer.accepted
        report.duplicates += answer.duplicates
        unknown: list[tuple[RecordVerdict, ImportedRecord]] = []
        for verdict in answer.records:
            if verdict.status == "duplicate":
                continue
            record = content.by_line[verdict.line]
            if verdict.code in _UNKNOWN:
                unknown.append((verdict, record))
            else:
                self._add(verdict, record)
        if unknown:
            self._take_unknown(unknown)

    def _take_unknown(self, unknown: list[tuple[RecordVerdict, ImportedRecord]]) -> None:
        """Count every unknown name of a record, not only the first one that the ingest met."""
        records = [record for _, record in unknown]
        # In a dry run what was created is gone again; those records would have been taken.
        accounts = self._missing("tenancy_account", {one.account for one in records})
        accounts -= self._accounts
        people = self._missing("tenancy_person", {one.person for one in records}) - self._people
        pools = self._missing("quota_pool", {one.pool for one in records})
        for verdict, record in unknown:
            lacking = False
            for name, missing, counter in (
                (record.account, accounts, self.report.unknown_accounts),
                (record.person, people, self.report.unknown_people),
                (record.pool, pools, self.report.unknown_pools),
            ):
                if name in missing:
                    counter[name] += 1
                    lacking = True
            if lacking:
                self._add(verdict, record)
            else:
                self.report.accepted += 1

    def _add(self, verdict: RecordVerdict, record: ImportedRecord) -> None:
        findings = self.report.conflicts if verdict.status == "conflict" else self.report.rejected
        findings.setdefault(verdict.code, Finding()).add(
            Example(line=record.line, field=verdict.field, detail=verdict.detail, value=record.key)
        )

    # ------------------------------------------------------------------ accounts and people

    def _create(self, records: list[ImportedRecord]) -> None:
        """Open, add and place what the records name and the organization lacks."""
        pairs = {(record.account, record.person) for record in records}
        accounts = self._missing("tenancy_account", {account for account, _ in pairs})
        people = self._missing("tenancy_person", {person for _, person in pairs})
        bad = {name for name in accounts | people if not _is_name(name)}
        places = {
            (account, person)
            for account, person in self._missing_places(pairs, new=accounts)
            if account not in bad and person not in bad
        }
        plan = TreePlan(
            accounts=tuple(AccountEntry(name=name) for name in sorted(accounts - bad)),
            people=tuple(PersonEntry(name=name) for name in sorted(people - bad)),
            associations=tuple(
                AssociationEntry(account=account, person=person)
                for account, person in sorted(places)
            ),
        )
        if plan == TreePlan():
            return
        execute(ImportTree(wanted=plan), self._context())
        self._accounts |= accounts - bad
        self._people |= people - bad
        self._places |= places
        self.report.accounts_opened = len(self._accounts)
        self.report.people_added = len(self._people)
        self.report.places_given = len(self._places)

    def _missing(self, table: str, names: Collection[str]) -> set[str]:
        with scope.reading(self.organization_id), server_cursor() as cursor:
            rows = cursor.execute(
                f"SELECT n.name FROM unnest(%b::text[]) AS n(name) WHERE NOT EXISTS ("
                f"  SELECT 1 FROM {table} t WHERE t.organization_id = %b AND t.name = n.name)",
                (list(names), self.organization_id),
            ).fetchall()
        return {row[0] for row in rows}

    def _missing_places(
        self, pairs: Collection[tuple[str, str]], *, new: Collection[str]
    ) -> set[tuple[str, str]]:
        """Pairs that need a place: in accounts that are open, the root and archived ones apart."""
        with scope.reading(self.organization_id), server_cursor() as cursor:
            rows = cursor.execute(
                "SELECT n.account, n.person FROM unnest(%b::text[], %b::text[]) "
                "  AS n(account, person) "
                "LEFT JOIN tenancy_account a ON a.organization_id = %b AND a.name = n.account "
                "LEFT JOIN tenancy_person p ON p.organization_id = %b AND p.name = n.person "
                "LEFT JOIN tenancy_association s ON s.organization_id = %b "
                "  AND s.account_id = a.id AND s.person_id = p.id "
                "WHERE s.person_id IS NULL AND (n.account = ANY(%b::text[]) "
                "  OR a.archived_at IS NULL AND a.parent_id IS NOT NULL)",
                (
                    [account for account, _ in pairs],
                    [person for _, person in pairs],
                    *([self.organization_id] * 3),
                    list(new),
                ),
            ).fetchall()
        return {(row[0], row[1]) for row in rows}


def _is_name(name: str) -> bool:
    try:
        check_name(name, field="name")
    except Invalid:
        return False
    return True
