"""Steps of those who ask, one address each: change, hand in, discard, withdraw, accept, extend."""

from dataclasses import replace
from typing import ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import execute
from quota.api import requests_examples as examples
from quota.api import requests_wire as wire
from quota.api.requests import OneRequestOperation
from quota.api.requests_reading import RequestOperation, clock, placed
from quota.api.requests_terms import TermsOperation
from quota.commands.requests import (
    AcceptCounter,
    Comment,
    DiscardDraft,
    SaveDraft,
    Submit,
    Withdraw,
    extension_of,
)
from tenancy.api.reading import person_named

STEP = {JSON: wire.RequestStep}
CHANGE = {JSON: wire.RequestChange}


class _Writing(TermsOperation):
    command: ClassVar[type[SaveDraft] | type[Submit]]

    def write(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Save or hand in the terms that stand, with what the body wants otherwise."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.RequestChange)
        with scope.reading(caller.organization_id):
            seen = self.seen(caller, request_id, now=clock())
            terms = self.changed(caller, seen.terms, body)
        command = self.command(
            terms=terms, request_id=request_id, expected_version=body.expected_version
        )
        return self.run(command, self.context(request, caller), body=body)


class RequestDraftOperation(OneRequestOperation, _Writing):
    """Read one request; change a draft."""

    command = SaveDraft

    @describe(
        "changeDraft",
        tag="requests",
        summary="Change a draft",
        takes=CHANGE,
        gives=wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.CHANGE, examples.DRAFTED),
    )
    def patch(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Only its author's own; what is handed in is changed by handing it in again."""
        return self.write(request, request_id)


class SubmitRequestOperation(_Writing):
    """Hand in."""

    command = Submit

    @describe(
        "submitRequest",
        tag="requests",
        summary="Hand in a draft, or again after changes were asked for",
        takes=CHANGE,
        gives=wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.AS_IT_STANDS, examples.CHANGE, examples.SUBMITTED),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """As it stands, or with what the body changes. Account, pool and kind stay once it was
        handed in, and approvals given before are void."""
        return self.write(request, request_id)


class _Stepping(RequestOperation):
    command: ClassVar[type[DiscardDraft] | type[Withdraw] | type[AcceptCounter]]

    def step(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Run the command on a request that the caller may see."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.RequestStep)
        with scope.reading(caller.organization_id):
            self.seen(caller, request_id, now=clock())
        command = self.command(request_id=request_id, expected_version=body.expected_version)
        return self.run(command, self.because(request, caller, body.reason), body=body)


class WithdrawRequestOperation(_Stepping):
    """Withdraw."""

    command = Withdraw

    @describe(
        "withdrawRequest",
        tag="requests",
        summary="No longer ask",
        takes=STEP,
        gives=wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.STEP,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Any time before the quota stands, also instead of taking an offer; a change put down for
        later is taken back."""
        return self.step(request, request_id)


class AcceptOfferOperation(_Stepping):
    """Accept."""

    command = AcceptCounter

    @describe(
        "acceptOffer",
        tag="requests",
        summary="Take what a reviewer offered instead",
        takes=STEP,
        gives=wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.STEP,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """The offer counts as an approval; if no other is needed, the quota stands with this
        answer."""
        return self.step(request, request_id)


class DiscardDraftOperation(_Stepping):
    """Discard."""

    command = DiscardDraft

    @describe(
        "discardDraft",
        tag="requests",
        summary="Throw a draft away",
        takes=STEP,
        gives=wire.RequestOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.STEP,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """One's own, never handed in."""
        return self.step(request, request_id)


class ExtendRequestOperation(RequestOperation):
    """Extend."""

    @describe(
        "extendRequest",
        tag="requests",
        summary="Ask for a temporary quota to last longer",
        takes={JSON: wire.RequestExtension},
        gives=wire.RequestOutcome,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.EXTENSION,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """A request of its own, of the kind `extension`, for the account and pool of this one."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.RequestExtension)
        with scope.reading(caller.organization_id):
            seen = self.seen(caller, request_id, now=clock())
        terms = extension_of(seen, ends_at=body.ends_at)
        terms = replace(terms, purpose=body.purpose or terms.purpose, to_account_id=None)
        return self.run(Submit(terms=terms), self.context(request, caller), body=body, status=201)


class CommentsOperation(RequestOperation):
    """Discuss."""

    @describe(
        "commentRequest",
        tag="requests",
        summary="Say a word about a request",
        takes={JSON: wire.NewComment},
        gives=wire.Spoken,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.COMMENT,),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """Whoever sees the request may speak, also when it is over; drafts are not discussed."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.NewComment)
        here = caller.organization_id
        with scope.reading(here):
            self.seen(caller, request_id, now=clock())
            mentioned = tuple(_mentioned(here, name) for name in body.mentioned)
        command = Comment(request_id=request_id, text=body.text, mentioned_ids=mentioned)
        with placed(body):
            outcome = execute(command, self.context(request, caller))
        said = outcome.result
        return self.respond(
            wire.Spoken(request=said.request_id, comment=said.comment_id),
            status=201,
            replayed=outcome.replayed,
        )


def _mentioned(organization_id: UUID, name: str) -> UUID:
    try:
        return person_named(organization_id, name).id
    except NotFound as error:
        raise NotFound(error.code, error.detail, field="mentioned") from None
