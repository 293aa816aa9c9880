"""An operator changes an account's quota: tried as it is typed, saved once, ended, taken back.

Trying runs the very command that saving runs, as a dry run; what would follow for others is read
by `quota.queries.preview` on the same arithmetic.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from frontend import numbers, parameters
from frontend.errors import said
from frontend.forms.quota import Above, Ground, QuotaForm, ReasonForm
from frontend.forms.sending import (
    Sent,
    changed_meanwhile,
    form_status,
    saving,
    send,
    version_of,
    version_seen,
)
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import pool_named
from ledger import queries as ledger
from ledger import scope
from ledger.errors import DomainError, NotFound
from ledger.ids import new_id
from quota.commands.quotas import CancelScheduledQuota, EndQuota, SetQuota
from quota.domain.changes import QuotaBook
from quota.queries import PoolRow
from quota.queries.preview import Preview, preview_end, preview_wish
from quota.queries.quotas import ComingRow, books_at, coming, pools_at
from tenancy import queries
from tenancy.domain.roles import POOL_WRITE
from tenancy.queries import AccountRow


@page(reads=False)
def edit_quota(request: PageRequest, account: str, pool: str) -> HttpResponse:
    """Show the form (GET), try or save it (POST); htmx gets the preview alone."""
    here = request.page
    with scope.reading(here.id):
        row, of = _place(here, account, pool)
        book = _book(here, of)
        ground = _ground(here, row, book)
        stream = f"quota:{row.id}:{of.id}"
        version = version_of(here, stream)
        later = _coming(here, row, of)
    posted = request.method == "POST"
    save = saving(request)
    form = QuotaForm(request.POST if posted else None, ground=ground, saving=save)
    seen = version_seen(request)
    sent, preview, notice = Sent(None, form_key=request.POST.get("key") or new_id()), None, ""
    if posted and form.is_valid():
        command = form.command(account_id=row.id, pool_id=of.id, expected_version=seen)
        sent = send(request, form, command if save else _without_version(command))
        if sent.result is not None and save:
            _say(request, row, of, form, sent.result)
            return HttpResponseRedirect(reverse("account_quota", args=[row.name]))
        with scope.reading(here.id):
            notice = changed_meanwhile(here, stream, seen) or sent.notice
            if not form.errors:
                preview = _preview(here, command, sent)
    return render(
        request,
        "quota/edit.html",
        {
            "account": row,
            "pool": of,
            "cell": ground.cell,
            "promise": book.promise(),
            "form": form,
            "form_key": sent.form_key,
            "version": version,
            "preview": preview,
            "unchanged": sent.result is not None and not sent.result.changed,
            "short_by": sent.short_by,
            "foreseen": getattr(sent.result, "foreseen", None),
            "notice": notice,
            "coming": later,
            "address": reverse("quota_edit", args=[row.name, of.name]),
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=notice if save else ""),
    )


@page(reads=False)
def end_quota(request: PageRequest, account: str, pool: str) -> HttpResponse:
    """Ask for confirmation with what would follow (GET); end a temporary quota (POST)."""
    here = request.page
    with scope.reading(here.id):
        row, of = _place(here, account, pool)
        ground = _ground(here, row, _book(here, of))
        stream = f"quota:{row.id}:{of.id}"
        version = version_of(here, stream)
        if ground.cell.temporary is None:
            messages.info(request, f"The quota of {row.name} in {of.name} is not temporary now.")
            return HttpResponseRedirect(reverse("account_quota", args=[row.name]))
        impossible, preview = "", None
        try:
            preview = preview_end(here.id, of.id, row.id, now=here.now)
        except DomainError as error:
            impossible = said(error, here.zone)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        command = EndQuota(account_id=row.id, pool_id=of.id, expected_version=version_seen(request))
        sent = send(request, form, command)
        if sent.result is not None:
            messages.success(request, f"The quota of {row.name} in {of.name} has ended.")
            return HttpResponseRedirect(reverse("account_quota", args=[row.name]))
    return render(
        request,
        "quota/edit_end.html",
        {
            "account": row,
            "pool": of,
            "cell": ground.cell,
            "lender": _lender_name(ground),
            "form": form,
            "form_key": sent.form_key,
            "version": version,
            "preview": preview,
            "impossible": impossible,
            "notice": sent.notice,
        },
        status=form_status(request, form, notice=sent.notice),
    )


@page(reads=False)
def cancel_quota(request: PageRequest, account: str, pool: str, change_id: str) -> HttpResponse:
    """Ask for confirmation (GET); take a change back that has not taken effect (POST)."""
    here = request.page
    with scope.reading(here.id):
        row, of = _place(here, account, pool)
        wanted = parameters.ident(change_id, what="change")
        change = next((one for one in _coming(here, row, of) if one.change_id == wanted), None)
        if change is None:
            return _not_to_come(request, row, of, wanted)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if request.method == "POST" and form.is_valid():
        command = CancelScheduledQuota(change_id=wanted)
        sent = send(request, form, command)
        if sent.result is not None:
            messages.success(request, "The change will not come.")
            return HttpResponseRedirect(reverse("account_quota", args=[row.name]))
    return render(
        request,
        "quota/edit_cancel.html",
        {
            "account": row,
            "pool": of,
            "change": change,
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _place(here: Page, account: str, pool: str) -> tuple[AccountRow, PoolRow]:
    """Quotas of the whole organization hang together: its operators change them.

    Raises:
        Denied: not an operator.
        NotFound: no such account or pool in this organization.
    """
    here.require(POOL_WRITE, here.organization.root_account_id)
    return queries.account_by_name(here.id, account), pool_named(here, pool)


def _book(here: Page, of: PoolRow) -> QuotaBook:
    pools = pools_at(here.id, (of.id,), now=here.now)
    return books_at(here.id, pools, now=here.now)[of.id]


def _ground(here: Page, row: AccountRow, book: QuotaBook) -> Ground:
    ids = book.path(row.id)
    names = row.path[:-1]
    above = [
        Above(id=one, name=name, own=book.cell(one).quota.guaranteed)
        for one, name in zip(ids, names, strict=True)
    ]
    return Ground(
        cell=book.cell(row.id),
        above=above[::-1],
        unpromised=book.promise().unpromised,
        zone=here.zone,
    )


def _coming(here: Page, row: AccountRow, of: PoolRow) -> list[ComingRow]:
    return coming(here.id, now=here.now, account_id=row.id, pool_id=of.id)


def _lender_name(ground: Ground) -> str:
    lender = ground.cell.temporary.lender if ground.cell.temporary else None
    return next((one.name for one in ground.above if one.id == lender), "")


def _without_version(command: SetQuota) -> SetQuota:
    """For trying: what has changed meanwhile is said beside the preview, not instead of it."""
    fields = {name: getattr(command, name) for name in SetQuota.__dataclass_fields__}
    return SetQuota(**fields | {"expected_version": None})


def _preview(here: Page, command: SetQuota, sent: Sent) -> Preview | None:
    """What would follow. In `scope.reading`."""
    later = command.effective_at is not None and command.effective_at > here.now
    if later and sent.result is None:
        return None
    try:
        return preview_wish(
            here.id,
            command.pool_id,
            command.wish,
            now=here.now,
            starts_at=command.effective_at if later else None,
            change_id=sent.result.change_id if later else None,
        )
    except DomainError:
        # Between the dry run and this reading somebody changed it; the next try says how.
        return None


def _say(request: PageRequest, row: AccountRow, of: PoolRow, form: QuotaForm, result: Any) -> None:
    values, zone = form.cleaned_data, request.page.zone
    what = f"The quota of {row.name} in {of.name}"
    if not result.changed:
        messages.info(request, f"{what} is so already; nothing was changed.")
        return
    said = f"{values['guaranteed']:,} guaranteed"
    if values["ends_at"]:
        said += f", until {numbers.instant(values['ends_at'], zone)}"
    if result.change_id is None:
        messages.success(request, f"{what} is set: {said}.")
        return
    start = numbers.instant(values["effective_at"], zone)
    messages.success(request, f"{what} will be set from {start}: {said}.")
    if result.foreseen:
        messages.warning(request, f"As things stand it would be refused then. {result.foreseen}")


def _not_to_come(
    request: PageRequest, row: AccountRow, of: PoolRow, change_id: UUID
) -> HttpResponse:
    """It was to come once, or there never was such a change of this quota."""
    known = ledger.history(
        request.page.id, stream=f"quota:{row.id}:{of.id}", types=("quota.scheduled",), limit=200
    )
    if all(event.payload.get("change_id") != str(change_id) for event in known.rows):
        raise NotFound("change_unknown", "There is no such change.", field="change")
    messages.info(request, "This change is not to come: it took effect, lapsed or was cancelled.")
    return HttpResponseRedirect(reverse("account_quota", args=[row.name]))
