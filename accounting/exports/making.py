"""Making the file of an export: in one snapshot, by one worker, whole or not at all.

Whoever makes an export that another worker was killed at starts anew and, as long as the month is
closed, writes the same bytes. A worker holds a lock that its connection's end gives back, so the
next beat knows what nobody works on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Final
from uuid import UUID

import structlog
from django.core.cache import cache
from django.db import DatabaseError

from accounting.commands.exports import FailExport, FinishExport
from accounting.domain import exports as domain
from accounting.domain.exports import Format, Spec, What
from accounting.exports import csv, files, json, parquet, records, xlsx
from accounting.exports.extent import Extent, extent
from accounting.exports.focus import rows as focus
from accounting.exports.lines import Lines
from accounting.exports.tables import Table
from accounting.queries import exports as queries
from accounting.queries.exports import ExportRow
from ledger import scope
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.sql import server_cursor
from ledger.types import SYSTEM

Write = Callable[[Table, Path, Callable[[int], None]], None]

WRITERS: Final[dict[Format, Write]] = {
    Format.CSV: csv.write,
    Format.XLSX: xlsx.write,
    Format.PARQUET: parquet.write,
    Format.JSON: json.write,
    Format.JSONL: json.write_lines,
}
PROGRESS_SECONDS: Final = 3_600
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Made:
    """A whole file and what is in it."""

    written: files.Written
    rows: int
    state: str
    total: Decimal | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of how many rows are written; `of` 0: nobody has begun, or nobody knows."""

    rows: int
    of: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.rows / self.of) if self.of else 0.0


def progress(export_id: UUID) -> Progress:
    """How far an export is. A cache that has forgotten says that nobody has begun."""
    return Progress(*cache.get(_key(export_id), (0, 0)))


def make(organization_id: UUID, export_id: UUID, *, now: datetime | None = None) -> bool:
    """Make an export that waits and record what came of it.

    Args:
        now: of the record; None takes the clock when the file is there.

    Returns:
        False where there is nothing to do: it is made, gone, or in another worker's hands.

    Raises:
        DatabaseError: the database is away; whoever comes next tries again.
    """
    try:
        with files.writing() as path:
            made = _make(organization_id, export_id, path)
            if made is None:
                return False
            files.publish(
                made.written, files.name_of(organization_id, export_id, made.written.digest)
            )
    except DatabaseError:
        raise
    except DomainError as error:
        _fail(organization_id, export_id, error.code, error.detail, now)
        return True
    except Exception:
        log.exception("export_broken", export=str(export_id))
        _fail(
            organization_id,
            export_id,
            "export_broken",
            "Something of ours broke while the file was made. Operators find more in the log.",
            now,
        )
        return True
    finish = FinishExport(
        export_id=export_id,
        rows=made.rows,
        size=made.written.size,
        digest=made.written.digest,
        state=made.state,
        total=made.total,
    )
    _record(organization_id, finish, now)
    _drop_unwanted(organization_id, export_id, made.written.digest)
    return True


def is_small(organization_id: UUID, spec: Spec, *, asked_at: datetime) -> bool:
    """Whether one can wait for it. Counts no further than it must; inside `scope.reading`."""
    here = extent(organization_id, spec, asked_at=asked_at)
    if spec.what == What.RECORDS:
        limit = domain.SMALL_ROWS + 1
        return records.count(here, limit=limit) < limit
    if here.state != "closed":
        return records.count(here, limit=10 * domain.SMALL_ROWS) < 10 * domain.SMALL_ROWS
    days = 31 if spec.what == What.FOCUS else 1
    if days > 1 and records.count(here, limit=10 * domain.SMALL_ROWS) >= 10 * domain.SMALL_ROWS:
        return False
    return Lines(here).count() * days <= domain.SMALL_ROWS


def write(here: Extent, path: Path, done: Callable[[int], None]) -> tuple[int, Decimal | None]:
    """Write what an export holds; how many rows, and what its amounts add up to. Inside
    `scope.snapshot`.

    Raises:
        Refused: `export_too_large`, `focus_invalid`.
    """
    counted = _Counter(here.spec.format, done)
    lines = Lines(here)
    records_only = here.spec.what == What.RECORDS
    counted.expect(records.expected(here) if records_only else lines.count())
    WRITERS[here.spec.format](table_of(here, lines), path, counted)
    return counted.rows, None if records_only else lines.total()


def table_of(here: Extent, lines: Lines | None = None) -> Table:
    """What an export holds, as rows."""
    if here.spec.what == What.RECORDS:
        return records.table(here)
    lines = lines or Lines(here)
    return lines.table() if here.spec.what == What.LINES else focus.table(lines)


class _Counter:
    """Adds up rows and tells of them; no more than the format holds."""

    def __init__(self, suffix: Format, done: Callable[[int, int], None]) -> None:
        self.suffix = suffix
        self.rows = 0
        self.of = 0
        self._done = done

    def expect(self, rows: int) -> None:
        self.of = rows
        self._done(0, rows)

    def __call__(self, more: int) -> None:
        self.rows += more
        domain.check_rows(self.suffix, self.rows)
        self._done(self.rows, max(self.of, self.rows))


def _make(organization_id: UUID, export_id: UUID, path: Path) -> Made | None:
    with scope.snapshot(organization_id):
        if not _alone(export_id):
            return None
        row = queries.find(organization_id, export_id)
        if row is None or row.state != "requested":
            return None
        here = extent(organization_id, row.spec, asked_at=row.requested_at)
        rows, total = write(here, path, _teller(row))
        written = files.seal(path)
    places = here.ground.places
    return Made(written, rows, here.state, None if total is None else round(total, places))


def _alone(export_id: UUID) -> bool:
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"export:{export_id}",),
        ).fetchone()[0]


def _teller(row: ExportRow) -> Callable[[int, int], None]:
    key = _key(row.id)

    def tell(rows: int, of: int) -> None:
        cache.set(key, (rows, of), PROGRESS_SECONDS)

    return tell


def _key(export_id: UUID) -> str:
    return f"export:{export_id}"


def _fail(
    organization_id: UUID, export_id: UUID, code: str, detail: str, now: datetime | None
) -> None:
    _record(organization_id, FailExport(export_id=export_id, code=code, detail=detail), now)


def _record(organization_id: UUID, command: object, now: datetime | None) -> None:
    execute(command, Context(organization_id=organization_id, actor=SYSTEM, now=now))


def _drop_unwanted(organization_id: UUID, export_id: UUID, digest: str) -> None:
    """Take the file away again where somebody deleted the export meanwhile, or another worker was
    first with another file."""
    with scope.reading(organization_id):
        row = queries.find(organization_id, export_id)
    if row is None or (row.state, row.digest) != ("ready", digest):
        files.remove(files.name_of(organization_id, export_id, digest))


def remove_file(organization_id: UUID, row: ExportRow) -> None:
    """Take the file of an export away, if it has one."""
    if row.digest is not None:
        files.remove(files.name_of(organization_id, row.id, row.digest))
