"""Times of admission: how long holds and leases last. An operator's page."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend.forms.fields import reason
from frontend.forms.sending import Sent, form_status, send
from frontend.history import names_for, sentence
from frontend.numbers import duration
from frontend.pages import PageRequest, page, render
from ledger import queries as ledger
from ledger import scope
from ledger.ids import new_id
from ledger.queries import EventRow
from quota.commands.policies import SetAdmissionPolicy
from quota.domain.batch import POLICY_BOUNDS, AdmissionPolicy
from quota.loading.standings import admission_policy
from tenancy.domain.roles import POOL_WRITE

HISTORY_SHOWN = 10
_LABELS = {
    "hold_seconds": ("Hold", "An admitted job that is not started within it gives its units back."),
    "lease_seconds": ("Lease", "A running job that is not heard of for this long has expired."),
    "heartbeat_seconds": (
        "Heartbeat",
        "How often schedulers are asked to tell that a job lives; a lease lasts at least two.",
    ),
    "interactive_seconds_max": ("Interactive jobs (P2)", "They run at most this long."),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A change of the times in words."""

    event: EventRow
    sentence: str


def _seconds(name: str) -> forms.IntegerField:
    label, meaning = _LABELS[name]
    low, high = POLICY_BOUNDS[name]
    return forms.IntegerField(
        min_value=low,
        max_value=high,
        label=f"{label}, seconds",
        help_text=f"{meaning} {low:,} to {high:,} seconds ({duration(low)} to {duration(high)}).",
    )


class TimesForm(forms.Form):
    """All times at once, in seconds."""

    hold_seconds = _seconds("hold_seconds")
    lease_seconds = _seconds("lease_seconds")
    heartbeat_seconds = _seconds("heartbeat_seconds")
    interactive_seconds_max = _seconds("interactive_seconds_max")
    reason = reason()

    def command(self) -> SetAdmissionPolicy:
        """What the valid form asks for."""
        return SetAdmissionPolicy(**{name: self.cleaned_data[name] for name in POLICY_BOUNDS})

    def times(self) -> list[BoundField]:
        """The fields that are times."""
        return [self[name] for name in POLICY_BOUNDS]


@page(reads=False)
def admission_times(request: PageRequest) -> HttpResponse:
    """Show the times, their form and their history (GET); set them (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POOL_WRITE, here.organization.root_account_id)
        current = admission_policy(here.id)
        changes = _changes(request)
    values = {name: getattr(current, name) for name in POLICY_BOUNDS}
    posted = request.method == "POST"
    form = TimesForm(request.POST if posted else None, initial=values)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        sent = send(request, form, form.command())
        if sent.result is not None:
            said = "are set" if sent.result.changed else "are so already; nothing was changed"
            messages.success(request, f"The times of admission {said}.")
            return HttpResponseRedirect(reverse("admission_times"))
    return render(
        request,
        "admission_policy.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "facts": _facts(current),
            "changes": changes,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _facts(current: AdmissionPolicy) -> list[tuple[str, str]]:
    return [(label, duration(getattr(current, name))) for name, (label, _) in _LABELS.items()]


def _changes(request: PageRequest) -> list[Line]:
    here: Any = request.page
    rows = ledger.history(here.id, stream=f"admission:{here.id}", limit=HISTORY_SHOWN).rows
    names = names_for(here.id, rows)
    return [Line(event, sentence(event, names, here.zone)) for event in rows]
