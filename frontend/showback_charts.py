"""The amounts of a month as charts with their tables. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounting.queries.showback import Cell
from frontend.charts import PATTERNS, Chart, layout
from frontend.templatetags.money import money
from frontend.templatetags.ui import SERIES_COUNT

BARS_MAX = 12


def by_day(
    amounts: Mapping[date, Mapping[UUID, Decimal]], names: Mapping[Any, str], currency: str
) -> Chart:
    """What use cost by day, a stack of pools."""
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
    return Chart(
        name="amount-by-day",
        title=f"Use by day, {currency}",
        summary=summary,
        figure={"data": data, "layout": layout(y_title=currency, barmode="stack", bargap=0.25)},
        columns=(*(names[pool] for pool in pools), "Together"),
        rows=tuple(
            (
                day.isoformat(),
                (*(money(amounts[day].get(pool, nothing)) for pool in pools), money(totals[day])),
            )
            for day in days
        ),
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
    return {
        "type": "bar",
        "name": name,
        "x": x,
        "y": y,
        "marker": {
            "color": f"--series-{number % SERIES_COUNT}",
            "pattern": {
                "shape": PATTERNS[number % len(PATTERNS)],
                "solidity": 0.12,
                "size": 6,
                "fgcolor": "--surface",
                "fillmode": "overlay",
            },
        },
        "hovertemplate": "%{y:,.2f}",
    }
