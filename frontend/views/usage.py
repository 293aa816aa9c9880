"""Use by day, account, person, pool and tier; what runs now; and the batches records came in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting import fairshare_state
from accounting.queries import batches, records
from accounting.queries import usage as queries
from accounting.queries.usage import UsageFilter, UsageRow
from accounting.queries.use_by_day import use_by_day
from accounting.staging import TIER_NAMES
from frontend import charts, parameters
from frontend.pages import PageRequest, page, render
from frontend.reading import account_of, by_account, readable_accounts, way_to
from frontend.standing import accounts_below
from ledger.errors import Invalid
from quota.queries import PoolRow, pools_with_weights
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ, READ
from tenancy.queries import AccountRow

NOBODY = "Use is shown to people with a role on the account or above it."

PAGE_ROWS = 50
RUNNING_SHOWN = 20
ACCOUNT_CHOICES_MAX = 300
BY_DEFAULT = ("account", "pool")


@dataclass(frozen=True, slots=True)
class PoolUse:
    """One pool's three utilisations in the period. `allocated` is of its capacity today."""

    pool: PoolRow
    row: UsageRow
    allocated: float | None
    records: str


@require_safe
@page()
def usage(request: PageRequest) -> HttpResponse:
    """The table and its filters, all in the address."""
    here = request.page
    readable = readable_accounts(here, READ, otherwise=NOBODY)
    account = account_of(request, READ, readable)
    since, until = parameters.period(request.GET, today=here.today)
    pools = pools_with_weights(here.id)
    chosen = _filter(request, account, pools, since, until)
    by = _by(request)
    sort = parameters.choice(request.GET, "sort", queries.SORTS, "use")
    after = tuple(parameters.free(request.GET, "after")) or None
    found = queries.usage_rows(here.id, chosen, by=by, sort=sort, after=after, limit=PAGE_ROWS)
    state = fairshare_state.current(here.id)
    return render(
        request,
        "usage.html",
        {
            "account": account,
            "sees_event": LEDGER_READ in here.held,
            "way": way_to(here, account, readable, by_account(reverse("usage"))),
            "account_choices": accounts_below(state, readable, limit=ACCOUNT_CHOICES_MAX),
            "pools": pools,
            "tiers": TIER_NAMES,
            "chosen": chosen,
            "person": parameters.text(request.GET, "person"),
            "pool": parameters.text(request.GET, "pool"),
            "by": by,
            "dimensions": queries.DIMENSIONS,
            "sort": sort,
            "lines": [(row, _records_address(request, account, chosen, row)) for row in found.rows],
            "total": queries.usage_total(here.id, chosen),
            "total_address": _records_address(request, account, chosen),
            "first_page": after is None,
            "next": _next(request, found.next_after),
            "filtered": bool(chosen.person_id or chosen.pool_id or chosen.tier),
            "running": queries.running_now(
                here.id, account_id=account.id, now=here.now, limit=RUNNING_SHOWN + 1
            ),
            "running_shown": RUNNING_SHOWN,
            "pool_use": _pool_use(request, account, chosen, pools),
            "chart": charts.use_by_day(
                use_by_day(here.id, account_id=account.id, since=since, until=until, now=here.now),
                since=since,
                until=until,
            ),
            "records_address": _records_address(request, account),
            "partials": ("rows",),
        },
    )


@require_safe
@page()
def usage_records(request: PageRequest) -> HttpResponse:
    """The single records behind a number: same filters, running ones included."""
    here = request.page
    readable = readable_accounts(here, READ, otherwise=NOBODY)
    account = account_of(request, READ, readable)
    since, until = parameters.period(request.GET, today=here.today)
    chosen = _filter(request, account, pools_with_weights(here.id), since, until)
    rows = records.records(
        here.id,
        chosen,
        since=parameters.start_of(since, here.zone),
        until=parameters.start_of(until + timedelta(days=1), here.zone),
        now=here.now,
        after=_place(request),
        limit=PAGE_ROWS + 1,
    )
    shown, more = rows[:PAGE_ROWS], len(rows) > PAGE_ROWS
    last = shown[-1] if more else None
    return render(
        request,
        "usage_records.html",
        {
            "account": account,
            "chosen": chosen,
            "words": [
                value
                for name in ("person", "pool", "tier")
                if (value := parameters.text(request.GET, name))
            ],
            "rows": shown,
            "first_page": "after" not in request.GET,
            "next": _next(request, last and (last.start.isoformat(), last.source, last.key)),
            "sees_event": LEDGER_READ in here.held,
            "partials": ("rows",),
        },
    )


