"""What the form of a request shows beside it: the pre-check in words, with a chart of the pool."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from frontend import numbers, request_words
from frontend.charts import Chart, layout
from frontend.pages import Page
from ledger.instants import on_clock
from quota.domain.provisioning import FreeAt, Trial
from quota.domain.request_state import Request
from quota.domain.requests import WITHOUT_UNITS, Terms
from quota.ports import BudgetEffect, ports
from quota.queries.precheck import Precheck, precheck
from tenancy import queries
from tenancy.domain.roles import READ

AFTER: Final = timedelta(days=7)
"""How far the chart goes beyond the last change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The pre-check with names.

    Attributes:
        asked: who would be asked, in words.
        lender: the account above that pays from its own guarantee; empty: the pool's promise.
        chart: free units over the period; None where nothing is known of them.
        budget: what its price makes of the budget that bears on it; None where none does.
        take_start: the nearest start that would pass, and its end, as the form's fields want them.
    """

    check: Precheck
    terms: Terms
    zone: ZoneInfo
    asked: str = ""
    lender: str = ""
    chart: Chart | None = None
    budget: BudgetEffect | None = None
    take_start: tuple[str, str] | None = None

    @property
    def trial(self) -> Trial | None:
        return self.check.trial

    @property
    def lent(self) -> int:
        """Units that are there for a while and whose end this request shares or moves: an account
        has one temporary quota in a pool at a time."""
        trial = self.trial
        if trial is None or trial.base_from is None or self.terms.ends_at is None:
            return 0
        return max(0, trial.before.guaranteed - trial.base.guaranteed)

    @property
    def ends_at(self) -> datetime | None:
        """When what is granted would end."""
        wishes = self.trial.wishes if self.trial else ()
        return (wishes[0].ends_at if wishes else None) or self.terms.ends_at

    @property
    def outcome(self) -> str:
        """One sentence, which is also read aloud when it changes."""
        check = self.check
        if check.problems:
            return on_clock(check.problems[0].detail, self.zone)
        if check.fits is False:
            short = check.trial.short_by if check.trial else None
            missing = f"{request_words.several(short)} short" if short else "It does not fit"
            return f"{missing} over the whole time. It needs people to make room."
        if check.automatic:
            return "It fits, and you get it at once."
        if check.approvals == 2:
            return f"It fits. Two different people approve: {self.asked}."
        return f"It fits. {self.asked or 'Somebody'} decides."


def enough(terms: Terms) -> bool:
    """Enough is said to look ahead."""
    return terms.kind in WITHOUT_UNITS or terms.units is not None


def look(here: Page, terms: Terms, *, again: Request | None) -> Look:
    """What would happen if this were handed in now. Inside `scope.reading`.

    Args:
        again: the request that is written on; those who wrote it count as its authors.
    """
    # A purpose is asked for when it is handed in, not before anything is shown.
    tried = replace(terms, purpose=terms.purpose or "-")
    check = precheck(
        here.id,
        tried,
        author_id=here.actor.id,
        now=here.now,
        other_author_ids=again.author_ids if again else (),
    )
    trial, nearest = check.trial, check.nearest
    wanted = {trial.lender_id} - {None} if trial else set()
    names = queries.names_of(here.id, accounts=wanted, people=check.asked_ids)
    start = nearest.starts_at
    return Look(
        check=check,
        terms=terms,
        zone=here.zone,
        asked=request_words.any_of([names[one] for one in check.asked_ids if one in names]),
        lender=names.get(trial.lender_id, "") if trial else "",
        chart=free_over_time(terms, trial, now=here.now, zone=here.zone) if trial else None,
        budget=_budget(here, terms, check),
        take_start=(_field(start, here.zone), _field(nearest.ends_at, here.zone))
        if start
        else None,
    )


def _budget(here: Page, terms: Terms, check: Precheck) -> BudgetEffect | None:
    """Of the nearest monthly budget, if the person may read it."""
    if check.price is None:
        return None
    return ports().budget.effect(
        here.id,
        terms.account_id,
        check.price.amount,
        now=here.now,
        readable=lambda account_id: here.may(READ, account_id),
    )


def _field(value: datetime | None, zone: ZoneInfo) -> str:
    """A time as the browser's field takes it, to the minute and never before the instant."""
    if value is None:
        return ""
    if value.second or value.microsecond:
        value = value.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return value.astimezone(zone).strftime("%Y-%m-%dT%H:%M")


def free_over_time(terms: Terms, trial: Trial, *, now: datetime, zone: ZoneInfo) -> Chart | None:
    """What the pool can still promise, without the request and with it."""
    if not trial.series:
        return None
    last = max([trial.series[-1].at, trial.series_with[-1].at, terms.ends_at or now]) + AFTER
    instants = sorted({one.at for one in (*trial.series, *trial.series_with)})
    rows = tuple(
        (
            numbers.moment(at, zone),
            (numbers.units(_at(trial.series, at)), numbers.units(_at(trial.series_with, at))),
        )
        for at in instants
    )
    lines = [_line("Free now", trial.series, last, zone, color="--series-0", dash="solid")]
    if trial.fits and trial.rise:
        lines.append(
            _line("Left if granted", trial.series_with, last, zone, color="--series-1", dash="dash")
        )
    if not trial.fits and trial.rise:
        lines.append(_needed(terms, trial, last, zone))
    least = min(one.free for one in trial.series)
    shape = layout(y_title="free units", height=220)
    shape["yaxis"] |= {"rangemode": "tozero"}
    return Chart(
        name="free-over-time",
        title="Free units of the pool over time",
        summary=_summary(trial, least),
        figure={"data": lines, "layout": shape},
        columns=("Free now", "Left if granted"),
        rows=rows,
    )


def _needed(terms: Terms, trial: Trial, last: datetime, zone: ZoneInfo) -> dict[str, Any]:
    """What would have to be free, as long as it is asked for."""
    end = terms.ends_at or last
    level = [FreeAt(at=trial.starts_at, promised=0, promisable=trial.rise)]
    return _line("Needed", level, end, zone, color="--series-3", dash="dot")


def _summary(trial: Trial, least: int) -> str:
    said = f"{numbers.units(trial.series[0].free)} units can be promised now"
    if least != trial.series[0].free:
        said += f", {numbers.units(least)} at the least"
    if trial.fits and trial.rise:
        left = min(one.free for one in trial.series_with)
        said += f"; with this request {numbers.units(left)} at the least"
    elif trial.rise:
        said += f"; {numbers.units(trial.rise)} are needed"
    return f"{said}."


def _at(series: Sequence[FreeAt], at: datetime) -> int | None:
    before = [one.free for one in series if one.at <= at]
    return before[-1] if before else None


def _line(
    name: str, series: Sequence[FreeAt], last: datetime, zone: ZoneInfo, *, color: str, dash: str
) -> dict[str, Any]:
    points = [(one.at, one.free) for one in series]
    points.append((last, points[-1][1]))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [at.astimezone(zone).strftime("%Y-%m-%d %H:%M") for at, _ in points],
        "y": [free for _, free in points],
        "line": {"shape": "hv", "color": color, "dash": dash, "width": 2},
        "hovertemplate": "%{y:,}",
    }
