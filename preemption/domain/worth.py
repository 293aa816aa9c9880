"""What an idle guarantee costs, and how large it should be. Pure, exact; nothing is rounded here.

    idle cost = sum over time of (guarantee - use, at least 0) x price

500 units idle for three weeks at 2 per unit-hour are 504,000.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from preemption.domain.series import Observed, UseSeries

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """How a guarantee was used, over the time that is known, and what would do.

    Attributes:
        utilisation: mean of the guarantee that was used, 0 to 1.
        p50, p95, peak: of use, in units; may exceed the guarantee.
        guarantee: that is recommended: p95 and a headroom, never more than today's.
        units: that could leave the guarantee; 0: it is right as it is.
        idle_unit_seconds: guaranteed but not used.
        known_seconds: of observed time.
    """

    utilisation: Fraction
    p50: int
    p95: int
    peak: int
    guarantee: int
    units: int
    idle_unit_seconds: int
    known_seconds: int

    def idle_cost(self, price: Decimal) -> Fraction:
        """Of all the time that is known, at a price per unit-hour."""
        return Fraction(self.idle_unit_seconds, HOUR_SECONDS) * Fraction(price)


def recommend(
    *,
    use: UseSeries,
    guarantee: int,
    headroom: Fraction = Fraction(10, 100),
    satisfied_from: Fraction = Fraction(50, 100),
    gap_seconds_max: int = 2 * HOUR_SECONDS,
) -> Recommendation | None:
    """What a review is told; None where nothing is known.

    Args:
        headroom: on top of p95, up to whole units.
        satisfied_from: mean utilisation from which nothing else is recommended.
    """
    observed = Observed.build(use, gap_seconds_max=gap_seconds_max)
    total = observed.total
    if not total or not guarantee:
        return None
    length = observed.clock - observed.begun
    used = int((observed.units.clip(max=guarantee) * length).sum())
    p95 = observed.percentile(0, total, 95)
    utilisation = Fraction(used, guarantee * total)
    wanted = guarantee
    if utilisation < satisfied_from:
        wanted = min(guarantee, -int(-(p95 * (1 + headroom)) // 1))
    return Recommendation(
        utilisation=utilisation,
        p50=observed.percentile(0, total, 50),
        p95=p95,
        peak=int(observed.units.max()),
        guarantee=wanted,
        units=guarantee - wanted,
        idle_unit_seconds=guarantee * total - used,
        known_seconds=total,
    )


def idle_per_hour(units: int, utilization: Fraction, price: Decimal) -> Fraction:
    """What the part of running units that does nothing costs an hour.

    Args:
        utilization: of their compute, 0 to 1; a job that does not get on uses nothing of it.
        price: per unit-hour.
    """
    return units * (1 - utilization) * Fraction(price)


def excess_per_hour(consumed: int, usual: Fraction, price: Decimal) -> Fraction:
    """What consumption above an account's usual day costs an hour of that day.

    Args:
        consumed, usual: unit-seconds of a day.
    """
    return Fraction(consumed - usual, DAY_SECONDS) * Fraction(price)
