"""Charts as data: a Plotly figure, a sentence that says the same, and the table with its numbers.

Colors are names of our CSS variables ("--series-0"); static/js/charts.js puts in the values of the
theme in use. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from accounting.queries.usage import DayUse
from frontend.numbers import SECONDS_PER_HOUR, amount
from frontend.templatetags.ui import SERIES_COUNT

# Shapes beside colors: series stay apart without seeing color, and in print.
PATTERNS = ("", "/", ".", "\\", "x", "-", "+", "|")


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its twins. `rows` hold a label and one text a column."""

    name: str
    title: str
    summary: str
    figure: dict[str, Any]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def empty(self) -> bool:
        """Nothing to draw."""
        return not self.figure["data"]


def layout(*, y_title: str, **changes: Any) -> dict[str, Any]:
    """The look that all figures share."""
    axis = {
        "gridcolor": "--bs-border-color",
        "linecolor": "--line-strong",
        "zerolinecolor": "--line-strong",
        "fixedrange": True,
    }
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "--bs-body-color"},
        "margin": {"l": 56, "r": 12, "t": 8, "b": 36},
        "height": 300,
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "--surface", "bordercolor": "--bs-border-color"},
        "legend": {
            "orientation": "h",
            "y": 1.02,
            "yanchor": "bottom",
            "x": 0,
            "traceorder": "normal",
        },
        "xaxis": axis | {"showgrid": False},
        "yaxis": axis
        | {
            "title": {"text": y_title},
            "rangemode": "tozero",
            "tickformat": ",",
            "automargin": True,
        },
        **changes,
    }


def series_look(number: int) -> tuple[str, str]:
    """Color and pattern of a series, counted from 0."""
    return f"--series-{number % SERIES_COUNT}", PATTERNS[number % len(PATTERNS)]


def bars(
    name: str, x: Sequence[str], y: Sequence[float], *, look: tuple[str, str], hover: str
) -> dict[str, Any]:
    """A series of bars.

    Args:
        look: its color and one of `PATTERNS`.
        hover: Plotly's template of what a bar says under the pointer.
    """
    color, shape = look
    assert shape in PATTERNS
    return {
        "type": "bar",
        "name": name,
        "x": list(x),
        "y": list(y),
        "marker": {
            "color": color,
            "pattern": {
                "shape": shape,
                "solidity": 0.12,
                "size": 6,
                "fgcolor": "--surface",
                "fillmode": "overlay",
            },
        },
        "hovertemplate": hover,
    }


def use_by_day(use: Sequence[DayUse], *, since: date, until: date) -> Chart:
    """Ended use by day, a stack of pools. Days without use are zero: the rollup knows them all."""
    pools = sorted({row.pool for row in use})
    length = (until - since).days + 1
    days = [since + timedelta(days=n) for n in range(length)]
    hours = {(row.day, row.pool): float(row.unit_seconds) / SECONDS_PER_HOUR for row in use}
    data = [
        bars(
            pool,
            [day.isoformat() for day in days],
            [round(hours.get((day, pool), 0.0), 3) for day in days],
            look=series_look(number),
            hover="%{y:,.1f} unit-h",
        )
        for number, pool in enumerate(pools)
    ]
    rows = tuple(
        (day.isoformat(), tuple(amount(hours.get((day, pool), 0.0)) for pool in pools))
        for day in reversed(days)
    )
    return Chart(
        name="use-by-day",
        title="Use by day",
        summary=_summary(hours, pools, days),
        figure={"data": data, "layout": layout(y_title="unit-hours", barmode="stack", bargap=0.25)},
        columns=tuple(pools),
        rows=rows,
    )


def _summary(hours: dict, pools: Sequence[str], days: Sequence[date]) -> str:
    """What a reader of the figure would take from it."""
    if not pools:
        return f"No use ended from {days[0]} to {days[-1]}."
    totals = {pool: sum(hours.get((day, pool), 0.0) for day in days) for pool in pools}
    busiest = max(pools, key=lambda pool: totals[pool])
    peak = max(days, key=lambda day: hours.get((day, busiest), 0.0))
    parts = ", ".join(f"{pool} {amount(totals[pool])} unit-h" for pool in pools)
    return (
        f"From {days[0]} to {days[-1]}: {parts}. Most on {busiest} was on {peak}, "
        f"{amount(hours[peak, busiest])} unit-h."
    )
