"""What those who ask do: draft, hand in, withdraw, accept an offer, say a word, attach a file."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from quota import events
from quota import request_events as ev
from quota.domain import attachments
from quota.domain.approvals import void
from quota.domain.request_state import Request, apply, terms_values
from quota.domain.requests import (
    EDITABLE,
    OPEN,
    WITHDRAWABLE,
    State,
    Terms,
    check_draft,
    moved_on,
)
from quota.loading import requests as loading
from quota.recording import open_books
from quota.requesting import (
    RequestAnswer,
    answer,
    board_of,
    check_party,
    check_requesting_side,
    evidence,
    facts_values,
    locked,
    person_of,
    provision,
    route,
    tell,
    tried,
    with_counter,
    without_void,
)
from tenancy.domain.roles import REQUEST_WRITE, TAKE_PART

COMMENT_LENGTH_MAX = 4_000
MENTIONS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDraft:
    """Keep what is written so far; nobody is asked. `request_id` None: a new draft."""

    terms: Terms
    request_id: UUID | None = None
    expected_version: int | None = None

    @property
    def account_id(self) -> UUID:
        return self.terms.account_id


@handles(SaveDraft, permission=REQUEST_WRITE, on="account_id")
def save_draft(command: SaveDraft, unit: Unit) -> RequestAnswer:
    """A draft is its author's alone, and may be as unfinished as it likes."""
    author = person_of(unit)
    check_draft(command.terms)
    loading.check_place(unit.organization_id, command.terms)
    request = _editable(command, unit, wanted="changed")
    return answer(_write(unit, request, command.terms, author))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardDraft:
    """Throw a draft away."""

    request_id: UUID
    expected_version: int | None = None


@handles(DiscardDraft, permission=TAKE_PART)
def discard_draft(command: DiscardDraft, unit: Unit) -> RequestAnswer:
    """Only what was never handed in."""
    request = locked(unit, command, states={State.DRAFT}, wanted="discarded")
    _check_own_draft(unit, request)
    return answer(tell(unit, request, ev.RequestDiscarded))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """Hand a request in: new, from a draft, or again after changes were asked for."""

    terms: Terms
    request_id: UUID | None = None
    expected_version: int | None = None

    @property
    def account_id(self) -> UUID:
        return self.terms.account_id


@handles(Submit, permission=REQUEST_WRITE, on="account_id")
def submit(command: Submit, unit: Unit) -> RequestAnswer:
    """Decide the route; what the policy grants is provisioned here and now."""
    author = person_of(unit)
    terms = command.terms
    policy = loading.policy(unit.organization_id)
    books = open_books(unit, (terms.pool_id,))
    request = _editable(command, unit, wanted="handed in")
    book = books.of[terms.pool_id]
    trial = tried(terms, books, policy=policy, now=unit.now)
    known = evidence(unit.organization_id, terms, book, trial, policy=policy, now=unit.now)
    authors = {author, *(request.author_ids if request else ())}
    board = loading.board(unit.organization_id, terms.account_id, authors, now=unit.now)
    decided, asked = route(board, known.facts, authors=authors, policy=policy, now=unit.now)
    data = ev.RequestSubmitted(
        request_id=request.id if request else unit.new_id(),
        account_id=terms.account_id,
        pool_id=terms.pool_id,
        author_id=author,
        terms=terms_values(terms),
        route=decided,
        facts=facts_values(known.facts),
    )
    unit.record(data)
    after = apply(request, data, unit.now)
    if decided.approvals == 0:
        after = tell(unit, after, ev.RequestGranted, reasons=decided.reasons)
        after = provision(unit, after, books)
    return answer(after, asked_ids=asked, reasons=decided.reasons)


