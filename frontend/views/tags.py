"""Tags for past use: choose it, see what would change, save; and take a tagging back."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounting.commands.taggings import UndoAssignment, UndoTagging, wanted_row
from accounting.domain import statements
from accounting.queries import showback as names_queries
from accounting.queries import tag_preview, taggings
from accounting.queries.tag_preview import TagPreview
from accounting.queries.taggings import TaggingRow
from frontend import parameters
from frontend.forms.rates import ReasonForm
from frontend.forms.sending import Sent, form_status, saving, send
from frontend.forms.tags import TagForm
from frontend.pages import Page, PageRequest, page, render
from frontend.reading import readable_accounts
from ledger import scope
from ledger.errors import NotFound
from ledger.ids import new_id
from quota.queries import pools_with_weights
from tenancy import queries as tenancy
from tenancy.domain.roles import RATE_WRITE, USE_TAG

NOBODY = "Past use is tagged by leads of its account, by finance and by operators."
ROWS_SHOWN = 50
ACCOUNTS_MAX = 1_000_000
GIVEN = ("person", "pool", "job", "project", "model", "workload")


@page(reads=False)
def tags(request: PageRequest) -> HttpResponse:
    """The form, filled from the address, and the taggings there are (GET); try or save (POST)."""
    here = request.page
    with scope.reading(here.id):
        tops = readable_accounts(here, USE_TAG, otherwise=NOBODY)
        may_assign = here.may(RATE_WRITE, here.organization.root_account_id)
        initial = {} if request.method == "POST" else _initial(request, tops)
        rows = _rows(here, tops)
        names = names_queries.names_of(here.id)
    form = TagForm(
        request.POST if request.method == "POST" else None,
        may_assign=may_assign,
        saving=saving(request),
        initial=initial,
    )
    sent, preview = Sent(None, form_key=request.POST.get("key") or new_id()), None
    if request.method == "POST" and form.is_valid():
        sent, preview = _send(request, form)
        if sent.result is not None and saving(request):
            messages.success(request, "The use is tagged.")
            return HttpResponseRedirect(reverse("tags"))
    return render(
        request,
        "showback/tags.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "preview": preview,
            "unchanged": False,
            "shown": [_shown(row, names) for row in rows],
            "currency": here.organization.currency,
            "address": reverse("tags"),
            "back": reverse("showback"),
            "partials": ("preview",),
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _send(request: PageRequest, form: TagForm) -> tuple[Sent, TagPreview | None]:
    here = request.page
    with scope.reading(here.id):
        ids = _ids(here, form)
    if form.errors:
        return Sent(None, form_key=new_id()), None
    command = form.command(ids)
    sent = send(request, form, command)
    if sent.result is None or saving(request):
        return sent, None
    with scope.reading(here.id):
        return sent, tag_preview.preview(here.id, wanted_row(command, now=here.now), now=here.now)


def _ids(here: Page, form: TagForm) -> dict[str, UUID | None]:
    """Ids of the names in the form; what is not known is said at its field."""
    pools = {row.name: row.id for row in pools_with_weights(here.id)}
    finders: dict[str, Any] = {
        "account": lambda name: tenancy.account_by_name(here.id, name).id,
        "to_account": lambda name: tenancy.account_by_name(here.id, name).id,
        "person": lambda name: tenancy.person_by_name(here.id, name).id,
        "pool": pools.get,
    }
    found: dict[str, UUID | None] = {}
    for field, find in finders.items():
        name = form.cleaned_data.get(field)
        try:
            found[field] = find(name) if name else None
            if name and found[field] is None:
                form.add_error(field, f"There is no {field}.")
        except NotFound as error:
            form.add_error(field, error.detail)
    return found


def _initial(request: PageRequest, tops: tuple[UUID, ...]) -> dict[str, Any]:
    """What a page that leads here has chosen already: account, month and a value or two."""
    here = request.page
    first = parameters.month(request.GET, today=here.today)
    last = min(here.today, statements.month_after(first) - timedelta(days=1))
    account = parameters.text(request.GET, "account") or tenancy.account(here.id, tops[0]).name
    given = {name: parameters.text(request.GET, name) for name in GIVEN}
    return {"account": account, "since": first.isoformat(), "until": last.isoformat(), **given}


def _rows(here: Page, tops: tuple[UUID, ...]) -> list[TaggingRow]:
    accounts = tenancy.subtree_ids(here.id, tops, limit=ACCOUNTS_MAX)
    return taggings.taggings(here.id, accounts=accounts, limit=ROWS_SHOWN)


def _shown(row: TaggingRow, names: dict[Any, str]) -> dict[str, Any]:
    """A tagging in words."""
    which = [
        names.get(row.person_id),
        names.get(row.pool_id),
        row.job,
        f"batch {row.batch_id}" if row.batch_id else None,
    ]
    return {
        "row": row,
        "account": names[row.account_id],
        "which": ", ".join(filter(None, which)) or "all of it",
        "labels": ", ".join(f"{name} {value}" for name, value in row.labels.items()),
        "to_account": names.get(row.to_account_id),
    }


@require_POST
@page(reads=False)
def undo(request: PageRequest, tagging_id: str) -> HttpResponse:
    """Take a tagging back."""
    here = request.page
    ident = parameters.ident(tagging_id, what="tagging")
    with scope.reading(here.id):
        row = taggings.tagging(here.id, ident)
        if row is None:
            raise NotFound("tagging_unknown", "There is no such tagging.", field="tagging")
        here.require(USE_TAG, row.account_id)
    form = ReasonForm(request.POST)
    if form.is_valid():
        command = (
            UndoTagging(account_id=row.account_id, tagging_id=row.id)
            if row.to_account_id is None
            else UndoAssignment(tagging_id=row.id)
        )
        if send(request, form, command).result is not None:
            messages.success(request, "The tagging is taken back.")
    for errors in form.errors.values():
        for error in errors:
            messages.error(request, str(error))
    return HttpResponseRedirect(reverse("tags"))
