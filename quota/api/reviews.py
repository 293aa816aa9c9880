"""`/api/v1/reviews`: the inbox, and one decision, or many at once. The commands are the browser's
own: who may decide what is decided there, on the request as it is loaded."""

from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging
from ledger import scope
from ledger.errors import DomainError, Invalid
from ledger.execution import KEY_LENGTH_MAX, Context, Outcome, execute
from quota.api import requests_wire
from quota.api import reviews_examples as examples
from quota.api import reviews_wire as wire
from quota.api.requests_reading import RequestOperation, clock, member, summaries
from quota.commands.reviews import Approve, ApproveLess, AskChanges, Reject
from quota.queries.inbox import INBOX_MAX, inbox, inbox_count
from quota.queries.short_names import short_names

LIMIT_DEFAULT = 50
_PROBLEMS = (404, 409, 422)


class ReviewsOperation(RequestOperation):
    """Read the inbox."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listReviews",
        tag="reviews",
        summary="Requests that the caller is asked to decide",
        gives=wire.Inbox,
        parameters=paging(INBOX_MAX, LIMIT_DEFAULT, entries="Requests"),
        examples=(examples.INBOX,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """What the caller may decide now, in their own name or in that of an absent person; the
        nearest deadline first. Their own requests are never among them. A machine has no inbox."""
        caller = self.caller(request)
        person_id = self.person(caller)
        here, now = caller.organization_id, clock()
        limit = parameters.integer(request, "limit", low=1, high=INBOX_MAX, default=LIMIT_DEFAULT)
        after = cursors.read(request, tuple[datetime, UUID])
        with scope.reading(here):
            page = inbox(here, person_id, now=now, after=after, limit=limit)
            told = summaries(here, [one.row for one in page.rows])
            names = short_names(here, [one.on_behalf_of_id for one in page.rows])
            waiting = inbox_count(here, person_id, now=now)
        items = [
            wire.ReviewItem(request=summary, on_behalf_of=names.get(one.on_behalf_of_id))
            for one, summary in zip(page.rows, told, strict=True)
        ]
        following = page.next_after and cursors.next_address(request, page.next_after)
        return self.respond(wire.Inbox(at=now, waiting=waiting, requests=items, next=following))


class _Deciding(RequestOperation):
    def decide(self, request: HttpRequest, request_id: UUID, kind: type, body: type):
        """Run one decision on a request that the caller may see."""
        caller = self.caller(request)
        self.person(caller)
        said = read_json(request, body)
        with scope.reading(caller.organization_id):
            self.seen(caller, request_id, now=clock())
        values = {name: getattr(said, name) for name in said.__struct_fields__ if name != "reason"}
        command = kind(request_id=request_id, **values)
        return self.run(command, self.because(request, caller, said.reason), body=said)


class ApproveOperation(_Deciding):
    """Approve."""

    @describe(
        "approveRequest",
        tag="reviews",
        summary="Say yes",
        takes={JSON: wire.Approval},
        gives=requests_wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=_PROBLEMS,
        examples=(examples.APPROVAL, examples.PROVISIONED),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """The last approval that is needed provisions the quota in the same transaction. If the
        room went meanwhile it is refused with the shortfall, and nothing is done. Nobody decides
        their own request, under whatever login or in whosever place."""
        return self.decide(request, request_id, Approve, wire.Approval)


class ApproveLessOperation(_Deciding):
    """Approve less."""

    @describe(
        "approveLess",
        tag="reviews",
        summary="Offer less than was asked",
        takes={JSON: wire.LesserApproval},
        gives=requests_wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=_PROBLEMS,
        examples=(examples.LESS,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """An offer that could be kept now. It waits until those who ask take it or withdraw."""
        return self.decide(request, request_id, ApproveLess, wire.LesserApproval)


class AskOperation(_Deciding):
    """Ask."""

    @describe(
        "askForChanges",
        tag="reviews",
        summary="Send it back with a question",
        takes={JSON: wire.Word},
        gives=requests_wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=_PROBLEMS,
        examples=(examples.QUESTION,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """It comes back when it is handed in again."""
        return self.decide(request, request_id, AskChanges, wire.Word)


class RejectOperation(_Deciding):
    """Reject."""

    @describe(
        "rejectRequest",
        tag="reviews",
        summary="Say no",
        takes={JSON: wire.Word},
        gives=requests_wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=_PROBLEMS,
        examples=(examples.NO,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Also while it waits for those who ask. The reason is kept and shown."""
        return self.decide(request, request_id, Reject, wire.Word)


class DecideManyOperation(RequestOperation):
    """Decide many."""

    @describe(
        "decideRequests",
        tag="reviews",
        summary="Decide many requests, each on its own",
        takes={JSON: wire.BatchDecisions},
        gives=wire.BatchOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        examples=(examples.BATCH, examples.DECIDED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Each in its own transaction, in order: what one leaves no room for is refused, the others
        stand. A repeat under the same key answers each as the first time."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.BatchDecisions)
        context = self.context(request, caller)
        _check_key(context.idempotency_key)
        results, replays = [], 0
        for number, one in enumerate(body.decisions):
            result, replayed = self._one(one, _numbered(context, number))
            results.append(result)
            replays += replayed
        decided = sum(one.status == "decided" for one in results)
        answer = wire.BatchOutcome(decided=decided, refused=len(results) - decided, results=results)
        return self.respond(answer, replayed=replays == len(results))

    def _one(self, one: wire.BatchDecision, context: Context) -> tuple[wire.BatchResult, bool]:
        try:
            outcome = self._decided(one, replace(context, reason=one.reason))
        except DomainError as error:
            return _refused(one, error), False
        made = outcome.result
        return (
            wire.BatchResult(
                request=one.request,
                status="decided",
                state=made.state,
                version=made.version,
                approvals_missing=made.approvals_missing,
            ),
            outcome.replayed,
        )

    def _decided(self, one: wire.BatchDecision, context: Context) -> Outcome:
        with scope.reading(context.organization_id):
            self.seen(context, one.request, now=clock())
        return execute(_command(one), context)


def _command(one: wire.BatchDecision) -> Any:
    same = {"request_id": one.request, "expected_version": one.expected_version}
    if one.decision == "approve_less":
        return ApproveLess(**same, units=one.units, ends_at=one.ends_at)
    for field in ("units", "ends_at"):
        if getattr(one, field) is not None:
            raise Invalid("value_invalid", f"Only approve_less has {field}.", field=field)
    kinds = {"approve": Approve, "ask": AskChanges, "reject": Reject}
    return kinds[one.decision](**same)


def _refused(one: wire.BatchDecision, error: DomainError) -> wire.BatchResult:
    return wire.BatchResult(
        request=one.request,
        status="refused",
        code=error.code,
        detail=error.detail,
        field=member(error.field, one.__struct_fields__),
        facts=dict(error.facts),
    )


def _check_key(key: str | None) -> None:
    if key is not None and not 1 <= len(key) <= KEY_LENGTH_MAX:
        raise Invalid(
            "idempotency_key_length",
            f"The idempotency key must have 1 to {KEY_LENGTH_MAX} characters.",
            field="Idempotency-Key",
            facts={"limit": KEY_LENGTH_MAX},
        )


def _numbered(context: Context, number: int) -> Context:
    """Each item under a key of its own, made from the client's."""
    key = context.idempotency_key
    if key is None:
        return context
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(context, idempotency_key=f"{digest}/{number}")
