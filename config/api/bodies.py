"""Request bodies: the right content type, inflated when gzipped, never larger than allowed.

Django reads bodies whole and knows no `Content-Encoding`; both matter for batches of usage.
"""

import zlib

from django.http import HttpRequest
from django.http.request import UnreadablePostError
from rest_framework.exceptions import UnsupportedMediaType

from ledger.errors import Invalid

MIB = 2**20
COMPRESSED_BYTES_MAX = 64 * MIB
BYTES_MAX = 256 * MIB
_GZIP = 16 + zlib.MAX_WBITS
_BLOCK = MIB
_SLICE = 64 * 1024
MEMBERS_MAX = 1_000
"""Files concatenated from gzip files have some; more than this is an attack."""


class TooLarge(Invalid):
    """The body is larger than this address takes (413)."""

    status = 413


class LengthRequired(Invalid):
    """The body came in chunks, without its length (411)."""

    status = 411


def read(
    request: HttpRequest, content_types: tuple[str, ...], *, bytes_max: int = BYTES_MAX
) -> tuple[str, bytes]:
    """(content type, body), inflated.

    Raises:
        UnsupportedMediaType: another content type, charset or encoding (415).
        TooLarge: beyond COMPRESSED_BYTES_MAX when gzipped, or `bytes_max`.
        Invalid: empty, cut off, or broken gzip.
    """
    if not request.content_type and request.META.get("CONTENT_LENGTH") in (None, "", "0"):
        raise _empty()
    content_type = _content_type(request, content_types)
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding in ("", "identity"):
        body = _raw(request, bytes_max)
    elif encoding in ("gzip", "x-gzip"):
        body = _inflated(_raw(request, min(bytes_max, COMPRESSED_BYTES_MAX)), bytes_max)
    else:
        raise UnsupportedMediaType(
            encoding, "Bodies are plain or gzip: send `Content-Encoding: gzip` or none."
        )
    if not body or body.isspace():
        raise _empty()
    return content_type, body


def _empty() -> Invalid:
    return Invalid("body_empty", "The request has no body.")


def _content_type(request: HttpRequest, allowed: tuple[str, ...]) -> str:
    given = (request.content_type or "").lower()
    if given not in allowed:
        raise UnsupportedMediaType(given, f"Send the body as {' or '.join(allowed)}.")
    charset = request.content_params.get("charset", "utf-8").strip('"').lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise UnsupportedMediaType(given, "JSON is UTF-8; send no other charset.")
    return given


def _raw(request: HttpRequest, limit: int) -> bytes:
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        raise LengthRequired("length_required", "Send the body with a Content-Length.")
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0
    if length > limit:
        raise _too_large(limit)
    try:
        body = request.read(limit + 1)
    except UnreadablePostError:
        body = b""
    if len(body) > limit:
        raise _too_large(limit)
    if len(body) < length:
        raise Invalid(
            "body_truncated",
            f"The body ended after {len(body)} of {length} bytes; nothing was stored.",
        )
    return body


def _inflated(compressed: bytes, bytes_max: int) -> bytes:
    """All members of a gzip file, block by block: a bomb ends at the cap, not in memory."""
    pieces: list[bytes] = []
    size = members = 0
    inflate = None
    # Small slices of input: what is left of one is copied after each block of output.
    for start in range(0, len(compressed), _SLICE):
        pending = compressed[start : start + _SLICE]
        while pending:
            if inflate is None:
                members += 1
                if members > MEMBERS_MAX:
                    raise Invalid("gzip_broken", f"More than {MEMBERS_MAX} gzip members.")
                inflate = zlib.decompressobj(_GZIP)
            try:
                piece = inflate.decompress(pending, _BLOCK)
            except zlib.error:
                raise Invalid("gzip_broken", "The body is not valid gzip.") from None
            size += len(piece)
            if size > bytes_max:
                raise _too_large(bytes_max)
            pieces.append(piece)
            if inflate.eof:
                pending, inflate = inflate.unused_data, None
            else:
                pending = inflate.unconsumed_tail
    if inflate is not None:
        raise Invalid("gzip_truncated", "The gzip body ends too early; nothing was stored.")
    return b"".join(pieces)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        "body_too_large",
        f"The body is larger than {limit // MIB} MiB. Send smaller batches.",
        facts={"limit_bytes": limit},
    )
