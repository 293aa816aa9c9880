"""The end of a review cycle: what its close would do, the close, the report as a file."""

from collections.abc import Iterator
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_safe

from frontend.csv_files import download
from frontend.errors import said
from frontend.forms.cycles import CloseForm
from frontend.forms.sending import Sent, form_status, send
from frontend.pages import PageRequest, page, render
from frontend.views.cycle_review import cycle_of
from ledger import scope
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.cycle_close import CloseCycle, CycleClosed
from quota.queries.cycle_entries import EntryRow, entries, report
from quota.queries.cycles import CycleRow, Viewer, effects
from tenancy.domain.roles import REQUEST_REVIEW

LISTED: Final = 50
HEAD: Final = (
    "account",
    "pool",
    "guaranteed_at_opening",
    "decision",
    "units_decided",
    "decided_by",
    "decided_at",
    "reason",
    "outcome",
    "before",
    "after",
    "why_not",
    "question",
    "answer",
    "answered_by",
    "use_from",
    "use_until",
    "p50",
    "p95",
    "peak",
    "mean_use_percent",
    "idle_units",
    "idle_cost",
    "currency",
    "recommended",
    "use_known_percent",
)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def cycle_close(request: PageRequest, cycle_id: str) -> HttpResponse:
    """Show what the close would do (GET); do it, whole or not at all (POST)."""
    here = request.page
    with scope.reading(here.id):
        row, who = cycle_of(request, cycle_id)
        here.require(REQUEST_REVIEW, row.account_id)
    if not row.is_open:
        messages.info(request, f"{row.name} is {row.state} already.")
        return HttpResponseRedirect(reverse("cycle", args=[row.id]))
    form = CloseForm(request.POST if request.method == "POST" else None)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.command(row.id))
        if sent.result is not None:
            messages.success(request, _said(row, sent.result))
            return HttpResponseRedirect(reverse("cycle", args=[row.id]))
    tried, problem = _tried(request, row)
    with scope.reading(here.id):
        undecided = entries(here.id, row, who, now=here.now, shown="open", limit=LISTED).rows
        pools = effects(here.id, row.id)
    return render(
        request,
        "cycles/close.html",
        {
            "cycle": row,
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "tried": tried,
            "problem": problem,
            "undecided": undecided,
            "pools": pools,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _tried(request: PageRequest, row: CycleRow) -> tuple[CycleClosed | None, str]:
    """What would come of a close with everything left out that cannot be; not done."""
    here = request.page
    command = CloseCycle(cycle_id=row.id, undecided_keep=True, without_impossible=True)
    try:
        outcome = execute(
            command,
            Context(organization_id=here.id, actor=here.actor, now=here.now, dry_run=True),
        )
    except DomainError as error:
        return None, said(error, here.zone)
    return outcome.result, ""


def _said(row: CycleRow, result: CycleClosed) -> str:
    parts = [
        f"{result.changed} quota{'' if result.changed == 1 else 's'} changed",
        f"{result.kept} kept",
    ]
    if result.undecided:
        parts.append(f"{result.undecided} without a decision kept")
    if result.impossible_count:
        parts.append(f"{result.impossible_count} could not be applied")
    return f"{row.name} is closed: {', '.join(parts)}."


@require_safe
@page(reads=False)
def cycle_report(request: PageRequest, cycle_id: str) -> HttpResponse:
    """Every quota of a cycle as CSV, sent as it is read; of an open one, as it stands."""
    here = request.page
    with scope.reading(here.id):
        row, who = cycle_of(request, cycle_id)
    name = f"review-{slugify(row.name) or 'cycle'}-{row.opened_at:%Y-%m-%d}.csv"
    return download(name, HEAD, _rows(request, row, who))


def _rows(request: PageRequest, row: CycleRow, who: Viewer) -> Iterator[tuple[Any, ...]]:
    here = request.page
    parts = report(here.id, row, who, now=here.now)
    while True:
        with scope.reading(here.id):
            part = next(parts, None)
        if part is None:
            return
        for one in part:
            yield _values(one)


def _values(one: EntryRow) -> tuple[Any, ...]:
    known = one.figures
    return (
        one.account,
        one.pool,
        one.listed,
        one.decision,
        one.units,
        one.reviewer if one.decision else None,
        one.moved_at.isoformat() if one.moved_at else None,
        one.reason,
        one.outcome or one.state,
        one.before,
        one.after,
        one.detail,
        one.question,
        one.answer,
        one.answered_by,
        *(
            (
                known.since.isoformat(),
                known.until.isoformat(),
                known.p50,
                known.p95,
                known.peak,
                known.use_percent,
                known.idle_units,
                known.idle_cost,
                known.currency,
                known.recommended,
                known.coverage_percent,
            )
            if known
            else (None,) * 11
        ),
    )
