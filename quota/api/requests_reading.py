"""Whose business a request is over REST, and how one is told."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse

from ledger import scope
from ledger.errors import Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.types import ActorKind
from quota.api import requests_wire as wire
from quota.api.reading import QuotaOperation, fields_of
from quota.domain.request_state import Request
from quota.domain.requests import Approval, State
from quota.loading import requests as loading
from quota.queries.requests import RequestRow, may_see
from quota.queries.short_names import short_names
from quota.requesting import RequestAnswer
from tenancy.api.reading import authorize_reader
from tenancy.domain.roles import TAKE_PART, Scope

HIDDEN = (State.DRAFT, State.DISCARDED)
_SAME = ("id", "version", "drafted_at", "submitted_at", "decided_at", "provisioned_at", "ended_at")
_SAME += ("updated_at", "due_at", "escalations", "approvals_needed", "operators", "change_id")
_SAME += ("facts",)
_OF_QUOTAS = ("guaranteed", "borrowing_limit", "carve_from")
_TERMS = ("kind", "units", "starts_at", "ends_at", "workload", "tier", "purpose", "budget")


class RequestOperation(QuotaOperation):
    """What operations on requests share. Helpers run inside `scope.reading` unless they say so."""

    def authorize_reading(self, caller, account_id: UUID | None) -> None:
        """A person by a role on the account, a machine by `export:read`.

        Raises:
            Denied: naming what is missing.
        """
        authorize_reader(caller, Scope.EXPORT_READ, account_id)

    def person(self, caller) -> UUID:
        """Who acts; opens a transaction of its own.

        Raises:
            Denied: a machine, or nobody of the organization.
        """
        self.require(caller, TAKE_PART)
        return caller.actor.id

    def seen(self, caller, request_id: UUID, *, now: datetime) -> Request:
        """A request that is the caller's business; any other does not exist for them.

        Raises:
            NotFound: there is none, or it is not for them.
            Denied: a token without `export:read`, or bound to other pools.
        """
        try:
            found = loading.request(caller.organization_id, request_id)
        except NotFound:
            raise unknown() from None
        self.check_seen(caller, found, now=now)
        return found

    def check_seen(self, caller, request: Request, *, now: datetime) -> None:
        """Raise as `seen`."""
        actor = caller.actor
        if actor.kind == ActorKind.TOKEN:
            self.authorize_reading(caller, None)
            if request.state in HIDDEN:
                raise unknown()
            if actor.pool_ids is not None and request.pool_id not in actor.pool_ids:
                raise Denied("pool_denied", "This token may not ask about the request's pool.")
        elif not may_see(actor, request, caller.organization_id, now=now):
            raise unknown()

    def run(
        self, command: Any, context: Context, *, body: msgspec.Struct, status: int = 200
    ) -> HttpResponse:
        """Execute a command of one request and tell what became of it."""
        with placed(body):
            outcome = execute(command, context)
        return self.respond(
            outcome_of(context.organization_id, outcome.result),
            status=status,
            replayed=outcome.replayed,
        )

    def because(self, request: HttpRequest, caller, reason: str) -> Context:
        """The circumstances of a step, its reason among them."""
        return dataclasses.replace(self.context(request, caller), reason=reason)


def unknown() -> NotFound:
    """The same for what does not exist and for what is not for the caller."""
    return NotFound("request_unknown", "There is no such request.")


def member(field: str | None, members: Collection[str]) -> str | None:
    """The member of a body that a fault is about; None where the body has none: a request knows
    units where the rules of pools speak of guarantees, and a decision names neither."""
    found = "units" if field in _OF_QUOTAS else field
    return found if found in members or found == "Idempotency-Key" else None


@contextmanager
def placed(body: msgspec.Struct) -> Iterator[None]:
    """Refusals of commands, each at the member of the body that it is about."""
    try:
        yield
    except DomainError as error:
        error.field = member(error.field, body.__struct_fields__)
        raise


def clock() -> datetime:
    """The instant of an operation."""
    return datetime.now(UTC)


def outcome_of(organization_id: UUID, answer: RequestAnswer) -> wire.RequestOutcome:
    """The answer of a command with names; opens a transaction of its own where it needs any."""
    names: dict[UUID, str] = {}
    if answer.asked_ids:
        with scope.reading(organization_id):
            names = short_names(organization_id, answer.asked_ids)
    return wire.RequestOutcome(
        id=answer.request_id,
        **fields_of(answer, ("state", "version", "approvals_missing", "change_id")),
        asked=sorted(names.values()),
        reasons=list(answer.reasons),
    )


def summaries(organization_id: UUID, rows: Sequence[RequestRow]) -> list[wire.RequestSummary]:
    """Requests as they are told, their names in one question."""
    names = short_names(organization_id, [one for row in rows for one in _named(row.request)])
    return [_summary(row, names) for row in rows]


def _named(request: Request) -> Iterable[UUID | None]:
    yield request.requester_id
    yield from request.author_ids
    yield from request.level_ids
    said: list[Approval] = list(request.approvals)
    if request.counter:
        said.append(request.counter.by)
    for one in said:
        yield one.reviewer_id
        yield one.on_behalf_of_id


def _summary(row: RequestRow, names: dict[UUID, str]) -> wire.RequestSummary:
    request = row.request

    def name(one: UUID | None) -> str | None:
        return None if one is None else names.get(one, "?")

    counter = request.counter
    return wire.RequestSummary(
        **fields_of(request, _SAME),
        **fields_of(request.terms, _TERMS),
        state=row.state,
        account=row.account,
        pool=row.pool,
        to_account=row.to_account,
        requester=name(request.requester_id) or "?",
        authors=[name(one) or "?" for one in request.author_ids],
        approvals_missing=request.approvals_missing if request.is_open else 0,
        approvals=[
            wire.ApprovalGiven(
                reviewer=name(one.reviewer_id) or "?", on_behalf_of=name(one.on_behalf_of_id)
            )
            for one in request.approvals
        ],
        levels=[name(one) or "?" for one in request.level_ids],
        route_reasons=list(request.route_reasons),
        counter=None
        if counter is None
        else wire.Offer(
            reviewer=name(counter.by.reviewer_id) or "?",
            on_behalf_of=name(counter.by.on_behalf_of_id),
            units=counter.units,
            ends_at=counter.ends_at,
        ),
    )