def _editable(command: SaveDraft | Submit, unit: Unit, *, wanted: str) -> Request | None:
    """The request that is written on; None: a new one."""
    if command.request_id is None:
        return None
    request = locked(unit, command, states=EDITABLE, wanted=wanted)
    if request.state == State.DRAFT:
        _check_own_draft(unit, request)
        return request
    if isinstance(command, SaveDraft):
        raise moved_on(request.state, wanted="a draft")
    check_requesting_side(unit, request)
    for field in ("account_id", "pool_id", "kind"):
        if getattr(command.terms, field) != getattr(request.terms, field):
            raise Invalid(
                "terms_fixed",
                "Account, pool and kind stay once a request is handed in. Withdraw it, ask anew.",
                field=field.removesuffix("_id"),
            )
    return request


def _check_own_draft(unit: Unit, request: Request) -> None:
    """Other people's drafts do not exist for anyone else."""
    if person_of(unit) != request.requester_id:
        raise NotFound("request_unknown", "There is no such request.", field="request")


def _write(unit: Unit, request: Request | None, terms: Terms, author: UUID) -> Request:
    data = ev.RequestDrafted(
        request_id=request.id if request else unit.new_id(),
        account_id=terms.account_id,
        pool_id=terms.pool_id,
        author_id=author,
        terms=terms_values(terms),
    )
    unit.record(data)
    return apply(request, data, unit.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw:
    """No longer ask."""

    request_id: UUID
    expected_version: int | None = None


@handles(Withdraw, permission=TAKE_PART)
def withdraw(command: Withdraw, unit: Unit) -> RequestAnswer:
    """Any time before the quota stands; a change put down for later is taken back."""
    seen = loading.request(unit.organization_id, command.request_id)
    if seen.state == State.APPROVED:
        open_books(unit, (seen.pool_id,))
    request = locked(unit, command, states=WITHDRAWABLE, wanted="withdrawn")
    author = check_requesting_side(unit, request)
    if request.state != seen.state:
        # It was approved a moment ago: the pool of its change would have to be locked first.
        raise moved_on(request.state, wanted="withdrawn as it was")
    if request.change_id is not None:
        unit.record(
            events.QuotaScheduleCancelled(
                account_id=request.account_id,
                pool_id=request.pool_id,
                change_id=request.change_id,
            )
        )
    return answer(tell(unit, request, ev.RequestWithdrawn, author_id=author))


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptCounter:
    """Take what a reviewer offered instead; not to take it is to withdraw."""

    request_id: UUID
    expected_version: int | None = None


@handles(AcceptCounter, permission=TAKE_PART)
def accept_counter(command: AcceptCounter, unit: Unit) -> RequestAnswer:
    """The offer counts as its author's approval; if no other is needed, the quota stands."""
    seen = loading.request(unit.organization_id, command.request_id)
    books = open_books(unit, (seen.pool_id,))
    request = locked(unit, command, states={State.COUNTERED}, wanted="accepted")
    author = check_requesting_side(unit, request)
    _check_not_offered_by(unit, request, author)
    terms = with_counter(request)
    request, reasons = without_void(unit, request)
    offered = void(board_of(unit, request), [request.counter.by], authors=request.author_ids)
    complete = request.approvals_missing <= 1 and not offered
    hours = loading.policy(unit.organization_id).decide_hours
    after = tell(
        unit,
        request,
        ev.RequestCounterAccepted,
        author_id=author,
        units=terms.units,
        ends_at=terms.ends_at,
        complete=complete,
        due_at=None if complete else unit.now + timedelta(hours=hours),
    )
    if complete:
        return answer(provision(unit, after, books))
    after, more = without_void(unit, after)
    return answer(after, reasons=(*reasons, *more))


def _check_not_offered_by(unit: Unit, request: Request, person: UUID) -> None:
    """An offer waits for the word of those who ask: nobody speaks for both sides."""
    sides = [one for one in (request.counter and request.counter.by, *request.approvals) if one]
    spoke = [who for one in sides for who in (one.reviewer_id, one.on_behalf_of_id) if who]
    if board_of(unit, request, (person, *spoke)).is_one_of(person, spoke):
        raise Refused(
            "own_offer",
            "You spoke for the reviewers here. Somebody of the team has to take the offer.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """Say a word about a request; those mentioned are told."""

    request_id: UUID
    text: str
    mentioned_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commented:
    """Where the word stands."""

    request_id: UUID
    comment_id: UUID


@handles(Comment, permission=TAKE_PART)
def comment(command: Comment, unit: Unit) -> Commented:
    """Whoever sees the request may speak, also when it is over."""
    request = loading.request(unit.organization_id, command.request_id, lock=True)
    author = check_party(unit, request)
    if request.state in (State.DRAFT, State.DISCARDED):
        raise moved_on(request.state, wanted="discussed")
    if not command.text.strip():
        raise Invalid("comment_empty", "Say something.", field="text")
    if len(command.text) > COMMENT_LENGTH_MAX:
        raise Invalid(
            "comment_too_long",
            f"A comment has at most {COMMENT_LENGTH_MAX:,} characters.",
            field="text",
            facts={"maximum": COMMENT_LENGTH_MAX},
        )
    mentioned = tuple(dict.fromkeys(command.mentioned_ids))
    _check_mentioned(unit, request, mentioned)
    comment_id = unit.new_id()
    tell(
        unit,
        request,
        ev.RequestCommented,
        comment_id=comment_id,
        author_id=author,
        text=command.text,
        mentioned_ids=mentioned,
    )
    return Commented(request_id=request.id, comment_id=comment_id)


def _check_mentioned(unit: Unit, request: Request, mentioned: tuple[UUID, ...]) -> None:
    """A notice quotes the words: only who may see the request is told of them."""
    found = loading.people_seeing(unit.organization_id, request.account_id, mentioned)
    if len(mentioned) > MENTIONS_MAX or found.keys() != set(mentioned):
        raise Invalid(
            "person_unknown",
            f"Mention at most {MENTIONS_MAX} people of your organization.",
            field="mentioned",
        )
    blind = {person: name for person, (name, sees) in found.items() if not sees}
    if blind.keys() - set(request.author_ids):
        stand_ins = {one.delegate_id for one in board_of(unit, request).delegations}
        blind = {
            person: name
            for person, name in blind.items()
            if person not in stand_ins and person not in request.author_ids
        }
        if blind:
            names = ", ".join(f"@{name}" for name in blind.values())
            raise Invalid(
                "person_cannot_see",
                f"{names} may not see this request. Leave the @ out, or let somebody give "
                "them a role on the account first.",
                field="mentioned",
                facts={"people": list(blind.values())},
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    """Add a small file: PDF, PNG, JPEG, plain text or CSV, told by its bytes."""

    request_id: UUID
    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """Where the file stands."""

    request_id: UUID
    attachment_id: UUID
    media_type: str
    digest: str


@handles(Attach, permission=TAKE_PART)
def attach(command: Attach, unit: Unit) -> Attached:
    """The bytes go into a table of their own, their digest into the ledger."""
    request = loading.request(unit.organization_id, command.request_id, lock=True)
    author = check_party(unit, request)
    if request.state != State.DRAFT and request.state not in OPEN:
        raise moved_on(request.state, wanted="added to")
    if request.state == State.DRAFT:
        _check_own_draft(unit, request)
    room = attachments.FILES_MAX
    if loading.attachment_room(unit.organization_id, request.id) >= room:
        raise Refused(
            "too_many_files",
            f"A request has at most {room} files.",
            field="file",
            facts={"maximum": room},
        )
    file = attachments.check(name=command.name, content=command.content)
    digest = sha256(command.content).hexdigest()
    loading.keep_content(unit.organization_id, digest, command.content)
    attachment_id = unit.new_id()
    tell(
        unit,
        request,
        ev.RequestAttached,
        attachment_id=attachment_id,
        author_id=author,
        name=file.name,
        media_type=file.media_type,
        size=len(command.content),
        digest=digest,
    )
    return Attached(
        request_id=request.id,
        attachment_id=attachment_id,
        media_type=file.media_type,
        digest=digest,
    )


def extension_of(request: Request, *, ends_at: datetime) -> Terms:
    """Terms of the one-click extension of a temporary quota."""
    return replace(
        request.terms, kind="extension", units=None, starts_at=None, ends_at=ends_at, budget=None
    )
