"""A month at a glance: what an account is charged, why, and against the month before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting import fairshare_state
from accounting.domain import lines, money, rating, statements
from accounting.domain.anomalies import Anomaly
from accounting.domain.lines import Kind, Line
from accounting.queries import budgets as budget_queries
from accounting.queries import cost_marks, glance, month_figures, rates, taggings
from accounting.queries import showback as queries
from accounting.queries import statements as closes
from accounting.queries import wide_months as wide
from accounting.queries.month_figures import Figures
from accounting.queries.showback import DIMENSIONS, WHOLE, Cell, Showback
from accounting.queries.taggings import TaggingRow
from frontend import parameters, showback_charts
from frontend.charts import Chart
from frontend.pages import Page, PageRequest, page, render
from frontend.reading import account_of, by_account, readable_accounts, way_to
from frontend.showback_words import why_changed
from frontend.standing import accounts_below
from frontend.views.budgets import account_budgets
from ledger.errors import Invalid, NotFound
from tenancy.domain.roles import RATE_WRITE, READ, TEAM_COMPARE, USE_TAG

NOBODY = "What an account is charged is shown to people with a role on it or above it."

LINES_SHOWN = 60
CELLS_SHOWN = 100
CHANGES_SHOWN = 12
ACCOUNT_CHOICES_MAX = 300
BY_DEFAULT = ("team", "pool")
KIND_WORDS = {
    Kind.USAGE: "Use",
    Kind.IDLE: "Idle guarantee",
    Kind.LENDING: "Lending credit",
    Kind.DISCOUNT: "Utilization discount",
    Kind.COMMITMENT: "Commitment",
    Kind.CREDIT: "Credit",
    Kind.ADJUSTMENT: "Adjustment",
}


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line in words."""

    id: str
    line: Line
    kind: str
    account: str
    pool: str
    flavor: str


@require_safe
@page()
def showback(request: PageRequest) -> HttpResponse:
    """The page; the account, the month and the dimensions are in the address."""
    here = request.page
    readable = readable_accounts(here, READ, otherwise=NOBODY)
    account = account_of(request, READ, readable)
    first = _month(request)
    by = _by(request)
    found = wide.month_of(here.id, account.id, first, now=here.now, by=by, details=("day",))
    before = wide.month_of(here.id, account.id, statements.month_before(first), now=here.now)
    names = queries.names_of(here.id, people="person" in by)
    cells, cell_count = wide.drill(found, by, names, limit=CELLS_SHOWN)
    currency = found.ground.currency
    printing = parameters.choice(request.GET, "view", ("page", "print"), "page") == "print"
    shown = wide.largest_lines(found, limit=None if printing else LINES_SHOWN)
    odd = cost_marks.odd_days(
        here.id,
        account.id,
        budget_queries.ground(here.id, now=here.now),
        first=first,
        end=statements.month_after(first),
    )
    changed = [
        (one, KIND_WORDS[one.kind], names.get(one.pool, ""))
        for one in queries.changes(found, before)[:CHANGES_SHOWN]
    ]
    return render(
        request,
        "showback/print.html" if printing else "showback/month.html",
        {
            "account": account,
            "way": way_to(here, account, readable, _in_month(first)),
            "account_choices": accounts_below(
                fairshare_state.current(here.id), readable, limit=ACCOUNT_CHOICES_MAX
            ),
            "month": found.month,
            "last_day": glance.last_day(found, here.now),
            "previous": statements.month_before(first),
            "next": None if found.month.end > here.now else statements.month_after(first),
            "found": found,
            "before": before,
            "difference": found.total.amount - before.total.amount,
            "currency": currency,
            "kinds": [(KIND_WORDS[kind], total) for kind, total in queries.by_kind(found).items()],
            "rows": [_row(line, names) for line in shown],
            "rows_left": found.total.lines - len(shown),
            "lines_unkept": found.as_of is not None and found.state != "closed",
            "changes": changed,
            "why": why_changed(found.total.amount - before.total.amount, changed, currency),
            "glance": glance.glance(here.id, found, names, now=here.now),
            "unrated": [
                (names[one.group.pool], names[one.group.account[0]], one)
                for one in wide.most_unrated(found)
            ],
            "by": by,
            "dimensions": DIMENSIONS,
            "cells": [(cell, _tag_with(cell, by)) for cell in cells],
            "sees_all": here.may(READ, here.organization.root_account_id),
            "expected": wide.expected(here.id, found, now=here.now),
            "may_compute": here.may(READ, here.organization.root_account_id),
            "may_compare": TEAM_COMPARE in here.held,
            "may_tag": here.may(USE_TAG, account.id),
            "cells_left": cell_count - len(cells),
            "linked": [name for name in by if name in ("team", "account")],
            "chart": _day_chart(found, names, odd),
            "budgets": account_budgets(here, account.id),
            "group_chart": showback_charts.largest(cells, " and ".join(by).capitalize(), currency),
            "may_close": here.may(RATE_WRITE, here.organization.root_account_id),
            "partials": ("drill",),
        },
    )


