"""A pool over the period of a request, with it and without it: chart, sentence and table. Pure."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from frontend.charts import Chart, layout
from frontend.numbers import moment, units
from quota.domain.provisioning import FreeAt, Trial
from quota.queries.requests import RequestRow

BEYOND = timedelta(days=14)
"""How far past the last change the picture goes on."""


def pool_over_period(trial: Trial, row: RequestRow, *, zone: ZoneInfo) -> Chart:
    """What is promised from now on, beside what can be kept."""
    asked = trial.series_with if trial.fits else ()
    instants = sorted({one.at for one in (*trial.series, *asked)})
    last = max([*instants, row.request.terms.ends_at or instants[-1]]) + BEYOND
    figure = {
        "data": [
            _line("Can be promised", _steps(trial.series, "promisable"), last, "--over", "dash"),
            _line("Promised", _steps(trial.series, "promised"), last, "--series-0", "solid"),
            *(
                [_line("With this", _steps(asked, "promised"), last, "--series-1", "dot")]
                if asked and asked != trial.series
                else []
            ),
        ],
        "layout": layout(y_title="units", height=280),
    }
    before = {at: _at(trial.series, at) for at in instants}
    after = {at: _at(asked, at) for at in instants} if asked else {}
    rows = tuple(
        (
            moment(at, zone),
            (
                units(before[at].promisable),
                units(before[at].promised),
                *((units(after[at].promised),) if after else ()),
                units((after or before)[at].free),
            ),
        )
        for at in instants
    )
    return Chart(
        name="pool-over-period",
        title=f"{row.pool} over the period",
        summary=_said(trial, row, after or before),
        figure=figure,
        columns=(
            "Can be promised",
            "Promised",
            *(("With this request",) if after else ()),
            "Left then",
        ),
        rows=rows,
    )


def _steps(series: tuple[FreeAt, ...], name: str) -> list[tuple]:
    return [(one.at, getattr(one, name)) for one in series]


def _at(series: tuple[FreeAt, ...], at) -> FreeAt:
    """What holds at an instant: the last step before it."""
    return max((one for one in series if one.at <= at), key=lambda one: one.at, default=series[0])


def _line(name: str, steps: list[tuple], last, color: str, dash: str) -> dict:
    steps = sorted(steps)
    steps.append((last, steps[-1][1]))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [at.isoformat() for at, _ in steps],
        "y": [amount for _, amount in steps],
        "line": {"shape": "hv", "color": color, "dash": dash, "width": 2.5},
        "hovertemplate": "%{y:,}",
    }


def _said(trial: Trial, row: RequestRow, found: dict) -> str:
    least = min(one.free for one in found.values())
    if trial.fits:
        left = f"{least:,} units are left" if least >= 0 else f"{-least:,} are over-promised"
        return f"With this request, at the tightest instant {left} to promise in {row.pool}."
    return (
        f"Without this request {max(0, least):,} units of {row.pool} are left at the tightest "
        "instant; it does not fit."
    )
