"""Allocations that do nothing and accounts that use far more than usual: the list, one with its
evidence, and what becomes of it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend import detection_charts, parameters
from frontend.csv_files import download
from frontend.detection_words import KINDS, STATES, Line, line, why
from frontend.forms.detections import AcknowledgeForm, ReleaseForm
from frontend.forms.sending import Sent, form_status, send
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import readable
from frontend.views.reclaim import account_seen
from ledger import scope
from ledger.errors import NotFound
from ledger.ids import new_id
from ledger.queries import EventRow
from ledger.queries import history as ledger_history
from preemption import detection_queries as queries
from preemption.detection_queries import STATE_CHOICES, DetectionRow
from quota.queries import PoolRow, pools_with_weights
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ, POOL_WRITE, READ, REQUEST_WRITE

PAGE_ROWS: Final = 50
FILE_ROWS: Final = 400
ACCOUNTS_MAX: Final = 1_000_000
HISTORY_SHOWN: Final = 20
HINTS_SHOWN: Final = 5
HEAD: Final = (
    *("kind", "state", "account", "pool", "job", "person", "units", "worth_per_hour", "currency"),
    *("since", "found_at", "evidence", "by", "reason", "quiet_until", "closed_at", "closed_why"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for. `accounts`, `pool_ids`: None is all."""

    kind: str
    account: str
    pool: str
    state: str
    pools: list[PoolRow]
    accounts: Collection[UUID] | None
    pool_ids: Collection[UUID] | None

    @property
    def filters(self) -> dict[str, Any]:
        """For `detections`."""
        return {
            "accounts": self.accounts,
            "pool_ids": self.pool_ids,
            "kind": self.kind or None,
            "state": self.state,
        }

    @property
    def query(self) -> dict[str, str]:
        """As an address says it."""
        names = ("kind", "account", "pool", "state")
        return {name: value for name in names if (value := getattr(self, name))}


@require_safe
@page()
def detections(request: PageRequest) -> HttpResponse:
    """A page of detections, the newest first; what is so now by default."""
    here = request.page
    asked = _asked(request)
    given = parameters.text(request.GET, "after")
    before = parameters.ident(given, what="detection") if given else None
    rows = queries.detections(here.id, **asked.filters, before=before, limit=PAGE_ROWS + 1)
    shown, more = rows[:PAGE_ROWS], len(rows) > PAGE_ROWS
    totals = queries.totals(here.id, accounts=asked.accounts, pool_ids=asked.pool_ids)
    return render(
        request,
        "detections/list.html",
        {
            "lines": [line(row, now=here.now, zone=here.zone) for row in shown],
            "deciding": _deciding(here, shown),
            "totals": [(*words, kind, totals.get(kind)) for kind, words in KINDS.items()],
            "asked": asked,
            "kinds": [(kind, words[0]) for kind, words in KINDS.items()],
            "states": list(STATES.items()),
            "filtered": bool(asked.kind or asked.account or asked.pool) or asked.state != "current",
            "may_set": here.may(POOL_WRITE, here.organization.root_account_id),
            "currency": here.organization.currency,
            "first_page": not given,
            "next": _next(request, asked, shown[-1].id) if more else None,
            "file": f"{reverse('detections_csv')}?{urlencode(asked.query)}",
            "partials": ("rows",),
        },
    )


@require_safe
@page(reads=False)
def detections_csv(request: PageRequest) -> HttpResponse:
    """All that the filters choose, as CSV, sent as it is read."""
    here = request.page
    with scope.reading(here.id):
        asked = _asked(request)
    return download(f"detections-{here.today.isoformat()}.csv", HEAD, _file(here, asked))


@require_safe
@page()
def detection(request: PageRequest, detection_id: str) -> HttpResponse:
    """One detection: evidence as chart and table, and what became of it."""
    here = request.page
    row = _row(here, detection_id)
    chart = None
    if row.use is not None:
        chart = detection_charts.use(row.use)
    elif row.work is not None:
        chart = detection_charts.work(
            queries.work_since(here.id, row), below=float(row.work.below), zone=here.zone
        )
    return render(
        request,
        "detections/detail.html",
        {
            "line": line(row, now=here.now, zone=here.zone),
            "row": row,
            "about": KINDS[row.kind][1],
            "why": why(row),
            "chart": chart,
            "first": "Day" if row.use is not None else "From",
            "steps": _steps(here, row),
            "sees_event": here.may(LEDGER_READ, row.account_id),
            "may_decide": row.is_current and here.may(REQUEST_WRITE, row.account_id),
            "currency": here.organization.currency,
        },
    )


@page(reads=False)
def detection_acknowledge(request: PageRequest, detection_id: str) -> HttpResponse:
    """Ask for a reason (GET); acknowledge (POST)."""
    return _decide(request, detection_id, AcknowledgeForm, "acknowledge")


