"""Set, change and end a budget, with what it would have said of the last months."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounting.commands.budgets import DEFAULTS
from accounting.domain.budgets import Period, Span
from accounting.queries import budgets as queries
from accounting.queries import cost_marks
from frontend import budget_words as words
from frontend.forms.budgets import (
    ChangeBudgetForm,
    EndBudgetForm,
    NewBudgetForm,
    alerts_initial,
    change_initial,
    field_of,
)
from frontend.forms.sending import Sent, form_status, saving, send
from frontend.pages import Page, PageRequest, page, render
from frontend.views.budgets import may_change, readable_budget
from ledger import scope
from ledger.errors import Denied, NotFound
from ledger.ids import new_id
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.domain.roles import BUDGET_DIVIDE, BUDGET_WRITE, READ, granting


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def budget_new(request: PageRequest) -> HttpResponse:
    """Show the form (GET), try it or set the budget (POST)."""
    here = request.page
    if not {BUDGET_WRITE, BUDGET_DIVIDE} & here.held:
        raise _denied()
    form = NewBudgetForm(
        request.POST if request.method == "POST" else None,
        initial={"account": request.GET.get("account", ""), **alerts_initial(DEFAULTS)},
    )
    _reason_only_to_save(request, form)
    sent, past = _unsent(request), None
    if request.method == "POST" and form.is_valid():
        account_id = _account(here, form)
        if account_id is not None:
            command = form.command(account_id)
            sent = send(request, form, command, field_of=field_of)
            if sent.result is not None and saving(request):
                return _saved(request, sent.result.budget_id, "The budget is set.", sent)
            if sent.result is not None:
                range_ = None if command.ends_on is None else Span(
                    command.starts_on, command.ends_on)  # fmt: skip
                past = _past(here, account_id, Period(command.period), range_, form)
    return _editor(request, form, sent, past, row=None)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def budget_change(request: PageRequest, budget_id: str) -> HttpResponse:
    """Show what holds (GET), try or save what shall hold (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = _changeable(here, budget_id)
        ground = queries.at_clock(queries.ground(here.id, now=here.now), here.now)
        known = queries.versions(here.id, [row.id], places=ground.places)[row.id]
    version = queries.version_for(known, row.span(ground.today))
    form = ChangeBudgetForm(
        request.POST if request.method == "POST" else None,
        initial=change_initial(row, version, ground.today),
    )
    _reason_only_to_save(request, form)
    sent, past = _unsent(request), None
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.command(row.id), field_of=field_of)
        if sent.result is not None and saving(request):
            return _saved(request, row.id, "The budget is changed.", sent)
        if sent.result is not None:
            past = _past(here, row.account_id, row.period, row.range, form)
    return _editor(request, form, sent, past, row=row)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def budget_end(request: PageRequest, budget_id: str) -> HttpResponse:
    """Ask from when (GET); end it (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = _changeable(here, budget_id)
    form = EndBudgetForm(
        request.POST if request.method == "POST" else None,
        initial={"ended_on": here.today.isoformat()},
    )
    sent = _unsent(request)
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.command(row.id), field_of=field_of)
        if sent.result is not None and saving(request):
            return _saved(request, row.id, "The budget ends.", sent)
    return render(
        request,
        "budgets/end.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "row": row,
            "name": words.name_of(row),
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _changeable(here: Page, budget_id: str) -> queries.BudgetRow:
    row = readable_budget(here, budget_id)
    if not may_change(here, row.account_id):
        raise _denied()
    return row


def _denied() -> Denied:
    return Denied(
        "role_missing",
        "Finance and operators write budgets; whoever leads an account divides its budget among "
        "the accounts below it.",
        facts={"permission": BUDGET_WRITE, "roles": list(granting(BUDGET_WRITE))},
    )


def _account(here: Page, form: Any) -> UUID | None:
    """The account that was named, if the person may see it."""
    with scope.reading(here.id):
        try:
            found = tenancy.account_by_name(here.id, form.cleaned_data["account"])
            policy.authorize(here.actor, READ, found.id, here.id)
        except (NotFound, Denied):
            form.add_error("account", "There is no such account, or you may not see it.")
            return None
    return found.id


def _reason_only_to_save(request: PageRequest, form: Any) -> None:
    form.fields["reason"].required = saving(request)


def _unsent(request: PageRequest) -> Sent:
    return Sent(None, form_key=request.POST.get("key") or new_id())


def _saved(request: PageRequest, budget_id: UUID, what: str, sent: Sent) -> HttpResponse:
    messages.success(request, what)
    warning = getattr(sent.result, "warning", "")
    if warning:
        messages.warning(request, warning)
    return HttpResponseRedirect(reverse("budget", args=[budget_id]))


def _past(
    here: Page, account_id: UUID, period: Period, range_: Span | None, form: Any
) -> list[dict[str, Any]]:
    """What the values that were tried would have said of the last periods."""
    with scope.reading(here.id):
        found = cost_marks.would_have_fired(
            here.id,
            account_id,
            queries.ground(here.id, now=here.now),
            period=period,
            range_=range_,
            amount=form.cleaned_data["amount"],
            alerts=form.alerts(),
        )
    return [
        {
            "period": words.span_words(one.span, period),
            "spent": one.spent,
            "share": float(one.spent / form.cleaned_data["amount"]),
            "known": one.known,
            "fired": [
                (
                    fired.day,
                    words.rule_words(fired.reading.alarm.kind, fired.reading.alarm.rule),
                    words.figure_words(fired.reading.alarm.kind, fired.reading.figure),
                )
                for fired in one.fired
            ],
        }
        for one in found
    ]


def _editor(
    request: PageRequest,
    form: Any,
    sent: Sent,
    past: list[dict[str, Any]] | None,
    *,
    row: queries.BudgetRow | None,
) -> HttpResponse:
    address = reverse("budget_change", args=[row.id]) if row else reverse("budget_new")
    return render(
        request,
        "budgets/edit.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "row": row,
            "name": words.name_of(row) if row else "",
            "preview": past is not None,
            "past": past or [],
            "warning": getattr(sent.result, "warning", ""),
            "currency": request.page.organization.currency,
            "address": address,
            "back": reverse("budget", args=[row.id]) if row else reverse("budgets"),
            "unchanged": False,
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=sent.notice),
    )
