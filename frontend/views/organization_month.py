"""A month of the whole organization, for finance."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounting import tasks
from accounting.domain import statements
from accounting.queries import month_figures
from accounting.queries import organization_month as months
from accounting.queries import showback as queries
from accounting.queries import statements as closes
from frontend import parameters, showback_charts
from frontend.pages import PageRequest, page, render
from ledger import scope
from tenancy.domain.roles import RATE_WRITE, READ

DEPARTMENTS_SHOWN = 200
ASKED_AGAIN = timedelta(minutes=1)
UNRATED_SHOWN = 20


@require_safe
@page()
def organization_month(request: PageRequest) -> HttpResponse:
    """Departments, movers, capacity and what is odd, of the month in the address."""
    here = request.page
    root = here.organization.root_account_id
    here.require(READ, root)
    first = parameters.month(request.GET, today=here.today)
    before_first = statements.month_before(first)
    found = months.month_of(here.id, root, first, now=here.now, tell=True)
    before = months.month_of(here.id, root, before_first, now=here.now, tell=False)
    names = queries.names_of(here.id, people=False)
    month = months.organization_month(found, before)
    total, before_total = found.total, before.total
    rows = closes.closes(here.id, limit=1)
    turn = closes.turn(rows, this_month=here.today.replace(day=1))
    return render(
        request,
        "showback/organization.html",
        {
            "month": found.month,
            "previous": before_first,
            "next": None if found.month.end > here.now else statements.month_after(first),
            "found": found,
            "total": total,
            "before": before,
            "before_total": before_total,
            "difference": total.amount - before_total.amount,
            "currency": found.ground.currency,
            "root": names[root],
            "departments": [
                (names[one.account], one.account == root, one)
                for one in month.departments[:DEPARTMENTS_SHOWN]
            ],
            "departments_left": len(month.departments) - DEPARTMENTS_SHOWN,
            "movers": [(names[one.account], one) for one in month.movers],
            "pools": [(names[one.pool], one) for one in month.pools],
            "untagged": month.untagged,
            "unrated": _unrated(found, names),
            "unrated_left": found.unrated_count - UNRATED_SHOWN,
            "chart": showback_charts.departments(
                [(names[one.account], one.before, one.amount) for one in month.departments],
                (f"{before_first:%Y-%m}", found.month.name),
                found.ground.currency,
            ),
            "closing": rows[0] if rows and rows[0].state == "closing" else None,
            "turn": turn,
            "may_compute": True,
            "may_close": here.may(RATE_WRITE, root),
        },
    )


@require_POST
@page(reads=False)
def compute_month(request: PageRequest) -> HttpResponse:
    """Have the figures of a large open month computed now, by a worker."""
    here = request.page
    root = here.organization.root_account_id
    with scope.reading(here.id):
        here.require(READ, root)
        first = parameters.month(request.POST, today=here.today)
        drawn = month_figures.figures(here.id, root, first, now=here.now)
    if drawn is None or drawn.state == "closed":
        messages.info(request, f"{first:%Y-%m} is computed at every look anyway.")
    elif (waited := here.now - drawn.as_of) < ASKED_AGAIN:
        left = (ASKED_AGAIN - waited).seconds + 1
        messages.info(request, f"It was computed just now. Ask again in {left} seconds.")
    else:
        tasks.draw_month_of.apply_async(
            (str(here.id), first.isoformat()), queue="exports", expires=tasks.REFRESH_SECONDS
        )
        messages.success(request, "It is being computed. Look again in a minute.")
    return HttpResponseRedirect(f"{reverse('organization_month')}?month={first:%Y-%m}")


def _unrated(found: months.Month, names: dict[Any, str]) -> list[tuple[str, str, Any]]:
    largest = months.most_unrated(found)
    return [
        (names[one.group.pool], names[one.group.account[0]], one) for one in largest[:UNRATED_SHOWN]
    ]
