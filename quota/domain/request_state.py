"""A request as its events make it: one fold, for commands, for the table and for any past instant.

Pure. `apply(request, event, at)` gives the request after an event; a projector keeps the result as
a row, `as_of` folds the events up to an instant, and tests fold histories written by hand.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from quota import request_events as ev
from quota.domain.requests import OPEN, Approval, Counter, State, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it stands.

    Attributes:
        author_ids: everyone who wrote or handed it in: none of them may decide.
        version: steps so far; comments and files are none. A decision names the one it saw.
        approvals_needed: 0 where the policy granted it.
        level_ids: accounts whose approvers are asked, the nearest first; with `operators`, those
            of the organization are asked, too.
        approvals: given so far, for what is asked now.
        due_at: when it should be decided; `reminded_at`, `escalations`: what was done about it.
        change_id: of the quota's change to come, while `approved`.
        facts: what the route was decided on.
    """

    id: UUID
    account_id: UUID
    pool_id: UUID
    terms: Terms
    requester_id: UUID
    author_ids: tuple[UUID, ...]
    state: str
    version: int
    drafted_at: datetime | None = None
    submitted_at: datetime | None = None
    decided_at: datetime | None = None
    provisioned_at: datetime | None = None
    ended_at: datetime | None = None
    updated_at: datetime
    approvals_needed: int | None = None
    level_ids: tuple[UUID, ...] = ()
    operators: bool = False
    route_reasons: tuple[str, ...] = ()
    approvals: tuple[Approval, ...] = ()
    counter: Counter | None = None
    due_at: datetime | None = None
    reminded_at: datetime | None = None
    escalations: int = 0
    change_id: UUID | None = None
    facts: ev.RequestFacts | None = None

    @property
    def stream(self) -> str:
        return f"request:{self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def automatic(self) -> bool:
        return self.approvals_needed == 0

    @property
    def approvals_missing(self) -> int:
        return max(0, (self.approvals_needed or 0) - len(self.approvals))

    def state_at(self, now: datetime) -> str:
        """The state judged at an instant: a quota that has ended by itself is over although no
        task has said so yet."""
        end = self.terms.ends_at
        if self.state == State.PROVISIONED and end is not None and end <= now:
            return State.EXPIRED
        return self.state


def terms_of(data: ev.RequestDrafted | ev.RequestSubmitted) -> Terms:
    """Terms as the domain has them, from an event."""
    said = data.terms
    return Terms(
        account_id=data.account_id,
        pool_id=data.pool_id,
        kind=said.kind,
        units=said.units,
        starts_at=said.starts_at,
        ends_at=said.ends_at,
        workload=said.workload,
        tier=said.tier,
        purpose=said.purpose,
        budget=said.budget,
        to_account_id=said.to_account_id,
    )


def terms_values(terms: Terms) -> ev.RequestTerms:
    """Terms as events write them."""
    return ev.RequestTerms(
        kind=str(terms.kind),
        units=terms.units,
        starts_at=terms.starts_at,
        ends_at=terms.ends_at,
        workload=str(terms.workload),
        tier=terms.tier,
        purpose=terms.purpose,
        budget=terms.budget,
        to_account_id=terms.to_account_id,
    )


STEPLESS = (ev.RequestCommented, ev.RequestAttached, ev.RequestReminded)
"""Events after which a decision that was prepared before is still one about the same thing."""


def apply(request: Request | None, data: ev._OfRequest, at: datetime) -> Request | None:
    """The request after an event.

    Args:
        request: as it stood; None: the event is its first one.
    """
    if isinstance(data, ev.RequestDrafted | ev.RequestSubmitted):
        return _written(request, data, at)
    if request is None:
        return None
    step = 0 if isinstance(data, STEPLESS) else 1
    changed = _CHANGES.get(type(data), _nothing)(request, data, at)
    return replace(request, version=request.version + step, updated_at=at, **changed)


def fold(events: Iterable[tuple[ev._OfRequest, datetime]]) -> Request | None:
    """The request that a history makes; None: it has not begun."""
    request: Request | None = None
    for data, at in events:
        request = apply(request, data, at)
    return request


def _written(
    request: Request | None, data: ev.RequestDrafted | ev.RequestSubmitted, at: datetime
) -> Request:
    authors = request.author_ids if request else ()
    if data.author_id not in authors:
        authors = (*authors, data.author_id)
    base = request or Request(
        id=data.request_id,
        account_id=data.account_id,
        pool_id=data.pool_id,
        terms=terms_of(data),
        requester_id=data.author_id,
        author_ids=authors,
        state=State.DRAFT,
        version=0,
        updated_at=at,
    )
    changes = {
        "account_id": data.account_id,
        "pool_id": data.pool_id,
        "terms": terms_of(data),
        "author_ids": authors,
        "version": base.version + 1,
        "updated_at": at,
    }
    if isinstance(data, ev.RequestDrafted):
        if base.state == State.DRAFT:
            changes["drafted_at"] = base.drafted_at or at
        return replace(base, **changes)
    route = data.route
    return replace(
        base,
        **changes,
        state=State.SUBMITTED,
        submitted_at=base.submitted_at or at,
        approvals_needed=route.approvals,
        level_ids=route.level_ids,
        operators=route.operators,
        route_reasons=route.reasons,
        due_at=route.due_at,
        approvals=(),
        counter=None,
        reminded_at=None,
        escalations=0,
        facts=data.facts,
    )


