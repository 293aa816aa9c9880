"""CSV files that are sent as they are made, and that no spreadsheet takes for a program. Pure."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What spreadsheets take for the beginning of a formula, some of them in full width, too."""


def cell(value: Any) -> str:
    """A value as a cell: nothing for None, text that could be a formula behind an apostrophe."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    return f"'{value}" if value.startswith(STARTS) else value


def lines(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """A file in pieces, in UTF-8, lines ended as RFC 4180 says."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(head)
    for row in rows:
        writer.writerow([cell(value) for value in row])
        if buffer.tell() > 16_384:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()
