"""How a guarantee was used lately, and which part of it that leaves idle. Pure, exact."""

from dataclasses import dataclass
from fractions import Fraction

from preemption.domain.reclaim import PERCENTILE, QuotaHistory, ReclaimRule, idle_units
from preemption.domain.series import Observed, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Use over the last observed time, unknown time and maintenance left out.

    Attributes:
        known_seconds: that it is over: as long as was asked for, or all that is judged.
        utilisation: mean share of the guarantee in use, 0 to 1; use above it counts as the
            guarantee.
        p95: use that was not exceeded in 95 % of that time.
        idle: units that neither `p95` nor the use at the end needs.
    """

    known_seconds: int
    utilisation: Fraction
    p95: int
    idle: int


def need(quota: QuotaHistory, rule: ReclaimRule, *, last: int, in_use: int) -> Need | None:
    """What the last seconds of observed time say; None: nothing is known, or promised.

    Args:
        last: how many seconds; time before `judged_from` is not looked at.
        in_use: units now.
    """
    maintenance = [(seconds(low), seconds(high)) for low, high in quota.maintenance]
    observed = Observed.build(quota.use, gap_seconds_max=rule.gap_seconds_max, excluded=maintenance)
    total = observed.total
    begin = 0 if quota.judged_from is None else observed.clock_at(seconds(quota.judged_from))
    low = max(0, begin, total - last)
    if not quota.guarantee or low >= total:
        return None
    within = observed.clock.clip(min=low) - observed.begun.clip(min=low)
    used = int((observed.units.clip(max=quota.guarantee) * within).sum())
    p95 = observed.percentile(low, total, PERCENTILE)
    return Need(
        known_seconds=total - low,
        utilisation=Fraction(used, quota.guarantee * (total - low)),
        p95=p95,
        idle=idle_units(guarantee=quota.guarantee, p95=p95, in_use=in_use),
    )
