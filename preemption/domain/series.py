"""What a quota's account held over time, and a clock that runs only while that is known. Pure.

Times are whole seconds since 1970 in int64 arrays, so a quota's 90 days of hours are judged in a
few array operations, exactly. Two clocks: the *wall*, and the *observed* one that stands still in
maintenance and where telemetry is missing longer than the rule bridges. Unknown is never zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ledger.errors import Invalid

Ints = NDArray[np.int64]
HOUR_SECONDS = 3600
UNITS_MAX = 10**9
"""So that units x seconds x the terms of a threshold stay in 64 bits."""

Interval = tuple[int, int]
"""[start, end) in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UseSeries:
    """Units held over [start, end), in order, without overlap. What is not covered is unknown."""

    start: Ints
    end: Ints
    units: Ints

    @classmethod
    def hourly(
        cls, start: int, units: Sequence[int | None], *, step_seconds: int = 3600
    ) -> "UseSeries":
        """One value per step from `start` on; None where it is unknown."""
        values = np.array([-1 if each is None else each for each in units], dtype=np.int64)
        starts = start + step_seconds * np.arange(len(values), dtype=np.int64)
        known = values >= 0
        return cls.of(starts[known], starts[known] + step_seconds, values[known])

    @classmethod
    def instants(
        cls, samples: Sequence[tuple[int, int | None]], *, until: int, hold_seconds: int
    ) -> "UseSeries":
        """Each value holds until the next sample, at most `hold_seconds`; None: unknown."""
        starts = np.array([at for at, _ in samples], dtype=np.int64)
        values = np.array([-1 if n is None else n for _, n in samples], dtype=np.int64)
        following = np.append(starts[1:], until)
        ends = np.minimum(following, starts + hold_seconds)
        known = (values >= 0) & (ends > starts)
        return cls.of(starts[known], ends[known], values[known])

    @classmethod
    def of(cls, start: Ints, end: Ints, units: Ints) -> "UseSeries":
        """Raises `Invalid` `use_series`: out of order, overlapping, or beyond bounds."""
        if (end <= start).any() or (start[1:] < end[:-1]).any():
            raise Invalid("use_series", "Use is listed in order of time, without overlap.")
        if (units < 0).any() or (units > UNITS_MAX).any():
            raise Invalid("use_series", f"Use is 0 to {UNITS_MAX} units.")
        return cls(start=start, end=end, units=units)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """A series on the observed clock: pieces without gaps, `clock[i]` at the end of piece i.

    Attributes:
        unknown: seconds of unknown time in front of each piece, in all.
    """

    start: Ints
    units: Ints
    clock: Ints
    begun: Ints
    unknown: Ints

    @classmethod
    def build(
        cls, series: UseSeries, *, gap_seconds_max: int, excluded: Sequence[Interval] = ()
    ) -> "Observed":
        """Bridge short gaps with the value before them, then cut the excluded intervals out."""
        start, end, units = series.start, series.end.copy(), series.units
        gaps = start[1:] - end[:-1]
        bridged = (gaps > 0) & (gaps <= gap_seconds_max)
        end[:-1] = np.where(bridged, start[1:], end[:-1])
        for low, high in merged(excluded):
            start, end, units = _without(start, end, units, low, high)
        length = end - start
        clock = np.cumsum(length)
        missing = np.zeros_like(start)
        if len(start):
            missing[1:] = start[1:] - end[:-1]
            missing -= _excluded_between(start, end, merged(excluded))
        return cls(
            start=start,
            units=units,
            clock=clock,
            begun=clock - length,
            unknown=np.cumsum(missing),
        )

    @property
    def total(self) -> int:
        return int(self.clock[-1]) if len(self.clock) else 0

    def wall(self, clock: int) -> int:
        """When the observed clock showed this, at the end of what was observed until then."""
        piece = int(self.piece(np.array([clock]))[0])
        return int(self.start[piece] + clock - self.begun[piece])

    def clock_at(self, wall: int) -> int:
        """What the observed clock shows at an instant."""
        if not len(self.start):
            return 0
        piece = int(np.searchsorted(self.start, wall, side="right")) - 1
        if piece < 0:
            return 0
        return int(min(self.clock[piece], self.begun[piece] + wall - self.start[piece]))

    def piece(self, clock: Ints) -> Ints:
        """The piece that ends at or holds a reading of the clock; 0 belongs to the first."""
        return np.minimum(np.searchsorted(self.clock, clock, side="left"), len(self.clock) - 1)

    def percentile(self, low: int, high: int, percent: int) -> int:
        """The smallest use that was not exceeded in that part of the observed time (low, high].

        Nearest rank, weighted by duration: never between two values that occurred.
        """
        first, last = (int(each) for each in self.piece(np.array([low + 1, high])))
        units = self.units[first : last + 1]
        ends = np.minimum(self.clock[first : last + 1], high)
        weight = ends - np.maximum(self.begun[first : last + 1], low)
        order = np.argsort(units, kind="stable")
        reached = np.cumsum(weight[order]) * 100 >= percent * (high - low)
        return int(units[order][np.argmax(reached)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hours:
    """The full hours of the observed clock in a stretch of it, looked up once.

    Attributes:
        marks: readings, the beginning of the stretch first.
        piece: that ends at or holds each mark; `after`, that follows it.
    """

    observed: Observed
    marks: Ints
    piece: Ints
    after: Ints

    @classmethod
    def build(cls, observed: Observed, *, first: int, last: int) -> "Hours":
        marks = np.arange(first, last + 1, HOUR_SECONDS, dtype=np.int64)
        after = np.searchsorted(observed.clock, marks, side="right")
        return cls(
            observed=observed,
            marks=marks,
            piece=observed.piece(marks),
            after=np.minimum(after, len(observed.clock) - 1),
        )

    @property
    def readings(self) -> Ints:
        """The marks behind the first: an hour after the beginning, two hours..."""
        return self.marks[1:]

    @property
    def instants(self) -> Ints:
        """When the clock showed each reading, in seconds since 1970."""
        piece = self.piece[1:]
        return self.observed.start[piece] + self.readings - self.observed.begun[piece]

    def integral(self, value: Ints) -> Ints:
        """The sum over time of a value per piece, up to each mark."""
        observed = self.observed
        area = value * (observed.clock - observed.begun)
        before = np.cumsum(area) - area
        piece = self.piece
        return before[piece] + value[piece] * (self.marks - observed.begun[piece])

    def sums(self, integral: Ints, length: int) -> Ints:
        """Of each reading, the sum over so many seconds (whole hours) before it; -1 where the
        stretch has not been that long."""
        steps = length // HOUR_SECONDS
        found = np.full(len(self.marks) - 1, -1, dtype=np.int64)
        if len(self.marks) > steps:
            found[steps - 1 :] = integral[steps:] - integral[:-steps]
        return found

    def unknown(self, length: int) -> Ints:
        """Of each reading, the unknown time that so many observed seconds before it span."""
        steps = length // HOUR_SECONDS
        unknown = self.observed.unknown
        found = np.zeros(len(self.marks) - 1, dtype=np.int64)
        if len(self.marks) > steps:
            found[steps - 1 :] = unknown[self.piece[steps:]] - unknown[self.after[:-steps]]
        return found


def merged(intervals: Sequence[Interval]) -> list[Interval]:
    """In order, overlapping ones as one, empty ones left out."""
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if high <= low:
            continue
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def seconds(instant: datetime) -> int:
    """Whole seconds since 1970, down."""
    return int(instant.timestamp() // 1)


def moment(at: int) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _without(start: Ints, end: Ints, units: Ints, low: int, high: int) -> tuple[Ints, Ints, Ints]:
    """The pieces with [low, high) cut out; one that holds it becomes two."""
    starts = np.concatenate([start, np.maximum(start, high)])
    ends = np.concatenate([np.minimum(end, low), end])
    both = np.concatenate([units, units])
    keep = ends > starts
    starts, ends, both = starts[keep], ends[keep], both[keep]
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], both[order]


def _excluded_between(start: Ints, end: Ints, excluded: Sequence[Interval]) -> Ints:
    """Of the time in front of each piece, how much was excluded, not unknown."""
    found = np.zeros_like(start)
    for low, high in excluded:
        inside = np.minimum(start[1:], high) - np.maximum(end[:-1], low)
        found[1:] += np.maximum(0, inside)
    return found
