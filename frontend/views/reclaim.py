"""The board of use-it-or-lose-it: which guarantees are watched, demoted, justified, restored or
returned, what comes next, and what their idle parts are worth."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend import parameters, reclaim_words
from frontend.csv_files import download
from frontend.pages import Page, PageRequest, page, render
from frontend.reclaim_words import Next
from frontend.views.capacity import readable
from ledger import scope
from ledger.errors import NotFound
from preemption import reclaim_board as board
from preemption import reclaim_loading as loading
from preemption.reclaim_board import BoardRow, Chosen, Place, StageSum
from preemption.reclaim_loading import PoolRule
from quota.queries import PoolRow, pools_with_weights
from tenancy import queries as tenancy
from tenancy.domain.roles import POOL_WRITE, READ
from tenancy.queries import AccountRow

PAGE_ROWS: Final = 50
FILE_ROWS: Final = 500
HINTED: Final = ("watched", "demoted", "justified")
HEAD: Final = (
    *("stage", "account", "pool", "guarantee", "guarantee_now", "idle_units", "utilization"),
    *("threshold", "since", "next", "next_at", "worth_a_month", "currency", "demotions"),
    "justifications",
)


@dataclass(frozen=True, slots=True)
class Line:
    """A guarantee on the board. `worth`: of its idle units a month; None: unknown or unrated."""

    row: BoardRow
    stage: str
    rule: PoolRule
    next: Next
    worth: Decimal | None

    @property
    def threshold(self) -> str:
        """As the pool's rule sets it."""
        return reclaim_words.share(self.rule.rule.threshold)


@dataclass(frozen=True, slots=True)
class Tab:
    """A stage with all that is in it, as the filters say."""

    title: str
    does: str
    about: str
    sum: StageSum
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    chosen: Chosen
    account: str
    pool: str
    stage: str
    pools: list[PoolRow]


@require_safe
@page()
def reclaim(request: PageRequest) -> HttpResponse:
    """Guarantees that the viewer may see, what was said last first; sums of all that is chosen."""
    here = request.page
    asked = _asked(request)
    given = parameters.text(request.GET, "after")
    found = board.rows(
        here.id, asked.chosen, after=Place.of(given) if given else None, limit=PAGE_ROWS + 1
    )
    shown, more = found[:PAGE_ROWS], len(found) > PAGE_ROWS
    sums = board.sums(here.id, asked.chosen, now=here.now)
    rules = loading.rules(here.id)
    root = here.organization.root_account_id
    return render(
        request,
        "reclaim/board.html",
        {
            "lines": lines_of(here, shown, rules),
            "tabs": _tabs(asked, sums),
            "total": next((one for one in sums if one.stage == asked.stage), None),
            "words": reclaim_words.STAGES.get(asked.stage),
            "account": asked.account,
            "pool": asked.pool,
            "pools": asked.pools,
            "stage": asked.stage,
            "filtered": bool(asked.account or asked.pool or asked.stage),
            "any_rule": any(rule.enabled for rule in rules.values()),
            "may_rule": here.may(POOL_WRITE, root),
            "currency": here.organization.currency,
            "first_page": not given,
            "next": _address(asked, after=shown[-1].place.text()) if more else "",
            "file": f"{reverse('reclaim_csv')}?{urlencode(_query(asked))}",
            "partials": ("board",),
        },
    )


@require_safe
@page(reads=False)
def reclaim_csv(request: PageRequest) -> HttpResponse:
    """All that the board's filters choose, as CSV, sent as it is read."""
    here = request.page
    with scope.reading(here.id):
        asked = _asked(request)
        rules = loading.rules(here.id)
    return download(f"reclaim-{here.today.isoformat()}.csv", HEAD, _file(here, asked.chosen, rules))


def account_seen(here: Page, name: str) -> AccountRow:
    """An account that the viewer may see, by name.

    Raises:
        NotFound: there is none, or not for this viewer.
    """
    row = tenancy.account_by_name(here.id, name)
    if not here.may(READ, row.id):
        raise NotFound("account_unknown", "There is no such account.", field="account")
    return row


