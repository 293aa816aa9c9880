"""An account's quota: what it is promised, uses and could still get, now or at a past instant."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend import parameters
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.quota_level import Below, below
from frontend.quota_words import Explained, explain
from frontend.reading import way_to
from frontend.views.capacity import Seen, readable, seen_by
from frontend.views.detections import found_for
from frontend.views.reclaim import hints_of
from ledger.errors import Invalid
from quota.levels import Level, level
from quota.queries.capacity import NOTHING
from quota.queries.quotas import ChangeRow, coming, history, quotas_of_account
from quota.queries.standing import Ground, ground
from quota.stops import above_of
from tenancy import queries
from tenancy.domain.roles import LEDGER_READ, POOL_WRITE, READ, REQUEST_WRITE
from tenancy.queries import AccountRow

HISTORY_SHOWN = 25
CHILDREN_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Line:
    """A change in words. `event` has who did it and why; `asked_by` who scheduled it."""

    change: ChangeRow
    sentence: str


@require_safe
@page()
def account_quota(request: PageRequest, account: str) -> HttpResponse:
    """One account in every pool. `as_of` looks back; `before` pages through the history."""
    here = request.page
    row = queries.account_by_name(here.id, account)
    here.require(READ, row.id)
    as_of = _as_of(request)
    base = ground(here.id, now=here.now, as_of=as_of)
    place = base.row_of.get(row.id)
    before = parameters.whole(request.GET, "before")
    changes = history(here.id, row.id, before_position=before, limit=HISTORY_SHOWN)
    terms = {
        one.pool_id: one for one in quotas_of_account(here.id, row.id, now=here.now, as_of=as_of)
    }
    view = readable(here)
    seen = seen_by(here, view)
    lines = [
        (one, terms.get(pool_id), beside)
        for pool_id, one, beside in _explained(base, place, seen)
        if _says_something(one) or pool_id in terms
    ]
    search = parameters.text(request.GET, "below")
    children, next_children = _children(
        base, place, search=search, after=parameters.text(request.GET, "after")
    )
    return render(
        request,
        "account_quota.html",
        {
            "account": row,
            "way": way_to(here, row, view, lambda name: reverse("account_quota", args=[name])),
            "parent": row.path[-2] if len(row.path) > 1 else "",
            "as_of": as_of,
            "as_of_field": as_of.astimezone(here.zone).strftime("%Y-%m-%dT%H:%M") if as_of else "",
            "lines": lines,
            "not_yet": place is None,
            "found": [] if as_of else found_for(here, [row.id]),
            "hints": [] if as_of else hints_of(here, [row.id]),
            "children": children,
            "below": search,
            "next_children": next_children and _address(request, after=next_children),
            "first_children": "after" not in request.GET,
            "coming": [] if as_of else coming(here.id, now=here.now, account_id=row.id),
            "changes": _in_words(here, changes.rows),
            "next": changes.next_before and _address(request, before=str(changes.next_before)),
            "first_page": before is None,
            "sees_event": LEDGER_READ in here.held,
            "may_ask": as_of is None and _may_ask(here, row),
            "may_change": (may_change := _may_change(here, row) and as_of is None),
            "other_pools": _others(base, (one for one, _, _ in lines)) if may_change else [],
            "partials": ("history", "children"),
        },
    )


def _may_change(here: Page, row: AccountRow) -> bool:
    """Quotas hang together over the whole tree: its operators change them."""
    root = here.organization.root_account_id
    return row.archived_at is None and here.may(POOL_WRITE, root)


def _may_ask(here: Page, row: AccountRow) -> bool:
    return row.archived_at is None and here.may(REQUEST_WRITE, row.id)


def _others(base: Ground, lines: Iterable[Explained]) -> list[str]:
    """Names of pools that have no line of their own."""
    shown = {one.pool.name for one in lines}
    return [pool.name for pool in base.pools.values() if pool.name not in shown]


def _as_of(request: PageRequest) -> datetime | None:
    here = request.page
    found = parameters.moment(request.GET, "as_of", here.zone)
    if found is not None and found > here.now:
        raise Invalid(
            "as_of_in_future",
            "This page looks back. What is to come is listed under changes to come.",
            field="as_of",
        )
    return found


def _explained(
    base: Ground, place: int | None, seen: Seen
) -> Iterator[tuple[UUID, Explained, Level | None]]:
    """The account in each pool, and who lends beside it; in none before it was opened."""
    if place is None:
        return
    parents = base.tree.shape.parent
    beside = np.flatnonzero(parents == parents[place])
    for column, pool_id in enumerate(base.pool_ids):
        standing = base.at(place, column)
        pool = base.pools[pool_id]
        holders = base.held.get(pool_id, {})
        one = explain(
            pool,
            standing,
            holders.get(standing.account_id, NOTHING),
            free=base.free(column),
            above=above_of(base, place, column),
            reserved=base.kept_for(place, column),
            aside=base.aside_below(place, column),
        )
        beside_it = level(base, beside, column, seen=seen) if len(beside) > 1 else None
        yield pool_id, one, beside_it


def _says_something(one: Explained) -> bool:
    return bool(one.standing.subtree or one.standing.used or one.held.units or one.obtainable)


def _children(
    base: Ground, place: int | None, *, search: str, after: str
) -> tuple[list[Below], str | None]:
    """Accounts right below by name, a page of them, and where the next one goes on. Archived ones
    only where they still count."""
    if place is None:
        return [], None
    rows = np.flatnonzero(base.tree.shape.parent == place)
    counts = (base.tree.subtree[rows] != 0).any(axis=1)
    counts |= (base.standing.used[rows] != 0).any(axis=1)
    named = []
    for row, some in zip(rows.tolist(), counts.tolist(), strict=True):
        _, name, _, _, archived = base.nodes[row]
        if name > after and search.lower() in name.lower() and (some or not archived):
            named.append((name, row))
    named.sort()
    shown = named[:CHILDREN_SHOWN]
    more = shown[-1][0] if len(named) > CHILDREN_SHOWN else None
    return below(base, np.array([row for _, row in shown], dtype=np.int64)), more


def _in_words(here: Page, changes: tuple[ChangeRow, ...]) -> list[Line]:
    names = names_for(here.id, [change.event for change in changes])
    return [Line(change, sentence(change.event, names, here.zone)) for change in changes]


def _address(request: PageRequest, **changes: str) -> str:
    query = request.GET.copy()
    for name, value in changes.items():
        query[name] = value
    return f"{request.path}?{query.urlencode()}"
