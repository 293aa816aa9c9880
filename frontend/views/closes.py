"""Months and how they close: what is odd first, then no way back."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounting import statement_month
from accounting.commands.statements import ConfirmClose
from accounting.domain import statements
from accounting.queries import statements as queries
from frontend import parameters
from frontend.forms.rates import CloseForm, ReasonForm
from frontend.forms.sending import Sent, form_status, send
from frontend.pages import PageRequest, page, render
from ledger import scope
from ledger.errors import Denied
from ledger.ids import new_id
from tenancy.domain.roles import RATE_WRITE


@page(reads=False)
def closes(request: PageRequest) -> HttpResponse:
    """The months, and the form for the one whose turn it is (GET); begin its close (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(RATE_WRITE, here.organization.root_account_id)
        rows = queries.closes(here.id)
        month = queries.turn(rows, this_month=here.today.replace(day=1))
        if not rows and month and request.GET:
            # Any may be the first; none before it can be closed later.
            month = min(month, parameters.month(request.GET, today=month))
        over = month is not None and statements.month_of(month, here.zone).end <= here.now
        findings = statement_month.findings(here.id, month, now=here.now) if over and month else []
        terms = queries.terms_of(here.id, month or here.today.replace(day=1))
    form = CloseForm(request.POST if request.method == "POST" else None, findings=findings)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and month is not None and form.is_valid():
        sent = send(request, form, form.command(month))
        if sent.result is not None:
            messages.success(request, f"{month:%Y-%m} is closing.")
            return HttpResponseRedirect(reverse("closes"))
    return render(
        request,
        "showback/closes.html",
        {
            "rows": rows,
            "running": rows[0] if rows and rows[0].state == "closing" else None,
            "own": bool(rows) and rows[0].starter_id == here.actor.id,
            "month": month,
            "before": statements.month_before(month) if month and not rows else None,
            "over": over,
            "findings": findings,
            "accepted": request.POST.getlist("accept"),
            "terms": terms,
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "confirm_key": new_id(),
            "currency": here.organization.currency,
            "partials": ("progress",),
        },
        status=form_status(request, form, notice=sent.notice),
    )


@require_POST
@page(reads=False)
def confirm_close(request: PageRequest) -> HttpResponse:
    """Agree as a second person."""
    here = request.page
    with scope.reading(here.id):
        here.require(RATE_WRITE, here.organization.root_account_id)
        rows = queries.closes(here.id, limit=1)
    form = ReasonForm(request.POST)
    if rows and form.is_valid():
        try:
            sent = send(request, form, ConfirmClose(month=rows[0].month))
        except Denied as error:
            form.add_error(None, error.detail)
        else:
            if sent.result is not None:
                messages.success(request, "Confirmed. The statements are being drawn.")
    for errors in form.errors.values():
        for error in errors:
            messages.error(request, str(error))
    return HttpResponseRedirect(reverse("closes"))
