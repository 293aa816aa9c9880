"""Days that cost far more or less than days of their kind. Pure.

Each day is compared with the same weekdays of the eight weeks before it. With m the median of those
weekdays and s = 1.4826 x the median absolute deviation of all 56 days from the median of theirs:

    score = (cost - m) / s, an anomaly from 3.5 on

3.5 is the bound of Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993); medians,
because the outliers of the past must not raise the bar for those to come. Money bounds it from
below: a day is no anomaly unless it is off by a fifth of what was expected and by a twentieth of
what a day costs in the median, and the scatter counts as at least a twentieth of that, too: where
every day costs the same, a cent is no alarm. An account of fewer than 28 whole days has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import median

SCORE = Fraction(7, 2)
BASE_DAYS = 56
HISTORY_DAYS_MIN = 28
FROM_MAD = Fraction("1.4826")
PART_OF_EXPECTED = Fraction(1, 5)
PART_OF_TYPICAL = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A day, what it cost, what was expected, and how many deviations it is off: above 0 dear,
    below 0 cheap."""

    day: date
    cost: Decimal
    expected: Fraction
    score: Fraction

    @property
    def direction(self) -> str:
        """`high` or `low`."""
        return "high" if self.score > 0 else "low"


def anomalies(
    costs: Mapping[date, Decimal], *, first: date, end: date, since: date | None, minimum: Decimal
) -> list[Anomaly]:
    """The odd ones among whole days.

    Args:
        costs: by day, of these and the BASE_DAYS before `first`; without one: nothing.
        first, end: the days to look at, half-open; all of them are over.
        since: the first day that ever cost something; None: none did.
        minimum: an amount; what is off by less is none.
    """
    found = []
    for n in range((end - first).days):
        day = first + timedelta(days=n)
        one = _judge(costs, day, since)
        if one is not None and abs(Fraction(one.cost) - one.expected) >= Fraction(minimum):
            found.append(one)
    return found


def _judge(costs: Mapping[date, Decimal], day: date, since: date | None) -> Anomaly | None:
    base = [day - timedelta(days=n) for n in range(1, BASE_DAYS + 1)]
    known = [one for one in base if since is not None and one >= since]
    if len(known) < HISTORY_DAYS_MIN:
        return None
    by_weekday: dict[int, list[Fraction]] = {}
    for one in known:
        by_weekday.setdefault(one.weekday(), []).append(Fraction(costs.get(one, Decimal(0))))
    typical = {weekday: Fraction(median(values)) for weekday, values in by_weekday.items()}
    values = [value for each in by_weekday.values() for value in each]
    off = [abs(value - typical[weekday]) for weekday, each in by_weekday.items() for value in each]
    level = abs(Fraction(median(values)))
    scatter = max(FROM_MAD * Fraction(median(off)), level * PART_OF_TYPICAL)
    cost = costs.get(day, Decimal(0))
    expected = typical[day.weekday()]
    difference = Fraction(cost) - expected
    if not difference or abs(difference) < abs(expected) * PART_OF_EXPECTED:
        return None
    if abs(difference) < level * PART_OF_TYPICAL:
        return None
    # Where nothing ever was charged any cost is as odd as can be.
    score = difference / scatter if scatter else (SCORE if difference > 0 else -SCORE)
    return Anomaly(day, cost, expected, score) if abs(score) >= SCORE else None
