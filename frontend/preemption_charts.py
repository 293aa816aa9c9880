"""What was taken by day as a chart with its table. Pure."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from frontend.charts import Chart, bars, layout, series_look
from frontend.numbers import units
from frontend.templatetags.money import money_of
from preemption.taken import DayLoss

KINDS: Final = ("spot", "borrowed", "guaranteed")
_LOOKS: Final = {
    "spot": series_look(2),
    "borrowed": series_look(1),
    "guaranteed": series_look(0),
}


def by_day(losses: Sequence[DayLoss], *, since: date, until: date, currency: str) -> Chart:
    """Units taken by day, a stack of what they were held as, and the work lost.

    Args:
        since, until: the first and the last day, both shown.
    """
    days = [since + timedelta(days=n) for n in range((until - since).days + 1)]
    taken = {(day, kind): 0 for day in days for kind in KINDS}
    cost = dict.fromkeys(days, Decimal(0))
    for one in losses:
        taken[one.day, one.step.split()[0]] += one.loss.units
        cost[one.day] += one.loss.cost
    kinds = [kind for kind in KINDS if any(taken[day, kind] for day in days)]
    data = [
        bars(
            kind.capitalize(),
            [day.isoformat() for day in days],
            [taken[day, kind] for day in days],
            look=_LOOKS[kind],
            hover="%{y:,} units",
        )
        for kind in kinds
    ]
    summary = f"Nothing was taken from {since} to {until}."
    if kinds:
        worst = max(days, key=lambda day: sum(taken[day, kind] for kind in KINDS))
        most = sum(taken[worst, kind] for kind in KINDS)
        summary = (
            f"{sum(taken.values()):,} units were taken from {since} to {until}, most on {worst}: "
            f"{most:,}, with {money_of(cost[worst], currency)} {currency} of work lost."
        )
    return Chart(
        name="taken-by-day",
        title="Units taken by day",
        summary=summary,
        figure={
            "data": data,
            "layout": layout(y_title="units", barmode="stack", bargap=0.25, showlegend=True),
        },
        columns=(*(kind.capitalize() for kind in kinds), f"Work lost, {currency}"),
        rows=tuple(
            (
                day.isoformat(),
                (*(units(taken[day, kind]) for kind in kinds), money_of(cost[day], currency)),
            )
            for day in reversed(days)
            if any(taken[day, kind] for kind in KINDS)
        ),
    )
