"""Requests of a person and of the accounts they see: where each stands and for whom it waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend import parameters, request_words
from frontend.pages import Page, PageRequest, page, render
from ledger.errors import NotFound
from quota.domain.requests import OPEN, Kind, State
from quota.queries.requests import RequestPage, RequestRow, requests
from tenancy import policy, queries
from tenancy.domain.roles import READ, REQUEST_WRITE

PAGE_ROWS: Final = 25
DRAFTS_SHOWN: Final = 20
GROUPS: Final = {
    "open": ("not settled yet", (*OPEN, State.APPROVED)),
    "granted": ("granted", (State.PROVISIONED,)),
    "over": (
        "over",
        (State.REJECTED, State.WITHDRAWN, State.EXPIRED, State.RECLAIMED),
    ),
}
HANDED_IN: Final = tuple(state for state in State if state not in (State.DRAFT, State.DISCARDED))


@dataclass(frozen=True, slots=True)
class Line:
    """A request in the list. `waits_for`: names in words; empty: for nobody."""

    row: RequestRow
    title: str
    state: str
    waits_for: str


@require_safe
@page()
def listing(request: PageRequest) -> HttpResponse:
    """My requests, and those of accounts I see; my drafts above them."""
    here = request.page
    tops = policy.accounts_with(here.actor, READ, here.id)
    account = parameters.text(request.GET, "account")
    kind = parameters.choice(request.GET, "kind", ("", *Kind), "")
    group = parameters.choice(request.GET, "state", ("", *GROUPS), "")
    whose = parameters.choice(request.GET, "whose", ("", "mine"), "")
    before = parameters.text(request.GET, "before")
    mine = whose == "mine" or not tops
    within: Sequence[UUID] | None = None if mine else tops
    account_error = ""
    if account:
        try:
            row = queries.account_by_name(here.id, account)
        except NotFound:
            account_error = f"There is no account {account}. Those of all accounts are shown."
        else:
            if not mine:
                here.require(READ, row.id)
            within = (row.id,)
    found = requests(
        here.id,
        now=here.now,
        account_ids=within,
        below=True,
        requester_id=here.actor.id if mine else None,
        kinds=(kind,) if kind else (),
        states=GROUPS[group][1] if group else HANDED_IN,
        before=_ident(before),
        limit=PAGE_ROWS,
    )
    filtered = bool(account or kind or group or whose)
    return render(
        request,
        "requests/list.html",
        {
            "lines": _lines(here, found),
            "drafts": _drafts(here) if not (filtered or before) else [],
            "account": account,
            "account_error": account_error,
            "kind": kind,
            "kinds": [(str(one), title) for one, (title, _) in request_words.KINDS.items()],
            "state": group,
            "states": [(name, title) for name, (title, _) in GROUPS.items()],
            "whose": whose,
            "sees_others": bool(tops),
            "may_ask": REQUEST_WRITE in here.held,
            "filtered": filtered,
            "first_page": not before,
            "next": _next(request, found.next_before),
            "partials": ("rows",),
        },
        status=400 if account_error else 200,
    )


def _ident(text: str) -> UUID | None:
    if not text:
        return None
    try:
        return parameters.ident(text, what="page")
    except NotFound:
        return None


def _drafts(here: Page) -> list[Line]:
    found = requests(
        here.id,
        now=here.now,
        requester_id=here.actor.id,
        drafts_of=here.actor.id,
        states=(State.DRAFT,),
        limit=DRAFTS_SHOWN,
    )
    return [_line(row, "") for row in found.rows]


def _lines(here: Page, found: RequestPage) -> list[Line]:
    """The rows with whom they wait for. One question for all names, not one a row."""
    levels = {
        level
        for row in found.rows
        if row.state == State.SUBMITTED
        for level in row.request.level_ids
    }
    names = queries.names_of(here.id, accounts=levels)
    return [_line(row, _waits_for(row, names)) for row in found.rows]


def _waits_for(row: RequestRow, names: dict[UUID, str]) -> str:
    if row.state in (State.CHANGES_REQUESTED, State.COUNTERED):
        return row.requester
    if row.state != State.SUBMITTED:
        return ""
    levels = [names[one] for one in row.request.level_ids if one in names]
    who = f"approvers of {' and '.join(levels)}" if levels else ""
    if row.request.operators:
        who = f"{who} and operators" if who else "operators"
    if row.request.approvals_missing > 1:
        who = f"two {who}"
    return who


def _line(row: RequestRow, waits_for: str) -> Line:
    return Line(
        row=row,
        title=request_words.what(row),
        state=request_words.STATES[State(row.state)],
        waits_for=waits_for,
    )


def _next(request: PageRequest, before: UUID | None) -> str:
    if before is None:
        return ""
    query = {name: value for name, value in request.GET.items() if name != "before" and value}
    return f"{request.path}?{urlencode(query | {'before': str(before)})}"
