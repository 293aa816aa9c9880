"""Budgets: the list of those that one may see, and one of them with its chart and its alerts."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounting.domain import budgets as rules
from accounting.domain.budgets import Period, Span
from accounting.queries import budgets as queries
from accounting.queries import cost_marks
from accounting.queries.budgets import AlertRow, Ground, Standing
from frontend import budget_charts, parameters
from frontend import budget_words as words
from frontend.pages import Page, PageRequest, page, render
from frontend.reading import readable_accounts
from ledger.errors import NotFound
from tenancy import queries as tenancy
from tenancy.domain.roles import BUDGET_DIVIDE, BUDGET_WRITE, READ

PAGE_ROWS: Final = 50
PERIODS_BACK: Final = 12
NOBODY = "Budgets are shown to people with a role on their account or above it."
SHOWN = ("standing", "alerted", "all")


@dataclass(frozen=True, slots=True)
class Row:
    """A budget as the pages show it."""

    one: Standing
    name: str
    period: str
    left: str
    state: str
    word: str
    icon: str
    problem: bool
    share: float
    burn_day: str
    burn_week: str
    no_forecast: str


def row_of(one: Standing, here: Ground) -> Row:
    """A budget in words."""
    state = words.state_of(one, here)
    word, icon = words.STATES[state]
    return Row(
        one=one,
        name=words.name_of(one.row),
        period=words.span_words(one.span, one.row.period),
        left=words.left_words(one.span, here.today),
        state=state,
        word=word,
        icon=icon,
        problem=state in words.PROBLEMS,
        share=float(one.figures.share),
        burn_day=words.burn_words(one.figures.burns.get(1)),
        burn_week=words.burn_words(one.figures.burns.get(7)),
        no_forecast=words.NO_FORECAST.get(one.forecast.why_not, ""),
    )


@require_safe
@page()
def budget_list(request: PageRequest) -> HttpResponse:
    """Budgets of accounts that the viewer may read, newest first; filters are in the address."""
    here = request.page
    tops = readable_accounts(here, READ, otherwise=NOBODY)
    name = parameters.text(request.GET, "account")
    period = parameters.choice(request.GET, "period", ("", *Period), "")
    show = parameters.choice(request.GET, "show", SHOWN, "standing")
    before = parameters.text(request.GET, "before")
    under = tenancy.account_by_name(here.id, name).id if name else None
    if under is not None:
        here.require(READ, under)
    ground = queries.ground(here.id, now=here.now)
    found = queries.budget_rows(
        here.id,
        today=ground.today,
        tops=tops,
        under=under,
        period=period or None,
        ended=show == "all",
        alerted=show == "alerted",
        before=parameters.ident(before, what="page") if before else None,
        limit=PAGE_ROWS + 1,
    )
    shown = found[:PAGE_ROWS]
    more = shown[-1].id if len(found) > PAGE_ROWS else None
    address = request.GET.copy()
    address["before"] = str(more)
    return render(
        request,
        "budgets/list.html",
        {
            "rows": [row_of(one, ground) for one in queries.standings(here.id, shown, ground)],
            "account": name,
            "period": period,
            "periods": [(str(one), words.PERIODS[one]) for one in Period],
            "show": show,
            "filtered": bool(name or period or show != "standing"),
            "ground": ground,
            "may_set": bool({BUDGET_WRITE, BUDGET_DIVIDE} & here.held),
            "first_page": not before,
            "next": more and f"{request.path}?{address.urlencode()}",
            "partials": ("rows",),
        },
    )


@require_safe
@page()
def budget(request: PageRequest, budget_id: str) -> HttpResponse:
    """One budget in one of its periods: the chart, what it said, and what was changed."""
    here = request.page
    row = readable_budget(here, budget_id)
    ground = queries.ground(here.id, now=here.now)
    span = _span(request, row, ground)
    (one,) = queries.standings(here.id, [row], ground, spans=[span])
    odd = cost_marks.odd_days(here.id, row.account_id, ground, first=span.first, end=span.end)
    return render(
        request,
        "budgets/budget.html",
        {
            "row": row_of(one, ground),
            "ground": ground,
            "path": tenancy.account(here.id, row.account_id).path,
            "chart": budget_charts.against_budget(one, odd, ground),
            "odd": odd,
            "periods": _periods(row, ground),
            "chosen": span.first.isoformat(),
            "alerts": [alert_words(alert) for alert in queries.alerts_of(here.id, [row.id])],
            "versions": list(
                reversed(queries.versions(here.id, [row.id], places=ground.places)[row.id])
            ),
            "rules": _rules(one),
            "may_change": may_change(here, row.account_id) and row.stands(ground.today),
        },
    )


def account_budgets(here: Page, account_id: UUID) -> list[Row]:
    """An account's own budgets that stand, for a page of the account."""
    ground = queries.ground(here.id, now=here.now)
    found = queries.budgets_of(here.id, [account_id], today=ground.today)
    return [row_of(one, ground) for one in queries.standings(here.id, found, ground)]


def readable_budget(here: Page, budget_id: str) -> queries.BudgetRow:
    """A budget of an account that the viewer may read.

    Raises:
        NotFound: there is none, or not for these eyes.
    """
    row = queries.budget_row(here.id, parameters.ident(budget_id, what="budget"))
    if not here.may(READ, row.account_id):
        raise NotFound("budget_unknown", "There is no such budget.", field="budget")
    return row


def may_change(here: Page, account_id: UUID) -> bool:
    """Whether the person may write the budget, or divide the one of an account above."""
    parent = tenancy.account(here.id, account_id).parent_id
    divides = parent is not None and here.may(BUDGET_DIVIDE, parent)
    return divides or here.may(BUDGET_WRITE, account_id)


def alert_words(alert: AlertRow) -> dict[str, Any]:
    """An alert in words."""
    return {
        "row": alert,
        "what": words.rule_words(alert.kind, alert.rule),
        "figure": words.figure_words(alert.kind, alert.figure),
    }


def _rules(one: Standing) -> list[tuple[str, str]]:
    """Every alarm and what its figure is now."""
    return [
        (
            words.rule_words(reading.alarm.kind, reading.alarm.rule),
            words.figure_words(reading.alarm.kind, reading.figure),
        )
        for reading in rules.readings(one.figures, one.version.alerts)
    ]


def _periods(row: queries.BudgetRow, ground: Ground) -> list[tuple[str, str]]:
    """The periods that can be looked at, the latest first."""
    span: Span | None = row.span(ground.today)
    found = []
    while span is not None and span.first >= row.starts_on and len(found) < PERIODS_BACK:
        found.append((span.first.isoformat(), words.span_words(span, row.period)))
        span = rules.span_before(row.period, span)
    return found


def _span(request: PageRequest, row: queries.BudgetRow, ground: Ground) -> Span:
    wanted: date | None = parameters.day(request.GET, "from")
    if wanted is None:
        return row.span(ground.today)
    last = row.span(ground.today)
    span = rules.span_of(row.period, wanted, range_=row.range)
    if not row.starts_on <= span.first <= last.first:
        raise NotFound("budget_unknown", "The budget has no such period.", field="from")
    return span
