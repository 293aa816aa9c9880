"""One request: the page that those who ask and those who review both open."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

from frontend import parameters, request_words
from frontend.errors import said
from frontend.forms.requests import usual_end
from frontend.forms.sending import key_of, version_seen
from frontend.full_names import called_by_name
from frontend.pages import Page, PageRequest, page, render
from frontend.reviewing import review_of
from ledger import scope
from ledger.errors import Denied, DomainError, Invalid, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.requests import (
    MENTIONS_MAX,
    AcceptCounter,
    Attach,
    Comment,
    DiscardDraft,
    Submit,
    Withdraw,
    extension_of,
)
from quota.domain import attachments as files
from quota.domain.requests import OPEN, WITHDRAWABLE, Kind, State, Terms
from quota.queries.inbox import asked_people
from quota.queries.mentionable import mentionable
from quota.queries.requests import (
    RequestDetail,
    RequestRow,
    attachment_content,
    detail,
    may_see,
    request_row,
)
from quota.queries.short_names import short_names
from tenancy import queries
from tenancy.domain.roles import LEDGER_READ, REQUEST_WRITE

MENTION = re.compile(r"(?<![\w@])@([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)", re.IGNORECASE)
PEOPLE_SHOWN = 8
OVER = (State.REJECTED, State.WITHDRAWN, State.EXPIRED, State.RECLAIMED)
ENDS_SOON = timedelta(days=14)
"""From here on, when the first notice is sent, a later end is what the page is about."""
STEPS = ("withdraw", "accept", "extend", "discard", "comment", "attach")


@dataclass(slots=True)
class Discussion:
    """What was typed into the discussion and why it was not kept."""

    text: str = ""
    text_error: str = ""
    file_error: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def one(request: PageRequest, request_id: str) -> HttpResponse:
    """Show it (GET); withdraw, accept, discard, say something, attach (POST)."""
    here = request.page
    with scope.reading(here.id):
        row = visible(here, parameters.ident(request_id, what="request"))
    if request.method != "POST":
        return show(request, row)
    step = parameters.choice(request.POST, "step", STEPS, "")
    discussion = Discussion(text=request.POST.get("text", "") if step == "comment" else "")
    try:
        result = _take(request, row, step)
    except (Denied, NotFound):
        raise
    except DomainError as error:
        if step == "comment":
            discussion.text_error = said(error, here.zone)
        elif step == "attach":
            discussion.file_error = said(error, here.zone)
        problem = "" if step in ("comment", "attach") else said(error, here.zone)
        with scope.reading(here.id):
            row = visible(here, row.request.id)
        return show(request, row, problem=problem, discussion=discussion, status=error.status)
    if step == "discard":
        return HttpResponseRedirect(reverse("requests"))
    if step == "extend":
        # What was asked for is another request.
        return HttpResponseRedirect(reverse("request", args=[result.request_id]))
    anchor = {"comment": "#discussion", "attach": "#files"}.get(step, "")
    return HttpResponseRedirect(reverse("request", args=[row.request.id]) + anchor)


def visible(here: Page, request_id: UUID) -> RequestRow:
    """A request that is the person's business. Inside `scope.reading`.

    Raises:
        NotFound: there is none, or none for them.
    """
    row = request_row(here.id, request_id, now=here.now)
    if not may_see(here.actor, row.request, here.id, now=here.now):
        raise NotFound("request_unknown", "There is no such request.", field="request")
    return row


def _take(request: PageRequest, row: RequestRow, step: str) -> Any:
    """Do what a button says.

    Raises:
        DomainError: and nothing was done.
    """
    version, wanted = version_seen(request), row.request.id
    reason = parameters.text(request.POST, "reason")
    done = {
        "withdraw": "The request is withdrawn.",
        "accept": "You accepted the offer.",
        "extend": "The later end is asked for.",
        "discard": "The draft is gone.",
        "comment": "Your word is kept with the request.",
        "attach": "The file is kept with the request.",
    }
    if step == "withdraw":
        command: Any = Withdraw(request_id=wanted, expected_version=version)
    elif step == "accept":
        command = AcceptCounter(request_id=wanted, expected_version=version)
    elif step == "extend":
        command = Submit(terms=_later(request, row))
    elif step == "discard":
        command = DiscardDraft(request_id=wanted)
    elif step == "comment":
        text = request.POST.get("text", "").replace("\r\n", "\n").strip()
        command = Comment(
            request_id=wanted, text=text, mentioned_ids=_mentioned(request.page, text)
        )
    else:
        command = _attach(request, wanted)
    here = request.page
    context = Context(
        organization_id=here.id,
        actor=here.actor,
        now=here.now,
        reason=reason,
        idempotency_key=key_of(request),
    )
    result = execute(command, context).result
    more = result.reasons if step == "accept" else ()
    messages.success(request, " ".join((done[step], *more)))
    return result


def _later(request: PageRequest, row: RequestRow) -> Terms:
    """Terms of the extension by one click: the day that the button named."""
    until = parameters.moment(request.POST, "until", request.page.zone)
    if until is None or not extendable(row):
        raise Invalid("not_extendable", "This has no end that could be put off.", field="until")
    return extension_of(row.request, ends_at=until)


def _attach(request: PageRequest, request_id: UUID) -> Attach:
    file = request.FILES.get("file")
    if file is None:
        raise Invalid("file_empty", "Choose a file first.", field="file")
    # One byte more than is taken tells that it is too large; the rest need not be read.
    content = file.read(files.SIZE_MAX + 1)
    return Attach(request_id=request_id, name=file.name or "", content=content)


def _mentioned(here: Page, text: str) -> tuple[UUID, ...]:
    """Ids of everybody whose name stands after an @.

    Raises:
        Invalid: nobody has that name.
    """
    names = list(dict.fromkeys(name.casefold() for name in MENTION.findall(text)))
    found = []
    with scope.reading(here.id):
        for name in names[: MENTIONS_MAX + 1]:
            try:
                found.append(queries.person_by_name(here.id, name).id)
            except NotFound:
                raise Invalid(
                    "person_unknown",
                    f"Nobody here is called @{name}. Correct the name, or leave the @ out.",
                    field="text",
                ) from None
    return tuple(found)


def show(
    request: PageRequest,
    row: RequestRow,
    *,
    problem: str = "",
    discussion: Discussion | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of a visible request, now or as of an instant."""
    here = request.page
    as_of = parameters.moment(request.GET, "as_of", here.zone)
    if as_of is not None and as_of > here.now:
        raise Invalid("as_of_in_future", "This page looks back.", field="as_of")
    with scope.reading(here.id):
        known = _called(here, detail(here.id, row.request.id, now=here.now, as_of=as_of))
        if as_of and not may_see(here.actor, known.row.request, here.id, now=here.now):
            # Then it was still a draft, and that is its author's alone.
            raise NotFound("request_unknown", "There was no such request then.", field="as_of")
        context = _context(here, known, as_of)
    return render(
        request,
        "requests/detail.html",
        context
        | {
            "problem": problem,
            "discussion": discussion or Discussion(),
            "as_of": as_of,
            "as_of_field": as_of.astimezone(here.zone).strftime("%Y-%m-%dT%H:%M") if as_of else "",
            "form_key": new_id(),
        },
        status=status,
    )


