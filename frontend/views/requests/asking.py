"""The form of a request: tried as it is typed, kept as a draft, handed in once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend import parameters, request_words
from frontend.forms.requests import (
    GOOD,
    UNTIL,
    USUAL_LENGTH,
    Ground,
    RequestForm,
    initial_of,
    usual_end,
)
from frontend.forms.sending import form_status, key_of, version_seen
from frontend.pages import Page, PageRequest, page, render
from frontend.request_preview import Look, enough, look
from frontend.views.requests.one import extendable, visible
from ledger import scope
from ledger.errors import Conflict, Denied, DomainError, Invalid, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.requests import SaveDraft, Submit, extension_of
from quota.domain.requests import EDITABLE, Kind, State, Terms, Workload
from quota.queries import pools_with_weights
from quota.queries.quotas import QuotaRow, quotas_of_account
from quota.queries.requests import RequestRow, requests
from quota.requesting import RequestAnswer
from tenancy import policy, queries
from tenancy.domain.roles import REQUEST_WRITE, granting
from tenancy.queries import AccountRow

CHECK, AUTOSAVE, DRAFT, SUBMIT = "check", "autosave", "draft", "save"
SELECT_MAX = 100
"""Beyond so many accounts one types a name rather than scrolls."""
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
        ground = _ground(here, row, wanted)
        initial = _initial(request, row, ground)
    form = RequestForm(_filled(request.POST) if posted else None, ground=ground, initial=initial)
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
    return render(
        request,
        "requests/form.html",
        _context(request, desk) | {"siblings": beside},
        status=form_status(request, form, notice=desk.notice if desk.step == SUBMIT else ""),
    )


def _step(request: PageRequest) -> str:
    given = request.POST.get("step", CHECK)
    return given if given in (CHECK, AUTOSAVE, DRAFT, SUBMIT) else CHECK


def _filled(data: Any) -> Any:
    """What was sent, with the nearest request that would pass where its button was pressed."""
    start, _, end = data.get("take_start", "").partition("|")
    units = data.get("take_units", "")
    if not start and not units:
        return data
    data = data.copy()
    if units:
        data["units"] = units
    if start:
        data["starts_at"] = start
        data["lasts"], data["ends_at"] = (UNTIL, end) if end else (GOOD, "")
    return data


def _ground(here: Page, row: RequestRow | None, wanted: str) -> Ground:
    """Accounts that one may ask for, and pools.

    Raises:
        Denied: for none.
    """
    tops = policy.accounts_with(here.actor, REQUEST_WRITE, here.id)
    if not tops and row is None:
        raise Denied(
            "role_missing",
            "Quota is asked for by those who lead an account. Ask the lead of yours.",
            facts={"permission": REQUEST_WRITE, "roles": list(granting(REQUEST_WRITE))},
        )
    found = queries.accounts(here.id, under=tops, limit=SELECT_MAX + 1) if tops else []
    first = queries.names_of(here.id, accounts=tops[:1])
    names = {name: ident for ident, name in first.items()} | {one.name: one.id for one in found}
    if row is not None:
        names.setdefault(row.account, row.request.account_id)
    if wanted and wanted not in names:
        other = _other_account(here, wanted)
        if other is not None:
            names[other.name] = other.id
    pools = {one.name: one.id for one in pools_with_weights(here.id)}
    submitted = row is not None and row.request.state != State.DRAFT
    return Ground(
        accounts=names,
        pools=pools,
        zone=here.zone,
        now=here.now,
        fixed=row.request.terms if submitted else None,
    )


def _other_account(here: Page, name: str) -> AccountRow | None:
    """One that is not among the first by name, if it may be asked for."""
    try:
        row = queries.account_by_name(here.id, name)
    except NotFound:
        return None
    allowed = row.archived_at is None and here.may(REQUEST_WRITE, row.id)
    return row if allowed else None


def _initial(request: PageRequest, row: RequestRow | None, ground: Ground) -> dict[str, Any]:
    """What the form says before anybody typed: the draft, the address, or what is usual."""
    here = request.page
    if row is not None:
        terms = row.request.terms
        return initial_of(terms, account=row.account, pool=row.pool, to_account=row.to_account)
    if request.method == "POST":
        return {}
    extended = parameters.text(request.GET, "extend")
    if extended:
        return _extension(here, visible(here, parameters.ident(extended, what="request")))
    account = parameters.text(request.GET, "account")
    if account not in ground.accounts:
        if account:
            raise NotFound(
                "account_unknown", "There is no such account for you to ask for.", field="account"
            )
        account = next(iter(ground.accounts))
    quotas = {
        one.pool: one for one in quotas_of_account(here.id, ground.accounts[account], now=here.now)
    }
    pool = parameters.choice(request.GET, "pool", ("", *ground.pools), "")
    pool = pool or _usual_pool(ground, quotas)
    held = quotas.get(pool)
    usual = Kind.BOOST if held and held.quota.guaranteed else Kind.NEW
    kind = parameters.choice(request.GET, "kind", ("", *Kind), usual) or usual
    end = usual_end(here.now, here.zone)
    purpose = ""
    if kind == Kind.EXTENSION and held and held.ends_at:
        end = usual_end(held.ends_at, here.zone)
        purpose = _purpose_of_last(here, ground, account, pool)
    return {
        "account": account,
        "pool": pool,
        "kind": str(kind),
        "units": parameters.whole(request.GET, "units"),
        "lasts": UNTIL,
        "ends_at": end,
        "workload": str(Workload.TRAINING),
        "tier": "guaranteed",
        "purpose": purpose,
    }


def _usual_pool(ground: Ground, quotas: Mapping[str, QuotaRow]) -> str:
    """Where the account has most; where it has nothing, the first one."""
    most = max(quotas.values(), key=lambda one: one.quota.guaranteed, default=None)
    return most.pool if most and most.quota.guaranteed else next(iter(ground.pools), "")


def _extension(here: Page, row: RequestRow) -> dict[str, Any]:
    """The form of a later end of what a request was granted."""
    if not extendable(row):
        raise Invalid("not_extendable", "This has no end that could be put off.", field="extend")
    later = extension_of(row.request, ends_at=usual_end(row.request.terms.ends_at, here.zone))
    return initial_of(later, account=row.account, pool=row.pool, to_account=None)


def _purpose_of_last(here: Page, ground: Ground, account: str, pool: str) -> str:
    """What the quota that runs was asked for, if it was asked for."""
    found = requests(
        here.id,
        now=here.now,
        account_ids=[ground.accounts[account]],
        pool_id=ground.pools[pool],
        states=(State.PROVISIONED,),
        limit=1,
    ).rows
    return found[0].request.terms.purpose if found else ""


def _terms(here: Page, desk: Desk) -> Terms | None:
    """What the form asks for, of the one sent or of the one first shown; None: it cannot be
    told yet. Inside `scope.reading`."""
    form = desk.form
    if not form.is_bound:
        shown: Mapping[str, Any] = {name: form[name].value() for name in form.fields}
        form = RequestForm(shown, ground=desk.ground)
    if not form.is_valid():
        return None
    name, receiver = form.cleaned_data.get("to_account", ""), None
    if name:
        try:
            receiver = queries.account_by_name(here.id, name.strip()).id
        except NotFound as error:
            form.add_error("to_account", error.detail)
            return None
    return form.terms(to_account_id=receiver)


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
    if terms.purpose:
        return []
    return [Invalid("purpose_missing", "Say what the units are for.", field="purpose")]


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
        desk.notice = error.detail
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
        messages.success(request, f"Handed in. It waits for {who or 'approval'}.")


def _siblings(here: Page, desk: Desk) -> list[str]:
    """Accounts that could receive: under the same parent. Only a transfer asks."""
    if desk.terms is None or desk.terms.kind != Kind.TRANSFER:
        return []
    row = queries.account(here.id, desk.terms.account_id)
    if row.parent_id is None:
        return []
    beside = queries.accounts(here.id, parent_id=row.parent_id, limit=SELECT_MAX)
    return [one.name for one in beside if one.id != row.id]


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
