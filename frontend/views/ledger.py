"""The ledger: what happened to an account, a person or the organization, and one event in full.

Who may read what: `quota.event_reading`. About all else there is nothing here.
"""

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend import history, parameters
from frontend.pages import Page, PageRequest, page, render
from frontend.reading import readable_accounts
from ledger import queries
from ledger.errors import Invalid, NotFound
from ledger.queries import EventRow
from quota.event_reading import may_read, mentioned
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ

NOBODY = "The ledger is open to leads, approvers, finance, operators and auditors."

PAGE_ROWS = 50
SUBTREE_MAX = 1000
AROUND = 10
"""Events on either side of one that are looked through for those of the same command."""
PAGES_OF = {
    "request_id": "request",
    "detection_id": "detection",
    "budget_id": "budget",
    "cycle_id": "cycle",
}
"""Pages of what an event may be about, by the field that names it."""


@dataclass(frozen=True, slots=True)
class Line:
    """An event in the list."""

    event: EventRow
    sentence: str


@require_safe
@page()
def events(request: PageRequest) -> HttpResponse:
    """Events, newest first, by account, person, type and time."""
    here = request.page
    readable = readable_accounts(here, LEDGER_READ, otherwise=NOBODY)
    sees_all = here.organization.root_account_id in readable
    subject, subject_name = _subject(request, readable, sees_all=sees_all)
    is_account = bool(subject_name)
    kinds = queries.event_types()
    kind = parameters.choice(request.GET, "type", ("", *kinds), "")
    since, until = parameters.day(request.GET, "since"), parameters.day(request.GET, "until")
    before = parameters.whole(request.GET, "before")
    below = is_account and parameters.choice(request.GET, "below", ("", "1"), "") == "1"
    found = queries.history(
        here.id,
        subject_id=None if below else subject,
        subject_ids=_subtree(here, subject) if below and subject else (),
        types=[kind] if kind else (),
        since=parameters.start_of(since, here.zone) if since else None,
        until=parameters.start_of(until + timedelta(days=1), here.zone) if until else None,
        before_position=before,
        limit=PAGE_ROWS,
    )
    names = history.names_for(here.id, found.rows)
    return render(
        request,
        "ledger.html",
        {
            "lines": [
                Line(event, history.sentence(event, names, here.zone)) for event in found.rows
            ],
            "account": subject_name,
            "below": below,
            "person": parameters.text(request.GET, "person"),
            "sees_all": sees_all,
            "kinds": kinds,
            "kind": kind,
            "since": since,
            "until": until,
            "filtered": bool(kind or since or until),
            "first_page": before is None,
            "next": _next(request, found.next_before),
            "partials": ("rows",),
        },
    )


@require_safe
@page()
def event(request: PageRequest, event_id: str) -> HttpResponse:
    """One event with everything stored of it, and links to what it names."""
    here = request.page
    readable_accounts(here, LEDGER_READ, otherwise=NOBODY)
    found = queries.event(here.id, parameters.ident(event_id, what="event"))
    if not may_read(here.actor, here.id, found):
        raise NotFound("event_unknown", "There is no such event.", field="event")
    beside = _beside(here, found)
    names = history.names_for(here.id, [found, *beside])
    return render(
        request,
        "ledger_event.html",
        {
            "event": found,
            "sentence": history.sentence(found, names, here.zone),
            "payload": msgspec.json.format(msgspec.json.encode(found.payload), indent=2).decode(),
            "links": _links(here, found, names),
            "beside": [Line(one, history.sentence(one, names, here.zone)) for one in beside],
            "batch_id": found.payload.get("batch_id"),
        },
    )


def _beside(here: Page, found: EventRow) -> list[EventRow]:
    """What the same command recorded with it, oldest first: a quota with the approval it is by.

    Events of a command follow each other. Of a command that recorded very many, those around.
    """
    near = queries.history(
        here.id, before_position=found.position + AROUND + 1, limit=2 * AROUND + 1
    ).rows
    return [
        one
        for one in reversed(near)
        if one.command_id == found.command_id
        and one.id != found.id
        and may_read(here.actor, here.id, one)
    ]


def _subject(
    request: PageRequest, readable: tuple[UUID, ...], *, sees_all: bool
) -> tuple[UUID | None, str]:
    """Whose history: an account or a person; without either everything, or the first account."""
    here = request.page
    account = parameters.text(request.GET, "account")
    person = parameters.text(request.GET, "person")
    if account:
        row = tenancy.account_by_name(here.id, account)
        here.require(LEDGER_READ, row.id)
        return row.id, row.name
    if person:
        here.require(LEDGER_READ)
        return tenancy.person_by_name(here.id, person).id, ""
    if sees_all:
        return None, ""
    row = tenancy.account(here.id, readable[0])
    return row.id, row.name


def _subtree(here: Page, account_id: UUID) -> list[UUID]:
    """An account and everything below it.

    Raises:
        Invalid: too many to look through for one page.
    """
    found = tenancy.subtree_ids(here.id, [account_id], limit=SUBTREE_MAX + 1)
    if len(found) > SUBTREE_MAX:
        raise Invalid(
            "subtree_too_large",
            f"More than {SUBTREE_MAX:,} accounts lie below. Choose one further down.",
            field="below",
        )
    return found


def _links(here: Page, found: EventRow, names: dict[UUID, str]) -> list[tuple[str, str, str]]:
    """(field, name, address) of everything the event names and this page knows."""
    accounts = tenancy.names_of(here.id, accounts=mentioned(found))
    links = []
    for field, value in sorted(found.payload.items()):
        if not (field.endswith("_id") and isinstance(value, str)) or field == "batch_id":
            continue
        ident = UUID(value)
        address = ""
        if ident in accounts:
            address = f"{reverse('ledger')}?{urlencode({'account': accounts[ident]})}"
        elif field == "allocation_id" and ident in names:
            address = reverse("allocation", args=[names[ident]])
        elif field in PAGES_OF:
            address = reverse(PAGES_OF[field], args=[ident])
        links.append((field, names.get(ident, value), address))
    return links


def _next(request: PageRequest, before: int | None) -> str | None:
    if before is None:
        return None
    pairs = {name: value for name, value in request.GET.items() if value and name != "before"}
    return f"{reverse('ledger')}?{urlencode({**pairs, 'before': before})}"
