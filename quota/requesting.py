"""Steps that the commands of requests share: who asks, what is known, the route, the grant."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from ledger.errors import Conflict, Denied, Invalid, Refused
from ledger.execution import Unit
from ledger.types import ActorKind
from quota import events
from quota import request_events as ev
from quota.domain import routing
from quota.domain.approvals import void
from quota.domain.changes import QuotaBook
from quota.domain.provisioning import SHORTAGES, Trial, attempt, grant
from quota.domain.request_state import Request, apply
from quota.domain.requests import Kind, Terms, check, moved_on
from quota.loading import requests as loading
from quota.ports import Price, UtilizationFacts, ports
from quota.recording import Books, record, values
from tenancy import policy as tenancy_policy
from tenancy import queries as tenancy
from tenancy.domain.roles import READ, REQUEST_WRITE

SCHEDULED_MAX = 1_000
"""Changes to come in one pool, as in quota.commands.quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """What became of a request.

    Attributes:
        version: name it in the next decision.
        approvals_missing: 0 unless it is `submitted`.
        asked_ids: who was asked, where that was decided now.
        reasons: of the route, where that was decided now.
    """

    request_id: UUID
    state: str
    version: int
    approvals_missing: int = 0
    change_id: UUID | None = None
    asked_ids: tuple[UUID, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of an account in a pool when it asks; unknown fields are None."""

    facts: routing.Facts
    use: UtilizationFacts
    price: Price | None
    price_total: Price | None


def person_of(unit: Unit) -> UUID:
    """Who acts. Requests and decisions are people's.

    Raises:
        Denied: a machine or the system itself.
    """
    if unit.actor.kind != ActorKind.PERSON or unit.actor.id is None:
        raise Denied("person_needed", "Only a person may do this, signed in as themselves.")
    return unit.actor.id


class Step(Protocol):
    """A command about one request. `expected_version`: that its author saw; None: whichever."""

    @property
    def request_id(self) -> UUID | None: ...

    @property
    def expected_version(self) -> int | None: ...


def locked(unit: Unit, step: Step, *, states: Collection[str], wanted: str) -> Request:
    """The request under lock, if it is still where the caller thinks.

    Raises:
        NotFound: there is none.
        Conflict: `stale_version`, `request_moved_on`.
    """
    request = loading.request(unit.organization_id, step.request_id, lock=True)
    if request.state not in states:
        raise moved_on(request.state, wanted=wanted)
    if step.expected_version is not None and step.expected_version != request.version:
        raise Conflict(
            "stale_version",
            "This request was changed by someone else meanwhile. Reload it and decide again.",
            facts={
                "expected": step.expected_version,
                "found": request.version,
                "state": request.state,
            },
        )
    return request


def check_requesting_side(unit: Unit, request: Request) -> UUID:
    """Who acts, if they may speak for those who ask: an author, or whoever may request there.

    Raises:
        NotFound: they cannot even see the account.
        Denied: they lack the role.
    """
    person = person_of(unit)
    if person not in request.author_ids:
        tenancy_policy.authorize(
            unit.actor, REQUEST_WRITE, request.account_id, unit.organization_id
        )
    return person


def check_party(unit: Unit, request: Request) -> UUID:
    """Who acts, if the request is any of their business: they see the account or review it.

    Raises:
        NotFound: `account_unknown`, also where it exists.
        Denied: neither.
    """
    person = person_of(unit)
    if person in request.author_ids:
        return person
    if tenancy_policy.may(unit.actor, READ, request.account_id, unit.organization_id):
        return person
    board = board_of(unit, request, (person,))
    stands_in = any(one.delegate_id == person for one in board.delegations)
    if person not in board.reviewers() and not stands_in:
        tenancy_policy.authorize(unit.actor, READ, request.account_id, unit.organization_id)
    return person


def board_of(unit: Unit, request: Request, people: Collection[UUID] = ()) -> routing.Board:
    """Everyone who may have a word in the request."""
    given = [
        person
        for one in request.approvals
        for person in (one.reviewer_id, one.on_behalf_of_id)
        if person is not None
    ]
    return loading.board(
        unit.organization_id,
        request.account_id,
        {*people, *request.author_ids, *given},
        now=unit.now,
    )


def reviewer(unit: Unit, request: Request) -> dict[str, UUID | None]:
    """In whose name the actor decides, as fields of a decision's event.

    Raises:
        Refused, Denied: as `quota.domain.routing.standing`.
    """
    person = person_of(unit)
    word = routing.standing(
        board_of(unit, request, (person,)),
        reviewer_id=person,
        authors=request.author_ids,
        approvals=request.approvals,
        now=unit.now,
    )
    return {"reviewer_id": word.reviewer_id, "on_behalf_of_id": word.on_behalf_of_id}


def without_void(unit: Unit, request: Request) -> tuple[Request, tuple[str, ...]]:
    """The request without the approvals that no longer count, which is recorded; and whose they
    were, in words."""
    gone = void(board_of(unit, request), request.approvals, authors=request.author_ids)
    if not gone:
        return request, ()
    for one in gone:
        request = tell(
            unit,
            request,
            ev.RequestApprovalVoided,
            reviewer_id=one.reviewer_id,
            on_behalf_of_id=one.on_behalf_of_id,
        )
    names = tenancy.names_of(unit.organization_id, people=[one.reviewer_id for one in gone])
    return request, tuple(
        f"The approval of {names.get(one.reviewer_id, 'somebody')} no longer counts: they may not "
        "review this account any more. Another person has to approve instead."
        for one in gone
    )


def tell(unit: Unit, request: Request, event_type: type[ev._OfRequest], **fields) -> Request:
    """Record an event of the request; the request after it."""
    data = event_type(
        request_id=request.id, account_id=request.account_id, pool_id=request.pool_id, **fields
    )
    unit.record(data)
    after = apply(request, data, unit.now)
    assert after is not None
    return after


def answer(request: Request, **fields) -> RequestAnswer:
    """The request as commands answer it."""
    return RequestAnswer(
        request_id=request.id,
        state=str(request.state),
        version=request.version,
        approvals_missing=request.approvals_missing if request.is_open else 0,
        change_id=request.change_id,
        **fields,
    )


def evidence(
    organization_id: UUID,
    terms: Terms,
    book: QuotaBook,
    trial: Trial,
    *,
    policy: routing.Policy,
    now: datetime,
) -> Evidence:
    """What is known: use of what is held, price, history. Missing telemetry is unknown."""
    place = (organization_id, terms.account_id, terms.pool_id)
    since = now - timedelta(days=routing.HISTORY_DAYS)
    use = ports().utilization.utilization(*place, since, now)
    known = use.mean is not None and use.coverage >= routing.COVERAGE_MIN
    price = None
    if trial.rise > 0 and terms.kind != Kind.CEILING:
        price = ports().price.price_per_month(
            organization_id, terms.pool_id, trial.rise, terms.tier, now
        )
    total = price_of_period(price, terms, now)
    automatic_units, extensions = loading.automatic_grants(*place, now=now)
    return Evidence(
        facts=routing.Facts(
            kind=str(terms.kind),
            rise=trial.rise,
            held=book.cell(terms.account_id).quota.guaranteed,
            fits=trial.fits,
            days=terms.days(now),
            use_percent=loading.percent(use.mean) if known else None,
            price=price.amount if price else None,
            currency=price.currency if price else None,
            rejections=loading.rejections(
                *place, since=now - timedelta(days=policy.rejection_days)
            ),
            automatic_units=automatic_units,
            extensions=extensions,
            over_budget=bool(total and terms.budget is not None and total.amount > terms.budget),
        ),
        use=use,
        price=price,
        price_total=total,
    )


def price_of_period(price: Price | None, terms: Terms, now: datetime) -> Price | None:
    """Of the whole period, from the price of a month of 730 hours, to the cent; None: the period
    is open, or the price unknown."""
    if price is None or terms.ends_at is None:
        return None
    seconds = (terms.ends_at - terms.begins(now)) // timedelta(seconds=1)
    return replace(price, amount=round(price.amount * seconds / (730 * 3600), 2))


def tried(terms: Terms, books: Books, *, policy: routing.Policy, now: datetime) -> Trial:
    """What would come of the terms; a shortage is an answer, anything else an error.

    Raises:
        Invalid: a field; Refused: cannot be, whatever room there is.
    """
    book = books.of[terms.pool_id]
    check(terms, now=now, limits=policy.limits, pool=book.pool)
    _know_paths(books, terms.pool_id)
    trial = attempt(terms, book, books.pending[terms.pool_id], now=now)
    if trial.problem is not None and trial.problem.code not in SHORTAGES:
        raise trial.problem
    return trial


def _know_paths(books: Books, pool_id: UUID) -> None:
    """Ask once for the accounts above all those that something is to come for."""
    books.paths.load({change.wish.account for change in books.pending[pool_id]})


def route(
    board: routing.Board, facts: routing.Facts, *, authors: Collection[UUID], policy, now
) -> tuple[ev.RequestRoute, tuple[UUID, ...]]:
    """Who decides, as the event says it, and who is asked.

    Raises:
        Refused: `nobody_to_ask`.
    """
    judged = routing.judge(policy, facts)
    if judged.approvals == 0:
        return (
            ev.RequestRoute(
                approvals=0, level_ids=(), operators=False, due_at=None, reasons=judged.reasons
            ),
            (),
        )
    asked = routing.ask(board, authors=authors, approvals=judged.approvals)
    if len(asked.person_ids) < judged.approvals:
        raise _nobody_to_ask(board, authors, needed=judged.approvals, found=len(asked.person_ids))
    return (
        ev.RequestRoute(
            approvals=judged.approvals,
            level_ids=asked.level_ids,
            operators=asked.operators,
            due_at=now + timedelta(hours=policy.decide_hours),
            reasons=judged.reasons,
        ),
        asked.person_ids,
    )


def _nobody_to_ask(
    board: routing.Board, authors: Collection[UUID], *, needed: int, found: int
) -> Refused:
    """Fewer people than needed may approve; with the way out for those who ask."""
    if needed == 1:
        said = "Somebody else has to approve this, and nobody else may."
    else:
        said = f"{needed} other people have to approve this, and "
        said += "only one may." if found else "nobody else may."
    operators = frozenset().union(*(level.operator_ids for level in board.levels))
    who = "Give" if operators & set(authors) else "Ask an operator to give"
    way_out = f"{who} somebody the role approver on this account or above it."
    return Refused("nobody_to_ask", f"{said} {way_out}", facts={"needed": needed, "found": found})


def provision(unit: Unit, request: Request, books: Books) -> Request:
    """Set the quota, or put it down for later, in the transaction of the approval.

    Raises:
        Refused: `promise_exceeded`, `capacity_over_period`, ... with `short_by`: the room went
            since the pre-check; `period_over`. The request stays as it was.
    """
    terms = request.terms
    if terms.ends_at is not None and terms.ends_at <= unit.now:
        raise Refused(
            "period_over",
            "The period it was asked for is over. Ask for changes, or reject it.",
            field="ends_at",
            facts={"ends_at": terms.ends_at.isoformat()},
        )
    if terms.kind == Kind.JUSTIFICATION:
        return tell(unit, request, ev.RequestProvisioned, units=None, ends_at=terms.ends_at)
    book, pending = books.of[terms.pool_id], books.pending[terms.pool_id]
    _know_paths(books, terms.pool_id)
    trial = attempt(terms, book, pending, now=unit.now)
    if trial.problem is not None:
        raise trial.problem
    if trial.starts_at > unit.now:
        return _schedule(unit, request, trial, pending_count=len(pending))
    record(unit, terms.pool_id, grant(book, trial.wishes, at=unit.now))
    # What is added to a temporary quota ends with it, to the second.
    ends_at = trial.wishes[0].ends_at or terms.ends_at
    return tell(unit, request, ev.RequestProvisioned, units=terms.units, ends_at=ends_at)


def _schedule(unit: Unit, request: Request, trial: Trial, *, pending_count: int) -> Request:
    if pending_count >= SCHEDULED_MAX:
        raise Refused(
            "too_many_scheduled",
            f"The pool has {SCHEDULED_MAX} changes to come. Cancel some first.",
            facts={"maximum": SCHEDULED_MAX},
        )
    (wish,) = trial.wishes
    change_id = unit.new_id()
    unit.record(
        events.QuotaScheduled(
            account_id=request.account_id,
            pool_id=request.pool_id,
            change_id=change_id,
            quota=values(wish.quota),
            starts_at=trial.starts_at,
            ends_at=wish.ends_at,
            lender_id=wish.lender,
            expose=False,
        )
    )
    return tell(unit, request, ev.RequestScheduled, change_id=change_id, starts_at=trial.starts_at)


def facts_values(facts: routing.Facts) -> ev.RequestFacts:
    """Facts as events write them."""
    return ev.RequestFacts(
        **{name: getattr(facts, name) for name in ev.RequestFacts.__dataclass_fields__}
    )


def with_counter(request: Request) -> Terms:
    """What a reviewer offered instead.

    Raises:
        Invalid: nothing was offered.
    """
    counter = request.counter
    if counter is None:
        raise Invalid("nothing_offered", "Nobody offered anything else.")
    return replace(request.terms, units=counter.units, ends_at=counter.ends_at)
