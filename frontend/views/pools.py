"""Forms for operators: a pool's sizes and an account's quota, tried before they are saved.

"Preview" runs the very commands that saving runs, as a dry run; saving runs them for good.
"""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import pool_named
from ledger import scope
from ledger.errors import Conflict, Denied, DomainError
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.pools import (
    RECLAIM_SECONDS_MAX,
    UNITS_MAX,
    ResizePool,
    SetReclaimTarget,
    SetSafetyMargin,
    SetUnavailable,
)
from quota.commands.quotas import SetQuota
from quota.domain.values import NO_QUOTA
from quota.queries import PoolRow
from quota.queries.quotas import quotas_of_account
from tenancy import queries
from tenancy.domain.roles import POOL_WRITE

REASON_LENGTH_MAX = 500
_COMMANDS: dict[str, Callable[..., Any]] = {
    "capacity": ResizePool,
    "unavailable": SetUnavailable,
    "safety_margin": SetSafetyMargin,
    "reclaim_target_seconds": SetReclaimTarget,
}


def _amount(label: str, *, maximum: int = UNITS_MAX, **options: Any) -> forms.IntegerField:
    return forms.IntegerField(min_value=0, max_value=maximum, label=label, **options)


class PoolForm(forms.Form):
    """One fact about a pool at a time, so that each is one event with its own reason."""

    what = forms.ChoiceField(choices=[(name, name) for name in _COMMANDS], label="What changes")
    value = _amount("New value, whole units (for the reclaim target: seconds)")
    accept_over_promise = forms.BooleanField(
        required=False, label="The hardware is gone: save it even if promises no longer fit"
    )
    reason = forms.CharField(max_length=REASON_LENGTH_MAX, label="Reason")

    def clean(self) -> dict[str, Any]:
        """The reclaim target has a smaller maximum."""
        cleaned = super().clean()
        if (
            cleaned.get("what") == "reclaim_target_seconds"
            and (cleaned.get("value") or 0) > RECLAIM_SECONDS_MAX
        ):
            self.add_error("value", f"At most {RECLAIM_SECONDS_MAX} seconds, which is 7 days.")
        return cleaned


class QuotaForm(forms.Form):
    """A quota as a whole: a limit left empty is no limit."""

    guaranteed = _amount("Guaranteed, units")
    borrowing_limit = _amount("Borrowing limit, units (empty: none)", required=False)
    lending_limit = _amount("Lending limit, units (empty: none)", required=False)
    reason = forms.CharField(max_length=REASON_LENGTH_MAX, label="Reason")


@page(reads=False)
def edit_pool(request: PageRequest, name: str) -> HttpResponse:
    """Show the form (GET), preview or save (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POOL_WRITE, here.organization.root_account_id)
        row = pool_named(here, name)
    posted = request.method == "POST"
    form = PoolForm(request.POST if posted else None, initial={"value": row.capacity})

    def command(values: dict[str, Any]) -> Any:
        what = values["what"]
        accepts = what in ("capacity", "safety_margin")
        more = {"accept_over_promise": values["accept_over_promise"]} if accepts else {}
        return _COMMANDS[what](pool_id=row.id, **{what: values["value"]}, **more)

    shown = {"row": row, "whats": list(_COMMANDS)}
    return _handle(
        request,
        form,
        command,
        "pool_edit.html",
        shown,
        field=lambda name: "value" if name in _COMMANDS else name,
        done=lambda: HttpResponseRedirect(reverse("capacity_pool", args=[row.name])),
        saved=f"{row.name} is changed.",
    )


@page(reads=False)
def edit_quota(request: PageRequest, account: str, pool: str) -> HttpResponse:
    """Show the form (GET), preview or save (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = queries.account_by_name(here.id, account)
        here.require(POOL_WRITE, row.id)
        of = pool_named(here, pool)
        current = _current(here, row.id, of)
    initial = {
        name: getattr(current, name) for name in ("guaranteed", "borrowing_limit", "lending_limit")
    }
    form = QuotaForm(request.POST if request.method == "POST" else None, initial=initial)

    def command(values: dict[str, Any]) -> SetQuota:
        amounts = {name: values[name] for name in initial}
        return SetQuota(account_id=row.id, pool_id=of.id, **amounts)

    return _handle(
        request,
        form,
        command,
        "quota_edit.html",
        {"account": row, "pool": of, "current": current},
        field=lambda name: name,
        done=lambda: HttpResponseRedirect(reverse("account_quota", args=[row.name])),
        saved=f"The quota of {row.name} in {of.name} is set.",
    )


def _current(here: Page, account_id: Any, pool: PoolRow) -> Any:
    for one in quotas_of_account(here.id, account_id, now=here.now):
        if one.pool_id == pool.id:
            return one.quota
    return NO_QUOTA


def _handle(
    request: PageRequest,
    form: forms.Form,
    command: Callable[[dict[str, Any]], Any],
    template: str,
    shown: dict[str, Any],
    *,
    field: Callable[[str], str],
    done: Callable[[], HttpResponse],
    saved: str,
) -> HttpResponse:
    preview, saving = None, request.POST.get("step") == "save"
    if request.method == "POST" and form.is_valid():
        try:
            preview = _execute(request, form, command(form.cleaned_data), dry_run=not saving)
        except DomainError as error:
            if isinstance(error, Denied | Conflict):
                raise
            name = field(getattr(error, "field", None) or "")
            form.add_error(name if name in form.fields else None, error.detail)
        else:
            if saving:
                messages.success(request, saved)
                return done()
    key = request.POST.get("key") or new_id()
    context = shown | {"form": form, "preview": preview, "form_key": key}
    return render(request, template, context, status=400 if form.errors else 200)


def _execute(request: PageRequest, form: forms.Form, command: Any, *, dry_run: bool) -> Any:
    here = request.page
    key = request.POST.get("key", "")
    usable = not dry_run and key and key.isprintable()
    return execute(
        command,
        Context(
            organization_id=here.id,
            actor=here.actor,
            now=here.now,
            reason=form.cleaned_data["reason"],
            dry_run=dry_run,
            # Sent twice, a form acts once.
            idempotency_key=f"form/{key}" if usable else None,
        ),
    ).result
