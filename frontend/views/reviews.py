"""What reviewers do: the inbox with its evidence, one decision, and several at once."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from frontend import numbers, parameters, request_words
from frontend.errors import said
from frontend.forms.reviews import APPROVE, EVERY_WAY, REJECT, DecideForm
from frontend.forms.sending import Sent, key_of, send, version_seen
from frontend.pages import Page, PageRequest, page, render
from frontend.reviewing import Judged, Review, chance_of, judge, review_of
from ledger import scope
from ledger.errors import Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.reviews import Approve, Reject
from quota.domain.requests import Kind, State
from quota.loading import requests as loading
from quota.queries import pools_with_weights
from quota.queries.inbox import InboxRow, inbox, inbox_count
from quota.queries.requests import RequestRow, may_see, named_rows, request_row
from tenancy import queries as tenancy
from tenancy.domain.roles import REQUEST_REVIEW

PAGE_ROWS: Final = 25
REASON_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A request in the inbox. `pick` is what its checkbox sends: the request as it was seen."""

    row: RequestRow
    title: str
    on_behalf_of: str
    judged: Judged
    length: str
    pick: str
    picked: bool

    @property
    def overdue(self) -> bool:
        return self.row.request.escalations > 0


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def reviews(request: PageRequest) -> HttpResponse:
    """What waits for the viewer, the nearest deadline first (GET); several decisions (POST)."""
    if request.method != "POST":
        return _inbox(request)
    what = parameters.choice(request.POST, "what", (APPROVE, REJECT), APPROVE)
    picks = _picks(request)
    reason = request.POST.get("reason", "").strip()
    problem = ""
    if not picks:
        problem = "Select at least one request."
    elif what == REJECT and not reason:
        problem = "Say why: each requester reads the reason."
    elif len(reason) > REASON_MAX or not reason.isprintable():
        problem = f"A reason is one line of at most {REASON_MAX} characters."
    if problem:
        return _inbox(request, problem=problem, picked={one for one, _ in picks}, reason=reason)
    if request.POST.get("step") != "save":
        return _confirm(request, what, picks, reason)
    return _decided(request, what, picks, reason)


def _inbox(
    request: PageRequest,
    *,
    problem: str = "",
    picked: frozenset[UUID] | set[UUID] = frozenset(),
    reason: str = "",
) -> HttpResponse:
    here = request.page
    query = request.GET
    account = parameters.text(query, "account")
    pool = parameters.text(query, "pool")
    kind = parameters.choice(query, "kind", ("", *map(str, Kind)), "")
    after = _after(query, here.zone)
    account_error = ""
    with scope.reading(here.id):
        pools = pools_with_weights(here.id)
        below_id = None
        if account:
            try:
                below_id = tenancy.account_by_name(here.id, account).id
            except NotFound:
                account_error = f"There is no account {account}. Everything is shown."
        found = inbox(
            here.id,
            here.actor.id,
            now=here.now,
            below_id=below_id,
            pool_id=_pool(pools, pool) if pool else None,
            kind=kind or None,
            after=after,
            limit=PAGE_ROWS,
        )
        lines = _lines(here, found.rows, picked)
        waiting = inbox_count(here.id, here.actor.id, now=here.now)
    following = None
    if found.next_after:
        at, last = found.next_after
        more = query.copy()
        more["after"] = f"{at.isoformat()}/{last}"
        following = f"{request.path}?{more.urlencode()}"
    return render(
        request,
        "reviews/inbox.html",
        {
            "lines": lines,
            "waiting": waiting,
            "filtered": bool(account or pool or kind),
            "account": account,
            "account_error": account_error,
            "pool": pool,
            "kind": kind,
            "pools": [one.name for one in pools],
            "kinds": [(str(one), request_words.KINDS[one][0]) for one in Kind],
            "problem": problem,
            "reason": reason,
            "form_key": new_id(),
            "here": request.get_full_path(),
            "first_page": after is None,
            "next": following,
            "may_review": REQUEST_REVIEW in here.held,
            "partials": ("rows",),
        },
        status=400 if problem or account_error else 200,
    )


