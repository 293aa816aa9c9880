"""A period of a budget as a chart with its table. Pure."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from accounting.domain import money as exact
from accounting.domain.anomalies import Anomaly
from accounting.domain.forecast import NOTHING
from accounting.queries.budgets import Ground, Standing
from frontend.budget_words import MARKS
from frontend.charts import Chart, layout
from frontend.numbers import NONE
from frontend.templatetags.money import money


def against_budget(one: Standing, odd: Sequence[Anomaly], here: Ground) -> Chart:
    """What was spent, added up by day, against the budget, with the forecast and how sure it is."""
    spent = _spent(one, here)
    coming = _coming(one, spent, here)
    marks = {anomaly.day: anomaly for anomaly in odd}
    data: list[dict[str, Any]] = []
    if spent:
        data = [
            _line("Budget", one.span.first, one.span.last, one.figures.amount, "--over", "dash"),
            *_cone(spent, coming),
            _points("Spent", [(day, total) for day, total, _ in spent], "--series-0"),
            *_forecast(spent, coming),
            *_marked(spent, marks),
        ]
    return Chart(
        name="budget",
        title=f"Spent against the budget, {here.currency}",
        summary=_summary(one, marks, here),
        figure={"data": data, "layout": layout(y_title=here.currency)},
        columns=("Cost of the day", "Spent so far", "Forecast", "from", "to", "Unusual"),
        rows=tuple(
            (day.isoformat(), (money(cost), money(total), NONE, NONE, NONE, _mark(day, marks)))
            for day, total, cost in spent
        )
        + tuple(
            (day.isoformat(), (NONE, NONE, money(total), money(low), money(high), NONE))
            for day, total, low, high in coming
        ),
    )


Spent = list[tuple[date, Decimal, Decimal]]
Coming = list[tuple[date, Decimal, Decimal, Decimal]]


def _spent(one: Standing, here: Ground) -> Spent:
    """Day, sum and cost of each day of the period so far."""
    found, total = [], Decimal(0).scaleb(-here.places)
    day = one.span.first
    while day < one.span.end and day <= here.today:
        cost = one.costs.get(day, NOTHING).total
        total += cost
        found.append((day, total, cost.quantize(total)))
        day += timedelta(days=1)
    return found


def _coming(one: Standing, spent: Spent, here: Ground) -> Coming:
    """Day, sum and bounds of each day that is left."""
    if one.forecast.amount is None or not spent:
        return []
    so_far = spent[-1][1]
    found, total = [], exact.rounded(Decimal(0), here.places)
    sums = Decimal(0)
    for (day, cost), width in zip(one.forecast.days, one.forecast.cone, strict=True):
        sums += Decimal(cost.numerator) / Decimal(cost.denominator)
        total = exact.rounded(so_far + sums, here.places)
        half = exact.rounded(width, here.places)
        found.append((day, total, max(so_far, total - half), total + half))
    return found


def _line(
    name: str, first: date, last: date, amount: Decimal, color: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [first.isoformat(), last.isoformat()],
        "y": [float(amount)] * 2,
        "line": {"color": color, "dash": dash, "width": 2},
        "hovertemplate": "%{y:,.2f}",
    }


def _points(
    name: str, points: Sequence[tuple[date, Decimal]], color: str, dash: str = "solid"
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [day.isoformat() for day, _ in points],
        "y": [float(amount) for _, amount in points],
        "line": {"color": color, "dash": dash, "width": 2.5},
        "hovertemplate": "%{y:,.2f}",
    }


def _joint(spent: Spent) -> list[tuple[date, Decimal]]:
    """The last whole day, where what is forecast begins."""
    return [(day, total) for day, total, _ in spent[-2:-1]]


def _forecast(spent: Spent, coming: Coming) -> list[dict[str, Any]]:
    if not coming:
        return []
    points = [*_joint(spent), *((day, total) for day, total, _, _ in coming)]
    return [_points("Forecast", points, "--series-1", "dot")]


def _cone(spent: Spent, coming: Coming) -> list[dict[str, Any]]:
    """The bounds as one closed shape, so that it can be faint while lines are not."""
    if not coming:
        return []
    there = [*_joint(spent), *((day, high) for day, _, _, high in coming)]
    back = [(day, low) for day, _, low, _ in reversed(coming)]
    shape = _points("80 % of outcomes", [*there, *back], "--series-1")
    return [
        shape
        | {"fill": "toself", "fillcolor": "--series-1", "opacity": 0.25, "hoverinfo": "skip"}
        | {"line": {"width": 0}}
    ]


def _marked(spent: Spent, marks: dict[date, Anomaly]) -> list[dict[str, Any]]:
    points = [(day, total) for day, total, _ in spent if day in marks]
    if not points:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Unusual day",
            "x": [day.isoformat() for day, _ in points],
            "y": [float(total) for _, total in points],
            "text": [_mark(day, marks) for day, _ in points],
            "marker": {
                "color": "--over",
                "symbol": [
                    "triangle-up" if marks[day].direction == "high" else "triangle-down"
                    for day, _ in points
                ],
                "size": 12,
            },
            "hovertemplate": "%{text}",
        }
    ]


def _mark(day: date, marks: dict[date, Anomaly]) -> str:
    return MARKS[marks[day].direction] if day in marks else ""


def _summary(one: Standing, marks: dict[date, Anomaly], here: Ground) -> str:
    figures, currency = one.figures, here.currency
    words = f"{money(figures.spent)} of {money(figures.amount)} {currency} are spent."
    if one.forecast.amount is not None:
        words += (
            f" The forecast is {money(one.forecast.amount)} by {one.span.last}, with 80 % between "
            f"{money(one.forecast.low)} and {money(one.forecast.high)}."
        )
    if marks:
        days = ", ".join(str(day) for day in sorted(marks))
        words += f" Unusual: {days}."
    return words
