"""Events of exports: who asked for which file, what it was, and when it was gone. Pure; fixed
names."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


class _OfExport(Event):
    __slots__ = ()
    export_id: UUID

    @property
    def stream(self) -> str:
        return f"export:{self.export_id}"


@event("export.requested")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequested(_OfExport):
    """Somebody wants a file of a month of an account and all below it. `scheduled`: the monthly
    schedule does; `focus_version` is empty for anything but FOCUS."""

    export_id: UUID
    account_id: UUID
    month: date
    what: str
    format: str
    focus_version: str
    scheduled: bool


@event("export.made")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportMade(_OfExport):
    """The file is there until `expires_at`. `digest` is its SHA-256, `state` what the month was,
    `total` what its amounts add up to (null for usage records)."""

    export_id: UUID
    account_id: UUID
    rows: int
    size: int
    digest: str
    state: str
    total: Decimal | None
    expires_at: datetime


@event("export.failed")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFailed(_OfExport):
    """There is no file, and why."""

    export_id: UUID
    account_id: UUID
    code: str
    detail: str


@event("export.removed")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRemoved(_OfExport):
    """The file is gone: somebody deleted it, or its time was over."""

    export_id: UUID
    account_id: UUID
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledFile:
    """A file that is made of every month; FOCUS in its newest version then."""

    what: str
    format: str


@event("export.schedule_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportScheduleSet(Event):
    """When a month is closed, these files of the account and all below it are made. `store`: a
    copy that does not expire goes to the file storage; `notify`: people of finance are told. No
    files end the schedule."""

    account_id: UUID
    files: tuple[ScheduledFile, ...]
    store: bool
    notify: bool

    @property
    def stream(self) -> str:
        return f"export_schedule:{self.account_id}"
