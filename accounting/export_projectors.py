"""Events of exports to rows."""

from collections.abc import Sequence

import msgspec

from accounting import export_events as ev
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

Run = Sequence[RecordedEvent]

_EXPORT = ProjectedTable(name="accounting_export", key=("organization_id", "id"))
_SCHEDULE = ProjectedTable(name="accounting_exportschedule", key=("organization_id", "account_id"))


def requested(run: Run) -> None:
    """Exports that wait."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_export (organization_id, id, account_id, month, what, "
                "format, focus_version, scheduled, state, requested_at, requested_by, "
                "requester_id) VALUES (%b, %b, %b, %b, %b, %b, %b, %b, 'requested', %b, %b, %b)",
                (
                    *(event.organization_id, data.export_id, data.account_id, data.month),
                    *(data.what, data.format, data.focus_version, data.scheduled),
                    *(event.recorded_at, event.actor_label, event.actor_id),
                ),
            )


def made(run: Run) -> None:
    """Exports whose file is there."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE accounting_export SET state = 'ready', finished_at = %b, rows = %b, "
                "size = %b, digest = %b, month_state = %b, total = %b, expires_at = %b "
                "WHERE organization_id = %b AND id = %b",
                (
                    *(event.recorded_at, data.rows, data.size, data.digest, data.state),
                    *(data.total, data.expires_at, event.organization_id, data.export_id),
                ),
            )


def failed(run: Run) -> None:
    """Exports that could not be made."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE accounting_export SET state = 'failed', finished_at = %b, problem = %b, "
                "problem_detail = %b WHERE organization_id = %b AND id = %b",
                (
                    *(event.recorded_at, data.code, data.detail),
                    *(event.organization_id, data.export_id),
                ),
            )


def removed(run: Run) -> None:
    """Exports whose file is gone."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_export SET state = %b WHERE organization_id = %b AND id = %b",
                (
                    "expired" if event.data.expired else "removed",
                    *(event.organization_id, event.data.export_id),
                ),
            )


def schedule_set(run: Run) -> None:
    """Schedules; without files there is none."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            place = (event.organization_id, data.account_id)
            cursor.execute(
                "DELETE FROM accounting_exportschedule "
                "WHERE organization_id = %b AND account_id = %b",
                place,
            )
            if data.files:
                files = [[one.what, one.format] for one in data.files]
                cursor.execute(
                    "INSERT INTO accounting_exportschedule (organization_id, account_id, files, "
                    "store, notify, set_at, set_by) VALUES (%b, %b, %b::text::jsonb, %b, %b, %b, "
                    "%b)",
                    (
                        *(*place, msgspec.json.encode(files).decode(), data.store, data.notify),
                        *(event.recorded_at, event.actor_label),
                    ),
                )


def _projector(name: str, project, table: ProjectedTable) -> Projector:
    return Projector(
        name=f"accounting:{name}", project=project, types=frozenset({name}), tables=(table,)
    )


PROJECTORS = (
    _projector(ev.ExportRequested.event_type, requested, _EXPORT),
    _projector(ev.ExportMade.event_type, made, _EXPORT),
    _projector(ev.ExportFailed.event_type, failed, _EXPORT),
    _projector(ev.ExportRemoved.event_type, removed, _EXPORT),
    _projector(ev.ExportScheduleSet.event_type, schedule_set, _SCHEDULE),
)