def _called(here: Page, known: RequestDetail) -> RequestDetail:
    """With everybody called by their full name."""
    comments, attachments, decisions = called_by_name(
        here.id, known.comments, known.attachments, known.decisions
    )
    return replace(
        known,
        comments=tuple(comments),
        attachments=tuple(attachments),
        decisions=tuple(decisions),
    )


def _context(here: Page, known: RequestDetail, as_of: datetime | None) -> dict[str, Any]:
    row = known.row
    wanted = row.request
    asked_ids = asked_people(here.id, wanted, now=here.now)
    names = queries.names_of(here.id, people=asked_ids)
    mine = here.actor.id in wanted.author_ids or here.may(REQUEST_WRITE, wanted.account_id)
    is_draft = wanted.state in (State.DRAFT, State.DISCARDED)
    return {
        "detail": known,
        "row": row,
        "address": reverse("request", args=[wanted.id]),
        "title": request_words.what(row),
        "state": request_words.STATES[State(row.state)],
        "kind_title": request_words.KINDS[wanted.terms.kind][0],
        "next_step": request_words.next_step(
            row, asked=[names.get(one, "?") for one in asked_ids], zone=here.zone
        ),
        "question": _question(known),
        "steps": request_words.timeline(known, zone=here.zone),
        "people": _people(known, asked_ids, here),
        "mine": mine,
        "review": review_of(here, row) if as_of is None else None,
        # Who offered less does not take it for those who ask.
        "may_accept": wanted.counter is not None
        and here.actor.id not in (wanted.counter.by.reviewer_id, wanted.counter.by.on_behalf_of_id),
        "may_withdraw": wanted.state in WITHDRAWABLE,
        "extend_to": usual_end(wanted.terms.ends_at, here.zone)
        if mine and extendable(row)
        else None,
        "ends_soon": wanted.terms.ends_at is not None
        and wanted.terms.ends_at - here.now <= ENDS_SOON,
        "ask_again": _again(row) if wanted.state in OVER else "",
        "may_speak": not is_draft and as_of is None,
        "may_attach": as_of is None and (wanted.state == State.DRAFT or wanted.state in OPEN),
        "sees_event": LEDGER_READ in here.held and not is_draft,
    }


