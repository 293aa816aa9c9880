"""Query parameters as values, each refused with its name when it cannot be used."""

import re
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest

from ledger.errors import Invalid

TEXT_LENGTH_MAX = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def text(request: HttpRequest, name: str, *, length_max: int = TEXT_LENGTH_MAX) -> str | None:
    """A short line of text; None when absent.

    Raises:
        Invalid: empty, too long, or with control characters.
    """
    value = request.GET.get(name)
    if value is None:
        return None
    if not 1 <= len(value) <= length_max or _CONTROL.search(value):
        raise _bad(name, f"`{name}` is one line of 1 to {length_max} characters.")
    return value


def instant(request: HttpRequest, name: str) -> datetime | None:
    """An RFC 3339 instant with its zone; None when absent.

    Raises:
        Invalid: not an instant, or without zone.
    """
    value = text(request, name)
    if value is None:
        return None
    try:
        # A plus sign that a client forgot to encode arrives as a space.
        found = datetime.fromisoformat(value.replace(" ", "+") if "T" in value else value)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise _bad(name, f"`{name}` is an instant with its zone, such as 2026-11-29T12:00:00Z.")
    return found


def integer(request: HttpRequest, name: str, *, low: int, high: int, default: int) -> int:
    """A whole number within bounds.

    Raises:
        Invalid: not a number, or out of bounds.
    """
    value = request.GET.get(name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise _bad(name, f"`{name}` is a whole number from {low} to {high}.")
    if not low <= int(value) <= high:
        raise _bad(name, f"`{name}` is a whole number from {low} to {high}.")
    return int(value)


def identifier(request: HttpRequest, name: str) -> UUID | None:
    """A UUID; None when absent.

    Raises:
        Invalid: not a UUID.
    """
    value = text(request, name)
    if value is None:
        return None
    try:
        return UUID(value)
    except ValueError:
        raise _bad(name, f"`{name}` is a UUID.") from None


def flag(request: HttpRequest, name: str) -> bool:
    """`1` or `true` for yes; `0`, `false` or absence for no.

    Raises:
        Invalid: anything else.
    """
    return one_of(request, name, ("0", "1", "false", "true"), default="0") in ("1", "true")


def one_of(request: HttpRequest, name: str, choices: Collection[str], *, default: str) -> str:
    """One of a few words.

    Raises:
        Invalid: another word.
    """
    value = request.GET.get(name, default)
    if value not in choices:
        raise _bad(name, f"`{name}` is one of {', '.join(choices)}.")
    return value


def _bad(name: str, detail: str) -> Invalid:
    return Invalid("parameter_invalid", detail, field=name)
