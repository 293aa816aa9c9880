"""Exports and their schedules. Runs inside `scope.reading` or a command."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import msgspec

from accounting.domain.exports import Format, Spec, What
from ledger.errors import NotFound
from ledger.sql import server_cursor

PAGE_MAX = 200
SWEPT_MAX = 500

Place = tuple[datetime, UUID]
"""Where a page ended: when its last export was asked for, and its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRow:
    """An export: see `accounting.export_models.Export`. `total` has the column's decimals."""

    id: UUID
    account_id: UUID
    account: str
    month: date
    what: What
    format: Format
    focus_version: str
    scheduled: bool
    state: str
    requested_at: datetime
    requested_by: str
    requester_id: UUID | None
    finished_at: datetime | None
    expires_at: datetime | None
    month_state: str | None
    rows: int | None
    size: int | None
    digest: str | None
    total: Decimal | None
    problem: str | None
    problem_detail: str | None

    @property
    def spec(self) -> Spec:
        """What was asked for."""
        return Spec(
            account_id=self.account_id,
            month=self.month,
            what=self.what,
            format=self.format,
            focus_version=self.focus_version,
        )

    @property
    def file_name(self) -> str:
        """As it is downloaded: `2026-10-nlp-focus-1.4.csv`."""
        kind = f"{self.what}-{self.focus_version}" if self.focus_version else str(self.what)
        return f"{self.month:%Y-%m}-{self.account}-{kind}.{self.format}"

    def state_at(self, now: datetime) -> str:
        """Its state, also where no sweeper has come by since its time was over."""
        over = self.state == "ready" and self.expires_at is not None and self.expires_at <= now
        return "expired" if over else self.state


_COLUMNS = (
    "e.id, e.account_id, a.name AS account, e.month, e.what, e.format, e.focus_version, "
    "e.scheduled, e.state, e.requested_at, e.requested_by, e.requester_id, e.finished_at, "
    "e.expires_at, e.month_state, e.rows, e.size, e.digest, e.total, e.problem, e.problem_detail"
)
_NAMES = tuple(ExportRow.__dataclass_fields__)
_FROM = (
    f"SELECT {_COLUMNS} FROM accounting_export e JOIN tenancy_account a "
    "ON a.organization_id = e.organization_id AND a.id = e.account_id WHERE e.organization_id = %b"
)


def _row(values: tuple) -> ExportRow:
    found = dict(zip(_NAMES, values, strict=True))
    found["what"], found["format"] = What(found["what"]), Format(found["format"])
    return ExportRow(**found)


def export(organization_id: UUID, export_id: UUID) -> ExportRow:
    """One export.

    Raises:
        NotFound: `export_unknown`.
    """
    found = find(organization_id, export_id)
    if found is None:
        raise NotFound("export_unknown", "There is no such export.", field="export")
    return found


def find(organization_id: UUID, export_id: UUID) -> ExportRow | None:
    """One export, or None."""
    with server_cursor() as cursor:
        row = cursor.execute(f"{_FROM} AND e.id = %b", (organization_id, export_id)).fetchone()
    return None if row is None else _row(row)


def exports(
    organization_id: UUID,
    *,
    under: Collection[UUID] | None,
    before: Place | None = None,
    limit: int = 50,
) -> list[ExportRow]:
    """Exports whose account is one of `under` or below it (None: all), the newest first. What
    somebody deleted is not among them."""
    sql, values = f"{_FROM} AND e.state <> 'removed'", [organization_id]
    if under is not None:
        sql += " AND a.ancestors && %b::uuid[]"
        values.append(list(under))
    if before is not None:
        sql += " AND (e.requested_at, e.id) < (%b, %b)"
        values += before
    sql += " ORDER BY e.requested_at DESC, e.id DESC LIMIT %b"
    with server_cursor() as cursor:
        rows = cursor.execute(sql, (*values, max(1, min(limit, PAGE_MAX)))).fetchall()
    return [_row(row) for row in rows]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many exports wait, and of how many there is a file."""

    pending: int
    kept: int


def counts(organization_id: UUID) -> Counts:
    """What an organization has of exports."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT count(*) FILTER (WHERE state = 'requested'), "
            "count(*) FILTER (WHERE state = 'ready') FROM accounting_export "
            "WHERE organization_id = %b AND state IN ('requested', 'ready')",
            (organization_id,),
        ).fetchone()
    return Counts(*row)


def pending(organization_id: UUID) -> list[UUID]:
    """Exports that wait to be made, the oldest first."""
    return _ids(organization_id, "state = 'requested' ORDER BY requested_at, id", ())


def over(organization_id: UUID, now: datetime) -> list[UUID]:
    """Exports whose file's time is over, at most SWEPT_MAX."""
    return _ids(
        organization_id,
        "state IN ('requested', 'ready') AND expires_at <= %b ORDER BY expires_at",
        (now,),
    )


def _ids(organization_id: UUID, where: str, values: tuple) -> list[UUID]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT id FROM accounting_export WHERE organization_id = %b AND {where} "
            f"LIMIT {SWEPT_MAX}",
            (organization_id, *values),
        ).fetchall()
    return [row[0] for row in rows]


def kept_digests(organization_id: UUID) -> frozenset[tuple[UUID, str]]:
    """Id and digest of every export that has a file."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, digest FROM accounting_export "
            "WHERE organization_id = %b AND state = 'ready'",
            (organization_id,),
        ).fetchall()
    return frozenset(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRow:
    """What is exported of an account whenever a month is closed; `files` are (what, format)."""

    account_id: UUID
    account: str
    files: tuple[tuple[str, str], ...]
    store: bool
    notify: bool
    set_at: datetime
    set_by: str


def schedules(organization_id: UUID, *, under: Collection[UUID] | None = None) -> list[ScheduleRow]:
    """Schedules of accounts at or below some (None: all), by name."""
    where = "" if under is None else "AND a.ancestors && %b::uuid[]"
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT s.account_id, a.name, s.files::text, s.store, s.notify, s.set_at, s.set_by "
            "FROM accounting_exportschedule s JOIN tenancy_account a "
            "ON a.organization_id = s.organization_id AND a.id = s.account_id "
            f"WHERE s.organization_id = %b {where} ORDER BY a.name",
            (organization_id, *(() if under is None else (list(under),))),
        ).fetchall()
    return [
        ScheduleRow(
            account_id=row[0],
            account=row[1],
            files=tuple((what, format_) for what, format_ in msgspec.json.decode(row[2])),
            store=row[3],
            notify=row[4],
            set_at=row[5],
            set_by=row[6],
        )
        for row in rows
    ]


def scheduled_ready(organization_id: UUID) -> list[ExportRow]:
    """Scheduled exports that have a file."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_FROM} AND e.state = 'ready' AND e.scheduled ORDER BY e.id LIMIT {SWEPT_MAX}",
            (organization_id,),
        ).fetchall()
    return [_row(row) for row in rows]
