"""What reviewers do: approve, approve less, ask, reject; and what the system does about deadlines.

Permission depends on what is loaded (nobody decides their own request; a delegate decides in
another's place), so these commands are open to every person and the domain says who may.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ledger.errors import Invalid
from ledger.execution import Unit, handles
from quota import request_events as ev
from quota.domain import routing
from quota.domain.request_state import Request
from quota.domain.requests import OPEN, Kind, State
from quota.loading import requests as loading
from quota.recording import check_reason, open_books
from quota.requesting import (
    RequestAnswer,
    answer,
    board_of,
    locked,
    provision,
    reviewer,
    tell,
    tried,
    without_void,
)
from tenancy.domain.roles import SYSTEM_ONLY, TAKE_PART

FOLLOWED_UP_MAX: Final = 500
"""Requests that one follow-up sees to; the next one goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Say yes: the first of two words, or the last one, which provisions.

    `expected_version`: the version that the reviewer saw.
    """

    request_id: UUID
    expected_version: int | None = None


@handles(Approve, permission=TAKE_PART)
def approve(command: Approve, unit: Unit) -> RequestAnswer:
    """The promise rule is checked again, under lock: if the room is gone, nothing is done. So is
    the first of two words: it counts only while who gave it may still review."""
    seen = loading.request(unit.organization_id, command.request_id)
    books = open_books(unit, (seen.pool_id,))
    request = locked(unit, command, states={State.SUBMITTED}, wanted="approved")
    word = reviewer(unit, request)
    request, reasons = without_void(unit, request)
    if request.approvals_missing > 1:
        return answer(tell(unit, request, ev.RequestEndorsed, **word), reasons=reasons)
    after = tell(unit, request, ev.RequestApproved, **word)
    return answer(provision(unit, after, books))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveLess:
    """Offer less instead: fewer units, an earlier end, or both. None: as asked."""

    request_id: UUID
    units: int | None = None
    ends_at: datetime | None = None
    expected_version: int | None = None


@handles(ApproveLess, permission=TAKE_PART)
def approve_less(command: ApproveLess, unit: Unit) -> RequestAnswer:
    """An offer must be one that could be kept now; it waits for the requester's word."""
    seen = loading.request(unit.organization_id, command.request_id)
    books = open_books(unit, (seen.pool_id,))
    request = locked(unit, command, states={State.SUBMITTED}, wanted="answered with an offer")
    word = reviewer(unit, request)
    terms = request.terms
    units = terms.units if command.units is None else command.units
    ends_at = terms.ends_at if command.ends_at is None else command.ends_at
    _check_less(request, units=units, ends_at=ends_at)
    offered = replace(terms, units=units, ends_at=ends_at)
    trial = tried(offered, books, policy=loading.policy(unit.organization_id), now=unit.now)
    if trial.problem is not None:
        raise trial.problem
    return answer(tell(unit, request, ev.RequestCountered, **word, units=units, ends_at=ends_at))


