"""Why a value could not be decoded: `msgspec`'s sentence taken apart into field, code, detail."""

import re
from typing import NamedTuple

import msgspec

DETAIL_LENGTH_MAX = 300


class Fault(NamedTuple):
    """`field` is a path within the value at fault, such as `labels` or `jobs/3/units`."""

    field: str | None
    code: str
    detail: str


_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_NAMED = re.compile(
    r"Object (?:contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL
)
_CODES = (
    ("unknown field", "field_unknown"),
    ("missing required field", "field_missing"),
    ("timezone component", "time_without_zone"),
    ("RFC3339", "time_invalid"),
    ("Invalid enum value", "value_unknown"),
    ("of length", "length_out_of_range"),
    (", got ", "wrong_type"),
    ("Number out of range", "out_of_range"),
    (" >= ", "out_of_range"),
    (" <= ", "out_of_range"),
    (" < ", "out_of_range"),
)


def fault(error: msgspec.DecodeError | RecursionError) -> Fault:
    """Field, code and a sentence for an error of a decoder."""
    if not isinstance(error, msgspec.ValidationError):
        if isinstance(error, RecursionError):
            return Fault(None, "malformed", "The JSON is nested too deeply.")
        return Fault(None, "malformed", f"{str(error)[:DETAIL_LENGTH_MAX]}.")
    text = str(error)
    place = _PLACE.search(text)
    path = place["path"] if place else ""
    sentence = text[: place.start()] if place else text
    named = _NAMED.search(sentence)
    if named:
        path += "." + named["name"][:100]
    code = next((code for mark, code in _CODES if mark in sentence), "value_invalid")
    return Fault(_field(path), code, f"{sentence[:DETAIL_LENGTH_MAX]}.")


def _field(path: str) -> str | None:
    """`.labels[...]` as `labels`, `.jobs[3].units` as `jobs/3/units`."""
    parts = path.replace("[...]", "").replace("[", ".").replace("]", "").split(".")
    return "/".join(part for part in parts if part) or None
