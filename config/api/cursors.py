"""Cursors of paged answers: opaque to clients, small JSON inside, nothing secret in it."""

import base64
import binascii
from typing import Any

import msgspec
from django.http import HttpRequest

from config.api import parameters
from ledger.errors import Invalid


def next_address(request: HttpRequest, place: Any) -> str:
    """The address of the page that continues at `place`, with the same filters."""
    query = request.GET.copy()
    text = base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")
    query["cursor"] = text
    return f"{request.path}?{query.urlencode()}"


def read(request: HttpRequest, kind: Any, *, length: int | None = None) -> Any:
    """The place that a cursor names; None for the first page.

    Args:
        kind: the type it must have.
        length: how many items, for a list.

    Raises:
        Invalid: not a cursor of ours.
    """
    text = parameters.text(request, "cursor")
    if text is None:
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        place = msgspec.json.decode(raw, type=kind)
    except (binascii.Error, ValueError):
        place = None
    items = place if isinstance(place, list) else [place]
    if place is None or (length is not None and len(items) != length):
        raise _bad()
    if any(isinstance(item, int) and not 0 <= item < 2**62 for item in items):
        raise _bad()
    return place


def _bad() -> Invalid:
    return Invalid(
        "parameter_invalid", "`cursor` is what `next` of the page before holds.", field="cursor"
    )
