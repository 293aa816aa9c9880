"""From what is known of jobs and accounts to what is found, by a rule. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from preemption.domain.detection import (
    DetectionRule,
    IdleFinding,
    Sample,
    SurgeFinding,
    ZombieFinding,
    idle,
    low_run,
    surge,
    zombie,
)
from quota.domain.measuring import Measured

PERCENT = 100


def samples(work: Measured) -> list[Sample]:
    """A job's stretches as samples, each held against thresholds by its busiest message."""
    if work.until is None:
        return []
    ends = [one.start for one in work.stretches[1:]] + [work.until]
    microsecond = timedelta(microseconds=1)
    return [
        Sample(
            start=one.start,
            end=end,
            compute_util=Fraction(one.busy) / max(1, (end - one.start) // microsecond),
            peak=Fraction(one.peak, PERCENT),
        )
        for one, end in zip(work.stretches, ends, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinding:
    """An allocation that is `idle` or a `zombie`.

    Attributes:
        since: since when it does nothing.
        compute_util: mean since then, or as last told where it is a zombie.
        progress_at: last sign that it gets on; None where it is idle.
    """

    kind: str
    since: datetime
    compute_util: Fraction
    progress_at: datetime | None = None


def of_job(
    work: Measured,
    *,
    started_at: datetime,
    fresh: timedelta,
    at: datetime,
    rule: DetectionRule,
    kinds: Collection[str],
) -> JobFinding | None:
    """The worst that is true of a running job.

    A job that computes gets on, whether it counts its steps or not: the last sign of progress is
    the last change of its count or the last message that was not below the zombie's share,
    whichever came later.

    Args:
        fresh: age from which what it told says nothing about now.
    """
    if work.until is None or at - work.until > fresh:
        return None
    known = samples(work)
    if "zombie" in kinds:
        low = low_run(known, rule.zombie_below)
        latest = Sample(
            start=work.until,
            end=work.until,
            compute_util=None if work.compute_util is None else Fraction(work.compute_util),
            memory_gb=None if work.memory_gb is None else Fraction(work.memory_gb),
        )
        progress_at = max(
            work.progress_at or started_at, low[-1].start if low else work.until, started_at
        )
        dead: ZombieFinding | None = zombie(latest, progress_at=progress_at, at=at, rule=rule)
        if dead is not None:
            return JobFinding(
                kind="zombie",
                since=progress_at,
                compute_util=dead.compute_util,
                progress_at=progress_at,
            )
    if "idle" in kinds:
        lazy: IdleFinding | None = idle(known, at=at, rule=rule, fresh=fresh)
        if lazy is not None:
            return JobFinding(kind="idle", since=lazy.since, compute_util=lazy.compute_util)
    return None


def of_account(
    consumed: int, days: Collection[int | None], *, rule: DetectionRule
) -> SurgeFinding | None:
    """`surge` over the days that are known."""
    return surge(consumed, [day for day in days if day is not None], rule=rule)
