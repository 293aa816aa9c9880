"""Usage records from CSV files. Pure.

The first row names the columns: the fields of a native record (accounting.importers.fields), or
other names that ``options.columns`` maps to them. ``labels.NAME`` columns become labels; other
columns are not read. A blank ``end`` means still running. Naive times are read in
``options.timezone``.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from accounting.importers import fields, times
from accounting.importers.options import ImportOptions
from accounting.importers.record import FieldError, ImportItem, Skipped

_LABEL_PREFIX = "labels."


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions(ImportOptions):
    """``columns`` maps our field (or ``labels.NAME``) to the file's column. ``constants`` gives
    fields the same value in every row, such as the pool of a file about one pool."""

    delimiter: str = ","
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)


class _Rows:
    """Rows of a file one by one; a row that cannot be split is a FieldError, the next still reads.

    ``line`` is the physical line on which the last row began.
    """

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        self._read_lines = 0
        self._rows = csv.reader(self._counted(lines), delimiter=delimiter)
        self.line = 0

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._read_lines += 1
            yield line

    def next(self) -> list[str] | None:
        """The next row, None at the end of the file."""
        self.line = self._read_lines + 1
        try:
            return next(self._rows, None)
        except csv.Error as error:
            raise FieldError("line", "bad_csv", f"The row cannot be split: {error}.") from None


def read(lines: Iterable[str], *, options: CsvOptions) -> Iterator[ImportItem]:
    """The records, problems and skipped rows of a file, in its order."""
    if len(options.delimiter) != 1 or options.delimiter in '"\r\n':
        error = FieldError("delimiter", "bad_delimiter", "The delimiter is one character.")
        yield error.problem(1, fatal=True)
        return
    rows = _Rows(lines, options.delimiter)
    try:
        zone = times.zone(options.timezone)
        header = rows.next()
        if not header:
            raise FieldError("header", "empty_file", "The file holds no header line.")
        layout = _layout(header, options)
    except FieldError as error:
        yield error.problem(max(rows.line, 1), fatal=True)
        return

    def read_time(text: str, name: str) -> times.datetime:
        return times.instant(text, field=name, zone=zone)

    while True:
        try:
            row = rows.next()
            if row is None:
                return
            if not any(row):
                yield Skipped(line=rows.line, reason="blank", detail="The row is blank.")
                continue
            if len(row) != len(header):
                raise FieldError(
                    "line",
                    "wrong_fields",
                    f"The row has {len(row)} fields, the header {len(header)}.",
                )
            yield fields.record(
                _values(row, layout, options),
                line=rows.line,
                default_tier=options.tier,
                read_time=read_time,
            )
        except FieldError as error:
            yield error.problem(rows.line)


def _layout(header: list[str], options: CsvOptions) -> dict[str, int]:
    """Our field or ``labels.NAME`` -> place in a row; FieldError when a required one lacks."""
    places: dict[str, int] = {}
    for index, cell in enumerate(header):
        name = cell.removeprefix("\ufeff").strip()
        if name in places:
            raise FieldError("header", "repeated_column", f"The header names {name!r} twice.", name)
        places[name] = index
    layout = {
        name: index
        for name, index in places.items()
        if name in fields.FIELDS or name.startswith(_LABEL_PREFIX)
    }
    for ours, theirs in options.columns.items():
        if ours not in fields.FIELDS and not ours.startswith(_LABEL_PREFIX):
            raise FieldError("columns", "unknown_field", f"{ours!r} is no field of ours.", ours)
        if theirs not in places:
            raise FieldError(
                "header", "missing_column", f"The header lacks the column {theirs!r}.", theirs
            )
        layout[ours] = places[theirs]
    known = {*layout, *options.constants}
    missing = [name for name in fields.REQUIRED if name not in known]
    if missing:
        raise FieldError(
            "header",
            "missing_column",
            f"The header lacks {', '.join(missing)}: name the columns that hold them.",
            options.delimiter.join(header),
        )
    return layout


def _values(row: list[str], layout: dict[str, int], options: CsvOptions) -> dict[str, object]:
    values: dict[str, object] = dict(options.constants)
    labels = {}
    for name, index in layout.items():
        cell = row[index].strip()
        if name.startswith(_LABEL_PREFIX):
            if cell:
                labels[name.removeprefix(_LABEL_PREFIX)] = fields.label_text(cell)
        elif name != "labels":
            values[name] = cell or values.get(name)
    if labels:
        values["labels"] = labels
    # A blank source or tier is none; the other blanks are judged by their field.
    return {name: value for name, value in values.items() if value is not None}
