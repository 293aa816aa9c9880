"""Review cycles: the list, opening one, giving one up, how they open by themselves."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from frontend import parameters
from frontend.errors import said
from frontend.forms.cycles import OpenForm, PolicyForm
from frontend.forms.quota import ReasonForm
from frontend.forms.sending import (
    Sent,
    form_status,
    saving,
    send,
    version_of,
    version_seen,
)
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import Denied, DomainError
from ledger.ids import new_id
from quota.commands.cycles import CancelCycle
from quota.domain.cycles import OPENING_DAYS, WINDOW_DAYS, quarter_of
from quota.loading import cycles as loading
from quota.queries.cycles import Size, cycle, cycles, size, viewer, waiting_for
from tenancy import policy as tenancy_policy
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ, POLICY_WRITE, REQUEST_REVIEW, granting

PAGE_ROWS: Final = 50
DECIDE_DAYS: Final = 14


@require_safe
@page()
def cycle_list(request: PageRequest) -> HttpResponse:
    """Cycles that the viewer sees something of, newest first."""
    here = request.page
    if LEDGER_READ not in here.held:
        raise Denied(
            "role_missing",
            "Reviews of quotas are shown to those who lead, review or audit some account.",
            facts={"permission": LEDGER_READ, "roles": list(granting(LEDGER_READ))},
        )
    who = viewer(here.id, here.actor)
    before = parameters.text(request.GET, "before")
    rows = cycles(
        here.id,
        who,
        before=parameters.ident(before, what="page") if before else None,
        limit=PAGE_ROWS + 1,
    )
    more = rows[PAGE_ROWS - 1].id if len(rows) > PAGE_ROWS else None
    return render(
        request,
        "cycles/list.html",
        {
            "rows": rows[:PAGE_ROWS],
            "policy": loading.policy(here.id),
            "waiting": waiting_for(here.id, who.leads) if who.leads else 0,
            "may_open": REQUEST_REVIEW in here.held,
            "may_set": here.may(POLICY_WRITE, here.organization.root_account_id),
            "first_page": not before,
            "next": more and f"{request.path}?before={more}",
            "partials": ("rows",),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def cycle_open(request: PageRequest) -> HttpResponse:
    """Show the form with how many quotas it would be (GET, and POST of htmx); open it (POST)."""
    here = request.page
    with scope.reading(here.id):
        tops = tenancy_policy.accounts_with(here.actor, REQUEST_REVIEW, here.id)
        if not tops:
            here.require(REQUEST_REVIEW, here.organization.root_account_id)
        form = OpenForm(
            request.POST if request.method == "POST" else None,
            zone=here.zone,
            initial=_initial(here, tops[0]),
        )
        account = request.POST.get("account") or form.initial["account"]
        found, problem = _size(here, account.strip())
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        if found is None:
            form.add_error("account", problem)
        elif saving(request):
            sent = send(request, form, form.command(found[0]))
        if sent.result is not None:
            count = sent.result.quota_count
            messages.success(request, f"The review is open: {count} quotas to decide.")
            return HttpResponseRedirect(reverse("cycle", args=[sent.result.cycle_id]))
    return render(
        request,
        "cycles/open.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "size": found[1] if found else None,
            "size_problem": problem,
            "account": account,
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _initial(here: Page, top: UUID) -> dict[str, Any]:
    return {
        "account": tenancy.account(here.id, top).name,
        "name": quarter_of(here.today).name,
        "deadline": here.now + timedelta(days=DECIDE_DAYS),
        "window_days": WINDOW_DAYS,
    }


def _size(here: Page, account: str) -> tuple[tuple[UUID, Size] | None, str]:
    """The account and how much there is to review, or why it cannot be said."""
    try:
        row = tenancy.account_by_name(here.id, account)
        here.require(REQUEST_REVIEW, row.id)
    except DomainError as error:
        return None, said(error, here.zone)
    return (row.id, size(here.id, row.id, now=here.now)), ""


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def cycle_cancel(request: PageRequest, cycle_id: str) -> HttpResponse:
    """Ask for confirmation (GET); give a cycle up (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = cycle(here.id, parameters.ident(cycle_id, what="cycle"), viewer(here.id, here.actor))
        here.require(REQUEST_REVIEW, row.account_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, CancelCycle(cycle_id=row.id))
        if sent.result is not None:
            messages.success(request, f"{row.name} was given up; no quota changed.")
            return HttpResponseRedirect(reverse("cycle", args=[row.id]))
    return render(
        request,
        "cycles/cancel.html",
        {"cycle": row, "form": form, "form_key": sent.form_key, "notice": sent.notice},
        status=form_status(request, form, notice=sent.notice),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def cycle_policy(request: PageRequest) -> HttpResponse:
    """Show how cycles open by themselves (GET); set it (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POLICY_WRITE, here.organization.root_account_id)
        current = loading.policy(here.id)
        version = version_of(here, f"cycle_policy:{here.id}")
    form = PolicyForm(request.POST if request.method == "POST" else None, initial=asdict(current))
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.command(expected_version=version_seen(request)))
        if sent.result is not None:
            said = "is set" if sent.result.changed else "is so already; nothing was changed"
            messages.success(request, f"How reviews open {said}.")
            return HttpResponseRedirect(reverse("cycles"))
    return render(
        request,
        "cycles/policy.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "version": version,
            "opening_days": OPENING_DAYS,
        },
        status=form_status(request, form, notice=sent.notice),
    )
