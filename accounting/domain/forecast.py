"""What a period will have cost when it is over. Pure.

    forecast = spent so far + for each day that is left (what use costs on such a weekday + what
               lies idle of guarantees)

"Such a weekday" is the median of that weekday in the last 28 whole days: four values, of which one
odd one moves nothing, and weekends stay weekends. Idle guarantees follow promises, which change by
decision and not by habit, so the median of the last 7 whole days counts. Of today, the part of the
day that is left counts.

The interval is one of prediction, at 80 %. With s = 1.4826 x the median absolute deviation of the
days from their forecast, n days left and h days of history:

    forecast +- 1.2816 x s x sqrt(n + n x n / h)

n for the days' own scatter, n x n / h for not knowing their level better than h days tell. It never
reaches below what is spent already (docs/user/budgets.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import median

from accounting.domain import money
from accounting.domain.budgets import Span

HISTORY_DAYS = 28
HISTORY_DAYS_MIN = 14
IDLE_DAYS = 7
NORMAL = Decimal("1.2816")
"""80 % of a normal distribution lie within so many standard deviations."""
FROM_MAD = Decimal("1.4826")
"""A standard deviation from a median absolute deviation, for normal distributions."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a day cost: use; idle guarantees less what lending gave back; and what is of a whole
    month (discounts, credits, commitments, adjustments), which stands on its last day."""

    use: Decimal = Decimal(0)
    idle: Decimal = Decimal(0)
    other: Decimal = Decimal(0)

    @property
    def daily(self) -> Decimal:
        """What belongs to this very day."""
        return self.use + self.idle

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.use + self.idle + self.other


NOTHING = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Of a whole period, or why there is none.

    Attributes:
        amount, low, high: rounded; None without a forecast.
        why_not: `not_begun`, `little_history`, `over`, or empty.
        days: what each day from today on is expected to cost, of today the rest.
        scatter: s of the formula.
        history: how many whole days were looked at.
        rest_of_today: the part of today that is still to come.
    """

    amount: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    why_not: str = ""
    days: tuple[tuple[date, Fraction], ...] = ()
    scatter: Decimal = Decimal(0)
    history: int = 0
    rest_of_today: Fraction = Fraction(1)

    @property
    def cone(self) -> tuple[Decimal, ...]:
        """For each of the days, the half-width of the interval of all that is spent by its end."""
        return tuple(
            _half_width(self.scatter, self.rest_of_today + n, self.history)
            for n in range(len(self.days))
        )


def spent_in(costs: Mapping[date, Cost], span: Span) -> Decimal:
    """The sum of a period's days."""
    return money.total([cost.total for day, cost in costs.items() if span.holds(day)])


def forecast(
    costs: Mapping[date, Cost],
    span: Span,
    *,
    today: date,
    rest_of_today: Fraction,
    since: date | None,
    places: int,
) -> Forecast:
    """Forecast a period.

    Args:
        costs: by day, of the period and of the 28 days before today; without one: nothing.
        rest_of_today: the part of today that is still to come, 0 to 1.
        since: the first day that ever cost something; None: none did.
        places: decimals of the currency.
    """
    if today >= span.end:
        return Forecast(why_not="over")
    if today < span.first:
        return Forecast(why_not="not_begun")
    history = _history(today, since)
    if len(history) < HISTORY_DAYS_MIN:
        return Forecast(why_not="little_history")
    expected = _expected(costs, history)
    idle = median(costs.get(day, NOTHING).idle for day in history[-IDLE_DAYS:])
    scatter = _scatter(costs, history, expected)
    whole = {weekday: max(Fraction(0), Fraction(use + idle)) for weekday, use in expected.items()}
    days = [
        (day, whole[day.weekday()] * (1 if n else rest_of_today))
        for n in range((span.end - today).days)
        for day in [today + timedelta(days=n)]
    ]
    spent = spent_in(costs, span)
    coming = sum((cost for _, cost in days), Fraction(0))
    amount = money.rounded(Fraction(spent) + coming, places)
    last = _half_width(scatter, rest_of_today + len(days) - 1, len(history))
    width = money.rounded(last, places)
    return Forecast(
        amount=amount,
        low=max(spent, amount - width),
        high=amount + width,
        days=tuple(days),
        scatter=scatter,
        history=len(history),
        rest_of_today=rest_of_today,
    )


def _history(today: date, since: date | None) -> list[date]:
    """The whole days before today that count, ascending: an account that is new has few."""
    days = [today - timedelta(days=n) for n in range(HISTORY_DAYS, 0, -1)]
    return [day for day in days if since is not None and day >= since]


def _expected(costs: Mapping[date, Cost], history: list[date]) -> dict[int, Decimal]:
    """What use costs, by weekday."""
    by_weekday: dict[int, list[Decimal]] = {}
    for day in history:
        by_weekday.setdefault(day.weekday(), []).append(costs.get(day, NOTHING).use)
    return {weekday: median(values) for weekday, values in by_weekday.items()}


def _scatter(
    costs: Mapping[date, Cost], history: list[date], expected: Mapping[int, Decimal]
) -> Decimal:
    off = [abs(costs.get(day, NOTHING).use - expected[day.weekday()]) for day in history]
    return FROM_MAD * median(off)


def _half_width(scatter: Decimal, days: Fraction, history: int) -> Decimal:
    under = days + days * days / history
    root = (Decimal(under.numerator) / Decimal(under.denominator)).sqrt()
    return NORMAL * root * scatter