def _again(row: RequestRow) -> str:
    """The form, filled as it was then; what is over once is asked for anew."""
    terms = row.request.terms
    known = {"account": row.account, "pool": row.pool, "kind": terms.kind, "units": terms.units}
    told = urlencode({name: value for name, value in known.items() if value is not None})
    return f"{reverse('request_new')}?{told}"


def extendable(row: RequestRow) -> bool:
    """Something was granted for a while and still stands."""
    return (
        row.state == State.PROVISIONED
        and row.request.terms.ends_at is not None
        and row.request.terms.kind != Kind.JUSTIFICATION
    )


def _question(known: RequestDetail) -> Any:
    """The last word of a reviewer, where it is what everybody waits for."""
    answered = (State.CHANGES_REQUESTED, State.COUNTERED, State.REJECTED)
    decisions = [one for one in known.decisions if one.reason]
    if known.row.state not in answered or not decisions:
        return None
    return decisions[-1]


def _people(known: RequestDetail, asked_ids: tuple[UUID, ...], here: Page) -> list[str]:
    """Names to mention: those who ask, who are asked, and who speak here, but for the reader."""
    beside = {*known.row.request.author_ids, *asked_ids, *(one.author_id for one in known.comments)}
    return sorted(short_names(here.id, beside - {here.actor.id}).values())[:PEOPLE_SHOWN]


@require_safe
@page()
def people(request: PageRequest, request_id: str) -> HttpResponse:
    """Whom a word after an @ could mean, for the script of the discussion."""
    here = request.page
    row = visible(here, parameters.ident(request_id, what="request"))
    found = mentionable(
        here.id,
        row.request,
        parameters.text(request.GET, "begins"),
        now=here.now,
        reader_id=here.actor.id,
        first={*row.request.author_ids, *asked_people(here.id, row.request, now=here.now)},
    )
    return JsonResponse({"people": [{"name": name, "called": called} for name, called in found]})


@require_safe
@page()
def file(request: PageRequest, request_id: str, attachment_id: str) -> HttpResponse:
    """A file as a download: never shown in our origin, never guessed at."""
    here = request.page
    row = visible(here, parameters.ident(request_id, what="request"))
    found, content = attachment_content(
        here.id, row.request.id, parameters.ident(attachment_id, what="attachment")
    )
    response = HttpResponse(
        content,
        content_type=found.media_type,
        headers={
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )
    response["Content-Disposition"] = content_disposition_header(True, found.name)
    return response