def lines_of(here: Page, rows: list[BoardRow], rules: dict[UUID, PoolRule]) -> list[Line]:
    """Rows with words and prices: three statements for all of them."""
    prices = board.worth(here.id, ((row.pool_id, row.idle) for row in rows), now=here.now)
    return [_line(here, row, rules.get(row.pool_id, PoolRule()), prices) for row in rows]


def hints_of(here: Page, accounts: Collection[UUID]) -> list[Line]:
    """What other pages say of guarantees of some accounts: where something is to be done or to be
    known. Two statements; without prices."""
    return _hints(here, board.of_accounts(here.id, accounts))


def hints_below(here: Page, tops: tuple[UUID, ...], *, limit: int) -> list[Line]:
    """The same of all accounts at or below some, what was said last first."""
    under = None if here.organization.root_account_id in tops else tops
    chosen = Chosen(under=under, stages=HINTED)
    return _hints(here, board.rows(here.id, chosen, limit=limit))


def _hints(here: Page, rows: list[BoardRow]) -> list[Line]:
    rows = [row for row in rows if _matters(here, row)]
    if not rows:
        return []
    rules = loading.rules(here.id)
    return [_line(here, row, rules.get(row.pool_id, PoolRule()), {}) for row in rows]


def _matters(here: Page, row: BoardRow) -> bool:
    if row.is_archived:
        return False
    match row.state:
        case "watched":
            return row.guarantee_now == row.guarantee
        case "justified":
            return row.until is not None and here.now < row.until
    return row.state == "demoted"


def _line(here: Page, row: BoardRow, rule: PoolRule, prices: Any) -> Line:
    worth = None if row.idle is None else Decimal(0)
    if row.idle:
        price = prices.get((row.pool_id, row.idle))
        worth = None if price is None else price.amount
    return Line(
        row=row,
        stage=reclaim_words.STAGES[row.state][0],
        rule=rule,
        next=reclaim_words.after(row, rule, now=here.now),
        worth=worth,
    )


def _asked(request: PageRequest) -> Asked:
    here = request.page
    tops = readable(here)
    pools = pools_with_weights(here.id)
    account = parameters.text(request.GET, "account")
    pool = parameters.text(request.GET, "pool")
    stage = parameters.choice(request.GET, "stage", ("", *board.STAGES), "")
    under = None if here.organization.root_account_id in tops else tops
    if account:
        under = (account_seen(here, account).id,)
    pool_id = next((one.id for one in pools if one.name == pool), None)
    if pool and pool_id is None:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")
    chosen = Chosen(under=under, pool_id=pool_id, stages=(stage,) if stage else None)
    return Asked(chosen=chosen, account=account, pool=pool, stage=stage, pools=pools)


def _tabs(asked: Asked, sums: list[StageSum]) -> list[Tab]:
    return [
        Tab(
            *reclaim_words.STAGES[one.stage],
            sum=one,
            address=_address(asked, stage="" if asked.stage == one.stage else one.stage),
            is_chosen=asked.stage == one.stage,
        )
        for one in sums
    ]


def _query(asked: Asked) -> dict[str, str]:
    found = {"account": asked.account, "pool": asked.pool, "stage": asked.stage}
    return {name: value for name, value in found.items() if value}


def _address(asked: Asked, **changes: str) -> str:
    query = {name: value for name, value in (_query(asked) | changes).items() if value}
    return f"{reverse('reclaim')}?{urlencode(query)}" if query else reverse("reclaim")


def _file(here: Page, chosen: Chosen, rules: dict[UUID, PoolRule]) -> Iterator[tuple[Any, ...]]:
    after = None
    while True:
        with scope.reading(here.id):
            found = board.rows(here.id, chosen, after=after, limit=FILE_ROWS)
            told = lines_of(here, found, rules)
        for one in told:
            yield _values(here, one)
        if len(found) < FILE_ROWS:
            return
        after = found[-1].place


def _values(here: Page, one: Line) -> tuple[Any, ...]:
    row = one.row
    at = one.next.at
    return (
        *(row.state, row.account, row.pool, row.guarantee, row.guarantee_now, row.idle),
        *(row.utilisation, Decimal(str(float(one.rule.rule.threshold))), row.at.isoformat()),
        *(one.next.text, None if at is None else at.isoformat()),
        *(one.worth, here.organization.currency, row.demotions, row.justifications),
    )
