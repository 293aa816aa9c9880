"""Capacity: every pool as one picture, what it has promised, who borrows and who could lend."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounting.queries.pool_by_tier import pool_by_tier
from frontend import capacity_charts, parameters
from frontend.capacity import Picture, picture
from frontend.charts import Chart
from frontend.pages import Page, PageRequest, page, render
from ledger.errors import Denied, NotFound
from quota.queries import PoolRow, pools_with_weights
from quota.queries.capacity import NOTHING, Held, held_by_account, largest_guarantees
from quota.queries.capacity_over_time import moments
from quota.queries.quotas import PoolPromise, coming, promises
from quota.queries.reserved import Reserved, reserved
from quota.queries.standing import pool_tree
from tenancy import policy, queries
from tenancy.domain.roles import POOL_WRITE, READ, granting

Seen = Callable[[UUID], bool]
"""Whether the viewer may see an account's name."""
TOP_SHOWN = 10
KEPT_SHOWN = 20
CHART_DAYS = 30


@dataclass(frozen=True, slots=True)
class PoolCard:
    """A pool as its picture. `reserved`: what is set aside for jobs in it."""

    pool: PoolRow
    promise: PoolPromise
    picture: Picture
    holders: dict[UUID, Held]
    reserved: tuple[Reserved, ...]

    @property
    def aside(self) -> Held:
        """Set aside for jobs, by tier."""
        return sum((one.held for one in self.reserved), NOTHING)

    def counted(self, account_id: UUID) -> Held:
        """What an account holds, and what is set aside for its jobs."""
        kept = (one.held for one in self.reserved if one.account_id == account_id)
        return sum(kept, self.holders.get(account_id, NOTHING))


@dataclass(frozen=True, slots=True)
class Kept:
    """Units kept for a job; `account` None, and no job: the viewer may not see whose."""

    account: str | None
    job: str
    row: Reserved


@dataclass(frozen=True, slots=True)
class Line:
    """An account in a list of a pool page; `name` None: those the viewer may not see, together."""

    name: str | None
    units: int
    of: int | None = None


@require_safe
@page()
def capacity(request: PageRequest) -> HttpResponse:
    """All pools now."""
    here = request.page
    seen = seen_by(here, readable(here))
    cards = _cards(here, pools_with_weights(here.id))
    promised_to = _promised_to(here, cards, seen)
    return render(
        request,
        "capacity.html",
        {
            "cards": cards,
            "over": [
                (card, promised_to.get(card.pool.id, []))
                for card in cards
                if not card.promise.promise.holds
            ],
            "may_change": here.may(POOL_WRITE, here.organization.root_account_id),
            "partials": ("pools",),
        },
    )


@require_safe
@page()
def pool(request: PageRequest, name: str) -> HttpResponse:
    """One pool: its picture, its borrowers and lenders, its use by day, what is to come."""
    here = request.page
    seen = seen_by(here, readable(here))
    row = pool_named(here, name)
    span = parameters.choice(request.GET, "span", tuple(capacity_charts.SPANS), "day")
    (card,) = _cards(here, [row])
    tree = pool_tree(here.id, row.id, now=here.now)
    idle = [
        Line(one.account if seen(one.account_id) else None, units, one.quota.guaranteed)
        for one in tree.accounts
        if (units := _lendable(one, card.counted(one.account_id)))
    ]
    names = {one.account_id: one.account for one in tree.accounts}
    borrowed = [
        Line(names[account] if seen(account) else None, held.borrowed, held.units)
        for account, held in card.holders.items()
        if held.borrowed
    ]
    next_changes = coming(here.id, now=here.now, pool_id=row.id)
    return render(
        request,
        "capacity_pool.html",
        {
            "card": card,
            "borrowers": _top(borrowed),
            "lenders": _top(idle),
            "coming": [one for one in next_changes if seen(one.account_id)][:TOP_SHOWN],
            "spans": tuple(capacity_charts.SPANS),
            "span": span,
            "over_time": capacity_charts.over_time(
                moments(here.id, row.id, row.name, capacity_charts.instants(span, now=here.now)),
                zone=here.zone,
                aside=card.aside,
            ),
            "kept": _kept(card, names, seen),
            "kept_left": max(0, len(card.reserved) - KEPT_SHOWN),
            "by_tier": _by_tier(here, row),
            "promised_to": _promised_to(here, [card], seen).get(row.id, []),
            "partials": ("over-time",),
            "may_change": here.may(POOL_WRITE, here.organization.root_account_id),
        },
    )


