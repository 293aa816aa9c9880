"""The form of a request: tried as it is typed, kept as a draft, handed in once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend import parameters, request_words
from frontend.errors import said
from frontend.forms.requests import (
    USUAL_LENGTH,
    Ground,
    RequestForm,
)
from frontend.forms.sending import form_status, key_of, version_seen
from frontend.full_names import called_by_name
from frontend.pages import Page, PageRequest, page, render
from frontend.request_preview import Look, enough, look
from frontend.views.requests.filling import SELECT_MAX, filled, ground_of, initial_of_page
from frontend.views.requests.one import visible
from ledger import scope
from ledger.errors import Conflict, Denied, DomainError, Invalid, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.requests import SaveDraft, Submit
from quota.domain.requests import EDITABLE, WITHOUT_UNITS, Kind, State, Terms
from quota.queries.request_decisions import DecisionRow, decisions_of
from quota.queries.requests import RequestRow
from quota.requesting import RequestAnswer
from tenancy import queries
from tenancy.domain.roles import REQUEST_WRITE

CHECK, AUTOSAVE, DRAFT, SUBMIT = "check", "autosave", "draft", "save"
_SPENT = (
    "This form was sent before with other values, and that request stands in your list. What you "
    "typed is still here; hand it in again to ask for this, too."
)
COMMON_KINDS = 4
"""The first of them are seen at once; the others open."""


@dataclass(slots=True)
class Desk:
    """What a form is made of and what came of it."""

    row: RequestRow | None
    ground: Ground
    form: RequestForm
    step: str
    key: str
    version: int | None = None
    terms: Terms | None = None
    preview: Look | None = None
    notice: str = ""
    kept: bool = False


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def new(request: PageRequest) -> HttpResponse:
    """A new request. An address may fill it: account, pool, kind, units, extend=<request>."""
    here = request.page
    with scope.reading(here.id):
        row = _named_draft(request)
    return _form(request, row)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def edit(request: PageRequest, request_id: str) -> HttpResponse:
    """Go on with a draft, or answer a reviewer by changing the request and handing it in again."""
    here = request.page
    with scope.reading(here.id):
        row = visible(here, parameters.ident(request_id, what="request"))
        may = row.request.state == State.DRAFT or _may_speak_for(here, row)
    if not may:
        here_is = reverse("request", args=[row.request.id])
        messages.info(request, "Only those who ask can change a request.")
        return HttpResponseRedirect(here_is)
    if request.method != "POST" and row.request.state not in EDITABLE:
        messages.info(request, "This request was handed in; it cannot be changed as it stands.")
        return HttpResponseRedirect(reverse("request", args=[row.request.id]))
    return _form(request, row)


def _may_speak_for(here: Page, row: RequestRow) -> bool:
    return here.actor.id in row.request.author_ids or here.may(
        REQUEST_WRITE, row.request.account_id
    )


def _named_draft(request: PageRequest) -> RequestRow | None:
    """The draft that the form has been kept as meanwhile."""
    given = request.POST.get("draft", "")
    if not given:
        return None
    return visible(request.page, parameters.ident(given, what="request"))


def _form(request: PageRequest, row: RequestRow | None) -> HttpResponse:
    here = request.page
    posted = request.method == "POST"
    with scope.reading(here.id):
        wanted = (request.POST if posted else request.GET).get("account", "").strip()
        ground = ground_of(here, row, wanted)
        initial = initial_of_page(request, row, ground)
    form = RequestForm(filled(request.POST) if posted else None, ground=ground, initial=initial)
    desk = Desk(
        row=row,
        ground=ground,
        form=form,
        step=_step(request),
        key=request.POST.get("key") or str(new_id()),
        version=version_seen(request) if posted else row.request.version if row else None,
    )
    with scope.reading(here.id):
        desk.terms = _terms(here, desk)
    if desk.terms is not None and posted:
        answer = _act(request, desk)
        if answer is not None:
            return answer
    with scope.reading(here.id):
        # The answer to keeping a draft is the draft alone.
        wants_look = desk.terms is not None and enough(desk.terms) and desk.step != AUTOSAVE
        if wants_look:
            desk.preview = look(here, desk.terms, again=row.request if row else None)
        if wants_look and posted and desk.step in (CHECK, SUBMIT):
            # All that is wrong at once, though the command stops at the first.
            desk.form.refuse([one for one in desk.preview.check.problems if one.field])
        beside = _siblings(here, desk)
        question = _question(here, row) if ground.fixed else None
    response = render(
        request,
        "requests/form.html",
        _context(request, desk) | {"siblings": beside, "question": question},
        status=form_status(request, form, notice=desk.notice if desk.step == SUBMIT else ""),
    )
    if desk.step == AUTOSAVE and desk.kept and desk.row is not None and request.htmx:
        # Loaded again, the page goes on with the draft.
        response["HX-Replace-Url"] = reverse("request_edit", args=[desk.row.request.id])
    return response


def _step(request: PageRequest) -> str:
    given = request.POST.get("step", CHECK)
    return given if given in (CHECK, AUTOSAVE, DRAFT, SUBMIT) else CHECK


def _terms(here: Page, desk: Desk) -> Terms | None:
    """What the form asks for, of the one sent or of the one first shown; None: it cannot be
    told yet. Inside `scope.reading`."""
    form = desk.form
    if not form.is_bound:
        shown: Mapping[str, Any] = {name: form[name].value() for name in form.fields}
        form = RequestForm(shown, ground=desk.ground)
    if not form.is_valid():
        return None
    name, taker_id = form.cleaned_data.get("to_account", ""), None
    if name:
        try:
            taker_id = queries.account_by_name(here.id, name.strip()).id
        except NotFound as error:
            form.add_error("to_account", said(error, here.zone))
            return None
    return form.terms(to_account_id=taker_id)


def _act(request: PageRequest, desk: Desk) -> HttpResponse | None:
    """Keep the draft or hand it in; None: the form is shown again."""
    assert desk.terms is not None
    row = desk.row
    if desk.step == SUBMIT:
        desk.form.refuse(_missing(desk.terms))
        if desk.form.errors:
            return None
        command: Any = Submit
    elif desk.step in (DRAFT, AUTOSAVE):
        same = row is not None and row.request.terms == desk.terms
        if desk.step == AUTOSAVE and (same or not _worth(desk.terms)):
            desk.kept = same
            return None
        command = SaveDraft
    else:
        return None
    result = _execute(
        request,
        desk,
        command(
            terms=desk.terms,
            request_id=row.request.id if row else None,
            expected_version=desk.version if row else None,
        ),
    )
    if result is None:
        return None
    if desk.step == AUTOSAVE:
        with scope.reading(request.page.id):
            desk.row, desk.version = visible(request.page, result.request_id), result.version
        desk.kept = True
        return None
    if desk.step == DRAFT:
        messages.success(request, "The draft is kept. Only you see it.")
        return HttpResponseRedirect(reverse("request_edit", args=[result.request_id]))
    _say(request, result)
    return HttpResponseRedirect(reverse("request", args=[result.request_id]))


def _worth(terms: Terms) -> bool:
    """Somebody has written something that would be a loss."""
    return terms.units is not None or bool(terms.purpose)


def _missing(terms: Terms) -> list[DomainError]:
    """All that was left empty, at once."""
    found: list[DomainError] = []
    if terms.units is None and terms.kind not in WITHOUT_UNITS:
        found.append(Invalid("units_missing", "Say how many units.", field="units"))
    if not terms.purpose:
        found.append(Invalid("purpose_missing", "Say what the units are for.", field="purpose"))
    return found


def _execute(request: PageRequest, desk: Desk, command: Any) -> RequestAnswer | None:
    here = request.page
    key = key_of(request)
    try:
        outcome = execute(
            command,
            Context(
                organization_id=here.id,
                actor=here.actor,
                now=here.now,
                idempotency_key=f"{key}/{desk.step}" if key and desk.step != AUTOSAVE else None,
            ),
        )
    except (Denied, NotFound):
        raise
    except Conflict as error:
        desk.notice = _SPENT if error.code == "idempotency_key_reused" else said(error, here.zone)
        # What the first one did stands; the key of a refusal is spent.
        desk.key = str(new_id())
        if desk.row is not None:
            with scope.reading(here.id):
                desk.row = visible(here, desk.row.request.id)
            desk.version = desk.row.request.version
        return None
    except DomainError as error:
        desk.form.refuse([error])
        desk.key = str(new_id())
        return None
    return outcome.result


def _say(request: PageRequest, result: RequestAnswer) -> None:
    if result.state == State.PROVISIONED:
        messages.success(request, "Granted at once: it stands from now on.")
    elif result.state == State.APPROVED:
        messages.success(request, "Granted: it begins by itself on the day you asked for.")
    else:
        here = request.page
        with scope.reading(here.id):
            names = queries.names_of(here.id, people=result.asked_ids)
        who = request_words.any_of([names.get(one, "?") for one in result.asked_ids])
        # Who expected to get it at once reads what came between.
        why = f" {' '.join(result.reasons)}" if result.reasons else ""
        messages.success(request, f"Handed in. It waits for {who or 'approval'}.{why}")


def _siblings(here: Page, desk: Desk) -> list[str]:
    """Accounts that could receive: under the same parent. Only a transfer asks."""
    if desk.terms is None or desk.terms.kind != Kind.TRANSFER:
        return []
    row = queries.account(here.id, desk.terms.account_id)
    if row.parent_id is None:
        return []
    beside = queries.accounts(here.id, parent_id=row.parent_id, limit=SELECT_MAX)
    return [one.name for one in beside if one.id != row.id]


def _question(here: Page, row: RequestRow | None) -> DecisionRow | None:
    """What a reviewer asked last."""
    asked = called_by_name(here.id, decisions_of(here.id, row.request.id))[0] if row else []
    return asked[-1] if asked and asked[-1].reason else None


def _context(request: PageRequest, desk: Desk) -> dict[str, Any]:
    row, ground = desk.row, desk.ground
    kinds = [(str(kind), *words) for kind, words in request_words.KINDS.items()]
    address = reverse("request_edit", args=[row.request.id]) if row else reverse("request_new")
    return {
        "form": desk.form,
        "form_key": desk.key,
        "version": desk.version,
        "row": row,
        "again": ground.fixed is not None,
        "kind_title": request_words.KINDS[row.request.terms.kind][0] if row else "",
        "address": address,
        "accounts": list(ground.accounts) if len(ground.accounts) <= SELECT_MAX else [],
        "some_accounts": list(ground.accounts)[:SELECT_MAX],
        "kinds": kinds[:COMMON_KINDS],
        "other_kinds": kinds[COMMON_KINDS:],
        "other_kind": desk.form["kind"].value() in {one[0] for one in kinds[COMMON_KINDS:]},
        "look": desk.preview,
        "notice": desk.notice,
        "kept": desk.kept,
        "step": desk.step,
        "usual_days": USUAL_LENGTH.days,
        "currency": request.page.organization.currency,
        "partials": ("preview", "draft"),
    }
