"""The amounts of a month as charts with their tables. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounting.domain.anomalies import Anomaly
from accounting.queries.showback import Cell
from frontend.budget_words import MARKS
from frontend.charts import Chart, bars, layout, series_look
from frontend.templatetags.money import money

BARS_MAX = 12


def by_day(
    amounts: Mapping[date, Mapping[UUID, Decimal]],
    names: Mapping[Any, str],
    currency: str,
    odd: Sequence[Anomaly] = (),
) -> Chart:
    """What use cost by day, a stack of pools, with marks on the unusual days."""
    pools = sorted(
        {pool for each in amounts.values() for pool in each}, key=lambda pool: names[pool]
    )
    days = sorted(amounts)
    nothing = Decimal(0)
    data = [
        _bars(
            names[pool],
            [day.isoformat() for day in days],
            [float(amounts[day].get(pool, nothing)) for day in days],
            number,
        )
        for number, pool in enumerate(pools)
    ]
    totals = {day: sum(amounts[day].values(), nothing) for day in days}
    summary = "Nothing that was used has a price."
    if days:
        dearest = max(days, key=lambda day: totals[day])
        summary = (
            f"Use cost {money(sum(totals.values(), nothing))} {currency} on {len(days)} days, most "
            f"on {dearest}: {money(totals[dearest])}."
        )
    marks = {one.day: MARKS[one.direction] for one in odd}
    if marks:
        summary += f" Unusual: {', '.join(f'{day} ({marks[day]})' for day in sorted(marks))}."
        data.append(_marked(odd, totals))
    return Chart(
        name="amount-by-day",
        title=f"Use by day, {currency}",
        summary=summary,
        figure={"data": data, "layout": layout(y_title=currency, barmode="stack", bargap=0.25)},
        columns=(*(names[pool] for pool in pools), "Together", *(["Unusual"] if marks else [])),
        rows=tuple(
            (
                day.isoformat(),
                (
                    *(money(amounts.get(day, {}).get(pool, nothing)) for pool in pools),
                    money(totals.get(day, nothing)),
                    *([marks.get(day, "")] if marks else []),
                ),
            )
            for day in sorted({*days, *marks})
        ),
    )


def _marked(odd: Sequence[Anomaly], totals: Mapping[date, Decimal]) -> dict[str, Any]:
    """A mark above the bar of each unusual day."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Unusual day",
        "x": [one.day.isoformat() for one in odd],
        "y": [float(totals.get(one.day, Decimal(0))) for one in odd],
        "text": [MARKS[one.direction] for one in odd],
        "marker": {
            "color": "--over",
            "symbol": [f"triangle-{'up' if one.score > 0 else 'down'}" for one in odd],
            "size": 13,
            "line": {"color": "--surface", "width": 1.5},
        },
        "hovertemplate": "%{text}",
    }


def departments(
    rows: Sequence[tuple[str, Decimal, Decimal]], months: tuple[str, str], currency: str
) -> Chart:
    """The dearest departments, a bar for the month before and one for this one.

    Args:
        rows: (name, before, now), the dearest first.
        months: as they are called, the earlier first.
    """
    shown = rows[:BARS_MAX]
    names = [name for name, _, _ in shown]
    data = [
        _bars(month, names, [float(row[at + 1]) for row in shown], at)
        for at, month in enumerate(months)
    ]
    look = layout(y_title=currency, barmode="group", bargap=0.35)
    look["xaxis"] |= {"type": "category", "automargin": True}
    summary = "Nothing is charged."
    if shown:
        summary = f"Most is charged to {names[0]}: {money(shown[0][2])} {currency}."
    return Chart(
        name="amount-by-department",
        title=f"Departments, {currency}",
        summary=summary,
        figure={"data": data if shown else [], "layout": look},
        columns=months,
        rows=tuple((name, (money(before), money(now))) for name, before, now in shown),
    )


def largest(cells: Sequence[Cell], title: str, currency: str) -> Chart:
    """The largest groups of a drill-down, one bar each. The table beside it has them all."""
    shown = [cell for cell in cells if cell.amount > 0][:BARS_MAX]
    words = [" · ".join(value or "untagged" for value in cell.values) for cell in shown]
    data = [_bars(title, words, [float(cell.amount) for cell in shown], 0)] if shown else []
    look = layout(y_title=currency, bargap=0.35)
    look["xaxis"] |= {"type": "category", "automargin": True}
    summary = "There is nothing to show."
    if shown:
        summary = f"Most is {words[0]}: {money(shown[0].amount)} {currency}."
    return Chart(
        name="amount-by-group",
        title=f"{title}, {currency}",
        summary=summary,
        figure={"data": data, "layout": look},
        columns=(currency,),
        rows=tuple((word, (money(cell.amount),)) for word, cell in zip(words, shown, strict=True)),
    )


def _bars(name: str, x: list[str], y: list[float], number: int) -> dict[str, Any]:
    return bars(name, x, y, look=series_look(number), hover="%{y:,.2f}")
