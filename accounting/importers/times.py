"""Times as files write them, made aware and put into UTC. Pure.

A time with an offset, or digits that count seconds since 1970, says what it means. A naive time
is read in the zone the caller names. Where clocks go back, a naive hour happens twice: the first
is taken, unless a known duration or the order of start and end says it was the second. Where
clocks go forward, a naive time that never was is a problem: the zone is wrong.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from accounting.importers.record import FieldError

YEAR_FIRST: Final = 1970
YEAR_LAST: Final = 2199
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s?(Z|z|[+-]\d\d(:?\d\d)?)?", re.ASCII
)
_SECONDS = re.compile(r"\d{6,11}", re.ASCII)
_NO_TIME: Final = frozenset({"", "unknown", "none", "n/a", "invalid", "unlimited", "not_set", "0"})


def zone(name: str) -> tzinfo:
    """The zone of an IANA name such as ``Europe/Berlin``; FieldError when there is none."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise FieldError(
            "timezone", "unknown_timezone", f"{name!r} is not a known IANA time zone.", name
        ) from error


def is_no_time(text: str) -> bool:
    """True for the words that stand for no time: Unknown, None, INVALID, UNLIMITED, blank."""
    return text.strip().lower() in _NO_TIME


def looks_like_time(text: str) -> bool:
    """True when the text has the shape of a time or stands for none."""
    return is_no_time(text) or bool(_ISO.fullmatch(text) or _SECONDS.fullmatch(text))


def from_epoch(seconds: int, *, field: str) -> datetime:
    """The instant so many seconds after 1970; FieldError outside the years accepted."""
    try:
        moment = EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        moment = None
    if moment is None or not YEAR_FIRST <= moment.year <= YEAR_LAST:
        raise FieldError(
            field,
            "time_out_of_range",
            f"The time must be in the years {YEAR_FIRST} to {YEAR_LAST}.",
            str(seconds),
        )
    return moment


def aware(text: str, *, field: str) -> datetime:
    """The instant of a text that carries its own zone or offset; FieldError when it has none."""
    moments = _read(text, None, field)
    return moments[0]


def instant(text: str, *, field: str, zone: tzinfo) -> datetime:
    """The instant of a text, naive ones read in ``zone``; the first where it happened twice."""
    return _read(text, zone, field)[0]


def interval(
    start_text: str,
    end_text: str,
    *,
    zone: tzinfo,
    elapsed_seconds: int | None = None,
    start_field: str = "start",
    end_field: str = "end",
) -> tuple[datetime, datetime]:
    """Start and end together, so that an hour that happened twice is told apart.

    Of the possible pairs, the first that lasts ``elapsed_seconds`` is taken, else the first that
    does not end before its start. FieldError when every pair ends before it starts.
    """
    starts = _read(start_text, zone, start_field)
    ends = _read(end_text, zone, end_field)
    pairs = [(start, end) for start in starts for end in ends if end >= start]
    if not pairs:
        raise FieldError(
            end_field, "end_before_start", f"The end is before the start {start_text}.", end_text
        )
    if elapsed_seconds is not None and len(pairs) > 1:
        wanted = timedelta(seconds=elapsed_seconds)
        pairs.sort(key=lambda pair: pair[1] - pair[0] != wanted)
    return pairs[0]


@lru_cache(maxsize=4096)
def _read(text: str, zone: tzinfo | None, field: str) -> tuple[datetime, ...]:
    """The one or two instants that the text can mean, in UTC, earliest first."""
    if _SECONDS.fullmatch(text):
        return (from_epoch(int(text), field=field),)
    if not _ISO.fullmatch(text):
        raise FieldError(
            field,
            "bad_time",
            "Write times as 2026-11-29T15:18:20Z.",
            text,
        )
    try:
        moment = datetime.fromisoformat(text.replace(",", ".").replace("z", "Z").replace(" Z", "Z"))
        if not YEAR_FIRST <= moment.year <= YEAR_LAST:
            raise OverflowError
        if moment.tzinfo is not None:
            return (moment.astimezone(UTC),)
    except OverflowError:
        raise FieldError(
            field,
            "time_out_of_range",
            f"The time must be in the years {YEAR_FIRST} to {YEAR_LAST}.",
            text,
        ) from None
    except ValueError:
        raise FieldError(field, "bad_time", "There is no such day or time.", text) from None
    if zone is None:
        raise FieldError(
            field,
            "time_without_zone",
            "Add the zone: Z, or an offset such as +01:00.",
            text,
        )
    return _local(moment, zone, field, text)


def _local(moment: datetime, zone: tzinfo, field: str, text: str) -> tuple[datetime, ...]:
    if zone is UTC:
        return (moment.replace(tzinfo=UTC),)
    first = moment.replace(tzinfo=zone).astimezone(UTC)
    second = moment.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return (first,)
    # In a gap the fold runs backwards: reading back the "first" gives another wall time.
    if first.astimezone(zone).replace(tzinfo=None) != moment:
        raise FieldError(
            field,
            "nonexistent_time",
            f"In {zone} clocks skip this time: the file was written in another zone.",
            text,
        )
    return (first, second)
