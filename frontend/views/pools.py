"""An operator opens pools, defines flavors, and changes what a pool can keep.

Trying runs the very command that saving runs, as a dry run; see `quota_edit` for quotas.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend.forms.pools import FlavorForm, OpenPoolForm, PoolForm, WeightForm
from frontend.forms.sending import (
    Sent,
    changed_meanwhile,
    form_status,
    saving,
    send,
    version_of,
    version_seen,
)
from frontend.numbers import plain
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import pool_named
from ledger import scope
from ledger.errors import NotFound
from ledger.ids import new_id
from quota.queries import FlavorRow, flavors
from quota.queries.preview import preview_size
from tenancy.domain.roles import POOL_WRITE


@page(reads=False)
def edit_pool(request: PageRequest, name: str) -> HttpResponse:
    """Show the form (GET), try or save it (POST); htmx gets the preview alone."""
    here = request.page
    with scope.reading(here.id):
        _require(here)
        row = pool_named(here, name)
        stream = f"pool:{row.id}"
        version = version_of(here, stream)
    posted, save, seen = request.method == "POST", saving(request), version_seen(request)
    form = PoolForm(request.POST if posted else None, row=row, saving=save)
    sent, preview, notice = Sent(None, form_key=request.POST.get("key") or new_id()), None, ""
    if posted and form.is_valid():
        command = form.command(pool_id=row.id, expected_version=seen if save else None)
        size = {form.cleaned_data["what"]: form.cleaned_data["value"]}
        sent = send(request, form, command, field_of=_field_of_size)
        if sent.result is not None and save:
            if sent.result.changed:
                messages.success(request, f"{row.name} is changed.")
            else:
                messages.info(request, f"{row.name} is so already; nothing was changed.")
            return HttpResponseRedirect(reverse("capacity_pool", args=[row.name]))
        with scope.reading(here.id):
            notice = changed_meanwhile(here, stream, seen) or sent.notice
            # Also where it is refused: whose promises stand against it is what one needs to see.
            preview = preview_size(here.id, row.id, size, now=here.now)
    return render(
        request,
        "pools/edit.html",
        {
            "row": row,
            "form": form,
            "form_key": sent.form_key,
            "version": version,
            "preview": preview,
            "unchanged": sent.result is not None and not sent.result.changed,
            "notice": notice,
            "address": reverse("pool_edit", args=[row.name]),
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=notice if save else ""),
    )


@page(reads=False)
def open_pool(request: PageRequest) -> HttpResponse:
    """Show the form and the flavors there are (GET); open a pool (POST)."""
    here = request.page
    with scope.reading(here.id):
        _require(here)
        known = flavors(here.id)
    form = OpenPoolForm(
        request.POST if request.method == "POST" else None,
        flavors=known,
        flavor=request.GET.get("flavor", ""),
    )
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.command())
        if sent.result is not None:
            name = form.cleaned_data["name"]
            messages.success(request, f"{name} is open. Nothing is promised in it yet.")
            return HttpResponseRedirect(reverse("capacity_pool", args=[name]))
    return render(
        request,
        "pools/open.html",
        {"form": form, "form_key": sent.form_key, "flavors": known, "notice": sent.notice},
        status=form_status(request, form, notice=sent.notice),
    )


@page(reads=False)
def define_flavor(request: PageRequest) -> HttpResponse:
    """Show the form (GET); define a kind of resource (POST), then go on to its pool."""
    here = request.page
    with scope.reading(here.id):
        _require(here)
    form = FlavorForm(request.POST if request.method == "POST" else None)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, form.define())
        if sent.result is not None:
            name = form.cleaned_data["name"]
            messages.success(request, f"{name} is defined. Open a pool of it.")
            return HttpResponseRedirect(f"{reverse('pool_open')}?flavor={name}")
    return _flavor_page(request, form, sent, None)


@page(reads=False)
def edit_flavor(request: PageRequest, name: str) -> HttpResponse:
    """Show the form (GET); change what a flavor weighs (POST)."""
    here = request.page
    with scope.reading(here.id):
        _require(here)
        row = next((one for one in flavors(here.id) if one.name == name), None)
    if row is None:
        raise NotFound("flavor_unknown", "There is no such flavor.", field="flavor")
    posted = request.method == "POST"
    form = WeightForm(request.POST if posted else None, initial={"weight": plain(row.weight)})
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        sent = send(request, form, form.command(row.id))
        if sent.result is not None:
            weight = plain(form.cleaned_data["weight"])
            messages.success(request, f"{row.name} weighs {weight} from now on.")
            return HttpResponseRedirect(reverse("pool_open"))
    return _flavor_page(request, form, sent, row)


def _flavor_page(
    request: PageRequest, form: Any, sent: Sent, row: FlavorRow | None
) -> HttpResponse:
    return render(
        request,
        "pools/flavor.html",
        {"form": form, "form_key": sent.form_key, "flavor": row, "notice": sent.notice},
        status=form_status(request, form, notice=sent.notice),
    )


def _require(here: Page) -> None:
    here.require(POOL_WRITE, here.organization.root_account_id)


def _field_of_size(name: str) -> str:
    """All sizes are typed in one field."""
    return name if name in ("reason", "what") else "value"
