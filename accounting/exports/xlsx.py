"""Workbooks: one sheet, the head frozen, written row by row.

A number is a number where a spreadsheet can hold all its digits, else text: Excel keeps fifteen.
Texts that could be formulas stand behind an apostrophe, as in CSV, and nothing is ever written as
a formula. The dates inside of the file are fixed.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from accounting.domain.exports import guarded
from accounting.exports.tables import Kind, Table, text

DIGITS_MAX: Final = 15
TEXT_LENGTH_MAX: Final = 32_767
WIDTH: Final = 18
_MADE: Final = datetime(2000, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime(1900, 3, 1, tzinfo=UTC)
"""Before it, spreadsheets count a day that never was."""
_OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


def write(table: Table, path: Path, done: Callable[[int], None]) -> None:
    """Rows to a file."""
    with xlsxwriter.Workbook(str(path), _OPTIONS) as book:
        book.set_properties({"created": _MADE, "title": _title(table)})
        sheet = book.add_worksheet("export")
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(table.columns) - 1, WIDTH)
        head = book.add_format({"bold": True})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        for at, column in enumerate(table.columns):
            sheet.write_string(0, at, column.name, head)
        number = 0
        for block in table.blocks():
            for row in block:
                number += 1
                for at, (value, column) in enumerate(zip(row, table.columns, strict=True)):
                    _write(sheet, number, at, value, column.kind, moment)
            done(len(block))


def _write(sheet: Worksheet, row: int, at: int, value: Any, kind: Kind, moment: Any) -> None:
    if value is None:
        return
    if kind == Kind.INSTANT and not value.microsecond and value >= _FIRST:
        sheet.write_datetime(row, at, value.astimezone(UTC).replace(tzinfo=None), moment)
    elif kind in (Kind.DECIMAL, Kind.MONEY, Kind.INTEGER) and fits(value):
        sheet.write_number(row, at, value)
    else:
        found = text(value, kind)
        found = guarded(found) if kind == Kind.TEXT else found
        sheet.write_string(row, at, found[:TEXT_LENGTH_MAX])


def fits(value: Decimal | int) -> bool:
    """Whether a spreadsheet holds all digits of a number."""
    return len(str(abs(value)).replace(".", "").strip("0")) <= DIGITS_MAX


def _title(table: Table) -> str:
    return f"{table.facts.get('month')} of {table.facts.get('account')}"