def readable(here: Page) -> tuple[UUID, ...]:
    """Where the person's view begins; refuses somebody without any."""
    found = policy.accounts_with(here.actor, READ, here.id)
    if not found:
        raise Denied(
            "role_missing",
            "Capacity is shown to people with a role on some account.",
            facts={"permission": READ, "roles": list(granting(READ))},
        )
    return found


def pool_named(here: Page, name: str) -> PoolRow:
    """A pool of the organization.

    Raises:
        NotFound: there is none of that name.
    """
    for row in pools_with_weights(here.id):
        if row.name == name:
            return row
    raise NotFound("pool_unknown", "There is no such pool.", field="pool")


def _cards(here: Page, pools: list[PoolRow]) -> list[PoolCard]:
    promised = {one.pool_id: one for one in promises(here.id, now=here.now)}
    held = held_by_account(here.id, [row.id for row in pools], now=here.now)
    aside = reserved(here.id, [row.id for row in pools], now=here.now)
    cards = []
    for row in pools:
        holders = held.get(row.id, {})
        one = promised[row.id]
        total = sum(holders.values(), NOTHING)
        kept = aside.get(row.id, ())
        set_aside = sum((each.held for each in kept), NOTHING)
        drawn = picture(one.pool, one.promise, total, set_aside)
        cards.append(PoolCard(row, one, drawn, holders, kept))
    return cards


def _kept(card: PoolCard, names: dict[UUID, str], seen: Seen) -> list[Kept]:
    """What is set aside, with names for those who may see them."""
    return [
        Kept(names.get(one.account_id), one.key, one)
        if seen(one.account_id)
        else Kept(None, "", one)
        for one in card.reserved[:KEPT_SHOWN]
    ]


def seen_by(here: Page, tops: tuple[UUID, ...]) -> Seen:
    """Whether the viewer may see an account's name."""
    if here.organization.root_account_id in tops:
        return lambda account_id: True
    allowed = {row.id for row in queries.accounts(here.id, under=tops, archived=True)}
    return allowed.__contains__


def _lendable(one: Any, held: Held) -> int:
    """Units of an account's own guarantee that it does not use and would lend."""
    idle = max(0, one.quota.guaranteed - held.guaranteed)
    limit = one.quota.lending_limit
    return idle if limit is None else min(idle, limit)


def _top(lines: list[Line]) -> list[Line]:
    """The largest that have a name; then the others together."""
    lines.sort(key=lambda line: -line.units)
    named = [line for line in lines if line.name is not None]
    rest = sum(line.units for line in lines if line.name is None)
    rest += sum(line.units for line in named[TOP_SHOWN:])
    return named[:TOP_SHOWN] + ([Line(None, rest)] if rest else [])


def _by_tier(here: Page, row: PoolRow) -> Chart | None:
    """Use of the pool by day and tier, for those who may read the whole organization."""
    if not here.may(READ, here.organization.root_account_id):
        return None
    since, until = here.today - timedelta(days=CHART_DAYS - 1), here.today
    use = pool_by_tier(here.id, row.id, since=since, until=until, now=here.now)
    return capacity_charts.by_tier(use, since=since, until=until, now=here.now, zone=here.zone)


def _promised_to(here: Page, cards: list[PoolCard], seen: Seen) -> dict[UUID, list[Line]]:
    """Who holds the promises of the over-promised pools, the largest first."""
    over = [card.pool.id for card in cards if not card.promise.promise.holds]
    found: dict[UUID, list[Line]] = {}
    for pool_id, account_id, name, units in largest_guarantees(here.id, over) if over else ():
        lines = found.setdefault(pool_id, [])
        lines.append(Line(name if seen(account_id) else None, units))
    return {pool_id: _top(lines) for pool_id, lines in found.items()}
