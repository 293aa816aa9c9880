"""Reading a what-if document field by field, so that every fault names its place.

Numbers stay exact: JSON decimals become `Decimal`, so 0.1 + 0.2 equals 0.3. NaN, infinities, a name
given twice in one object and unknown fields are refused. A place is written `people[3].shares`.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from ledger.errors import Invalid

NAME_LENGTH_MAX = 255
DECIMAL_EXPONENT_MAX = 400
INSTANT_MIN = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT_MAX = datetime(2200, 1, 1, tzinfo=UTC)


def refuse(place: str, detail: str) -> Invalid:
    """The error of a field: `field` holds the place, `detail` what was wrong and what is right."""
    return Invalid("whatif_invalid", detail, field=place)


def decode(document: bytes) -> Any:
    """JSON text to values: objects, lists, text, int, Decimal, bool, None.

    Raises:
        Invalid: not UTF-8, not JSON, NaN or infinities, a duplicate field.
    """
    try:
        return json.loads(
            document.decode("utf-8-sig"),
            parse_float=_decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except UnicodeDecodeError as error:
        raise refuse("document", f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise refuse(
            f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}"
        ) from error
    except RecursionError as error:
        raise refuse("document", "nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise refuse("document", f"not JSON: {error}") from error


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:  # an exponent beyond all bounds
        raise refuse("document", f"{text[:40]} is beyond all bounds") from error


def _refuse_constant(name: str) -> Any:
    raise refuse("document", f"{name} is not a JSON number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise refuse("document", f"the field {name!r} is given twice in one object")
        found[name] = value
    return found


def record(
    value: Any, place: str, *, required: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """An object with exactly these fields; missing optional ones are left out."""
    if not isinstance(value, dict):
        raise refuse(place or "document", f"must be an object, not {kind(value)}")
    for name in required:
        if name not in value:
            raise refuse(_inside(place, name), "is required")
    for name in value:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional])
            raise refuse(_inside(place, name), f"is unknown; the fields are {known}")
    return value


def entries(value: Any, place: str, *, count_max: int) -> list[tuple[str, Any]]:
    """A list as (place, value) pairs."""
    if not isinstance(value, list):
        raise refuse(place, f"must be a list, not {kind(value)}")
    if len(value) > count_max:
        raise refuse(place, f"holds {len(value)} entries; at most {count_max} are taken")
    return [(f"{place}[{at}]", entry) for at, entry in enumerate(value)]


def name(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise refuse(place, f"must be text, not {kind(value)}")
    if not value.strip() or len(value) > NAME_LENGTH_MAX or not value.isprintable():
        raise refuse(
            place, f"must be 1 to {NAME_LENGTH_MAX} printable characters and not only blanks"
        )
    return value


def whole(value: Any, place: str, *, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(place, f"must be a whole number, not {kind(value)}")
    if not low <= value <= high:
        raise refuse(place, f"must be {low} to {high}, not {value}")
    return value


def amount(value: Any, place: str, *, high: int) -> Decimal:
    """A number from 0 to `high`, exactly as written."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise refuse(place, f"must be a number, not {kind(value)}")
    if not 0 <= value <= high:
        raise refuse(place, f"must be 0 to {high}, not {value:.12g}")
    found = Decimal(value)
    exponent = found.as_tuple().exponent
    if found and isinstance(exponent, int) and exponent < -DECIMAL_EXPONENT_MAX:
        raise refuse(place, f"has more than {DECIMAL_EXPONENT_MAX} decimals")
    return found


def instant(value: Any, place: str) -> float:
    """RFC 3339 with a zone, as seconds since 1970."""
    if not isinstance(value, str):
        raise refuse(place, f"must be a time like 2026-11-29T12:00:00Z, not {kind(value)}")
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise refuse(place, f"must be a time like 2026-11-29T12:00:00Z, not {value!r}") from error
    if found.tzinfo is None:
        raise refuse(place, f"must name its zone, for instance {value}Z")
    if not INSTANT_MIN <= found < INSTANT_MAX:
        raise refuse(place, "must lie between 1970 and 2200")
    return found.timestamp()


def check_tree(
    parents: Mapping[str, str | None], places: Mapping[str, str], *, noun: str, depth_max: int
) -> None:
    """Every parent exists, nobody is below itself, at most `depth_max` levels.

    Args:
        parents: name of the parent by name; None on top.
        places: where each name was given.
    """
    levels: dict[str, int] = {}
    for name_, parent in parents.items():
        if parent is not None and parent not in parents:
            raise refuse(f"{places[name_]}.parent", f"no {noun} is named {parent!r}")
    for start in parents:
        path: dict[str, None] = {}
        here: str | None = start
        while here is not None and here not in levels:
            if here in path:
                circle = " > ".join([*list(path)[list(path).index(here) :], here])
                raise refuse(f"{places[here]}.parent", f"is a circle: {circle}")
            path[here] = None
            here = parents[here]
        level = 0 if here is None else levels[here]
        for name_ in reversed(path):
            level += 1
            levels[name_] = level
            if level > depth_max:
                place = f"{places[name_]}.parent"
                raise refuse(place, f"is level {level}; a tree has at most {depth_max}")


def kind(value: Any) -> str:
    """What a value is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return "a number" if isinstance(value, int) else f"the number {value:.12g}"
    return {str: "text", list: "a list", dict: "an object"}[type(value)]


def _inside(place: str, name_: str) -> str:
    return f"{place}.{name_}" if place else name_
