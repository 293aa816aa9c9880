"""One guarantee over time as a chart with its table: use against guarantee and threshold, stages as
marks, unknown time as gaps. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from frontend.charts import Chart, layout
from frontend.numbers import NONE, UNKNOWN, amount, duration, moment, percent, units
from preemption.domain.reclaim import ReclaimRule
from preemption.reclaim_timeline import Step, Timeline

SPANS: Final = {7: 1, 30: 6, 90: 24}
"""Days that are shown, and the hours of a step."""
SYMBOLS: Final = {
    "watched": "triangle-up",
    "demoted": "triangle-down",
    "justified": "square",
    "restored": "circle",
    "returned": "x",
    "cleared": "diamond",
}
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Mark:
    """A stage that began: its state, its title, and the guarantee after it."""

    at: datetime
    state: str
    title: str
    units: int


def use_against(
    found: Timeline, marks: Sequence[Mark], rule: ReclaimRule, *, zone: ZoneInfo
) -> Chart:
    """Mean use of each step beside what was promised and the threshold of today's rule."""
    steps = found.steps
    share = float(rule.threshold)
    shown = [mark for mark in marks if steps and mark.at >= steps[0].at]
    begin = [_local(step.at, zone) for step in steps]
    ends = [*begin, *(_local(_end(step), zone) for step in steps[-1:])]
    promised = [step.promised for step in steps]
    use = [step.mean for step in steps]
    data: list[dict[str, Any]] = [
        _line("Guaranteed", ends, promised, "--series-7", "solid"),
        _line("Threshold", ends, [each * share for each in promised], "--over", "dash"),
        _line("Mean use", ends, use, "--series-0", "solid", width=2.5),
    ]
    runs = _unknown(steps)
    if runs:
        data.append(_dots("Use unknown", [begin[low] for low, _ in runs], [0] * len(runs)))
    data += _stages(shown, zone)
    look = layout(y_title="units", height=340)
    look["shapes"] = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": ends[low],
            "x1": ends[high],
            "y0": 0,
            "y1": 1,
            "fillcolor": "--bs-secondary-bg",
            "line": {"width": 0},
            "layer": "below",
        }
        for low, high in runs
    ]
    return Chart(
        name="use-against-guarantee",
        title="Use against guarantee",
        summary=_said(found, zone),
        figure={"data": data if steps else [], "layout": look},
        columns=("Mean use", "Guaranteed", "Threshold", "In use of it", "What happened"),
        rows=tuple(_rows(steps, shown, share, zone)),
    )


def _rows(steps: Sequence[Step], marks: Sequence[Mark], share: float, zone: ZoneInfo):
    for step in reversed(steps):
        end = _end(step)
        said = [mark.title for mark in marks if step.at <= mark.at < end]
        if 0 < step.known < step.hours:
            said.append(f"{step.hours - step.known} h unknown")
        yield (
            moment(step.at, zone),
            (
                UNKNOWN if step.mean is None else amount(step.mean),
                units(step.promised),
                amount(step.promised * share),
                UNKNOWN
                if step.mean is None
                else percent(step.mean / step.promised)
                if step.promised
                else NONE,
                "; ".join(said) or NONE,
            ),
        )


def _end(step: Step) -> datetime:
    return datetime.fromtimestamp(step.at.timestamp() + step.hours * _HOUR, step.at.tzinfo)


def _unknown(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Runs of steps in which nothing is known, as [first, after the last)."""
    found: list[tuple[int, int]] = []
    for n, step in enumerate(steps):
        if step.mean is not None:
            continue
        if found and found[-1][1] == n:
            found[-1] = found[-1][0], n + 1
        else:
            found.append((n, n + 1))
    return found


def _said(found: Timeline, zone: ZoneInfo) -> str:
    steps = found.steps
    if not steps:
        return "Nothing is promised in this time."
    known = sum(step.known for step in steps)
    hours = sum(step.hours for step in steps)
    if not known:
        return f"From {moment(steps[0].at, zone)} on, use is not known."
    held = [step for step in steps if step.mean is not None and step.promised]
    if not held:
        return f"Nothing was promised from {moment(steps[0].at, zone)} on while use was known."
    length = sum(step.known for step in held)
    used = sum((step.mean or 0.0) * step.known for step in held)
    promised = sum(step.promised * step.known for step in held)
    unknown = f", {duration((hours - known) * _HOUR)} unknown" if known < hours else ""
    return (
        f"From {moment(steps[0].at, zone)} to {moment(_end(steps[-1]), zone)}: "
        f"{amount(used / length)} of {amount(promised / length)} units in use on average"
        f"{unknown}."
    )


def _local(at: datetime, zone: ZoneInfo) -> str:
    """As the organization's clocks show it: the chart library knows no zones."""
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _line(
    name: str, edges: list[str], values: list, color: str, dash: str, *, width: float = 1.5
) -> dict[str, Any]:
    """Steps between edges, each drawn to its end also where nothing is known after it."""
    x: list[str] = []
    y: list[float | None] = []
    for n, value in enumerate(values):
        x.append(edges[n])
        y.append(value)
        if value is not None and (n + 1 == len(values) or values[n + 1] is None):
            x.append(edges[n + 1])
            y.append(value)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": [None if value is None else round(value, 2) for value in y],
        "connectgaps": False,
        "line": {"shape": "hv", "color": color, "dash": dash, "width": width},
        "hovertemplate": "%{y:,.4~g}",
    }


def _dots(name: str, x: list[str], y: list[int]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": y,
        "marker": {"symbol": "line-ns-open", "size": 12, "color": "--line-strong"},
        "hovertemplate": "from here on",
    }


def _stages(marks: Sequence[Mark], zone: ZoneInfo) -> list[dict[str, Any]]:
    """One trace a stage, so that the legend names each shape."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.state, []).append(mark)
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": of[0].title,
            "x": [_local(mark.at, zone) for mark in of],
            "y": [mark.units for mark in of],
            "marker": {
                "symbol": SYMBOLS[state],
                "size": 13,
                "color": f"--series-{1 + number % 6}",
                "line": {"color": "--surface", "width": 1.5},
            },
            "hovertemplate": "%{y:,} units",
        }
        for number, (state, of) in enumerate(found.items())
    ]
