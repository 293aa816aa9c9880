"""A plan past the budgets: an operator asks for it, tries it first, and says why."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend.forms.fields import amount, reason
from frontend.forms.sending import Sent, form_status, saving, send
from frontend.pages import PageRequest, page, render
from ledger import scope
from ledger.errors import NotFound
from ledger.ids import new_id
from preemption.commands.plans import OverridePreemption
from preemption.wire import PreemptionAsk
from quota.domain.values import CLASSES
from quota.queries.pools import pools_with_weights
from quota.wire import NAME_LENGTH_MAX
from tenancy.domain.roles import POOL_WRITE

KEY_LENGTH_MAX = 255
_FIELDS = {"pool": "pool", "account": "account", "key": "job", "units": "units"}


class OverrideForm(forms.Form):
    """A job that needs units, and why the budgets shall not count for it."""

    job = forms.CharField(
        max_length=KEY_LENGTH_MAX,
        label="Job",
        help_text="As its scheduler names it; the units are set aside for its admission.",
    )
    account = forms.CharField(max_length=NAME_LENGTH_MAX, label="Account")
    pool = forms.ChoiceField(label="Pool")
    units = amount("Units")
    job_class = forms.ChoiceField(label="Class", choices=[(one, one) for one in CLASSES])
    reason = reason()

    def __init__(self, data: Any, *, pools: list[str], trying: bool) -> None:
        super().__init__(data)
        self.fields["pool"].choices = [(name, name) for name in pools]
        self.fields["units"].min_value = 1
        self.fields["reason"].required = not trying

    def clean_job(self) -> str:
        """One printable line, as keys of jobs are."""
        job: str = self.cleaned_data["job"]
        if not job.isprintable():
            raise forms.ValidationError("A job's name is one line.")
        return job

    def clean_units(self) -> int:
        """At least one."""
        units: int = self.cleaned_data["units"]
        if units < 1:
            raise forms.ValidationError("Ask for one unit at least.")
        return units

    def command(self) -> OverridePreemption:
        """What the valid form asks for."""
        given = self.cleaned_data
        return OverridePreemption(
            ask=PreemptionAsk(
                account=given["account"],
                pool=given["pool"],
                units=given["units"],
                job_class=given["job_class"],
                key=given["job"],
                override=given["reason"] or None,
            )
        )


@page(reads=False)
def override(request: PageRequest) -> HttpResponse:
    """Show the form (GET); try it, or make the plan (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POOL_WRITE, here.organization.root_account_id)
        pools = [row.name for row in pools_with_weights(here.id)]
    posted = request.method == "POST"
    form = OverrideForm(request.POST if posted else None, pools=pools, trying=not saving(request))
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        try:
            sent = send(request, form, form.command(), field_of=lambda name: _FIELDS.get(name, ""))
        except NotFound as error:
            form.add_error(_FIELDS.get(error.field or ""), error.detail)
    answer = sent.result
    if answer is not None and saving(request) and answer.plan is not None:
        taken = len(answer.plan.actions)
        messages.success(request, f"The plan for {answer.plan.key} is made: {taken} jobs give way.")
        return HttpResponseRedirect(reverse("preemption"))
    return render(
        request,
        "preemption_override.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "answer": answer,
            "currency": here.organization.currency,
        },
        status=form_status(request, form, notice=sent.notice),
    )
