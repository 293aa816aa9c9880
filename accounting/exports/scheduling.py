"""What a schedule wants of the months that were closed since it was set, and the end of files.

A scheduled export has an id that follows from what it is of, so it is asked for once, whoever asks
how often; its copy in the file storage has a name that does the same.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

import structlog

from accounting.commands.exports import ExpireExport, RequestExport
from accounting.exports import files
from accounting.queries import exports as queries
from accounting.queries import statements
from accounting.queries.exports import ExportRow, ScheduleRow
from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM

log = structlog.get_logger(__name__)
MONTHS_BACK: Final = 3
SETTLED: Final = timedelta(days=1)


def export_id_of(organization_id: UUID, schedule: ScheduleRow, month: date, file: tuple) -> UUID:
    """The one id of a scheduled file."""
    what, format_ = file
    return uuid5(organization_id, f"{schedule.account_id}/{month:%Y-%m}/{what}/{format_}")


def ask(organization_id: UUID, *, now: datetime) -> list[UUID]:
    """Ask for every scheduled file that is not there yet; their ids."""
    with scope.reading(organization_id):
        wanted = list(_missing(organization_id))
    for command in wanted:
        execute(command, Context(organization_id=organization_id, actor=SYSTEM, now=now))
    return [command.export_id for command in wanted if command.export_id]


def _missing(organization_id: UUID) -> Iterator[RequestExport]:
    schedules = queries.schedules(organization_id)
    if not schedules:
        return
    closed = [one for one in statements.closes(organization_id, limit=MONTHS_BACK) if one.closed_at]
    for schedule in schedules:
        for close in closed:
            if close.closed_at is None or close.closed_at < schedule.set_at:
                continue
            for file in schedule.files:
                export_id = export_id_of(organization_id, schedule, close.month, file)
                if queries.find(organization_id, export_id) is None:
                    yield RequestExport(
                        account_id=schedule.account_id,
                        month=close.month,
                        what=file[0],
                        format=file[1],
                        export_id=export_id,
                        scheduled=True,
                    )


def deliver(organization_id: UUID) -> int:
    """Copy scheduled files that are made to where they stay, if their schedule says so; how many
    there are there. One that cannot be copied keeps no other from it, and is tried again."""
    with scope.reading(organization_id):
        keeping = {one.account_id for one in queries.schedules(organization_id) if one.store}
        rows = queries.scheduled_ready(organization_id) if keeping else []
    rows = [row for row in rows if row.account_id in keeping]
    return sum(_delivered(organization_id, row) for row in rows)


def _delivered(organization_id: UUID, row: ExportRow) -> bool:
    name = files.name_of(organization_id, row.id, row.digest or "")
    try:
        files.deliver(name, delivered_name(organization_id, row))
    except OSError:
        log.exception("export_not_delivered", export=str(row.id))
        return False
    return True


def delivered_name(organization_id: UUID, row: ExportRow) -> str:
    """Where a copy stays: found by people and scripts."""
    return f"{files.DELIVERED}/{organization_id}/{row.month:%Y-%m}/{row.file_name}"


def sweep(organization_id: UUID, *, now: datetime) -> int:
    """Let files go whose time is over, and those that belong to nothing; how many went."""
    with scope.reading(organization_id):
        over = queries.over(organization_id, now)
    for export_id in over:
        context = Context(organization_id=organization_id, actor=SYSTEM, now=now)
        execute(ExpireExport(export_id=export_id), context)
    with scope.reading(organization_id):
        kept = frozenset(
            files.name_of(organization_id, export_id, digest)
            for export_id, digest in queries.kept_digests(organization_id)
        )
    # Expired files go at once, the strangers that a worker has just written do not.
    gone = len(over)
    with scope.reading(organization_id):
        for export_id in over:
            row = queries.export(organization_id, export_id)
            if row.digest:
                files.remove(files.name_of(organization_id, export_id, row.digest))
    return gone + files.sweep(organization_id, kept, before=now - SETTLED)
