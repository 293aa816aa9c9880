"""Allocations that do nothing, and accounts that suddenly use far more than they do. Pure.

Three findings, each with its evidence (docs/design.md part 7). Telemetry that is missing is
unknown: it ends a run of idle samples and never starts one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from ledger.errors import Invalid

MAD_CONSISTENT = Fraction(14826, 10_000)
"""1.4826: makes the median absolute deviation of normal data its standard deviation (F. R. Hampel,
"The influence curve and its role in robust estimation", JASA 69, 1974)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRule:
    """When something is worth a notice.

    Attributes:
        idle_below, idle_minutes: compute utilisation under which an allocation is idle, and how
            long it must have been.
        zombie_below, progress_seconds_max: compute utilisation of one that holds memory, and time
            since its last sign of progress.
        baseline_factor: times the account's own median day.
        baseline_spread: and so many robust standard deviations above it, so that an account with
            wild days is not reported for one of them.
        baseline_days_min: days of history below which an account is new, and left alone.
    """

    idle_below: Fraction = Fraction(10, 100)
    idle_minutes: int = 60
    zombie_below: Fraction = Fraction(5, 100)
    progress_seconds_max: int = 600
    baseline_factor: int = 3
    baseline_spread: int = 3
    baseline_days_min: int = 14

    def __post_init__(self) -> None:
        if not 0 <= self.idle_below <= 1 or not 0 <= self.zombie_below <= 1:
            raise Invalid("share_out_of_range", "A utilisation is 0 to 1.")
        for name in (
            "idle_minutes",
            "progress_seconds_max",
            "baseline_factor",
            "baseline_days_min",
        ):
            if getattr(self, name) < 1:
                raise Invalid("number_out_of_range", f"{name} must be at least 1.", field=name)


DEFAULT_DETECTION = DetectionRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Mean compute utilisation (0 to 1) over [start, end); None is unknown. `peak`: the highest of
    what the mean is made of; None: it is of one piece."""

    start: datetime
    end: datetime
    compute_util: Fraction | None
    memory_gb: Fraction | None = None
    peak: Fraction | None = None

    @property
    def highest(self) -> Fraction | None:
        """The share that a threshold is held against."""
        return self.compute_util if self.peak is None else self.peak


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleFinding:
    """An allocation whose compute lay idle from `since` until `until`, at this mean."""

    since: datetime
    until: datetime
    compute_util: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieFinding:
    """An allocation that holds memory and neither computes nor gets on since `progress_at`."""

    progress_at: datetime
    memory_gb: Fraction
    compute_util: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class SurgeFinding:
    """A day's consumption against the account's own: unit-seconds, `times` the median."""

    consumed: int
    median: Fraction
    deviation: Fraction
    times: Fraction


def low_run(samples: Sequence[Sample], below: Fraction) -> list[Sample]:
    """The unbroken run of samples below a share that ends last, the latest first.

    Args:
        samples: of one allocation, in order of time.
    """
    run: list[Sample] = []
    for sample in reversed(samples):
        if sample.highest is None or sample.highest >= below:
            break
        if run and sample.end < run[-1].start:
            break  # a gap: unknown
        run.append(sample)
    return run


def idle(
    samples: Sequence[Sample],
    *,
    at: datetime,
    rule: DetectionRule = DEFAULT_DETECTION,
    fresh: timedelta | None = None,
) -> IdleFinding | None:
    """Is an allocation idle now, and since when?

    The unbroken run of idle samples that ends last counts. It must reach up to `at` but for one
    sample's length (what is being measured) or `fresh`, and be long enough.

    Args:
        samples: of one allocation, in order of time.
    """
    run = low_run(samples, rule.idle_below)
    if not run or at - run[0].end > (fresh or run[0].end - run[0].start):
        return None
    since, until = run[-1].start, run[0].end
    if until - since < timedelta(minutes=rule.idle_minutes):
        return None
    return IdleFinding(since=since, until=until, compute_util=_mean(run))


def zombie(
    latest: Sample | None,
    *,
    progress_at: datetime,
    at: datetime,
    rule: DetectionRule = DEFAULT_DETECTION,
) -> ZombieFinding | None:
    """Does an allocation hold memory without computing or getting on?

    Args:
        progress_at: its last heartbeat that told of progress; its start where there was none.
    """
    if latest is None or latest.compute_util is None or not latest.memory_gb:
        return None
    if latest.compute_util >= rule.zombie_below:
        return None
    if at - progress_at <= timedelta(seconds=rule.progress_seconds_max):
        return None
    return ZombieFinding(
        progress_at=progress_at, memory_gb=latest.memory_gb, compute_util=latest.compute_util
    )


def surge(
    consumed: int, days: Sequence[int], *, rule: DetectionRule = DEFAULT_DETECTION
) -> SurgeFinding | None:
    """Does an account consume at a multiple of its own baseline?

    Median and median absolute deviation, which a few outliers among the days cannot move. Days
    before the first with any use do not count; an account with too few, or one that uses nothing
    on most days, has no baseline.

    Args:
        consumed: unit-seconds of the day that is judged.
        days: of the days before it, in order.
    """
    begun = next((at for at, day in enumerate(days) if day), len(days))
    known = days[begun:]
    if len(known) < rule.baseline_days_min:
        return None
    median = _median(known)
    if not median:
        return None
    deviation = MAD_CONSISTENT * _median([abs(day - median) for day in known])
    if consumed < rule.baseline_factor * median:
        return None
    if consumed <= median + rule.baseline_spread * deviation:
        return None
    return SurgeFinding(
        consumed=consumed, median=median, deviation=deviation, times=consumed / median
    )


def _mean(run: Sequence[Sample]) -> Fraction:
    """Weighted by time, exact to the microsecond."""
    microsecond = timedelta(microseconds=1)
    lengths = [(sample.end - sample.start) // microsecond for sample in run]
    total = sum(
        (sample.compute_util or Fraction(0)) * length
        for sample, length in zip(run, lengths, strict=True)
    )
    return Fraction(total) / (sum(lengths) or 1)


def _median(values: Sequence[int | Fraction]) -> Fraction:
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return Fraction(ordered[half])
    return Fraction(ordered[half - 1] + ordered[half]) / 2