def _after(query: Any, zone: ZoneInfo) -> tuple[datetime, UUID] | None:
    given = parameters.text(query, "after")
    if not given:
        return None
    at, _, last = given.partition("/")
    clean = query.copy()
    clean["after"] = at
    instant = parameters.moment(clean, "after", zone)
    return (instant, parameters.ident(last, what="page")) if instant else None


def _pool(pools: list, name: str) -> UUID:
    for one in pools:
        if one.name == name:
            return one.id
    raise NotFound("pool_unknown", "There is no such pool.", field="pool")


def _lines(here: Page, rows: tuple[InboxRow, ...], picked: Any) -> list[Line]:
    judged = judge(here, [one.row for one in rows])
    absent = {one.on_behalf_of_id for one in rows} - {None}
    names = tenancy.names_of(here.id, people=absent) if absent else {}
    return [
        Line(
            row=one.row,
            title=request_words.what(one.row),
            on_behalf_of=names.get(one.on_behalf_of_id, ""),
            judged=judged[one.row.request.id],
            length=length_of(one.row, here),
            pick=f"{one.row.request.id}:{one.row.request.version}",
            picked=one.row.request.id in picked,
        )
        for one in rows
    ]


def length_of(row: RequestRow, here: Page) -> str:
    """For how long something is asked, in words."""
    terms = row.request.terms
    days = terms.days(here.now)
    if days is None:
        said = "for good"
    elif days <= 0:
        said = "the period is over"
    else:
        said = f"{days:,} day{'' if days == 1 else 's'}"
    if terms.starts_at and terms.starts_at > here.now:
        said += f", from {numbers.moment(terms.starts_at, here.zone)}"
    return said


def _picks(request: PageRequest) -> list[tuple[UUID, int]]:
    """The requests that were selected, each with the version that was seen."""
    found = []
    for given in parameters.free(request.POST, "request"):
        ident, _, version = given.partition(":")
        if not (version.isascii() and version.isdigit() and len(version) < 10):
            raise NotFound("request_unknown", "There is no such request.", field="request")
        found.append((parameters.ident(ident, what="request"), int(version)))
    return list(dict.fromkeys(found))


def _confirm(
    request: PageRequest, what: str, picks: list[tuple[UUID, int]], reason: str
) -> HttpResponse:
    """What is about to be decided, before it is: a decision cannot be taken back."""
    here = request.page
    with scope.reading(here.id):
        rows = _visible(here, [one for one, _ in picks])
        judged = judge(here, rows)
    lines = [
        (row, request_words.what(row), judged[row.request.id], length_of(row, here)) for row in rows
    ]
    return render(
        request,
        "reviews/confirm.html",
        {
            "what": what,
            "lines": lines,
            "picks": [f"{ident}:{version}" for ident, version in picks],
            "short": sum(not one.fits for one in judged.values()),
            "reason": reason,
            "form_key": new_id(),
            "back": request.get_full_path(),
        },
    )


def _visible(here: Page, ids: list[UUID]) -> list[RequestRow]:
    """Rows of requests that exist and are the viewer's business, in the order given."""
    known = loading.requests(here.id, ids)
    for ident in ids:
        one = known.get(ident)
        if one is None or not may_see(here.actor, one, here.id, now=here.now):
            raise NotFound("request_unknown", "There is no such request.", field="request")
    return list(named_rows(here.id, [known[ident] for ident in ids], now=here.now))


def _decided(
    request: PageRequest, what: str, picks: list[tuple[UUID, int]], reason: str
) -> HttpResponse:
    """Decide each by a command of its own: one that fails stops no other, and none is half done."""
    here = request.page
    key = key_of(request)
    with scope.reading(here.id):
        titles = {
            row.request.id: request_words.what(row)
            for row in _visible(here, [ident for ident, _ in picks])
        }
    results = []
    command = Approve if what == APPROVE else Reject
    for ident, version in picks:
        context = Context(
            organization_id=here.id,
            actor=here.actor,
            now=here.now,
            reason=reason,
            idempotency_key=f"{key}/{ident}" if key else None,
        )
        try:
            made = execute(command(request_id=ident, expected_version=version), context).result
            results.append((ident, titles[ident], True, outcome(made)))
        except DomainError as error:
            results.append((ident, titles[ident], False, said(error, here.zone)))
    failed = sum(not done for _, _, done, _ in results)
    return render(
        request,
        "reviews/results.html",
        {
            "results": results,
            "done": len(results) - failed,
            "failed": failed,
            "back": request.get_full_path(),
        },
    )


