"""Exports: ask for a file of a month, watch it being made, download, delete; and the schedule."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting.api.exports import exporting
from accounting.commands.exports import RemoveExport
from accounting.domain import money, statements
from accounting.domain.exports import What
from accounting.exports import download, making
from accounting.exports.focus import columns
from accounting.exports.making import Progress
from accounting.exports.starting import start
from accounting.queries import exports as queries
from accounting.queries.exports import ExportRow
from frontend import parameters
from frontend.forms.exports import FORMAT_WORDS, SCHEDULED, WHAT_WORDS, ExportForm, ScheduleForm
from frontend.forms.sending import Sent, form_status, send
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from tenancy import queries as tenancy
from tenancy.domain.roles import RATE_WRITE, Scope

ROWS_SHOWN = 25


@dataclass(frozen=True, slots=True)
class Shown:
    """An export in words."""

    row: ExportRow
    state: str
    what: str
    progress: Progress | None
    total: str | None


@page(reads=False)
def exports(request: PageRequest) -> HttpResponseBase:
    """The list and the form (GET); make a file or have it made (POST)."""
    here = request.page
    with scope.reading(here.id):
        under = exporting(here.actor, here.id)
        top = tenancy.account(here.id, under[0])
    form = ExportForm(request.POST if request.method == "POST" else None, initial=_wish(request))
    form.initial.setdefault("account", top.name)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        account_id = _account(here, form)
        if account_id is not None:
            sent = send(request, form, form.command(account_id))
        if sent.result is not None:
            return _started(request, sent.result.export_id)
    return _listing(request, under, form, sent)


def _listing(request: PageRequest, under: tuple, form: ExportForm, sent: Sent) -> HttpResponse:
    here = request.page
    before = _before(request)
    with scope.reading(here.id):
        rows = queries.exports(here.id, under=under, before=before, limit=ROWS_SHOWN + 1)
        schedules = queries.schedules(here.id, under=under)
        may_schedule = here.may(RATE_WRITE, under[0])
    shown = [_shown(here, row) for row in rows[:ROWS_SHOWN]]
    return render(
        request,
        "exports/list.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "rows": shown,
            "waiting": any(one.state == "requested" for one in shown),
            "next": _next(rows),
            "first_page": before is None,
            "schedules": [
                (one, [dict(SCHEDULED)[f"{what}:{format_}"] for what, format_ in one.files])
                for one in schedules
            ],
            "may_schedule": may_schedule,
            "currency": here.organization.currency,
            "partials": ("exports",),
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _started(request: PageRequest, export_id: UUID) -> HttpResponseBase:
    """The file itself where one could wait for it, else the list in which it waits."""
    here = request.page
    row = start(here.id, export_id, now=here.now)
    if row.state == "ready":
        return download.answer(request, here.id, row, now=here.now)
    if row.state == "failed":
        messages.error(request, row.problem_detail or "The file could not be made.")
    else:
        messages.success(request, f"{_name(row)} is being made. It appears below.")
    return HttpResponseRedirect(reverse("exports"))


@require_safe
@page()
def export_file(request: PageRequest, export_id: str) -> HttpResponseBase:
    """The file."""
    here = request.page
    return download.answer(request, here.id, _seen(here, export_id), now=here.now)


@require_safe
@page()
def export_schema(request: PageRequest, export_id: str) -> HttpResponse:
    """The metadata that lies beside a file of FOCUS."""
    row = _seen(request.page, export_id)
    if row.what != What.FOCUS:
        raise NotFound("export_unknown", "Only files of FOCUS have a schema.", field="export")
    response = JsonResponse(columns.schema(row.focus_version), json_dumps_params={"indent": 1})
    response["Content-Disposition"] = f'attachment; filename="focus-{row.focus_version}.json"'
    return response


@page(reads=False)
def export_delete(request: PageRequest, export_id: str) -> HttpResponse:
    """Ask once more (GET), then delete the file (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = _seen(here, export_id)
    if request.method == "POST":
        command = RemoveExport(export_id=row.id, account_id=row.account_id)
        execute(command, Context(organization_id=here.id, actor=here.actor, now=here.now))
        making.remove_file(here.id, row)
        messages.success(request, f"{_name(row)} is deleted.")
        return HttpResponseRedirect(reverse("exports"))
    return render(request, "exports/delete.html", {"one": _shown(here, row), "name": _name(row)})


@page(reads=False)
def export_schedule(request: PageRequest) -> HttpResponse:
    """What is exported whenever a month is closed."""
    here = request.page
    with scope.reading(here.id):
        under = exporting(here.actor, here.id)
        here.require(RATE_WRITE, under[0])
        name = parameters.text(request.GET, "account") or tenancy.account(here.id, under[0]).name
        known = {one.account: one for one in queries.schedules(here.id, under=under)}
    initial: dict[str, Any] = {"account": name, "notify": True}
    if name in known:
        now = known[name]
        files = [f"{what}:{format_}" for what, format_ in now.files]
        initial |= {"files": files, "store": now.store, "notify": now.notify}
    form = ScheduleForm(request.POST if request.method == "POST" else None, initial=initial)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        account_id = _account(here, form)
        if account_id is not None:
            sent = send(request, form, form.command(account_id))
            if not form.errors and not sent.notice:
                messages.success(request, "The schedule is set. It holds from the next close on.")
                return HttpResponseRedirect(reverse("exports"))
    chosen = request.POST.getlist("files") if form.is_bound else initial.get("files", [])
    return render(
        request,
        "exports/schedule.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "choices": SCHEDULED,
            "chosen": chosen,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _wish(request: PageRequest) -> dict[str, Any]:
    """What an address asks for, as the form has it at first."""
    found: dict[str, Any] = {
        "month": f"{statements.month_before(request.page.today.replace(day=1)):%Y-%m}"
    }
    for name in ("account", "month", "file"):
        value = parameters.text(request.GET, name)
        if value:
            found[name] = value
    return found


def _account(here: Page, form: ExportForm | ScheduleForm) -> UUID | None:
    """The account that the form names; an error at its field where there is none for the person."""
    name = form.cleaned_data["account"].strip()
    try:
        with scope.reading(here.id):
            account = tenancy.account_by_name(here.id, name)
            here.require(Scope.EXPORT_READ, account.id)
    except (NotFound, Denied, DomainError) as error:
        words = error.detail if isinstance(error, Denied) else f"You see no account {name!r}."
        form.add_error("account", words)
        return None
    return account.id


def _seen(here: Page, export_id: str) -> ExportRow:
    row = queries.export(here.id, parameters.ident(export_id, what="export"))
    if not here.may(Scope.EXPORT_READ, row.account_id):
        raise NotFound("export_unknown", "There is no such export.", field="export")
    return row


def _shown(here: Page, row: ExportRow) -> Shown:
    state = row.state_at(here.now)
    places = money.minor_places(here.organization.currency)
    words = f"{WHAT_WORDS[row.what]} {row.focus_version}".strip()
    return Shown(
        row=row,
        state=state,
        what=f"{words}, {FORMAT_WORDS[row.format]}",
        progress=making.progress(row.id) if state == "requested" else None,
        total=None if row.total is None else f"{row.total:,.{places}f}",
    )


def _name(row: ExportRow) -> str:
    return row.file_name


def _before(request: PageRequest) -> queries.Place | None:
    """Where the page before ended."""
    value = parameters.text(request.GET, "before")
    at, _, export_id = value.partition("_")
    try:
        return (datetime.fromisoformat(at.replace(" ", "+")), UUID(export_id)) if value else None
    except ValueError:
        return None


def _next(rows: list[ExportRow]) -> str | None:
    if len(rows) <= ROWS_SHOWN:
        return None
    last = rows[ROWS_SHOWN - 1]
    at = last.requested_at.isoformat().replace("+", "%2B")
    return f"{reverse('exports')}?before={at}_{last.id}"
