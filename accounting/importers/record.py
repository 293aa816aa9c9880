"""What every importer yields: usage records, problems and skipped lines. Pure values.

An importer is a generator ``read(lines, *, options)``. It takes text lines one at a time, yields
items in the order of the lines and never raises for bad content, so memory stays flat and one bad
line never sinks a file. Whether an account exists, or a record was seen before, is not known here:
that is decided by the ingest (docs/design.md part 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

KEY_LENGTH_MAX: Final = 255
NAME_LENGTH_MAX: Final = 128
UNITS_MAX: Final = 10_000_000
LABELS_MAX: Final = 32
LABEL_NAME_LENGTH_MAX: Final = 255
LABEL_VALUE_LENGTH_MAX: Final = 255

TIERS: Final = ("guaranteed", "borrowed", "spot")

OPEN_SUFFIX: Final = "#open"
"""Ends the key of a record that was read while the job still ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecord:
    """Units of one pool held by one person's job from ``start`` until ``end``.

    ``start`` and ``end`` are aware, in UTC, half-open; ``end`` None means still running. ``units``
    are whole and positive. Utilisations are shares in [0, 1]; None means unknown, never zero.

    ``supersedes`` is the key of the record that this one replaces. With ``supersedes_optional``
    the older record need not have been seen: an importer reading a finished job cannot know
    whether an earlier file showed it running. The ingest then remembers the key, so that a
    running record that arrives late adds nothing either. Totals are the same in any order.

    ``source`` is set only where the format names one (CloudEvents, native); otherwise the caller
    of the importer says what the source is. ``line`` is the physical line, from 1.
    """

    key: str
    account: str
    person: str
    pool: str
    tier: str
    units: int
    start: datetime
    end: datetime | None
    labels: Mapping[str, str] = field(default_factory=dict)
    compute_util: float | None = None
    productive_util: float | None = None
    memory_gb: float | None = None
    supersedes: str | None = None
    supersedes_optional: bool = False
    source: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProblem:
    """A line (or part of it) that could not be used, with the field, a stable code and a sentence.

    ``fatal`` means that nothing more can be read, such as a header without a required column; it
    is then the last item.
    """

    line: int
    field: str
    code: str
    detail: str
    value: str = ""
    fatal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line that is rightly not a record: a step, a job that never started, a blank.

    ``reason`` is a stable code to count by; ``detail`` is the sentence for a person.
    """

    line: int
    reason: str
    detail: str


ImportItem: TypeAlias = ImportedRecord | ImportProblem | Skipped


class FieldError(Exception):
    """A value that cannot be used. Raised and caught inside an importer, never let out of it."""

    def __init__(self, field_name: str, code: str, detail: str, value: object = "") -> None:
        super().__init__(detail)
        self.field = field_name
        self.code = code
        self.detail = detail
        self.value = value

    def problem(self, line: int, *, fatal: bool = False) -> ImportProblem:
        """The same as an item, with the value cut to what a report can show."""
        shown = self.value if isinstance(self.value, str) else repr(self.value)
        return ImportProblem(
            line=line,
            field=self.field,
            code=self.code,
            detail=self.detail,
            value=shown if len(shown) <= 200 else shown[:197] + "...",
            fatal=fatal,
        )