def outcome(made: Any) -> str:
    """What a decision came to."""
    if made.state == State.SUBMITTED:
        kept = "Your approval is kept. Another person has to approve it, too."
        return " ".join((kept, *made.reasons))
    return {
        State.PROVISIONED: "Granted; the quota stands.",
        State.APPROVED: "Granted; the quota will stand from its start.",
        State.COUNTERED: "Offered. It waits for the requester's word.",
        State.CHANGES_REQUESTED: "Asked. It comes back when it is handed in again.",
        State.REJECTED: "Rejected. The requester reads the reason.",
    }.get(made.state, "Decided.")


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def decide(request: PageRequest, request_id: str) -> HttpResponse:
    """One request with everything to decide it on (GET); the decision (POST)."""
    here = request.page
    wanted = parameters.ident(request_id, what="request")
    values = request.POST if request.method == "POST" else request.GET
    back = _safe(values.get("back", ""))
    with scope.reading(here.id):
        row = _visible(here, [wanted])[0]
    if request.method != "POST":
        what = parameters.choice(request.GET, "what", ("", *sorted(EVERY_WAY)), "")
        return _panel(request, wanted, back=back, what=what)
    form = DecideForm(request.POST, row=row, zone=here.zone)
    sent = Sent(None, form_key=new_id())
    if form.is_valid():
        command = form.command(wanted, expected_version=version_seen(request))
        sent = send(request, form, command, field_of=form.field_of)
        if sent.result is not None:
            messages.success(request, f"{request_words.what(row)}: {outcome(sent.result)}")
            return HttpResponseRedirect(back or reverse("request", args=[wanted]))
    return _panel(request, wanted, back=back, form=form, sent=sent)


def _panel(
    request: PageRequest,
    wanted: UUID,
    *,
    back: str,
    what: str = "",
    form: DecideForm | None = None,
    sent: Sent | None = None,
) -> HttpResponse:
    """The page of one decision, on what stands now, with what was typed."""
    here = request.page
    with scope.reading(here.id):
        row = request_row(here.id, wanted, now=here.now)
        review = review_of(here, row, data=form.data if form else None, what=what, back=back)
        if review is None:
            raise Denied(
                "not_a_reviewer",
                chance_of(here, row).detail,
                facts={"roles": ["approver", "operator"]},
            )
    notice = ""
    if form is not None and sent is not None:
        notice = sent.notice or " ".join(form.non_field_errors())
        if notice:
            notice += _lately(here, review)
        review.form_key = sent.form_key
        review.short_by = sent.short_by
        review.form.is_valid()
        for name, said in form.errors.items():
            if name != "__all__" and name in review.form.fields:
                review.form.errors[name] = said
    return render(
        request,
        "reviews/decide.html",
        {
            "row": row,
            "title": review.title,
            "kind_title": request_words.KINDS[row.request.terms.kind][0],
            "review": review,
            "notice": notice,
            "still_open": row.request.state == State.SUBMITTED,
            "partials": ("panel",),
        },
        status=409 if notice else (400 if form is not None and form.errors else 200),
    )


def _lately(here: Page, review: Review) -> str:
    """Who decided last, for somebody who came too late."""
    if not review.decisions:
        return ""
    last = review.decisions[-1]
    said = request_words.DECISIONS[last.decision]
    return (
        f" Last: {said} by {last.person or 'the policy'} {numbers.ago(last.decided_at, here.now)}."
    )


def _safe(back: str) -> str:
    """An address of ours to go back to."""
    ours = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if ours else ""
