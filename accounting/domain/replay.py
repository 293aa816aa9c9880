"""Which alerts a budget would have raised, had it stood in the past. Pure.

Each day of a past period is judged as it was at its end, by the very rules that watch the present:
what came later, a bill of the last day say, is not known yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from accounting.domain import budgets, forecast
from accounting.domain.budgets import Alerts, Figures, Past, Reading, Span
from accounting.domain.forecast import Cost


@dataclass(frozen=True, slots=True)
class Fired:
    """An alert and the day at whose end it would have been raised."""

    day: date
    reading: Reading


def replay(
    costs: Mapping[date, Cost],
    span: Span,
    *,
    amount: Decimal,
    alerts: Alerts,
    since: date | None,
    until: date,
    places: int,
) -> list[Fired]:
    """The alerts of one period, in order of time.

    Args:
        costs: by day, of the period and of the 28 days before it.
        since: the first day that ever cost something.
        until: the first day that is not over yet.
    """
    known = {day: cost for day, cost in costs.items() if day < span.first}
    past: list[Past] = []
    found: list[Fired] = []
    for n in range(span.days):
        day = span.first + timedelta(days=n)
        if day >= until:
            break
        if day in costs:
            known[day] = costs[day]
        today = day + timedelta(days=1)
        figures = _figures(known, span, today, amount, alerts, since, places)
        fire, over = budgets.due(figures, alerts, past)
        calmed = {one.alarm for one in over}
        past = [Past(one.alarm, one.amount, one.over or one.alarm in calmed) for one in past]
        past += [Past(one.alarm, amount, False) for one in fire]
        found += [Fired(day, one) for one in fire]
    return found


def _figures(
    known: Mapping[date, Cost],
    span: Span,
    today: date,
    amount: Decimal,
    alerts: Alerts,
    since: date | None,
    places: int,
) -> Figures:
    coming = forecast.forecast(
        known, span, today=today, rest_of_today=Fraction(1), since=since, places=places
    )
    daily = {day: cost.daily for day, cost in known.items()}
    return Figures(
        amount=amount,
        spent=forecast.spent_in(known, span),
        forecast=coming.amount,
        burns=budgets.burns(daily, span, amount=amount, today=today, alerts=alerts),
    )