@page(reads=False)
def detection_release(request: PageRequest, detection_id: str) -> HttpResponse:
    """Say what will happen and ask for a reason (GET); release (POST)."""
    return _decide(request, detection_id, ReleaseForm, "release")


def found_for(here: Page, account_ids: Collection[UUID]) -> list[Line]:
    """What is so now of accounts, the newest first, for other pages."""
    rows = queries.detections(here.id, accounts=account_ids, limit=HINTS_SHOWN)
    return [line(row, now=here.now, zone=here.zone) for row in rows]


def found_of_jobs(here: Page, allocation_ids: Collection[UUID]) -> list[Line]:
    """What is so now of allocations, for other pages."""
    found = queries.current_of(here.id, allocation_ids=allocation_ids)
    return [line(row, now=here.now, zone=here.zone) for row in found.values()]


def _decide(
    request: PageRequest,
    detection_id: str,
    kind: type[AcknowledgeForm] | type[ReleaseForm],
    word: str,
) -> HttpResponse:
    here = request.page
    with scope.reading(here.id):
        row = _row(here, detection_id)
        here.require(REQUEST_WRITE, row.account_id)
    posted = request.method == "POST"
    form = kind(request.POST if posted else None, zone=here.zone)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        sent = send(request, form, form.command(row))
        if sent.result is not None:
            messages.success(request, _done(row, word, sent.result.changed))
            return HttpResponseRedirect(reverse("detection", args=[row.id]))
    return render(
        request,
        "detections/decide.html",
        {
            "line": line(row, now=here.now, zone=here.zone),
            "row": row,
            "word": word,
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "currency": here.organization.currency,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _done(row: DetectionRow, word: str, changed: bool) -> str:
    if word == "acknowledge":
        return "Acknowledged."
    return f"Job {row.job} is released." if changed else "The job had ended already."


def _asked(request: PageRequest) -> Asked:
    here = request.page
    tops = readable(here)
    pools = pools_with_weights(here.id)
    kind = parameters.choice(request.GET, "kind", ("", *KINDS), "")
    state = parameters.choice(request.GET, "state", STATE_CHOICES, "current")
    pool = parameters.choice(request.GET, "pool", ("", *(one.name for one in pools)), "")
    account = parameters.text(request.GET, "account")
    if account:
        tops = (account_seen(here, account).id,)
    accounts = None
    if here.organization.root_account_id not in tops:
        accounts = frozenset(tenancy.subtree_ids(here.id, tops, limit=ACCOUNTS_MAX))
    return Asked(
        kind=kind,
        account=account,
        pool=pool,
        state=state,
        pools=pools,
        accounts=accounts,
        pool_ids=[one.id for one in pools if one.name == pool] if pool else None,
    )


def _deciding(here: Page, rows: list[DetectionRow]) -> set[UUID]:
    """Accounts of the rows for which the viewer may decide."""
    accounts = {row.account_id for row in rows if row.is_current}
    return {id_ for id_ in accounts if here.may(REQUEST_WRITE, id_)}


def _row(here: Page, detection_id: str) -> DetectionRow:
    row = queries.detection(here.id, parameters.ident(detection_id, what="detection"))
    if row is None or not here.may(READ, row.account_id):
        raise NotFound("detection_unknown", "There is no such detection.", field="detection")
    return row


def _steps(here: Page, row: DetectionRow) -> list[tuple[EventRow, str]]:
    """What happened to it, oldest first."""
    rows = ledger_history(here.id, stream=f"detection:{row.id}", limit=HISTORY_SHOWN).rows[::-1]
    names = names_for(here.id, rows)
    return [(event, sentence(event, names, here.zone)) for event in rows]


def _next(request: PageRequest, asked: Asked, last: UUID) -> str:
    return f"{request.path}?{urlencode(asked.query | {'after': str(last)})}"


def _file(here: Page, asked: Asked) -> Iterator[tuple[Any, ...]]:
    before = None
    while True:
        with scope.reading(here.id):
            rows = queries.detections(here.id, **asked.filters, before=before, limit=FILE_ROWS)
        for row in rows:
            yield _values(here, row)
        if len(rows) < FILE_ROWS:
            return
        before = rows[-1].id


def _values(here: Page, row: DetectionRow) -> tuple[Any, ...]:
    told: Line = line(row, now=here.now, zone=here.zone)
    values = {name: getattr(row, name, None) for name in HEAD}
    for name in ("since", "found_at", "quiet_until", "closed_at"):
        values[name] = values[name].isoformat() if values[name] else None
    currency = here.organization.currency if row.worth_per_hour is not None else None
    return tuple(
        (
            values
            | {
                "state": told.state,
                "evidence": told.evidence,
                "currency": currency,
                "closed_why": row.why,
            }
        ).values()
    )
