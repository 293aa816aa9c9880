"""A review cycle: its grid of quotas, decided row by row; one quota of it with the lead's word."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from frontend import parameters
from frontend.errors import said
from frontend.forms.cycles import AnswerForm, RowForm, TextForm
from frontend.forms.sending import key_of
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.queries import pools_with_weights
from quota.queries.cycle_entries import SHOWN, EntryRow, entries
from quota.queries.cycles import CycleRow, Viewer, cycle, reviewers, viewer
from tenancy import queries as tenancy

FILTERS: Final = (
    ("open", "Without a decision"),
    ("asked", "Asked"),
    ("decided", "Decided"),
    ("all", "All"),
)
SORTS: Final = (("idle", "Idle cost first"), ("account", "By account"))
FORMS: Final = {"ask": TextForm, "answer": AnswerForm}


def cycle_of(request: PageRequest, cycle_id: str) -> tuple[CycleRow, Viewer]:
    """The cycle of an address, and what the viewer may see of it. Inside `scope.reading`."""
    here = request.page
    who = viewer(here.id, here.actor)
    return cycle(here.id, parameters.ident(cycle_id, what="cycle"), who), who


@require_safe
@page()
def review(request: PageRequest, cycle_id: str) -> HttpResponse:
    """The quotas under review, 100 at a time; once it has ended, what became of them."""
    here, query = request.page, request.GET
    row, who = cycle_of(request, cycle_id)
    shown = parameters.choice(query, "show", tuple(SHOWN), "open" if row.is_open else "all")
    sort = parameters.choice(query, "sort", ("idle", "account"), "idle")
    account = parameters.text(query, "account")
    pool = parameters.text(query, "pool")
    after = parameters.text(query, "after")
    pools = pools_with_weights(here.id)
    found = entries(
        here.id,
        row,
        who,
        now=here.now,
        shown=shown,
        sort=sort,  # type: ignore[arg-type]  # one of the two words, just read
        account_id=tenancy.account_by_name(here.id, account).id if account else None,
        pool_id=_pool(pools, pool) if pool else None,
        after=after,
    )
    more = query.copy()
    more["after"] = found.next_after or ""
    return render(
        request,
        "cycles/review.html",
        {
            "cycle": row,
            "rows": [(one, new_id()) for one in found.rows],
            "reviewers": reviewers(here.id, row.id),
            "filters": FILTERS,
            "sorts": SORTS,
            "shown": shown,
            "sort": sort,
            "account": account,
            "pool": pool,
            "pools": [one.name for one in pools],
            "back": query.urlencode(),
            "first_page": not after,
            "next": found.next_after and f"{request.path}?{more.urlencode()}",
            "partials": ("rows",),
        },
    )


def _pool(pools: list, name: str) -> UUID:
    for one in pools:
        if one.name == name:
            return one.id
    raise NotFound("pool_unknown", "There is no such pool.", field="pool")


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def entry(request: PageRequest, cycle_id: str, account_id: str, pool_id: str) -> HttpResponse:
    """One quota of a cycle (GET); a decision, a question or an answer about it (POST). htmx gets
    the row back."""
    here = request.page
    place = (
        parameters.ident(account_id, what="account"),
        parameters.ident(pool_id, what="pool"),
    )
    with scope.reading(here.id):
        row, who = cycle_of(request, cycle_id)
        one = _entry(here, row, who, place, with_use=request.method != "POST")
    if request.method != "POST":
        return _shown(request, row, one)
    what = request.POST.get("what", "")
    form = FORMS.get(what, RowForm)(request.POST)
    problem = ""
    if form.is_valid():
        problem = _sent(request, form.command(row.id, place), form.cleaned_data.get("reason", ""))
    if problem or form.errors:
        with scope.reading(here.id):
            row, who = cycle_of(request, cycle_id)
            one = _entry(here, row, who, place)
        return _shown(request, row, one, form=form, problem=problem)
    if not request.htmx:
        messages.success(request, f"Noted for {one.account} in {one.pool}.")
        return HttpResponseRedirect(_back(request, row, one))
    with scope.reading(here.id):
        row, who = cycle_of(request, cycle_id)
        one = _entry(here, row, who, place)
        return _shown(request, row, one)


def _entry(
    here: Page, row: CycleRow, who: Viewer, place: tuple[UUID, UUID], *, with_use: bool = True
) -> EntryRow:
    found = entries(here.id, row, who, now=here.now, only=place, with_use=with_use).rows
    if not found:
        raise NotFound("entry_unknown", "The review has no such quota.", field="account")
    return found[0]


def _sent(request: PageRequest, command: Any, reason: str) -> str:
    """Execute; why it was refused, empty where it was not."""
    here = request.page
    try:
        execute(
            command,
            Context(
                organization_id=here.id,
                actor=here.actor,
                now=here.now,
                reason=reason,
                idempotency_key=key_of(request),
            ),
        )
    except (Denied, NotFound):
        raise
    except DomainError as error:
        return said(error, here.zone)
    return ""


def _shown(
    request: PageRequest, row: CycleRow, one: EntryRow, *, form: Any = None, problem: str = ""
) -> HttpResponse:
    """The page of a quota; for htmx its row in the grid, with the progress beside it."""
    in_row = bool(request.htmx)
    if form is not None and form.errors and not problem:
        problem = " ".join(
            f"{form.fields[name].label or name}: {error}"
            for name, errors in form.errors.items()
            for error in errors
        )
    context = {
        "cycle": row,
        "one": one,
        "key": new_id(),
        "problem": problem,
        "form": form,
        "back": _query(request),
        "what": request.POST.get("what") or parameters.text(request.GET, "what"),
        "typed": {name: request.POST.get(name, "") for name in ("text", "units", "reason")},
        "ways": _ways(one),
    }
    if in_row:
        with scope.reading(request.page.id):
            context["reviewers"] = reviewers(request.page.id, row.id)
        return render(request, "cycles/answer.html", context)
    return render(request, "cycles/entry.html", context, status=409 if problem else 200)


def _ways(one: EntryRow) -> list[tuple[str, str]]:
    ways = [("keep", f"Keep {one.guaranteed:,}")]
    if one.figures is not None and one.figures.recommended is not None:
        ways.append(("recommended", f"Take the recommended {one.figures.recommended:,}"))
    return [*ways, ("set", "Set another figure")]


def _query(request: PageRequest) -> str:
    """The filters of the grid that one came from, as a query: read anew, so that nothing else
    gets into an address."""
    source = request.POST if request.method == "POST" else request.GET
    given = QueryDict(source.get("back", "")[:2_000])
    kept = QueryDict(mutable=True)
    for name in ("show", "sort", "account", "pool", "after"):
        if name in given:
            kept[name] = given[name]
    return kept.urlencode()


def _back(request: PageRequest, row: CycleRow, one: EntryRow) -> str:
    query = _query(request)
    address = reverse("cycle", args=[row.id])
    return f"{address}?{query}#q-{one.key}" if query else f"{address}#q-{one.key}"