@require_safe
@page()
def batch(request: PageRequest, batch_id: str) -> HttpResponse:
    """A batch as the ledger vouches for it, with the records the viewer may see."""
    here = request.page
    readable = readable_accounts(here, READ, otherwise=NOBODY)
    facts = batches.batch(here.id, parameters.ident(batch_id, what="batch"))
    after = parameters.integer(request.GET, "after_row", default=batches.ROW_FIRST)
    rows = batches.batch_rows(
        here.id, facts.id, under=readable, after_row=after, limit=PAGE_ROWS + 1
    )
    return render(
        request,
        "usage_batch.html",
        {
            "batch": facts,
            "rows": rows[:PAGE_ROWS],
            "next_row": rows[PAGE_ROWS - 1].row_no if len(rows) > PAGE_ROWS else None,
            "sees_all": here.organization.root_account_id in readable,
            "sees_event": LEDGER_READ in here.held,
        },
    )


def _filter(
    request: PageRequest, account: AccountRow, pools: list[PoolRow], since, until
) -> UsageFilter:
    here = request.page
    person = parameters.text(request.GET, "person")
    pool = parameters.choice(request.GET, "pool", ("", *(one.name for one in pools)), "")
    tier = parameters.choice(request.GET, "tier", ("", *TIER_NAMES), "")
    return UsageFilter(
        account_id=account.id,
        since=since,
        until=until,
        person_id=tenancy.person_by_name(here.id, person).id if person else None,
        pool_id=next((one.id for one in pools if one.name == pool), None),
        tier=tier or None,
    )


def _by(request: PageRequest) -> tuple[str, ...]:
    """What to group by, in the order of the columns."""
    wanted = set(parameters.free(request.GET, "by")) or set(BY_DEFAULT)
    known = tuple(name for name in queries.DIMENSIONS if name in wanted)
    # An unknown word is kept, so that the query refuses it by name.
    return known if len(known) == len(wanted) else tuple(wanted)


def _next(request: PageRequest, after: tuple[str, ...] | None) -> str | None:
    """The address of the next page: the same filters, and where this page ended."""
    if after is None:
        return None
    pairs = [(name, value) for name, values in request.GET.lists() for value in values]
    kept = [(name, value) for name, value in pairs if name != "after"]
    return f"{request.path}?{urlencode([*kept, *(('after', value) for value in after)])}"


def _place(request: PageRequest) -> records.Place | None:
    """Where the page of records before ended."""
    values = parameters.free(request.GET, "after")
    if not values:
        return None
    try:
        start, source, key = values
        at = datetime.fromisoformat(start)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise Invalid("page_unknown", "This page does not exist. Start again.", field="after")
    return at, source, key


def _records_address(
    request: PageRequest,
    account: AccountRow,
    chosen: UsageFilter | None = None,
    row: UsageRow | None = None,
) -> str:
    """Where the records behind a number are listed; what the row names narrows the filters."""
    values = {"account": account.name}
    if chosen is not None:
        values |= {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}
        for name in ("person", "pool", "tier"):
            values[name] = parameters.text(request.GET, name)
    if row is not None:
        for name in ("account", "person", "pool", "tier"):
            values[name] = getattr(row, name) or values[name]
        if row.day:
            values["since"] = values["until"] = row.day.isoformat()
    given = {name: value for name, value in values.items() if value}
    return f"{reverse('usage_records')}?{urlencode(given)}"


def _pool_use(
    request: PageRequest, account: AccountRow, chosen: UsageFilter, pools: list[PoolRow]
) -> list[PoolUse]:
    here = request.page
    rows = queries.usage_rows(here.id, chosen, by=["pool"], limit=queries.PAGE_MAX).rows
    by_name = {pool.name: pool for pool in pools}
    first = parameters.start_of(chosen.since, here.zone)
    end = min(parameters.start_of(chosen.until + timedelta(days=1), here.zone), here.now)
    seconds = Decimal(max(int((end - first).total_seconds()), 0))
    found = []
    for row in rows:
        pool = by_name[row.pool or ""]
        held = row.all_seconds / (pool.capacity * seconds) if pool.capacity and seconds else None
        allocated = None if held is None else float(held)
        address = _records_address(request, account, chosen, row)
        found.append(PoolUse(pool, row, allocated, address))
    return found
