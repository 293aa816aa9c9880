"""Exports: asked for, finished, removed; and what is exported whenever a month is closed."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from accounting import export_events as events
from accounting.domain import exports, statements
from accounting.locking import take_lock
from accounting.queries import exports as queries
from accounting.queries.exports import ExportRow
from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from tenancy.domain.roles import RATE_WRITE, SYSTEM_ONLY, Scope

SCHEDULED_FILES_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestExport:
    """A file of a month of an account and all below it. See `accounting.domain.exports.spec`.

    Attributes:
        export_id: for what is asked for again and again but made once; None: a new one.
        scheduled: the monthly schedule asks.
    """

    account_id: UUID
    month: date
    what: str
    format: str
    focus_version: str = ""
    export_id: UUID | None = None
    scheduled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRef:
    """The export that a command was about."""

    export_id: UUID


@handles(RequestExport, permission=Scope.EXPORT_READ, on="account_id")
def request_export(command: RequestExport, unit: Unit) -> ExportRef:
    """Check the wish and that there is room; record it, once for each id."""
    _lock(unit)
    wish = exports.spec(
        account_id=command.account_id,
        month=command.month,
        what=command.what,
        suffix=command.format,
        focus_version=command.focus_version,
    )
    if command.export_id is not None:
        known = queries.find(unit.organization_id, command.export_id)
        if known is not None:
            return ExportRef(export_id=known.id)
    month = statements.month_of(wish.month, _zone(unit))
    if month.start > unit.now:
        raise Refused("month_not_begun", f"{month.name} has not begun.", field="month")
    counts = queries.counts(unit.organization_id)
    exports.check_room(pending=counts.pending, kept=counts.kept)
    export_id = command.export_id or unit.new_id()
    unit.record(
        events.ExportRequested(
            export_id=export_id,
            account_id=wish.account_id,
            month=wish.month,
            what=wish.what.value,
            format=wish.format.value,
            focus_version=wish.focus_version,
            scheduled=command.scheduled,
        )
    )
    return ExportRef(export_id=export_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishExport:
    """The file is there: see `accounting.export_events.ExportMade`."""

    export_id: UUID
    rows: int
    size: int
    digest: str
    state: str
    total: Decimal | None


@handles(FinishExport, permission=SYSTEM_ONLY)
def finish_export(command: FinishExport, unit: Unit) -> ExportRef:
    """Record it, unless somebody removed or finished the export meanwhile."""
    _lock(unit)
    row = queries.export(unit.organization_id, command.export_id)
    if row.state == "requested":
        unit.record(
            events.ExportMade(
                export_id=row.id,
                account_id=row.account_id,
                rows=command.rows,
                size=command.size,
                digest=command.digest,
                state=command.state,
                total=command.total,
                expires_at=unit.now + timedelta(days=settings.EXPORT_DAYS),
            )
        )
    return ExportRef(export_id=row.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailExport:
    """The file cannot be made."""

    export_id: UUID
    code: str
    detail: str


@handles(FailExport, permission=SYSTEM_ONLY)
def fail_export(command: FailExport, unit: Unit) -> ExportRef:
    """Record why."""
    _lock(unit)
    row = queries.export(unit.organization_id, command.export_id)
    if row.state == "requested":
        unit.record(
            events.ExportFailed(
                export_id=row.id,
                account_id=row.account_id,
                code=command.code,
                detail=command.detail,
            )
        )
    return ExportRef(export_id=row.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveExport:
    """Delete an export's file, or stop what waits. Done twice it is done once.

    Attributes:
        account_id: the export's own; whoever may export it may delete the file.
    """

    export_id: UUID
    account_id: UUID


@handles(RemoveExport, permission=Scope.EXPORT_READ, on="account_id")
def remove_export(command: RemoveExport, unit: Unit) -> ExportRef:
    """Record that the file goes."""
    _lock(unit)
    row = queries.export(unit.organization_id, command.export_id)
    if row.account_id != command.account_id:
        raise NotFound("export_unknown", "There is no such export.", field="export")
    if row.state in ("requested", "ready", "failed"):
        unit.record(_removed(row, expired=False))
    return ExportRef(export_id=row.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireExport:
    """The time of an export's file is over."""

    export_id: UUID


@handles(ExpireExport, permission=SYSTEM_ONLY)
def expire_export(command: ExpireExport, unit: Unit) -> ExportRef:
    """Record it where it is so."""
    _lock(unit)
    row = queries.export(unit.organization_id, command.export_id)
    if row.state == "ready" and row.expires_at is not None and row.expires_at <= unit.now:
        unit.record(_removed(row, expired=True))
    return ExportRef(export_id=row.id)


def _removed(row: ExportRow, *, expired: bool) -> events.ExportRemoved:
    return events.ExportRemoved(export_id=row.id, account_id=row.account_id, expired=expired)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetExportSchedule:
    """What is exported of an account whenever a month is closed; no files end it.

    Attributes:
        files: (what, format), each once.
        store: keep a copy in the file storage that does not expire.
        notify: tell the people of finance of the account.
    """

    account_id: UUID
    files: tuple[tuple[str, str], ...]
    store: bool = False
    notify: bool = True


@handles(SetExportSchedule, permission=RATE_WRITE, on="account_id")
def set_export_schedule(command: SetExportSchedule, unit: Unit) -> None:
    """Check every file and record the schedule."""
    _lock(unit)
    for what, format_ in command.files:
        exports.spec(
            account_id=command.account_id,
            month=unit.now.date().replace(day=1),
            what=what,
            suffix=format_,
        )
    if len(set(command.files)) != len(command.files) or len(command.files) > SCHEDULED_FILES_MAX:
        raise Invalid(
            "schedule_malformed",
            f"A schedule names at most {SCHEDULED_FILES_MAX} files, each once.",
            field="files",
            facts={"maximum": SCHEDULED_FILES_MAX},
        )
    unit.record(
        events.ExportScheduleSet(
            account_id=command.account_id,
            files=tuple(events.ScheduledFile(what=w, format=f) for w, f in command.files),
            store=command.store,
            notify=command.notify,
        )
    )


def _lock(unit: Unit) -> None:
    """One change of an organization's exports at a time."""
    take_lock(unit, "exports")


def _zone(unit: Unit) -> ZoneInfo:
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT time_zone FROM tenancy_organization WHERE id = %b", (unit.organization_id,)
        ).fetchone()
    return ZoneInfo(row[0])
