"""What exports look like over REST."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

What = Literal["lines", "records", "focus"]
Format = Literal["csv", "xlsx", "parquet", "json", "jsonl"]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Month = Annotated[str, msgspec.Meta(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]


class NewExport(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file of a month of an account and all below it; the root without one."""

    month: Month
    what: What
    format: Format = "csv"
    account: Name | None = None
    focus_version: Literal["1.2", "1.4"] | None = None


class Export(msgspec.Struct, kw_only=True):
    """An export. `progress` is 0 to 1, by rows; `file` the address of its bytes once there are
    some; `total` what its amounts add up to (null for records); `sha256` is of the whole file."""

    id: UUID
    account: str
    month: str
    what: What
    format: Format
    focus_version: str | None
    state: Literal["requested", "ready", "failed", "removed", "expired"]
    month_state: Literal["open", "closing", "closed"] | None
    progress: float
    scheduled: bool
    requested_at: datetime
    requested_by: str
    finished_at: datetime | None
    expires_at: datetime | None
    rows: int | None
    size: int | None
    sha256: str | None
    total: str | None
    problem: str | None
    problem_detail: str | None
    file: str | None


class Exports(msgspec.Struct):
    """Exports, the newest first. `next` is the address of the page with older ones."""

    exports: list[Export]
    next: str | None


class FocusSchema(msgspec.Struct, kw_only=True, rename="pascal"):
    """The metadata of a file of FOCUS, as its specification has it."""

    schema_id: str
    focus_version: str
    creation_date: str
    data_generator_version: str
    column_definition: list[dict[str, Any]]


class ScheduledFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file of every month; FOCUS in its newest version."""

    what: What
    format: Format = "csv"


class NewSchedule(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What is exported of an account whenever a month is closed; no files end it."""

    files: list[ScheduledFile]
    store: bool = False
    notify: bool = True


class Schedule(msgspec.Struct, kw_only=True):
    """The schedule of an account; `set_at` and `set_by` are null where there is none."""

    account: str
    files: list[ScheduledFile]
    store: bool
    notify: bool
    set_at: datetime | None
    set_by: str | None


class Schedules(msgspec.Struct):
    """Schedules by the name of their account."""

    schedules: list[Schedule]
