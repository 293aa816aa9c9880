"""How requests are routed: operators edit it, and see how past requests would have gone by it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend import request_words
from frontend.forms.request_policy import PolicyForm
from frontend.forms.sending import (
    Sent,
    changed_meanwhile,
    form_status,
    saving,
    send,
    version_of,
    version_seen,
)
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.reviewing import state_of
from ledger import queries as ledger
from ledger import scope
from ledger.ids import new_id
from quota.commands.request_policy import SetRequestPolicy
from quota.domain.routing import Policy, Previewed
from quota.loading import requests as loading
from quota.queries.request_decisions import policy, policy_preview
from quota.queries.requests import RequestRow, named_rows
from tenancy.domain.roles import POLICY_WRITE

PREVIEW_DAYS: Final = 90
SHOWN: Final = 50
HISTORY_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How past requests would have gone: the first SHOWN of them, those that go otherwise first."""

    lines: list[tuple[Previewed, RequestRow, str, str, str, str]]
    count: int
    changed: int


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def request_policy(request: PageRequest) -> HttpResponse:
    """Show the policy and its form (GET); try or set another (POST); htmx gets the preview."""
    here = request.page
    stream = f"request_policy:{here.id}"
    with scope.reading(here.id):
        here.require(POLICY_WRITE, here.organization.root_account_id)
        current = policy(here.id)
        version = version_of(here, stream)
        changes = _changes(here, stream)
    posted, save = request.method == "POST", saving(request)
    form = PolicyForm(request.POST if posted else None, current=current, saving=save)
    sent, notice, tried = Sent(None, form_key=request.POST.get("key") or new_id()), "", None
    if posted and form.is_valid():
        with scope.reading(here.id):
            notice = changed_meanwhile(here, stream, version_seen(request))
        if not (save and notice):
            # Only what is saved needs that nobody was faster; trying it does not.
            seen = version_seen(request) if save else None
            command = SetRequestPolicy(policy=form.policy(), expected_version=seen)
            sent = send(request, form, command)
        if save and sent.result is not None:
            said = "is set" if sent.result.changed else "is so already; nothing was changed"
            messages.success(request, f"The routing of requests {said}.")
            return HttpResponseRedirect(reverse("request_policy"))
        notice = notice or sent.notice
        if not form.errors:
            with scope.reading(here.id):
                tried = _tried(here, form.policy())
    return render(
        request,
        "reviews/policy.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "version": version,
            "notice": notice,
            "preview": tried,
            "unchanged": posted and not form.errors and form.policy() == current,
            "days": PREVIEW_DAYS,
            "changes": changes,
            "address": reverse("request_policy"),
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=notice if save else ""),
    )


def _tried(here: Page, wanted: Policy) -> Tried:
    found = policy_preview(here.id, wanted, since=here.now - timedelta(days=PREVIEW_DAYS))
    shown = sorted(found, key=lambda one: not one.changed)[:SHOWN]
    known = loading.requests(here.id, [one.request_id for one in shown])
    rows = {row.request.id: row for row in named_rows(here.id, list(known.values()), now=here.now)}
    return Tried(
        lines=[
            (
                one,
                rows[one.request_id],
                request_words.what(rows[one.request_id]),
                route_words(one.approvals_before),
                route_words(one.approvals_after),
                state_of(rows[one.request_id]),
            )
            for one in shown
            if one.request_id in rows
        ],
        count=len(found),
        changed=sum(one.changed for one in found),
    )


def route_words(approvals: int) -> str:
    """How many people decide, in words."""
    return {0: "automatic", 1: "one person"}.get(approvals, f"{approvals} people")


def _changes(here: Page, stream: str) -> list[tuple[Any, str]]:
    rows = ledger.history(here.id, stream=stream, limit=HISTORY_SHOWN).rows
    names = names_for(here.id, rows)
    return [(event, sentence(event, names, here.zone)) for event in rows]
