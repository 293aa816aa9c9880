"""Evidence of detections as charts with their tables: how busy a job was against the threshold, an
account's days against its usual one. Pure."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from frontend.charts import Chart, layout
from frontend.numbers import SECONDS_PER_HOUR, amount, percent
from preemption.detection_events import UseEvidence
from preemption.detection_queries import WorkPoint

_LOCAL = "%Y-%m-%d %H:%M"


def work(points: Sequence[WorkPoint], *, below: float, zone: ZoneInfo) -> Chart:
    """Mean and busiest compute utilization of each stretch, and the threshold."""
    edges = [at.astimezone(zone) for one in points for at in (one.start, one.end)]
    x = [at.strftime(_LOCAL) for at in edges]
    data: list[dict[str, Any]] = []
    if points:
        data = [
            _line("Mean", x, _twice([one.mean for one in points]), "--series-0"),
            _line("Busiest", x, _twice([one.peak for one in points]), "--series-1", dash="dot"),
            _line("Threshold", [x[0], x[-1]], [below, below], "--series-3", dash="dash"),
        ]
    look = layout(y_title="compute utilization")
    look["yaxis"] |= {"tickformat": ".0%"}
    return Chart(
        name="work",
        title="Compute utilization against the threshold",
        summary=_work_said(points, below=below, zone=zone),
        figure={"data": data, "layout": look},
        columns=("Until", "Mean", "Busiest, rounded down", "Threshold"),
        rows=tuple(
            (
                one.start.astimezone(zone).strftime(_LOCAL),
                (
                    one.end.astimezone(zone).strftime(_LOCAL),
                    percent(one.mean),
                    percent(one.peak),
                    percent(below),
                ),
            )
            for one in reversed(points)
        ),
    )


def use(found: UseEvidence) -> Chart:
    """Use of each day, the one that is judged among them, with the median and the threshold."""
    days = [found.first_day + timedelta(days=n) for n in range(len(found.days))]
    values: list[tuple[date, int | None]] = [*zip(days, found.days, strict=True)]
    values.append((found.day, found.consumed))
    median = float(found.median) / SECONDS_PER_HOUR
    deviation = float(found.deviation) / SECONDS_PER_HOUR
    limit = max(median * found.factor, median + found.spread * deviation)
    labels = [day.isoformat() for day, _ in values]
    hours = [None if one is None else round(one / SECONDS_PER_HOUR, 3) for _, one in values]
    ends = [labels[0], labels[-1]]
    unit_hours = "%{y:,.1f} unit-h"
    colors = ["--series-0"] * len(days) + ["--series-3"]
    bars = {
        "type": "bar",
        "name": "Use of the day",
        "x": labels,
        "y": hours,
        "marker": {"color": colors},
        "hovertemplate": unit_hours,
    }
    data = [
        bars,
        _line("Usual day", ends, [median, median], "--series-1", dash="dot", unit=unit_hours),
        _line("Found from", ends, [limit, limit], "--series-2", dash="dash", unit=unit_hours),
    ]
    return Chart(
        name="use",
        title="Use by day against the usual one",
        summary=(
            f"On {found.day} it used {amount(found.consumed / SECONDS_PER_HOUR)} unit-h. The "
            f"median of {sum(one is not None for one in found.days)} known days before is "
            f"{amount(median)} unit-h; from {amount(limit)} unit-h on it is found."
        ),
        figure={"data": data, "layout": layout(y_title="unit-hours", bargap=0.25)},
        columns=("Use of the day, unit-h", "Usual day", "Found from"),
        rows=tuple(
            (day, ("unknown" if value is None else amount(value), amount(median), amount(limit)))
            for day, value in zip(reversed(labels), reversed(hours), strict=True)
        ),
    )


def _line(
    name: str,
    x: Sequence[str],
    y: Sequence[float],
    color: str,
    *,
    dash: str = "solid",
    unit: str = "%{y:.1%}",
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": color, "width": 2, "dash": dash},
        "hovertemplate": unit,
    }


def _twice(values: Sequence[float]) -> list[float]:
    """A value at both edges of its stretch."""
    return [value for value in values for _ in range(2)]


def _work_said(points: Sequence[WorkPoint], *, below: float, zone: ZoneInfo) -> str:
    if not points:
        return "What it told is not kept any more."
    first, last = points[0].start.astimezone(zone), points[-1].end.astimezone(zone)
    return (
        f"From {first:{_LOCAL}} to {last:{_LOCAL}} no message told of more than "
        f"{percent(max(one.peak for one in points))} of its compute (rounded down); the threshold "
        f"is {percent(below)}. What was busier, and all before it, is not kept."
    )
