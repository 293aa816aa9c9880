"""An account's quota: what it is promised, uses and could still get, now or at a past instant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend import parameters
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.quota_words import Explained, explain
from ledger.errors import Invalid
from quota.queries.capacity import NOTHING
from quota.queries.quotas import ChangeRow, coming, history, quotas_of_account
from quota.queries.standing import Ground, ground
from tenancy import queries
from tenancy.domain.roles import LEDGER_READ, POOL_WRITE, READ
from tenancy.queries import AccountRow

HISTORY_SHOWN = 25
CHILDREN_SHOWN = 200


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
    lines = [
        (one, terms.get(pool_id))
        for pool_id, one in _explained(base, place)
        if _says_something(one) or pool_id in terms
    ]
    return render(
        request,
        "account_quota.html",
        {
            "account": row,
            "as_of": as_of,
            "as_of_field": as_of.astimezone(here.zone).strftime("%Y-%m-%dT%H:%M") if as_of else "",
            "lines": lines,
            "children": _children(base, place),
            "coming": [] if as_of else coming(here.id, now=here.now, account_id=row.id),
            "changes": _in_words(here.id, changes.rows),
            "next": _older(request, changes.next_before),
            "first_page": before is None,
            "sees_event": LEDGER_READ in here.held,
            "may_change": (may_change := _may_change(here, row) and as_of is None),
            "other_pools": _others(base, lines) if may_change else [],
            "partials": ("history",),
        },
    )


def _may_change(here: Page, row: AccountRow) -> bool:
    """Quotas hang together over the whole tree: its operators change them."""
    root = here.organization.root_account_id
    return row.archived_at is None and here.may(POOL_WRITE, root)


def _others(base: Ground, lines: list[tuple[Explained, Any]]) -> list[str]:
    """Names of pools that have no line of their own."""
    shown = {one.pool.name for one, _ in lines}
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


def _explained(base: Ground, place: int | None) -> list[tuple[UUID, Explained]]:
    """The account in each pool; in none before it was opened."""
    found: list[tuple[UUID, Explained]] = []
    if place is None:
        return found
    for column, pool_id in enumerate(base.pool_ids):
        standing = base.at(place, column)
        pool = base.pools[pool_id]
        holders = base.held.get(pool_id, {})
        in_use = sum(holders.values(), NOTHING).units
        own = holders.get(standing.account_id, NOTHING)
        free = max(0, pool.usable - in_use)
        found.append((pool_id, explain(pool, standing, own, free=free)))
    return found


def _says_something(one: Explained) -> bool:
    return bool(one.standing.subtree or one.standing.used or one.held.units or one.obtainable)


def _children(base: Ground, place: int | None) -> list[tuple[str, list[Any]]]:
    """Accounts right below with what they are promised and use, by pool, where there is any."""
    found: list[tuple[str, list[Any]]] = []
    if place is None:
        return found
    above = base.nodes[place][0]
    for index, (_, name, parent, _, archived) in enumerate(base.nodes):
        if parent != above:
            continue
        pools = [
            (base.pools[pool_id].name, one)
            for column, pool_id in enumerate(base.pool_ids)
            if (one := base.at(index, column)).subtree or one.used
        ]
        if pools or not archived:
            found.append((name, pools))
        if len(found) > CHILDREN_SHOWN:
            break
    return found


def _in_words(organization_id: UUID, changes: tuple[ChangeRow, ...]) -> list[Line]:
    names = names_for(organization_id, [change.event for change in changes])
    return [Line(change, sentence(change.event, names)) for change in changes]


def _older(request: PageRequest, before: int | None) -> str | None:
    if before is None:
        return None
    query = request.GET.copy()
    query["before"] = str(before)
    return f"{request.path}?{query.urlencode()}"
