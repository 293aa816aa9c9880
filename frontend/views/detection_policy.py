"""What is found to be idle, a zombie, or far above the usual. An operator's form."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend.forms.detections import PolicyForm, initial_of
from frontend.forms.sending import Sent, form_status, send
from frontend.history import names_for, sentence
from frontend.pages import PageRequest, page, render
from ledger import queries as ledger
from ledger import scope
from ledger.ids import new_id
from preemption import detection_loading as loading
from tenancy.domain.roles import POOL_WRITE

HISTORY_SHOWN = 10
_FIELDS = {"kinds": "idle"}


@page(reads=False)
def detection_policy(request: PageRequest) -> HttpResponse:
    """Show the policy, its form and its history (GET); set it (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POOL_WRITE, here.organization.root_account_id)
        current = loading.policy(here.id)
        stream = f"detection_policy:{here.id}"
        rows = ledger.history(here.id, stream=stream, limit=HISTORY_SHOWN).rows
        names = names_for(here.id, rows)
    posted = request.method == "POST"
    form = PolicyForm(request.POST if posted else None, initial=initial_of(current))
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        sent = send(request, form, form.command(), field_of=lambda name: _FIELDS.get(name, name))
        if sent.result is not None:
            said = "is set" if sent.result.changed else "is so already; nothing was changed"
            messages.success(request, f"What is found {said}.")
            return HttpResponseRedirect(reverse("detection_policy"))
    return render(
        request,
        "detections/policy.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "changes": [(event, sentence(event, names, here.zone)) for event in rows],
        },
        status=form_status(request, form, notice=sent.notice),
    )
