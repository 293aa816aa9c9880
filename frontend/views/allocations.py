"""Allocations: the live table with its filters, and one job's timeline from the ledger."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend import parameters
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import readable
from frontend.views.detections import found_of_jobs
from ledger.errors import Invalid, NotFound
from ledger.queries import EventRow
from ledger.queries import history as ledger_history
from quota.queries import pools_with_weights
from quota.queries.allocation_order import order_for
from quota.queries.allocations import (
    ORDERS,
    STATES,
    AllocationRow,
    Place,
    allocations,
    of_key,
    place_of,
)
from tenancy import queries
from tenancy.domain.roles import LEDGER_READ, READ

PAGE_ROWS = 50
EVENTS_SHOWN = 100
ATTEMPTS_SHOWN = 20
_END_TITLES = {"all": "Good until, or ended"} | dict.fromkeys(
    ("live", "held", "running"), "Good until"
)
"""What the last column tells of allocations in these states; of others, their end."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened to an allocation."""

    at: datetime
    sentence: str
    event: EventRow | None


@require_safe
@page()
def allocation_list(request: PageRequest) -> HttpResponse:
    """A page of allocations in an order of the whole list; live ones by default."""
    here = request.page
    tops = readable(here)
    pools = pools_with_weights(here.id)
    account = parameters.text(request.GET, "account")
    person = parameters.text(request.GET, "person")
    pool = parameters.choice(request.GET, "pool", ("", *(one.name for one in pools)), "")
    state = parameters.choice(request.GET, "state", ("all", *STATES), "live")
    sort = parameters.choice(request.GET, "sort", tuple(ORDERS), "newest")
    after = parameters.text(request.GET, "after")
    errors = _errors(here, account, person, state, sort)
    rows = []
    if not errors:
        rows = allocations(
            here.id,
            now=here.now,
            under=tops,
            account=account or None,
            person=person or None,
            pool=pool or None,
            state=_state(state),
            sort=sort,
            after=Place.of(after, sort) if after else None,
            limit=PAGE_ROWS + 1,
        )
    shown, more = rows[:PAGE_ROWS], len(rows) > PAGE_ROWS
    last = place_of(shown[-1], sort).text() if more else None
    return render(
        request,
        "allocations.html",
        {
            "rows": shown,
            "pools": pools,
            "states": ("all", *STATES),
            "account": account,
            "person": person,
            "pool": pool,
            "state": state,
            "sort": sort,
            "sorts": tuple(ORDERS),
            "filtered": bool(account or person or pool or state != "live"),
            "first_page": not after,
            "next": _next(request, last),
            # Only what is seen first goes stale; an older page stays as it was asked for.
            "refresh": not (after or errors) and state in ("live", "held", "running"),
            "errors": errors,
            "end_title": _END_TITLES.get(state, "Ended"),
            "partials": ("rows",),
        },
        status=400 if errors else 200,
    )


def _state(said: str) -> str | None:
    return None if said == "all" else said


def _errors(here: Page, account: str, person: str, state: str, sort: str) -> dict[str, str]:
    """What cannot be asked, by field, in words with the way out."""
    found = {}
    if account:
        try:
            here.require(READ, queries.account_by_name(here.id, account).id)
        except NotFound:
            found["account"] = f"There is no account {account}. Leave it empty for all."
    if person:
        try:
            queries.person_by_name(here.id, person)
        except NotFound:
            found["person"] = f"Nobody is called {person}. Leave it empty for everybody."
    try:
        order_for(sort, _state(state))
    except Invalid as error:
        fit = " or ".join(error.facts["states"])
        found["sort"] = f"Only what is {fit} has this order. Choose such a state or another order."
    return found


@require_safe
@page()
def allocation(request: PageRequest, key: str) -> HttpResponse:
    """Every attempt of a job: state, tier, lease, and what happened, event by event."""
    here = request.page
    found = of_key(here.id, key, now=here.now, under=readable(here))
    if not found:
        raise NotFound("allocation_unknown", "There is no allocation of such a job.", field="key")
    sees_event = LEDGER_READ in here.held
    return render(
        request,
        "allocation.html",
        {
            "key": key,
            "attempts": [(row, _timeline(here, row)) for row in found[:ATTEMPTS_SHOWN]],
            "found": found_of_jobs(here, [row.id for row in found[:ATTEMPTS_SHOWN]]),
            "more": len(found) > ATTEMPTS_SHOWN,
            "sees_event": sees_event,
        },
    )


def _timeline(here: Page, row: AllocationRow) -> list[Step]:
    """Events of the allocation, oldest first, with a lapse that no sweeper has recorded yet."""
    events = ledger_history(here.id, stream=f"allocation:{row.id}", limit=EVENTS_SHOWN).rows[::-1]
    names = names_for(here.id, events)
    steps = [Step(event.occurred_at, sentence(event, names, here.zone), event) for event in events]
    recorded = any(
        event.type.split(".")[1] in ("released", "preempted", "expired") for event in events
    )
    if row.state == "expired" and row.ended_at and not recorded:
        steps.append(Step(row.ended_at, "Its hold, lease or bounded run was over", None))
    return steps


def _next(request: PageRequest, last: str | None) -> str | None:
    if last is None:
        return None
    kept = [(name, value) for name, value in request.GET.items() if name != "after"]
    return f"{request.path}?{urlencode([*kept, ('after', last)])}"