def _nothing(request: Request, data: ev._OfRequest, at: datetime) -> dict:
    return {}


def _word(data: ev._Decided) -> Approval:
    return Approval(reviewer_id=data.reviewer_id, on_behalf_of_id=data.on_behalf_of_id)


def _countered(request: Request, data: ev.RequestCountered, at: datetime) -> dict:
    counter = Counter(by=_word(data), units=data.units, ends_at=data.ends_at)
    return {"state": State.COUNTERED, "counter": counter, "due_at": None}


def _counter_accepted(request: Request, data: ev.RequestCounterAccepted, at: datetime) -> dict:
    by = request.counter.by if request.counter else None
    # Who accepts speaks for those who ask, and decides nothing here any more.
    authors = request.author_ids
    if data.author_id not in authors:
        authors = (*authors, data.author_id)
    changes: dict = {
        "author_ids": authors,
        "terms": replace(request.terms, units=data.units, ends_at=data.ends_at),
        "approvals": (*request.approvals, by) if by else request.approvals,
        "counter": None,
        "state": State.APPROVED if data.complete else State.SUBMITTED,
        "due_at": data.due_at,
    }
    return changes | ({"decided_at": at} if data.complete else {})


def _endorsed(request: Request, data: ev.RequestEndorsed, at: datetime) -> dict:
    return {"approvals": (*request.approvals, _word(data))}


def _approval_voided(request: Request, data: ev.RequestApprovalVoided, at: datetime) -> dict:
    gone = _word(data)
    return {"approvals": tuple(one for one in request.approvals if one != gone)}


def _approved(request: Request, data: ev.RequestApproved, at: datetime) -> dict:
    return {
        "approvals": (*request.approvals, _word(data)),
        "state": State.APPROVED,
        "decided_at": at,
        "due_at": None,
    }


def _provisioned(request: Request, data: ev.RequestProvisioned, at: datetime) -> dict:
    return {
        "state": State.PROVISIONED,
        "provisioned_at": at,
        "due_at": None,
        "change_id": None,
        "terms": replace(request.terms, ends_at=data.ends_at),
    }


def _reopened(request: Request, data: ev.RequestReopened, at: datetime) -> dict:
    return {
        "state": State.SUBMITTED,
        "change_id": None,
        "decided_at": None,
        "approvals": (),
        "approvals_needed": max(1, request.approvals_needed or 0),
        "due_at": data.due_at,
        "reminded_at": None,
    }


def _escalated(request: Request, data: ev.RequestEscalated, at: datetime) -> dict:
    return {
        "level_ids": data.level_ids,
        "operators": data.operators,
        "due_at": data.due_at,
        "escalations": request.escalations + 1,
        "reminded_at": None,
    }


def _passed_on(request: Request, data: ev.RequestPassedOn, at: datetime) -> dict:
    return {
        "level_ids": data.level_ids,
        "operators": data.operators,
        "due_at": data.due_at,
        "reminded_at": None,
    }


def _closed(state: State):
    return lambda request, data, at: {
        "state": state,
        "decided_at": at,
        "due_at": None,
        "change_id": None,
        "counter": None,
    }


def _over(state: State):
    return lambda request, data, at: {"state": state, "ended_at": at}


_CHANGES = {
    ev.RequestDiscarded: lambda request, data, at: {"state": State.DISCARDED},
    ev.RequestGranted: lambda request, data, at: {"state": State.APPROVED, "decided_at": at},
    ev.RequestEndorsed: _endorsed,
    ev.RequestApproved: _approved,
    ev.RequestCountered: _countered,
    ev.RequestCounterAccepted: _counter_accepted,
    ev.RequestChangesRequested: lambda request, data, at: {
        "state": State.CHANGES_REQUESTED,
        "due_at": None,
    },
    ev.RequestRejected: _closed(State.REJECTED),
    ev.RequestWithdrawn: _closed(State.WITHDRAWN),
    ev.RequestProvisioned: _provisioned,
    ev.RequestScheduled: lambda request, data, at: {"change_id": data.change_id},
    ev.RequestReopened: _reopened,
    ev.RequestExpired: _over(State.EXPIRED),
    ev.RequestLapsed: lambda request, data, at: {
        **_closed(State.EXPIRED)(request, data, at),
        "ended_at": at,
    },
    ev.RequestReclaimed: _over(State.RECLAIMED),
    ev.RequestReminded: lambda request, data, at: {"reminded_at": at},
    ev.RequestEscalated: _escalated,
    ev.RequestPassedOn: _passed_on,
    ev.RequestApprovalVoided: _approval_voided,
}
