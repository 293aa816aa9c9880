"""What heartbeats tell of the work of a running job, kept small. Pure.

A job may tell how busy it was since it last told so, the memory that it holds, and how far it got.
What rules need of that is since when it has been less busy than some share: kept as *stretches*, a
staircase that falls. Each stretch is as high as its busiest message; a busier one than those before
it swallows them. So there are at most as many as whole percents below `BUSY`, however many messages
came, and every question "since when below t" has its exact answer for t in whole percents up to it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

BUSY = 50
"""Percent from which a job is busy for every rule there may be: nothing before it matters."""
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` until the next stretch: at most `peak` percent busy (rounded down, so that below
    t percent is exact), and `busy` in all, as microseconds of full use."""

    start: datetime
    peak: int
    busy: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """One heartbeat. What is None was not told.

    Attributes:
        since: since when a message may speak of the job: its start.
        gap: silence from which nothing is known of the time between two messages.
    """

    at: datetime
    since: datetime
    gap: timedelta
    compute_util: Decimal | None = None
    memory_gb: Decimal | None = None
    progress: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of a job's work.

    Attributes:
        until: instant up to which it was told how busy the job was; None: never.
        compute_util: as last told, of the time up to `until`.
        memory_gb: as last told.
        progress, progress_at: as last told, and when it was first told so.
        stretches: unbroken up to `until`; empty while the job is busy.
    """

    until: datetime | None = None
    compute_util: Decimal | None = None
    memory_gb: Decimal | None = None
    progress: int | None = None
    progress_at: datetime | None = None
    stretches: tuple[Stretch, ...] = ()

    @property
    def mean(self) -> Fraction | None:
        """How busy it was over all stretches; None without any."""
        return self.mean_from(0)

    def mean_from(self, first: int) -> Fraction | None:
        """How busy it was from a stretch on, 0 to 1."""
        if self.until is None or first >= len(self.stretches):
            return None
        length = (self.until - self.stretches[first].start) // MICROSECOND
        busy = sum((one.busy for one in self.stretches[first:]), Decimal(0))
        return Fraction(busy) / length if length else None


NOTHING = Measured()


def told(before: Measured, telling: Telling) -> Measured:
    """What is known after a heartbeat. One that is not newer changes nothing."""
    after = before
    if telling.memory_gb is not None:
        after = replace(after, memory_gb=telling.memory_gb)
    if telling.progress is not None and telling.progress != before.progress:
        after = replace(after, progress=telling.progress, progress_at=telling.at)
    if telling.compute_util is None:
        return after
    if before.until is not None and telling.at <= before.until:
        return before
    return _used(after, telling, telling.compute_util)


def _used(before: Measured, telling: Telling, share: Decimal) -> Measured:
    known = before.until or telling.since
    is_gap = telling.at - known > telling.gap
    start = telling.at if is_gap else max(known, telling.since)
    peak = int(share * 100)
    stretches: tuple[Stretch, ...] = ()
    if peak < BUSY:
        kept = [] if is_gap else list(before.stretches)
        busy = share * ((telling.at - start) // MICROSECOND)
        while kept and kept[-1].peak <= peak:
            swallowed = kept.pop()
            start, busy = swallowed.start, busy + swallowed.busy
        stretches = (*kept, Stretch(start, peak, busy))
    return replace(before, until=telling.at, compute_util=share, stretches=stretches)
