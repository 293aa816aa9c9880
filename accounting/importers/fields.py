"""The fields of a usage record, checked one by one. Pure.

Used by every format whose fields are already named as ours (native, CSV, CloudEvents), so that
one bad value gives the same code everywhere. Fields are checked in the order of FIELDS; the first
that fails is the one reported.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from accounting.importers.record import (
    KEY_LENGTH_MAX,
    LABEL_NAME_LENGTH_MAX,
    LABEL_VALUE_LENGTH_MAX,
    LABELS_MAX,
    NAME_LENGTH_MAX,
    TIERS,
    UNITS_MAX,
    FieldError,
    ImportedRecord,
)

FIELDS: Final = (
    "source",
    "key",
    "account",
    "person",
    "pool",
    "tier",
    "units",
    "start",
    "end",
    "labels",
    "compute_util",
    "productive_util",
    "memory_gb",
    "supersedes",
)
REQUIRED: Final = ("key", "account", "person", "pool", "units", "start")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

ReadTime = Callable[[str, str], datetime]
"""(text, field name) -> aware instant; raises FieldError."""


def text(value: object, *, field: str, length_max: int = NAME_LENGTH_MAX) -> str:
    """A non-empty string without control characters, at most ``length_max`` long."""
    if value is None or value == "":
        raise FieldError(field, "missing", f"The record has no {field}.")
    if not isinstance(value, str):
        raise FieldError(field, "wrong_type", f"{field} must be a string.", value)
    if len(value) > length_max:
        raise FieldError(field, "too_long", f"{field} is longer than {length_max}.", value)
    if not value.isprintable() and (_CONTROL.search(value) or _SURROGATE.search(value)):
        raise FieldError(field, "bad_text", f"{field} holds a character that is no text.", value)
    return value


def units(value: object, *, field: str = "units") -> int:
    """A whole number of units, 1 to UNITS_MAX."""
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?\d{1,18}", value.strip(), re.ASCII):
            raise FieldError(field, "wrong_type", f"{field} must be a whole number.", value)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(field, "wrong_type", f"{field} must be a whole number.", value)
    if not 1 <= value <= UNITS_MAX:
        raise FieldError(field, "out_of_range", f"{field} must be 1 to {UNITS_MAX}.", value)
    return value


def number(value: object, *, field: str, maximum: float | None = None) -> float | None:
    """A finite number from 0 to ``maximum``; None and blank stay unknown."""
    if value is None or value == "":
        return None
    try:
        result = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        result = None
    if result is None or isinstance(value, bool) or not math.isfinite(result):
        raise FieldError(field, "wrong_type", f"{field} must be a finite number.", value)
    if result < 0 or (maximum is not None and result > maximum):
        bounds = "0 or more" if maximum is None else f"0 to {maximum:g}"
        raise FieldError(field, "out_of_range", f"{field} must be {bounds}.", value)
    return result


def tier(value: object) -> str:
    """One of TIERS."""
    if value not in TIERS:
        raise FieldError("tier", "unknown_tier", f"tier is one of {', '.join(TIERS)}.", value)
    return str(value)


def labels(value: object) -> dict[str, str]:
    """A flat map of texts, at most LABELS_MAX of them. None is the empty map."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldError("labels", "wrong_type", "labels must be an object of strings.", value)
    if len(value) > LABELS_MAX:
        raise FieldError("labels", "too_many", f"A record has at most {LABELS_MAX} labels.")
    for name, content in value.items():
        text(name, field="labels", length_max=LABEL_NAME_LENGTH_MAX)
        if content != "":
            text(content, field=f"labels.{name}", length_max=LABEL_VALUE_LENGTH_MAX)
    return dict(value)


def label_text(value: str) -> str:
    """Free text of another system made fit for a label: cleaned and cut, never refused."""
    if value.isprintable():
        # Nearly every value: no pattern has to look at it.
        return value.strip()[:LABEL_VALUE_LENGTH_MAX]
    cleaned = _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", value)).strip()
    return cleaned[:LABEL_VALUE_LENGTH_MAX]


def record(
    values: Mapping[str, Any], *, line: int, default_tier: str, read_time: ReadTime
) -> ImportedRecord:
    """The record of a mapping of native fields; FieldError names the first bad field.

    Unknown fields are refused: a misspelt one would otherwise be lost without a word.
    """
    for name in values:
        if name not in FIELDS:
            raise FieldError(
                str(name), "unknown_field", f"Known fields are {', '.join(FIELDS)}.", str(name)
            )
    source, supersedes = values.get("source"), values.get("supersedes")
    start_text = values.get("start")
    head = {
        "source": None if source is None else text(source, field="source"),
        "key": text(values.get("key"), field="key", length_max=KEY_LENGTH_MAX),
        "account": text(values.get("account"), field="account"),
        "person": text(values.get("person"), field="person"),
        "pool": text(values.get("pool"), field="pool"),
        "tier": tier(values.get("tier") or default_tier),
        "units": units(values.get("units")),
    }
    start = read_time(text(start_text, field="start"), "start")
    end = values.get("end")
    if end is not None and end != "":
        end = read_time(text(end, field="end"), "end")
        if end < start:
            raise FieldError(
                "end",
                "end_before_start",
                f"The end is before the start {start_text}.",
                values["end"],
            )
    return ImportedRecord(
        **head,
        start=start,
        end=end or None,
        labels=labels(values.get("labels")),
        compute_util=number(values.get("compute_util"), field="compute_util", maximum=1),
        productive_util=number(values.get("productive_util"), field="productive_util", maximum=1),
        memory_gb=number(values.get("memory_gb"), field="memory_gb"),
        supersedes=(
            None
            if supersedes is None or supersedes == ""
            else text(supersedes, field="supersedes", length_max=KEY_LENGTH_MAX)
        ),
        line=line,
    )
