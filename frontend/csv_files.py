"""CSV files that are sent as they are made, and that no spreadsheet takes for a program."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse

from accounting.domain.exports import guarded


def cell(value: Any) -> str:
    """A value as a cell: nothing for None, text that could be a formula behind an apostrophe."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    return guarded(value)


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


def download(
    name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]
) -> StreamingHttpResponse:
    """The answer that sends a file; `name` holds no quotation mark."""
    answer = StreamingHttpResponse(lines(head, rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
