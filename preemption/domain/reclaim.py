"""Use it or lose it: what an idle guarantee goes through, and when. Pure, exact.

    watch -> demoted -> returned | restored        (docs/design.md part 7)

A guarantee is judged on every full hour of observed time since it began to be judged:

- `watch` when the mean utilisation of the guarantee over the last 2/3 of a window is below the
  threshold; the lead is told. Use above the guarantee counts as the guarantee: what is borrowed
  says nothing about hours in which the guarantee lay idle.
- `cleared` when a watched one reaches the threshold and a margin over the same time. Between
  threshold and margin nothing changes, so 19.9 % then 20.1 % does not flap.
- `demoted` when the mean over the whole window is below the threshold, and the watch was long
  enough ago (1/3 of a window) for the lead to answer. What leaves the guarantee is exactly what
  neither the 95th percentile of use over the window nor what is in use at that instant needs.
- `justified` stops everything until its end; then the window begins anew.
- After a demotion nothing is judged within the cooldown, whatever becomes of it: no second
  demotion, and the time in which restoring is one click. Then the window begins anew.

The observed clock stands still where telemetry is missing longer than `gap_seconds_max` and in
maintenance; a window that holds more unknown time than `unknown_seconds_max` is not judged at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ledger.errors import Invalid
from preemption.domain.series import (
    UNITS_MAX,
    Hours,
    Interval,
    Ints,
    Observed,
    UseSeries,
    moment,
    seconds,
)

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400
SECONDS_MAX = 366 * DAY_SECONDS
PERCENTILE = 95
_SHARE_DENOMINATOR_MAX = 10_000

Bools = NDArray[np.bool_]

StageName = Literal["watch", "cleared", "demoted", "justified", "restored", "returned"]
Decision = Literal["restore", "return"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimRule:
    """An organization's rule for one pool.

    Attributes:
        threshold: mean utilisation of the guarantee below which it is idle.
        window_seconds: over which. `watch_part` of it makes a watch.
        clear_margin: on top of the threshold, what ends a watch.
        cooldown_seconds: after a demotion, without another; restoring is possible within.
        gap_seconds_max: longer gaps of telemetry stop the clock; shorter ones are bridged.
        unknown_seconds_max: unknown time that a window may span and still be judged.
        justification_seconds_max: how long a justification may last.
    """

    threshold: Fraction = Fraction(20, 100)
    window_seconds: int = 72 * HOUR_SECONDS
    watch_part: Fraction = Fraction(2, 3)
    clear_margin: Fraction = Fraction(5, 100)
    cooldown_seconds: int = 14 * DAY_SECONDS
    gap_seconds_max: int = 2 * HOUR_SECONDS
    unknown_seconds_max: int = 24 * HOUR_SECONDS
    justification_seconds_max: int = 90 * DAY_SECONDS

    def __post_init__(self) -> None:
        for name in ("threshold", "watch_part", "clear_margin"):
            share = getattr(self, name)
            if not 0 <= share <= 1 or share.denominator > _SHARE_DENOMINATOR_MAX:
                raise Invalid(
                    "share_out_of_range", f"{name} must be 0 to 1, to 0.01 %.", field=name
                )
        whole = not self.window_seconds % HOUR_SECONDS
        if not whole or not HOUR_SECONDS <= self.window_seconds <= SECONDS_MAX:
            raise Invalid(
                "window_out_of_range",
                "A window is whole hours, one to a year's.",
                field="window_seconds",
            )
        for name in (
            "cooldown_seconds",
            "gap_seconds_max",
            "unknown_seconds_max",
            "justification_seconds_max",
        ):
            if not 0 <= getattr(self, name) <= SECONDS_MAX:
                raise Invalid(
                    "seconds_out_of_range", f"{name} must be 0 to {SECONDS_MAX}.", field=name
                )

    @property
    def watch_seconds(self) -> int:
        """Whole hours, up, at least one."""
        hours = -int(-(self.window_seconds * self.watch_part) // HOUR_SECONDS)
        return max(1, hours) * HOUR_SECONDS


DEFAULT_RULE = ReclaimRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Justification:
    """A lead's reason to keep an idle guarantee, from `start` to before `end`."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of a demotion: `restore` by the lead or a review, `return` by a review."""

    at: datetime
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One event of a guarantee.

    Attributes:
        units: that left the guarantee (`demoted`), came back (`restored`) or went to the parent.
        guarantee: after it.
        utilisation: mean over the time that was judged.
        p95: the need that the demotion leaves; `in_use` at that instant.
        until: end of the justification, or of the cooldown.
    """

    name: StageName
    at: datetime
    units: int = 0
    guarantee: int
    utilisation: Fraction | None = None
    p95: int | None = None
    in_use: int | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaHistory:
    """A guarantee and what happened to it, as far as known.

    Attributes:
        judged_from: when it was promised, or last set; use before it says nothing.
        is_exempt: serves P0, or the rule exempts its account.
        exempt: stretches in which it was so, from the first to before the second; nothing is said
            within, and what was judged before goes on after.
    """

    guarantee: int
    use: UseSeries
    judged_from: datetime | None = None
    is_exempt: bool = False
    exempt: Sequence[tuple[datetime, datetime]] = ()
    maintenance: Sequence[tuple[datetime, datetime]] = ()
    justifications: Sequence[Justification] = ()
    decisions: Sequence[Decided] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.guarantee <= UNITS_MAX:
            raise Invalid("guarantee_out_of_range", f"A guarantee is 0 to {UNITS_MAX} units.")


def stages(quota: QuotaHistory, rule: ReclaimRule = DEFAULT_RULE) -> tuple[Stage, ...]:
    """Everything the rule would have done, in order. Asked again later, it begins the same."""
    if quota.is_exempt or not quota.guarantee or not len(quota.use):
        return ()
    excluded: list[Interval] = [(seconds(low), seconds(high)) for low, high in quota.maintenance]
    observed = Observed.build(quota.use, gap_seconds_max=rule.gap_seconds_max, excluded=excluded)
    if not observed.total:
        return ()
    return tuple(_Judge(quota, rule, observed).run())


def latest(
    quota: QuotaHistory, rule: ReclaimRule = DEFAULT_RULE, *, watched_at: datetime | None
) -> Stage | None:
    """What a run at the end of the known use is to record, whatever earlier runs missed: `watch`,
    `cleared` or `demoted`, by the newest full hour; None: nothing.

    Asked every hour it says what `stages` says. Asked late it never takes at once what nobody was
    told of: a demotion follows its watch as late as the rule wants.

    Args:
        watched_at: when the watch that stands was recorded; None: none stands.
    """
    if quota.is_exempt or not quota.guarantee or not len(quota.use):
        return None
    excluded: list[Interval] = [(seconds(low), seconds(high)) for low, high in quota.maintenance]
    observed = Observed.build(quota.use, gap_seconds_max=rule.gap_seconds_max, excluded=excluded)
    if not observed.total:
        return None
    return _Judge(quota, rule, observed).latest(watched_at)


def idle_units(*, guarantee: int, p95: int, in_use: int) -> int:
    """What may leave a guarantee: never what is needed, never what is in use, never below 0."""
    return max(0, guarantee - max(p95, in_use))


def may_restore(
    *, at: datetime, demoted: Stage, units_promisable: int
) -> Literal["yes", "too_late", "no_capacity"]:
    """Is restoring still one click? Only within the cooldown, and if the pool can promise it."""
    if demoted.until is not None and at >= demoted.until:
        return "too_late"
    return "yes" if units_promisable >= demoted.units else "no_capacity"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Readings:
    """What each full hour of a stretch says. `short`, `long`: use over a watch, over a window."""

    at: Ints
    short: Ints
    long: Ints
    is_idle: Bools
    is_used: Bools
    is_lost: Bools


class _Judge:
    """Walks the stretches of time in which nothing from outside interferes."""

    def __init__(self, quota: QuotaHistory, rule: ReclaimRule, observed: Observed) -> None:
        self.quota = quota
        self.rule = rule
        self.observed = observed
        self.guarantee = quota.guarantee
        self.decisions = sorted(quota.decisions, key=lambda each: each.at)

    def run(self) -> list[Stage]:
        found: list[Stage] = []
        start = self.quota.judged_from
        here = int(self.observed.start[0]) if start is None else seconds(start)
        longest = self.rule.justification_seconds_max
        pauses = sorted(
            (seconds(each.start), min(seconds(each.end), seconds(each.start) + longest))
            for each in self.quota.justifications
        )
        end = self.observed.wall(self.observed.total)
        while here < end and self.guarantee:
            while pauses and pauses[0][1] <= here:
                pauses.pop(0)
            # At the instant from which it is justified nothing else is said of it any more.
            stop = max(here, pauses[0][0] - 1) if pauses else end
            stretch, demoted = self._stretch(here, min(stop, end))
            found += stretch
            if demoted is not None:
                found += self._after(demoted)
                here = seconds(demoted.until or demoted.at)
            elif pauses and stop <= end:
                since, here = pauses.pop(0)
                if stretch and stretch[-1].name == "watch":
                    found.append(
                        Stage(
                            name="justified",
                            at=moment(since),
                            guarantee=self.guarantee,
                            until=moment(here),
                        )
                    )
            else:
                break
        return sorted(found, key=lambda stage: stage.at)

    def _after(self, demoted: Stage) -> Iterable[Stage]:
        """The first decision about a demotion; a restore counts within its cooldown only."""
        self.guarantee = demoted.guarantee
        while self.decisions:
            decided = self.decisions[0]
            late = demoted.until is not None and decided.at >= demoted.until
            if decided.at < demoted.at or (decided.decision == "restore" and late):
                self.decisions.pop(0)
                continue
            self.decisions.pop(0)
            if decided.decision == "restore":
                self.guarantee += demoted.units
            name: StageName = "restored" if decided.decision == "restore" else "returned"
            yield Stage(name=name, at=decided.at, units=demoted.units, guarantee=self.guarantee)
            return

    def latest(self, watched_at: datetime | None) -> Stage | None:
        """See the function of this name."""
        start = self.quota.judged_from
        low = int(self.observed.start[0]) if start is None else seconds(start)
        found = self._read(low, self.observed.wall(self.observed.total))
        if found is None:
            return None
        reading = int(found.at[-1])
        window, watch = self.rule.window_seconds, self.rule.watch_seconds
        if watched_at is None:
            is_idle = bool(found.is_idle[-1])
            return self._stage("watch", reading, int(found.short[-1]), watch) if is_idle else None
        if found.is_used[-1]:
            return self._stage("cleared", reading, int(found.short[-1]), watch)
        told = self.observed.clock_at(seconds(watched_at)) + window - watch
        if found.is_lost[-1] and reading >= told:
            return self._demote(reading, int(found.long[-1]))
        return None

    def _read(self, low: int, high: int) -> _Readings | None:
        """Between two instants; None where that is less than a watch."""
        first, last = self.observed.clock_at(low), self.observed.clock_at(high)
        if last - first < self.rule.watch_seconds:
            return None
        hours = Hours.build(self.observed, first=first, last=last)
        window, watch = self.rule.window_seconds, self.rule.watch_seconds
        used = hours.integral(np.minimum(self.observed.units, self.guarantee))
        short, long = hours.sums(used, watch), hours.sums(used, window)
        threshold, unknown_max = self.rule.threshold, self.rule.unknown_seconds_max
        is_idle = self._below(short, threshold, watch) & (hours.unknown(watch) <= unknown_max)
        is_lost = self._below(long, threshold, window) & (hours.unknown(window) <= unknown_max)
        if is_lost.any():
            is_lost &= self._has_idle_part(hours)
        is_used = (short >= 0) & ~self._below(short, threshold + self.rule.clear_margin, watch)
        silent = self._silent(hours.instants)
        is_idle, is_used, is_lost = is_idle & ~silent, is_used & ~silent, is_lost & ~silent
        return _Readings(
            at=hours.readings,
            short=short,
            long=long,
            is_idle=is_idle,
            is_used=is_used,
            is_lost=is_lost,
        )

    def _stretch(self, low: int, high: int) -> tuple[list[Stage], Stage | None]:
        """Watches and clearings between two instants, up to the demotion that ends it."""
        read = self._read(low, high)
        if read is None or not read.is_idle.any():
            return [], None
        window, watch = self.rule.window_seconds, self.rule.watch_seconds
        readings, short = read.at, read.short
        found: list[Stage] = []
        at = 0
        while (at := _next(read.is_idle, at)) < len(readings):
            found.append(self._stage("watch", int(readings[at]), int(short[at]), watch))
            told = int(readings[at]) + window - watch
            cleared = _next(read.is_used, at + 1)
            lost = _next(read.is_lost & (readings >= told), at)
            if lost < cleared:
                demoted = self._demote(int(readings[lost]), int(read.long[lost]))
                return [*found, demoted], demoted
            if cleared >= len(readings):
                break
            found.append(self._stage("cleared", int(readings[cleared]), int(short[cleared]), watch))
            at = cleared
        return found, None

    def _silent(self, instants: Ints) -> Bools:
        """Those in stretches in which the guarantee is exempt, or in maintenance."""
        found = np.zeros(len(instants), bool)
        for low, high in (*self.quota.exempt, *self.quota.maintenance):
            found |= (instants >= seconds(low)) & (instants < seconds(high))
        return found

    def _below(self, sums: Ints, share: Fraction, length: int) -> Bools:
        limit = share * self.guarantee * length
        # sum < limit, for whole sums: sum < ceil(limit)
        whole = -((-limit.numerator) // limit.denominator)
        return (sums >= 0) & (sums < whole)

    def _has_idle_part(self, hours: Hours) -> Bools:
        """Neither the percentile of the window nor the use at its end needs all of it: what is
        needed in more than 5 % of the time, rare peaks as well, is needed."""
        window = self.rule.window_seconds
        full = (self.observed.units >= self.guarantee).astype(np.int64)
        needed = hours.sums(hours.integral(full), window)
        is_free = self.observed.units[hours.piece[1:]] < self.guarantee
        return (needed * 100 <= (100 - PERCENTILE) * window) & is_free

    def _demote(self, reading: int, area: int) -> Stage:
        window = self.rule.window_seconds
        p95 = self.observed.percentile(reading - window, reading, PERCENTILE)
        in_use = int(self.observed.units[self.observed.piece(np.array([reading]))[0]])
        units = idle_units(guarantee=self.guarantee, p95=p95, in_use=in_use)
        if not units:
            raise AssertionError("an idle part was found before it was measured")
        at = self.observed.wall(reading)
        return Stage(
            name="demoted",
            at=moment(at),
            units=units,
            guarantee=self.guarantee - units,
            utilisation=Fraction(area, self.guarantee * window),
            p95=p95,
            in_use=in_use,
            until=moment(at + self.rule.cooldown_seconds),
        )

    def _stage(self, name: StageName, reading: int, area: int, length: int) -> Stage:
        return Stage(
            name=name,
            at=moment(self.observed.wall(reading)),
            guarantee=self.guarantee,
            utilisation=Fraction(area, self.guarantee * length),
        )


def _next(mask: Bools, at: int) -> int:
    """The first place from `at` on that is set; the length where there is none."""
    found = np.flatnonzero(mask[at:])
    return at + int(found[0]) if len(found) else len(mask)
