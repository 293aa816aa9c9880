"""What was taken from an account and those below it in a month: why, for whom, at what cost."""

from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting import fairshare_state
from accounting.domain import statements
from frontend import parameters, preemption_charts
from frontend.pages import Page, PageRequest, page, render
from frontend.preemption_lines import action_lines
from frontend.reading import account_of, by_account, readable_accounts, way_to
from frontend.standing import accounts_below
from frontend.views.capacity import seen_by
from ledger.errors import Invalid
from preemption import losses, taken
from preemption.taken import Place, Which
from tenancy import queries as tenancy
from tenancy.domain.roles import READ

NOBODY = "What was taken from an account is shown to people with a role on it or above it."
PAGE_ROWS = 50
ACCOUNT_CHOICES_MAX = 300
ACCOUNTS_MAX = 1_000_000
ACCOUNTS_SHOWN = 20


@require_safe
@page()
def taken_from(request: PageRequest) -> HttpResponse:
    """The page; the account and the month are in the address."""
    here = request.page
    readable = readable_accounts(here, READ, otherwise=NOBODY)
    account = account_of(request, READ, readable)
    first = parameters.month(request.GET, today=here.today)
    following = statements.month_after(first)
    which = Which(
        since=parameters.start_of(first, here.zone),
        until=parameters.start_of(following, here.zone),
        accounts=_below(here, account.id),
    )
    after = _place(parameters.text(request.GET, "after"))
    rows = taken.actions(here.id, which, after=after, limit=PAGE_ROWS + 1)
    shown, more = rows[:PAGE_ROWS], len(rows) > PAGE_ROWS
    total = taken.total(here.id, which)
    accounts = taken.by_account(here.id, which)
    last_day = min(following - timedelta(days=1), here.today)
    days = taken.by_day(here.id, which, time_zone=here.zone.key) if total.actions else []
    return render(
        request,
        "preemption/taken.html",
        {
            "account": account,
            "way": way_to(
                here,
                account,
                readable,
                by_account(reverse("preemption_taken"), month=f"{first:%Y-%m}"),
            ),
            "account_choices": accounts_below(
                fairshare_state.current(here.id), readable, limit=ACCOUNT_CHOICES_MAX
            ),
            "month": first,
            "previous": statements.month_before(first),
            "next_month": None if following > here.today else following,
            "total": total,
            "chart": preemption_charts.by_day(
                days,
                since=first,
                until=max(first, last_day),
                currency=here.organization.currency,
            ),
            "accounts": accounts[:ACCOUNTS_SHOWN],
            "accounts_left": len(accounts) - ACCOUNTS_SHOWN,
            "losers": losses.losers(
                here.id,
                since=which.since,
                until=min(which.until, here.now + timedelta(microseconds=1)),
                accounts=which.accounts,
            )
            if total.actions
            else [],
            "actions": action_lines(shown, seen_by(here, readable)),
            "first_page": after is None,
            "next": _next(request, shown[-1].place) if more else None,
            "currency": here.organization.currency,
            "partials": ("actions",),
        },
    )


def _below(here: Page, account_id: UUID) -> frozenset[UUID] | None:
    """The account with all below it; None for all there are."""
    if account_id == here.organization.root_account_id:
        return None
    return frozenset(tenancy.subtree_ids(here.id, (account_id,), limit=ACCOUNTS_MAX))


def _place(value: str) -> Place | None:
    """Where the page before ended, out of an address.

    Raises:
        Invalid: `parameter_unusable`.
    """
    if not value:
        return None
    try:
        at, plan_id, ordinal = value.split("_")
        found = Place(datetime.fromisoformat(at.replace(" ", "+")), UUID(plan_id), int(ordinal))
    except ValueError:
        found = None
    if found is None or found.at.tzinfo is None or not 0 <= found.ordinal < 2**31:
        raise Invalid(
            "parameter_unusable",
            "The value of `after` cannot be used: it is not the end of a page.",
            field="after",
        )
    return found


def _next(request: PageRequest, place: Place) -> str:
    kept = [(name, value) for name, value in request.GET.items() if name != "after"]
    text = f"{place.at.isoformat()}_{place.plan_id}_{place.ordinal}"
    return f"{request.path}?{urlencode([*kept, ('after', text)])}"
