"""Every decision about requests, for auditors: a page of a period, and the same as a file."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend import parameters, request_words
from frontend.csv_files import download
from frontend.full_names import called_by_name
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import Denied
from quota.queries.request_decisions import DecisionRow, decisions
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ, granting

PAGE_ROWS: Final = 50
FILE_ROWS: Final = 1_000
"""Rows that are read at once for a file."""
HEAD: Final = (
    "decided_at",
    "decision",
    "person",
    "on_behalf_of",
    "reason",
    "account",
    "pool",
    "kind",
    "units",
    "ends_at",
    "requester",
    "request_id",
    "event_id",
)


@require_safe
@page()
def decision_list(request: PageRequest) -> HttpResponse:
    """Decisions of a period, oldest first."""
    here, query = request.page, request.GET
    since, until = parameters.period(query, today=here.today)
    account, accounts = _accounts(request)
    after = parameters.text(query, "after")
    at, _, event_id = after.partition("/")
    clean = query.copy()
    clean["after"] = at
    instant = parameters.moment(clean, "after", here.zone)
    found = decisions(
        here.id,
        since=parameters.start_of(since, here.zone),
        until=parameters.start_of(until + timedelta(days=1), here.zone),
        account_ids=accounts,
        after=(instant, parameters.ident(event_id, what="page")) if instant else None,
        limit=PAGE_ROWS,
    )
    following = None
    if found.next_after:
        more = query.copy()
        more["after"] = f"{found.next_after[0].isoformat()}/{found.next_after[1]}"
        following = f"{request.path}?{more.urlencode()}"
    return render(
        request,
        "reviews/decisions.html",
        {
            "rows": [
                (row, request_words.KINDS[row.kind][0], request_words.DECISIONS[row.decision])
                for row in called_by_name(here.id, found.rows)[0]
            ],
            "since": since,
            "until": until,
            "account": account,
            "first_page": not after,
            "next": following,
            "partials": ("rows",),
        },
    )


@require_safe
@page(reads=False)
def decision_file(request: PageRequest) -> HttpResponse:
    """The same period as CSV, sent as it is read: it has no largest size."""
    here = request.page
    since, until = parameters.period(request.GET, today=here.today)
    with scope.reading(here.id):
        _, accounts = _accounts(request)
    start = parameters.start_of(since, here.zone)
    # What is decided while the file is on its way belongs to the next one.
    end = min(parameters.start_of(until + timedelta(days=1), here.zone), here.now)
    name = f"decisions-{since.isoformat()}-{until.isoformat()}.csv"
    return download(name, HEAD, _rows(here, start, end, accounts))


def _rows(
    here: Page, since: datetime, until: datetime, accounts: tuple[UUID, ...] | None
) -> Iterator[tuple[Any, ...]]:
    after = None
    while True:
        with scope.reading(here.id):
            found = decisions(
                here.id,
                since=since,
                until=until,
                account_ids=accounts,
                after=after,
                limit=FILE_ROWS,
            )
        for row in found.rows:
            yield _values(row)
        after = found.next_after
        if after is None:
            return


def _values(row: DecisionRow) -> tuple[Any, ...]:
    values = {name: getattr(row, name) for name in HEAD}
    for name in ("decided_at", "ends_at"):
        values[name] = values[name].isoformat() if values[name] else None
    return tuple(values.values())


def _accounts(request: PageRequest) -> tuple[str, tuple[UUID, ...] | None]:
    """The account that is asked for, and the accounts under which decisions are shown; None: all.
    Inside `scope.reading`.

    Raises:
        Denied: the person may read the ledger nowhere; NotFound: not of this account.
    """
    here = request.page
    name = parameters.text(request.GET, "account")
    if name:
        wanted = tenancy.account_by_name(here.id, name).id
        here.require(LEDGER_READ, wanted)
        return name, (wanted,)
    seen = policy.accounts_with(here.actor, LEDGER_READ, here.id)
    if not seen:
        raise Denied(
            "role_missing",
            "Decisions are shown to those who may read the ledger of some account.",
            facts={"permission": LEDGER_READ, "roles": list(granting(LEDGER_READ))},
        )
    return "", None if here.organization.root_account_id in seen else tuple(seen)