def _check_less(request: Request, *, units: int | None, ends_at: datetime | None) -> None:
    terms = request.terms
    if ends_at is not None and ends_at.tzinfo is None:
        raise Invalid("instant_without_zone", "An instant names its zone.", field="ends_at")
    fewer = terms.units is not None and units is not None and 0 <= units < terms.units
    more = terms.units is None and units is not None
    more = more or (terms.units is not None and units is not None and units > terms.units)
    earlier = ends_at is not None and (terms.ends_at is None or ends_at < terms.ends_at)
    later = ends_at is not None and terms.ends_at is not None and ends_at > terms.ends_at
    if more or later or not (fewer or earlier):
        raise Invalid(
            "not_less",
            "Offer fewer units or an earlier end than was asked for; or approve.",
            field="units",
            facts={"units": terms.units},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskChanges:
    """Ask the requester; the reason of the command is the question."""

    request_id: UUID
    expected_version: int | None = None


@handles(AskChanges, permission=TAKE_PART)
def ask_changes(command: AskChanges, unit: Unit) -> RequestAnswer:
    """It comes back by being handed in again."""
    return _say(
        command, unit, ev.RequestChangesRequested, states={State.SUBMITTED}, wanted="sent back"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Say no; the reason of the command is kept and shown."""

    request_id: UUID
    expected_version: int | None = None


@handles(Reject, permission=TAKE_PART)
def reject(command: Reject, unit: Unit) -> RequestAnswer:
    """Also while it waits for the requester."""
    return _say(command, unit, ev.RequestRejected, states=OPEN, wanted="rejected")


def _say(command: AskChanges | Reject, unit: Unit, event_type, *, states, wanted) -> RequestAnswer:
    check_reason(unit)
    request = locked(unit, command, states=states, wanted=wanted)
    # Who approved first may still change their mind.
    word = reviewer(unit, replace(request, approvals=()))
    return answer(tell(unit, request, event_type, **word))


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpRequests:
    """Remind reviewers, ask the next ones where a deadline passed, end what is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedUp:
    """What that came to; `more`: run it again."""

    reminded: int
    escalated: int
    ended: int
    more: bool


@handles(FollowUpRequests, permission=SYSTEM_ONLY)
def follow_up_requests(command: FollowUpRequests, unit: Unit) -> FollowedUp:
    """Each deadline counts once: an escalation sets another, a reminder its own instant."""
    policy = loading.policy(unit.organization_id)
    ended = _end_what_is_over(unit, policy)
    voided = _void_approvals(unit)
    passed_on = _pass_on(unit, policy)
    due = loading.overdue(
        unit.organization_id,
        now=unit.now,
        remind_after=timedelta(hours=policy.remind_hours),
        limit=FOLLOWED_UP_MAX,
    )
    reminded = escalated = 0
    for request_id in sorted(due):
        request = loading.request(unit.organization_id, request_id, lock=True)
        if request.state != State.SUBMITTED or request.due_at is None:
            continue
        if request.due_at <= unit.now:
            _escalate(unit, request, policy)
            escalated += 1
        else:
            tell(unit, request, ev.RequestReminded, due_at=request.due_at)
            reminded += 1
    return FollowedUp(
        reminded=reminded,
        escalated=escalated,
        ended=ended,
        more=max(len(due), ended, voided, passed_on) >= FOLLOWED_UP_MAX,
    )


def _escalate(unit: Unit, request: Request, policy: routing.Policy) -> None:
    asked = routing.ask(
        board_of(unit, request),
        authors=request.author_ids,
        approvals=request.approvals_needed or 1,
        beyond=request.escalations + 1,
    )
    tell(
        unit,
        request,
        ev.RequestEscalated,
        missed_at=request.due_at,
        level_ids=asked.level_ids,
        operators=asked.operators,
        due_at=unit.now + timedelta(hours=policy.decide_hours),
    )


def _void_approvals(unit: Unit) -> int:
    """Take back first words whose givers lost the role, so that the next reviewer sees that two
    are needed again."""
    ids = loading.unsupported(unit.organization_id, limit=FOLLOWED_UP_MAX)
    for request_id in sorted(ids):
        request = loading.request(unit.organization_id, request_id, lock=True)
        if request.state == State.SUBMITTED:
            without_void(unit, request)
    return len(ids)


def _pass_on(unit: Unit, policy: routing.Policy) -> int:
    """Ask anew where nobody who was asked may decide: the account hangs elsewhere now, or the roles
    are gone. Waiting for the deadline would help nobody."""
    ids = loading.unheard(unit.organization_id, now=unit.now, limit=FOLLOWED_UP_MAX)
    for request_id in sorted(ids):
        request = loading.request(unit.organization_id, request_id, lock=True)
        if request.state != State.SUBMITTED or request.operators:
            continue
        asked = routing.ask(
            board_of(unit, request),
            authors=request.author_ids,
            approvals=request.approvals_needed or 1,
            beyond=request.escalations,
        )
        if (asked.level_ids, asked.operators) == (request.level_ids, request.operators):
            continue
        tell(
            unit,
            request,
            ev.RequestPassedOn,
            level_ids=asked.level_ids,
            operators=asked.operators,
            due_at=unit.now + timedelta(hours=policy.decide_hours),
        )
    return len(ids)


def _end_what_is_over(unit: Unit, policy: routing.Policy) -> int:
    """Justifications that ended; and what was approved for later and whose change was cancelled."""
    ids = loading.unsettled(unit.organization_id, now=unit.now, limit=FOLLOWED_UP_MAX)
    for request_id in sorted(ids):
        request = loading.request(unit.organization_id, request_id, lock=True)
        if request.state == State.PROVISIONED and request.terms.kind == Kind.JUSTIFICATION:
            tell(unit, request, ev.RequestExpired, early=False)
        elif request.state in OPEN:
            tell(unit, request, ev.RequestLapsed)
        elif request.state == State.APPROVED:
            tell(
                unit,
                request,
                ev.RequestReopened,
                code="change_cancelled",
                detail="The change that it was approved for was cancelled.",
                due_at=unit.now + timedelta(hours=policy.decide_hours),
            )
    return len(ids)