def _day_chart(found: wide.Month, names: dict[Any, str], odd: Sequence[Anomaly]) -> Chart:
    """Use by day and pool; of figures all pools together."""
    currency = found.ground.currency
    if isinstance(found, Figures):
        days = month_figures.use_by_day(found)
        together: Any = {day: {None: amount} for day, amount in days.items()}
        return showback_charts.by_day(together, {None: "All pools"}, currency, odd)
    return showback_charts.by_day(queries.by_day(found), names, currency, odd)


@require_safe
@page()
def showback_line(request: PageRequest, line_id: str) -> HttpResponse:
    """Why this amount: the formula with its numbers, and the way down to the records."""
    here = request.page
    account = account_of(request, READ, readable_accounts(here, READ, otherwise=NOBODY))
    first = _month(request)
    found = queries.showback(here.id, account.id, first, now=here.now, details=("day",))
    line = next((one for one in found.lines if queries.line_id(one) == line_id), None)
    if line is None:
        raise NotFound(
            "line_unknown",
            "This line is not in the month any more: what it is computed from has changed.",
            field="line",
        )
    names = queries.names_of(here.id)
    version = next(
        (one for one in rates.rate_versions(here.id) if one.id == line.key.version), None
    )
    weights = {detail[0]: amount for detail, amount in found.parts.get(line.key, {}).items()}
    amounts = lines.parts(line.amount, weights, places=found.ground.places)
    close = closes.close(here.id, first)
    return render(
        request,
        "showback/line.html",
        {
            "account": account,
            "owner": names[line.key.account],
            "path": [names[one] for one in line.key.above],
            "month": found.month,
            "last_day": glance.last_day(found, here.now),
            "found": found,
            "row": _row(line, names),
            "of_kind": KIND_WORDS[line.key.kind],
            "currency": found.ground.currency,
            "formula": lines.FORMULAS[line.kind],
            "assigned": _assigned(here, found, line, names),
            "exact": _exact(line),
            "promised": Decimal(line.facts.get("promised", 0)),
            "version": version,
            "days": []
            if line.adjusts
            else [(day, weights[day], amounts[day]) for day in sorted(weights)],
            "closed_at": None if close is None else close.closed_at,
        },
    )


def _assigned(
    here: Page, found: Showback, line: Line, names: dict[Any, str]
) -> list[tuple[str, TaggingRow]]:
    """Whose use finance had charged to the account of a line of use, and why."""
    if line.key.kind != Kind.USAGE:
        return []
    last = statements.month_after(found.month.first) - timedelta(days=1)
    return [
        (names[row.account_id], row)
        for row in taggings.holding(here.id, found.month.first, last)
        if row.to_account_id == line.key.account and row.pool_id in (None, line.key.pool)
    ]


def _exact(line: Line) -> Decimal | None:
    """The amount of a line of use before it was rounded, to a few more digits."""
    if line.adjusts or line.key.kind != Kind.USAGE or line.price is None:
        return None
    return money.rounded(rating.charge(line.unit_seconds, line.price), 6)


def _in_month(first: date) -> Callable[[str], str]:
    """Addresses of the same month of another account."""
    return by_account(reverse("showback"), month=f"{first:%Y-%m}")


def _month(request: PageRequest) -> date:
    """The month in the address; without one, the one that it is now."""
    value = parameters.text(request.GET, "month")
    if not value:
        return request.page.today.replace(day=1)
    try:
        return date.fromisoformat(f"{value}-01")
    except ValueError:
        raise Invalid("month_malformed", "A month is given as 2026-11.", field="month") from None


def _by(request: PageRequest) -> tuple[str, ...]:
    """What the month is told apart by: each dimension once, in the order given."""
    wanted = tuple(dict.fromkeys(parameters.free(request.GET, "by"))) or BY_DEFAULT
    return wanted if set(wanted) <= set(DIMENSIONS) else ("unknown",)


def _tag_with(cell: Cell, by: tuple[str, ...]) -> str:
    """What else the form of tags is to choose for use without one, as part of its address."""
    known = {
        name: value
        for name, value in zip(by, cell.values, strict=True)
        if name in ("person", "pool") and value not in (None, WHOLE)
    }
    return f"&{urlencode(known)}" if known else ""


def _row(line: Line, names: dict[Any, str]) -> LineRow:
    key = line.key
    return LineRow(
        id=queries.line_id(line),
        line=line,
        kind=KIND_WORDS[line.kind],
        account=names[key.account],
        pool=names.get(key.pool, ""),
        flavor=names.get(key.flavor, ""),
    )
