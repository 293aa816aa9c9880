"""Cutting time at the days and months of a time zone. Pure.

Days and months are half-open and keyed by the instants at which they begin, so a day may have 23,
24 or 25 hours, or none at all where a zone skipped it (docs/design.md part 9).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Bucket = Literal["day", "month"]
BUCKETS: tuple[Bucket, ...] = ("day", "month")

_ONE_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


def start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """The instant in UTC at which a date of the zone begins: its first midnight where clocks go
    back over it, the jump itself where they go forward over it."""
    # fold 0 is the earlier of two, and in a gap the offset from before it: the jump at 0:00.
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


def start_of_month(day: date, zone: ZoneInfo) -> datetime:
    """The instant in UTC at which the month of a date begins."""
    return start_of_day(day.replace(day=1), zone)


def day_of(instant: datetime, zone: ZoneInfo) -> date:
    """The date that an instant belongs to: of the half-open day that holds it."""
    day = instant.astimezone(zone).date()
    # Clocks that go back from 0:00 to 23:00 show the old date again; the new day has begun.
    if start_of_day(day + _ONE_DAY, zone) <= instant:
        return day + _ONE_DAY
    return day - _ONE_DAY if instant < start_of_day(day, zone) else day


def bucket_of(day: date, bucket: Bucket) -> date:
    """The first date of the bucket that holds a day."""
    return day if bucket == "day" else day.replace(day=1)


def next_bucket(first: date, bucket: Bucket) -> date:
    """The first date of the bucket after the one that begins with `first`."""
    if bucket == "day":
        return first + _ONE_DAY
    return (first.replace(day=1) + timedelta(days=32)).replace(day=1)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a period that no cut crosses, and the first date of the bucket that holds it."""

    bucket: date
    start: datetime
    end: datetime


def pieces(
    start: datetime,
    end: datetime,
    *,
    zone: ZoneInfo,
    bucket: Bucket,
    cuts: Sequence[datetime] = (),
) -> Iterator[Piece]:
    """The period from `start` to `end`, cut at every bucket's bound and at `cuts` (ascending).

    Together the pieces are the period: nothing is lost, nothing counted twice. An empty period has
    none.
    """
    here = start
    first = bucket_of(day_of(start, zone), bucket)
    next_cut = bisect_right(cuts, start)
    last_cut = bisect_left(cuts, end)
    while here < end:
        after = next_bucket(first, bucket)
        bound = start_of_day(after, zone)
        if bound <= here:  # a date that a zone skipped
            first = after
            continue
        until = min(bound, end)
        if next_cut < last_cut and cuts[next_cut] < until:
            until = cuts[next_cut]
            next_cut += 1
        elif next_cut < last_cut and cuts[next_cut] == until:
            next_cut += 1
        yield Piece(first, here, until)
        here = until
        if here == bound:
            first = after


def microseconds(start: datetime, end: datetime) -> int:
    """Length of a period, exactly."""
    return (end - start) // _MICROSECOND
