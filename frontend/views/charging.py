"""Finance grants credits, agrees commitments and sets the terms of statements."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounting.queries import grants
from accounting.queries import showback as showback_queries
from accounting.queries import statements as queries
from frontend.forms.money import CommitmentForm, CreditForm, EndingForm, TermsForm, terms_initial
from frontend.forms.sending import Sent, form_status, send
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import NotFound
from ledger.ids import new_id
from tenancy import queries as tenancy
from tenancy.domain.roles import RATE_WRITE

DONE = {
    "credit": "The credit is on the statement.",
    "commitment": "The commitment is agreed.",
    "ending": "The commitment ends early.",
    "terms": "The terms are set.",
}
FORMS: dict[str, Any] = {
    "credit": CreditForm,
    "commitment": CommitmentForm,
    "ending": EndingForm,
    "terms": TermsForm,
}


@page(reads=False)
def charging(request: PageRequest) -> HttpResponse:
    """The forms, and what was granted and agreed (GET); save one of them (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(RATE_WRITE, here.organization.root_account_id)
        month = here.today.replace(day=1)
        terms = queries.terms_of(here.id, month)
        shown = {
            "credits": grants.credit_rows(here.id),
            "commitments": grants.commitment_rows(here.id),
            "names": showback_queries.names_of(here.id),
        }
    initial = terms_initial(terms.terms, two_persons=terms.two_persons, month=month)
    extra = {"ending": {"commitments": _choices(shown, month)}, "terms": {"initial": initial}}
    forms = {name: form(prefix=name, **extra.get(name, {})) for name, form in FORMS.items()}
    what = request.POST.get("what", "")
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    form = forms["credit"]
    if request.method == "POST" and what in FORMS:
        form = forms[what] = FORMS[what](request.POST, prefix=what, **extra.get(what, {}))
        if form.is_valid():
            sent = _send(request, here, what, form)
            if sent.result is not None:
                messages.success(request, DONE[what])
                return HttpResponseRedirect(reverse("charging"))
    return render(
        request,
        "showback/charging.html",
        {
            "forms": list(forms.items()),
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "currency": here.organization.currency,
            "credits": [(shown["names"][row.account_id], row) for row in shown["credits"]],
            "commitments": [(shown["names"][row.account_id], row) for row in shown["commitments"]],
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _choices(shown: dict[str, Any], month: date) -> list[tuple[str, str]]:
    """The commitments that go on after this month, in words."""
    return [
        (str(row.id), f"{shown['names'][row.account_id]}: {row.amount:,.2f} from {row.month:%Y-%m}")
        for row in shown["commitments"]
        if row.about is None or row.about > month
    ]


def _send(request: PageRequest, here: Page, what: str, form: Any) -> Sent:
    account_id = None
    if "account" in form.fields:
        with scope.reading(here.id):
            try:
                account_id = tenancy.account_by_name(here.id, form.cleaned_data["account"]).id
            except NotFound as error:
                form.add_error("account", error.detail)
                return Sent(None, form_key=new_id())
    return send(request, form, form.command(account_id), field_of=lambda name: name.split("[")[0])
