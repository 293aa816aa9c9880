"""Rates: what use costs, from when; a new version with what last month would have cost by it."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounting.commands.rates import PublishRateCard, WithdrawRateCard
from accounting.domain import statements
from accounting.queries import rate_preview, rates
from accounting.queries import showback as showback_queries
from accounting.queries.rate_preview import RatePreview
from frontend import parameters
from frontend.forms.rates import RatesForm, ReasonForm, as_text
from frontend.forms.sending import Sent, form_status, saving, send
from frontend.pages import Page, PageRequest, page, render
from frontend.views.showback import KIND_WORDS
from ledger import scope
from ledger.errors import Denied, NotFound
from ledger.ids import new_id
from quota.queries import flavors
from tenancy.domain.roles import RATE_WRITE, READ, granting

ROWS_SHOWN = 40


@require_safe
@page()
def rate_list(request: PageRequest) -> HttpResponse:
    """Every version, and the prices of one of them: the one in force, unless another is asked."""
    here = request.page
    _require_read(here)
    versions = rates.rate_versions(here.id)
    wanted = parameters.text(request.GET, "version")
    chosen = next((one for one in versions if _holds(one, here)), None)
    if wanted:
        ident = parameters.ident(wanted, what="rates")
        chosen = next((one for one in versions if one.id == ident), None)
        if chosen is None:
            raise NotFound("rates_unknown", "There are no such rates.", field="version")
    return render(
        request,
        "rates/list.html",
        {
            "versions": [(one, _holds(one, here), one.effective_from > here.now)
                         for one in versions],
            "chosen": chosen,
            "to_come": chosen is not None and chosen.effective_from > here.now,
            "prices": rates.rate_lines(here.id, chosen.id) if chosen else [],
            "currency": here.organization.currency,
            "may_change": here.may(RATE_WRITE, here.organization.root_account_id),
            "form": ReasonForm(),
            "form_key": new_id(),
        },
    )  # fmt: skip


@page(reads=False)
def publish_rates(request: PageRequest) -> HttpResponse:
    """Show the form, filled with the prices in force (GET); try or publish it (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(RATE_WRITE, here.organization.root_account_id)
        known = {one.name: one.id for one in flavors(here.id)}
        initial = {} if request.method == "POST" else _in_force(here)
    form = RatesForm(
        request.POST if request.method == "POST" else None,
        flavors=list(known),
        zone=here.zone,
        saving=saving(request),
        initial=initial,
    )
    sent, preview, names = Sent(None, form_key=request.POST.get("key") or new_id()), None, {}
    if request.method == "POST" and form.is_valid():
        command = form.command()
        sent = send(request, form, command, field_of=_field_of)
        if sent.result is not None and saving(request):
            messages.success(request, "The rates are published.")
            address = reverse("rates")
            return HttpResponseRedirect(f"{address}?version={sent.result.version_id}")
        if sent.result is not None:
            with scope.reading(here.id):
                preview = _preview(here, command, known)
                names = showback_queries.names_of(here.id)
    month = statements.month_before(here.today.replace(day=1))
    return render(
        request,
        "rates/publish.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "preview": preview,
            "month": month,
            "compared": [
                (row, KIND_WORDS[row.kind], names.get(row.pool, ""))
                for row in (preview.rows if preview else ())[:ROWS_SHOWN]
            ],
            "unrated": [names.get(pool, "") for pool in (preview.unrated if preview else ())],
            "difference": preview.would_be - preview.was if preview else None,
            "currency": here.organization.currency,
            "address": reverse("rates_publish"),
            "back": reverse("rates"),
            "unchanged": False,
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=sent.notice),
    )


@require_POST
@page(reads=False)
def withdraw_rates(request: PageRequest, version_id: str) -> HttpResponse:
    """Take back prices that do not hold yet."""
    here = request.page
    with scope.reading(here.id):
        here.require(RATE_WRITE, here.organization.root_account_id)
    form = ReasonForm(request.POST)
    if form.is_valid():
        ident = parameters.ident(version_id, what="rates")
        sent = send(request, form, WithdrawRateCard(version_id=ident))
        if sent.result is not None:
            messages.success(request, "The rates are withdrawn; the ones before go on.")
            return HttpResponseRedirect(reverse("rates"))
    for errors in form.errors.values():
        for error in errors:
            messages.error(request, str(error))
    return HttpResponseRedirect(f"{reverse('rates')}?version={version_id}")


def _require_read(here: Page) -> None:
    if READ not in here.held:
        raise Denied(
            "role_missing",
            "Rates are shown to people with a role in the organization.",
            facts={"permission": READ, "roles": list(granting(READ))},
        )


def _holds(one: rates.VersionRow, here: Page) -> bool:
    until = one.holds_until
    return one.effective_from <= here.now and (until is None or here.now < until)


def _in_force(here: Page) -> dict[str, str]:
    for one in rates.rate_versions(here.id):
        if _holds(one, here):
            return {
                "prices": as_text(rates.rate_lines(here.id, one.id)),
                "memory_flavor": one.memory_flavor or "",
            }
    return {}


def _preview(here: Page, command: PublishRateCard, known: dict[str, UUID]) -> RatePreview:
    """Last month by the prices that were tried."""
    memory = command.memory_flavor
    return rate_preview.would_have_cost(
        here.id,
        statements.month_before(here.today.replace(day=1)),
        lines=tuple(wish.line(known[wish.flavor]) for wish in command.lines),
        memory_flavor=None if memory is None else known[memory],
        now=here.now,
    )


def _field_of(name: str) -> str:
    """All prices are typed in one field."""
    return "prices" if name.startswith("lines") else name
