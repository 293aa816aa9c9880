"""The overview: my accounts, their use over time, where I stand, what changed lately."""

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting.fairshare_state import State
from accounting.queries import fairshare, usage
from accounting.queries.fairshare import NodeRow
from accounting.queries.usage import AccountUse
from accounting.queries.use_by_day import use_by_day
from frontend import charts, history, parameters
from frontend.pages import Page, PageRequest, page, render
from frontend.standing import is_below, own_rows, scale_of
from frontend.views.reclaim import Line, hints_below
from ledger.queries import EventRow
from ledger.queries import history as ledger_history
from tenancy import policy, queries
from tenancy.domain.roles import LEDGER_READ, READ, REQUEST_WRITE
from tenancy.queries import AccountRow

CARDS_MAX = 12
CARD_DAYS = 30
SIBLINGS_SHOWN_MAX = 12
CHANGES_SHOWN_MAX = 8
HINTS_SHOWN_MAX = 6


@dataclass(frozen=True, slots=True)
class Card:
    """An account as its people see it. `own` is the person's own line under it, if any."""

    account: AccountRow
    row: NodeRow | None
    own: NodeRow | None
    use: AccountUse
    readable: bool


@require_safe
@page()
def overview(request: PageRequest) -> HttpResponse:
    """What somebody looks for in ten seconds. `days` and `account` choose the period of use."""
    here = request.page
    mine = queries.accounts_of(here.id, here.actor.id)
    readable = policy.accounts_with(here.actor, READ, here.id)
    cards_of = _card_accounts(here, mine)
    if not cards_of:
        return render(request, "overview.html", {"cards": [], "readable": bool(readable)})
    state, result = fairshare.standing(here.id, at=here.now, now=here.now)
    context = {
        "cards": _cards(here, cards_of, readable, state, result),
        "people_count": state.tree.person_count,
        "card_days": CARD_DAYS,
        **_use(request, [one for one in mine if is_below(state, one.name, readable)], readable),
        **_siblings(here, mine, state, result),
        "hints": _idle(here),
        "partials": ("use-panel",),
    }
    if LEDGER_READ in here.held:
        context["changes"] = _changes(here)
    return render(request, "overview.html", context)


def _card_accounts(here: Page, mine: list[AccountRow]) -> list[AccountRow]:
    """My accounts; the root, which is everything, stands for what lies right below it."""
    if any(account.id == here.organization.root_account_id for account in mine):
        below = queries.children(here.id, here.organization.root_account_id, limit=CARDS_MAX)
        known = {account.id for account in below}
        others = [one for one in mine if one.parent_id is not None and one.id not in known]
        return [*below, *others][:CARDS_MAX]
    return mine[:CARDS_MAX]


def _cards(
    here: Page, accounts: list[AccountRow], readable: tuple[UUID, ...], state: State, result
) -> list[Card]:
    use = usage.use_of_accounts(
        here.id,
        [account.id for account in accounts],
        since=here.today - timedelta(days=CARD_DAYS - 1),
        until=here.today,
        now=here.now,
    )
    own = own_rows(state, result, here.actor.id, [account.name for account in accounts])
    known = state.names.account_by_name
    return [
        Card(
            account=account,
            row=fairshare.account_row(state, result, account.name)
            if account.name in known
            else None,
            own=own.get(account.name),
            use=use[account.id],
            readable=is_below(state, account.name, readable),
        )
        for account in accounts
    ]


def _use(request: PageRequest, mine: list[AccountRow], readable: tuple) -> dict:
    """Use by day of one account that the person may read."""
    here = request.page
    days = parameters.days(request.GET)
    if not readable:
        return {}
    chosen = parameters.text(request.GET, "account")
    account = (
        queries.account_by_name(here.id, chosen)
        if chosen
        else queries.account(here.id, readable[0])
    )
    here.require(READ, account.id)
    since = here.today - timedelta(days=days - 1)
    use = use_by_day(here.id, account_id=account.id, since=since, until=here.today, now=here.now)
    return {
        "use_account": account,
        "use_choices": mine,
        "days": days,
        "days_choices": parameters.DAYS_CHOICES,
        "chart": charts.use_by_day(use, since=since, until=here.today),
        "records_address": f"{reverse('usage_records')}?{urlencode({'account': account.name})}",
    }


def _siblings(here: Page, mine: list[AccountRow], state: State, result) -> dict:
    """Everybody right below the first of my accounts, the highest rank (who goes first) first."""
    account = state.names.account_by_name.get(mine[0].name) if mine else None
    if account is None:
        return {}
    rows = fairshare.account_rows(state, result, account)
    ranked = sorted((row for row in rows if row.rank), key=lambda row: -row.rank)
    return {
        "standing_account": mine[0],
        "standing_rows": ranked[:SIBLINGS_SHOWN_MAX],
        "standing_more": max(len(rows) - SIBLINGS_SHOWN_MAX, 0),
        "standing_scale": scale_of(ranked),
    }


def _idle(here: Page) -> list[Line]:
    """Idle guarantees of accounts that the person leads: they are asked to do something."""
    tops = policy.accounts_with(here.actor, REQUEST_WRITE, here.id)
    return hints_below(here, tops, limit=HINTS_SHOWN_MAX) if tops else []


def _changes(here: Page) -> list[tuple[EventRow, str]]:
    """The newest events about accounts whose history the person may read, and what is below; of
    everything for the root."""
    readable = policy.accounts_with(here.actor, LEDGER_READ, here.id)
    everything = here.organization.root_account_id in readable
    subjects = () if everything else queries.subtree_ids(here.id, readable)
    newest = ledger_history(here.id, subject_ids=subjects, limit=CHANGES_SHOWN_MAX).rows
    names = history.names_for(here.id, newest)
    return [(event, history.sentence(event, names, here.zone)) for event in newest]
