"""What can be exported, in which formats, and how much of it. Pure.

An export is one file of one month of an account with all that was below it: the lines of its
statements, the usage records behind them, or the lines as FOCUS has them (docs/user/exports.md).
"""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final
from uuid import UUID

from ledger.errors import Invalid, Refused

FOCUS_VERSIONS: Final = ("1.4", "1.2")
"""Of the FinOps cost and usage specification; the newest, which is the usual one, first."""
SHEET_ROWS_MAX: Final = 1_048_575
"""Of a worksheet, less its head."""
ROWS_MAX: Final = 100_000_000
SMALL_ROWS: Final = 20_000
"""Up to so many rows are made while one waits."""
PENDING_MAX: Final = 20
KEPT_MAX: Final = 1_000
"""Exports of an organization that wait, and whose files are kept."""
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What spreadsheets take for the beginning of a formula, some of them in full width, too."""


class What(StrEnum):
    """What an export holds."""

    LINES = "lines"
    RECORDS = "records"
    FOCUS = "focus"


class Format(StrEnum):
    """What its file is."""

    CSV = "csv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    JSON = "json"
    JSONL = "jsonl"


MEDIA_TYPES: Final = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.JSON: "application/json",
    Format.JSONL: "application/x-ndjson",
}
FORMATS_OF: Final = {
    What.LINES: tuple(Format),
    What.RECORDS: tuple(Format),
    What.FOCUS: (Format.CSV, Format.PARQUET),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One file that somebody wants.

    Attributes:
        month: its first day.
        focus_version: one of FOCUS_VERSIONS; empty for anything but FOCUS.
    """

    account_id: UUID
    month: date
    what: What
    format: Format
    focus_version: str = ""


def spec(*, account_id: UUID, month: date, what: str, suffix: str, focus_version: str = "") -> Spec:
    """A checked wish; without a version the newest of FOCUS.

    Raises:
        Invalid: `export_kind_unknown`, `export_format_unknown`, `focus_version_unknown`.
    """
    if what not in FORMATS_OF:
        raise Invalid(
            "export_kind_unknown",
            f"Export one of {', '.join(FORMATS_OF)}.",
            field="what",
            facts={"known": list(FORMATS_OF)},
        )
    formats = FORMATS_OF[What(what)]
    if suffix not in formats:
        raise Invalid(
            "export_format_unknown",
            f"Exports of {what} are {', '.join(formats)}.",
            field="format",
            facts={"known": list(formats)},
        )
    if (what != What.FOCUS and focus_version) or focus_version not in ("", *FOCUS_VERSIONS):
        raise Invalid(
            "focus_version_unknown",
            f"Exports of FOCUS are of version {' or '.join(FOCUS_VERSIONS)}; others have none.",
            field="focus_version",
            facts={"known": list(FOCUS_VERSIONS)},
        )
    if what == What.FOCUS:
        focus_version = focus_version or FOCUS_VERSIONS[0]
    return Spec(
        account_id=account_id,
        month=month,
        what=What(what),
        format=Format(suffix),
        focus_version=focus_version,
    )


def check_rows(suffix: Format, rows: int) -> None:
    """Whether a file can hold so many rows.

    Raises:
        Refused: `export_too_large`.
    """
    limit = SHEET_ROWS_MAX if suffix == Format.XLSX else ROWS_MAX
    if rows > limit:
        raise Refused(
            "export_too_large",
            f"{rows:,} rows do not fit: {suffix} holds at most {limit:,}. "
            + ("Choose csv or parquet, or" if suffix == Format.XLSX else "Choose")
            + " an account further down.",
            field="format",
            facts={"rows": rows, "maximum": limit},
        )


def check_room(*, pending: int, kept: int) -> None:
    """Whether an organization may ask for one more.

    Raises:
        Refused: `exports_too_many`.
    """
    if pending >= PENDING_MAX or kept >= KEPT_MAX:
        limit = PENDING_MAX if pending >= PENDING_MAX else KEPT_MAX
        words = "wait already" if pending >= PENDING_MAX else "are kept already; delete some"
        raise Refused("exports_too_many", f"{limit} exports {words}.", facts={"maximum": limit})


def guarded(text: str) -> str:
    """Text of a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
