"""Downloads that go on where they were cut off: one range at a time, as RFC 9110 has them, and a
digest of the whole file as RFC 9530 has it."""

import base64
import re
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, Final
from urllib.parse import quote
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from accounting.domain.exports import MEDIA_TYPES
from accounting.exports import files
from accounting.queries.exports import ExportRow
from ledger.errors import NotFound

PIECE_BYTES: Final = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def answer(
    request: HttpRequest, organization_id: UUID, row: ExportRow, *, now: datetime
) -> HttpResponseBase:
    """The file of an export, or the part of it that was asked for.

    Raises:
        NotFound: `export_not_ready`, `export_gone`: there is no file yet, or no more.
    """
    state = row.state_at(now)
    if state in ("requested", "failed") or row.digest is None or row.size is None:
        raise NotFound(
            "export_not_ready",
            "There is no file yet." if state == "requested" else "The file could not be made.",
            field="export",
            facts={"state": state},
        )
    if state != "ready":
        raise _gone()
    etag = f'"{row.digest}"'
    if request.headers.get("If-None-Match") in (etag, "*"):
        return _headed(HttpResponse(status=304), row, etag)
    try:
        file = files.opened(files.name_of(organization_id, row.id, row.digest))
    except FileNotFoundError:
        raise _gone() from None
    wanted = _range(request, etag, row.size)
    if wanted == ():
        file.close()
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{row.size}"
        return _headed(response, row, etag)
    start, end = wanted or (0, row.size)
    response = StreamingHttpResponse(
        _pieces(file, start, end),
        status=206 if wanted else 200,
        content_type=MEDIA_TYPES[row.format],
    )
    response["Content-Length"] = str(end - start)
    if wanted:
        response["Content-Range"] = f"bytes {start}-{end - 1}/{row.size}"
    return _headed(response, row, etag)


def _headed(response: HttpResponseBase, row: ExportRow, etag: str) -> HttpResponseBase:
    digest = base64.b64encode(bytes.fromhex(row.digest or "")).decode()
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    response["Repr-Digest"] = f"sha-256=:{digest}:"
    response["Cache-Control"] = "private, no-cache"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = (
        f"attachment; filename*=UTF-8''{quote(row.file_name, safe='')}"
    )
    return response


def _range(request: HttpRequest, etag: str, size: int) -> tuple[int, int] | tuple[()] | None:
    """First byte and the one behind the last; None: all of it; (): no such bytes. A range is
    ignored where it is of an older file, or one of several."""
    found = _RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    if found is None or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = found.groups()
    if not first and not last:
        return None
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    return (start, end) if start < end else ()


def _pieces(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        left = end - start
        while left and (piece := file.read(min(PIECE_BYTES, left))):
            left -= len(piece)
            yield piece


def _gone() -> NotFound:
    return NotFound(
        "export_gone",
        "The file is gone: its time was over, or somebody deleted it. Export it again.",
        field="export",
    )
