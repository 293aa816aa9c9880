"""`/api/v1/requests`: list, ask, try, and one request with its whole story."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging, query
from ledger import scope
from ledger.errors import DomainError, Invalid
from ledger.queries import EventRow
from ledger.types import ActorKind
from quota.api import requests_examples as examples
from quota.api import requests_wire as wire
from quota.api.reading import AS_OF, fields_of
from quota.api.requests_reading import HIDDEN, RequestOperation, clock, summaries, unknown
from quota.api.requests_terms import TermsOperation
from quota.commands.requests import SaveDraft, Submit
from quota.domain.request_state import Request
from quota.domain.requests import OPEN, Kind, State
from quota.queries import requests as queries
from quota.queries.inbox import asked_people, may_decide
from quota.queries.short_names import short_names
from tenancy.api.reading import account_named

LIMIT_DEFAULT = 50
_EVENT = ("id", "type", "version", "occurred_at", "recorded_at", "actor_kind", "reason")


class RequestsOperation(TermsOperation):
    """List requests, or ask."""

    parameters = frozenset({"state", "kind", "account", "pool", "mine", "cursor", "limit"})

    @describe(
        "listRequests",
        tag="requests",
        summary="Requests for quota, newest first",
        gives=wire.Requests,
        parameters=(
            query("state", "Some states, with commas; `open`: those that await somebody's move."),
            query("kind", "Some kinds, with commas."),
            query("account", "Of this account and those below it."),
            query("pool", "Only in this pool."),
            query("mine", "`1`: those the caller asked.", enum=["0", "1", "false", "true"]),
            *paging(queries.LIST_MAX, LIMIT_DEFAULT, entries="Requests"),
        ),
        problems=(404,),
        examples=(examples.LISTED,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Of the accounts on which the caller has a role and those below, and the caller's own
        drafts; nobody else's. A machine needs `export:read` and sees no drafts; one that is bound
        to pools names one of them."""
        caller = self.caller(request)
        here, now = caller.organization_id, clock()
        account, pool = parameters.text(request, "account"), parameters.text(request, "pool")
        mine = parameters.flag(request, "mine")
        with scope.reading(here):
            account_ids = self._accounts(caller, account, mine=mine)
            page = queries.requests(
                here,
                now=now,
                account_ids=account_ids,
                below=True,
                pool_id=self._pool_id(caller, pool),
                requester_id=caller.actor.id if mine else None,
                kinds=_words(request, "kind", tuple(Kind)),
                states=_states(request),
                drafts_of=caller.actor.id,
                before=cursors.read(request, UUID),
                limit=parameters.integer(
                    request, "limit", low=1, high=queries.LIST_MAX, default=LIMIT_DEFAULT
                ),
            )
            found = summaries(here, page.rows)
        following = page.next_before and cursors.next_address(request, page.next_before)
        return self.respond(wire.Requests(at=now, requests=found, next=following))

    def _accounts(self, caller, account: str | None, *, mine: bool) -> list[UUID] | None:
        """The topmost accounts to list; None: all. One's own requests need no role any more."""
        here = caller.organization_id
        if mine and caller.actor.kind == ActorKind.PERSON:
            return [account_named(here, account).id] if account else None
        if account:
            found = account_named(here, account)
            self.authorize_reading(caller, found.id)
            return [found.id]
        tops = self.readable(caller)
        return None if tops is None else list(tops)

    def _pool_id(self, caller, pool: str | None) -> UUID | None:
        if pool:
            return self.pool(caller, pool).id
        if caller.actor.pool_ids is not None:
            raise Invalid(
                "parameter_invalid",
                "This token is bound to pools: name one of them in `pool`.",
                field="pool",
            )
        return None

    @describe(
        "createRequest",
        tag="requests",
        summary="Ask for quota, or keep a draft",
        takes={JSON: wire.NewRequest},
        gives=wire.RequestOutcome,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_REQUEST, examples.NEW_DRAFT),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Handed in, the policy decides at once: what it grants is provisioned with this answer,
        anything else goes to people. Needs the role lead on the account; no token may ask."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.NewRequest)
        with scope.reading(caller.organization_id):
            terms = self.terms(caller, body)
        command = SaveDraft(terms=terms) if body.draft else Submit(terms=terms)
        return self.run(command, self.context(request, caller), body=body, status=201)


def _words(request: HttpRequest, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    given = parameters.text(request, name)
    words = tuple(given.split(",")) if given else ()
    if not set(words) <= set(known):
        raise Invalid("parameter_invalid", f"`{name}` is some of {', '.join(known)}.", field=name)
    return words


def _states(request: HttpRequest) -> tuple[str, ...]:
    words = _words(request, "state", (*tuple(State), "open"))
    opened = tuple(OPEN) if "open" in words else ()
    return tuple(word for word in words if word != "open") + opened


class OneRequestOperation(RequestOperation):
    """Read one request."""

    parameters = frozenset({"as_of"})

    @describe(
        "readRequest",
        tag="requests",
        summary="One request with its whole story, now or at a past instant",
        gives=wire.RequestStory,
        parameters=(AS_OF,),
        problems=(404,),
        examples=(examples.STORY,),
    )
    def get(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """For its authors, for whoever has a role on the account, for its reviewers and those who
        stand in for them; a machine needs `export:read`. What was drafted before it was handed in
        is its author's alone."""
        caller = self.caller(request)
        here = caller.organization_id
        now, as_of = self.instants(request)
        with scope.reading(here):
            self.seen(caller, request_id, now=now)
            found = queries.detail(here, request_id, now=now, as_of=as_of)
            one = found.row.request
            if one.state in HIDDEN and caller.actor.id != one.requester_id:
                raise unknown()
            story = self._story(caller, found, at=as_of or now, current=as_of is None)
        return self.respond(story)

    def _story(
        self, caller, found: queries.RequestDetail, *, at: datetime, current: bool
    ) -> wire.RequestStory:
        here, one = caller.organization_id, found.row.request
        asked = asked_people(here, one, now=at) if current else ()
        own = caller.actor.id == one.requester_id
        return wire.RequestStory(
            at=at,
            request=summaries(here, [found.row])[0],
            asked=sorted(short_names(here, asked).values()),
            may_decide=_may_decide(caller, one, now=at) if current else None,
            comments=[
                wire.RequestComment(
                    **fields_of(row, ("id", "author", "text", "said_at")),
                    mentioned=list(row.mentioned),
                )
                for row in found.comments
            ],
            attachments=list(found.attachments),
            decisions=list(found.decisions),
            timeline=[
                _event(row) for row in found.timeline if own or row.type != "request.drafted"
            ],
            names={str(key): name for key, name in short_names(here, list(found.names)).items()},
        )


def _event(row: EventRow) -> wire.RequestEvent:
    return wire.RequestEvent(**fields_of(row, _EVENT), actor=row.actor_label, data=row.payload)


def _may_decide(caller, one: Request, *, now: datetime) -> wire.MayDecide | None:
    if caller.actor.kind != ActorKind.PERSON or one.state != State.SUBMITTED:
        return None
    here = caller.organization_id
    word = may_decide(here, one, caller.actor.id, now=now)
    if isinstance(word, DomainError):
        return wire.MayDecide(allowed=False, code=word.code, detail=word.detail)
    names = short_names(here, [word.on_behalf_of_id])
    return wire.MayDecide(allowed=True, on_behalf_of=names.get(word.on_behalf_of_id))
