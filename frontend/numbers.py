"""How numbers and instants look on pages. Pure; an unknown value is "unknown", never 0.

Files keep machine forms; these are for eyes: thousands separators, few digits, a unit always
named by the column or beside the number.
"""

import math
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

Number = int | float | Decimal

SECONDS_PER_HOUR = 3600
UNKNOWN = "unknown"
NONE = "–"
INFINITE = "∞"
PERCENT = "\N{NO-BREAK SPACE}%"


def units(value: Number | None) -> str:
    """Whole units with thousands separators."""
    return UNKNOWN if value is None else f"{int(value):,}"


def several(value: Number | None) -> str:
    """`1 unit`, `24 units`: whole units with their word."""
    return f"{(shown := units(value))} unit{'' if shown == '1' else 's'}"


def amount(value: Number | None) -> str:
    """Three digits where it matters: 0.042, 7.25, 81.3, 1,234."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return INFINITE
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}" if size >= 0.0005 else f"{value:.1e}"


def plain(value: Decimal) -> str:
    """A decimal as one would type it: all its digits, no trailing zeros, no exponent."""
    return f"{value.normalize():f}"


def unit_hours(unit_seconds: Number | None) -> str:
    """Unit-hours from unit-seconds; "unknown" for None."""
    return UNKNOWN if unit_seconds is None else amount(unit_seconds / SECONDS_PER_HOUR)


def percent(fraction: Number | None) -> str:
    """A fraction as a percentage of three digits at most; "unknown" for None and NaN."""
    if fraction is None or math.isnan(fraction):
        return UNKNOWN
    value = float(fraction) * 100
    if 0 < value < 0.05:
        return f"< 0.1{PERCENT}"
    return f"{value:.1f}{PERCENT}" if value < 99.95 else f"{value:,.0f}{PERCENT}"


def factor(value: float) -> str:
    """A fair-share factor in [0, 1] with the digits that `sshare` shows."""
    return f"{value:.6f}"


def level(value: float) -> str:
    """LevelFS: shares over use; infinite without use, none where nothing is compared."""
    if math.isnan(value):
        return NONE
    return INFINITE if math.isinf(value) else amount(value)


def place(rank: int, people: int) -> str:
    """A rank, where N of N goes first, as the place in the queue, where 1 does; none for 0."""
    return f"{people - rank + 1:,}" if rank else NONE


def shares(value: int | None) -> str:
    """Raw shares; None is the word `parent`."""
    return "parent" if value is None else f"{value:,}"


def ratio(part: Number | None, whole: Number | None) -> float | None:
    """part / whole; None where the whole is missing or zero, so that it shows as unknown."""
    return None if not whole or part is None else float(part / whole)


def instant(value: datetime, zone: ZoneInfo) -> str:
    """An instant in the organization's zone, with the zone's abbreviation."""
    return f"{value.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def moment(value: datetime, zone: ZoneInfo) -> str:
    """An instant to the minute, for tables under a page that names the zone."""
    return f"{value.astimezone(zone):%Y-%m-%d %H:%M}"


def ago(value: datetime, now: datetime) -> str:
    """How long ago or how far ahead, in one unit."""
    seconds = (value - now).total_seconds()
    size = abs(seconds)
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if size >= length:
            count = round(size / length)
            text = f"{count:,} {name}{'' if count == 1 else 's'}"
            return f"{text} ago" if seconds < 0 else f"in {text}"
    return "just now"


def duration(seconds: Number) -> str:
    """A length of time in its two largest units: 3 d 4 h, 2 h 5 min, 40 s."""
    left = int(seconds)
    parts = []
    for name, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count:,} {name}")
    return " ".join(parts[:2]) or "0 s"
