"""How requests are routed, and who stands in for whom, over REST."""

import dataclasses
from datetime import UTC, timedelta
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import parameters
from config.api.json_bodies import JSON, given, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import execute
from quota.api import reviews_examples as examples
from quota.api import reviews_wire as wire
from quota.api.reading import fields_of
from quota.api.requests_reading import RequestOperation, clock
from quota.commands.request_policy import EndDelegate, SetDelegate, SetRequestPolicy
from quota.domain.routing import Policy, check_policy
from quota.queries import request_decisions as queries
from quota.queries.short_names import short_names
from quota.queries.versions import versions
from tenancy import policy as tenancy_policy
from tenancy.api.reading import person_named
from tenancy.domain.roles import PEOPLE_WRITE, POLICY_WRITE

RULES: Final = tuple(field.name for field in dataclasses.fields(Policy))
PREVIEW_DEFAULT: Final = timedelta(days=90)
CHANGED_SHOWN_MAX: Final = 500


class RoutePolicyOperation(RequestOperation):
    """Read or set how requests are routed."""

    @describe(
        "readRequestPolicy",
        tag="reviews",
        summary="How requests are routed",
        gives=wire.RoutePolicy,
        examples=(examples.POLICY,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """For whoever may ask: every person of the organization."""
        caller = self.caller(request)
        self.person(caller)
        with scope.reading(caller.organization_id):
            found = queries.policy(caller.organization_id)
            version = _version(caller.organization_id)
        return self.respond(_told(found, version))

    @describe(
        "setRequestPolicy",
        tag="reviews",
        summary="Set how requests are routed",
        takes={JSON: wire.NewRoutePolicy},
        gives=wire.PolicyOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_POLICY, examples.POLICY_SET),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """As a whole, for what is handed in from now on; what is open goes on as it was routed. For
        operators of the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POLICY_WRITE)
        body = read_json(request, wire.NewRoutePolicy)
        wanted = Policy(**fields_of(body, RULES))
        context = self.because(request, caller, body.reason)
        command = SetRequestPolicy(policy=wanted, expected_version=body.expected_version)
        outcome = execute(command, context)
        done = outcome.result
        answer = wire.PolicyOutcome(changed=done.changed, policy=_told(wanted, done.version))
        return self.respond(answer, replayed=outcome.replayed)


class PreviewPolicyOperation(RequestOperation):
    """Try rules."""

    @describe(
        "previewRequestPolicy",
        tag="reviews",
        summary="How past requests would have gone under other rules",
        takes={JSON: wire.PolicyTrial},
        gives=wire.PolicyPreview,
        examples=(examples.POLICY_TRIAL, examples.PREVIEWED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Judged on what was known when each was handed in; changes nothing. For operators of the
        root account."""
        caller = self.caller(request)
        self.require(caller, POLICY_WRITE)
        body = read_json(request, wire.PolicyTrial)
        here = caller.organization_id
        since = body.since or clock() - PREVIEW_DEFAULT
        with scope.reading(here):
            tried = dataclasses.replace(queries.policy(here), **given(body.rules))
            check_policy(tried)
            found = queries.policy_preview(here, tried, since=since)
        changed = [one for one in found if one.changed]
        return self.respond(
            wire.PolicyPreview(
                since=since,
                tried=len(found),
                automatic_before=sum(one.approvals_before == 0 for one in found),
                automatic_after=sum(one.approvals_after == 0 for one in found),
                changed_count=len(changed),
                changed=[
                    wire.PreviewedRequest(
                        request=one.request_id,
                        **fields_of(one, ("approvals_before", "approvals_after", "outcome")),
                        reasons=list(one.reasons),
                    )
                    for one in changed[:CHANGED_SHOWN_MAX]
                ],
            )
        )


def _told(policy: Policy, version: int) -> wire.RoutePolicy:
    return wire.RoutePolicy(version=version, **fields_of(policy, RULES))


def _version(organization_id: UUID) -> int:
    stream = f"request_policy:{organization_id}"
    return versions(organization_id, (stream,)).get(stream, 0)


class DelegationsOperation(RequestOperation):
    """Read delegations, or make one."""

    parameters = frozenset({"all"})

    @describe(
        "listDelegations",
        tag="reviews",
        summary="Who reviews in whose place",
        gives=wire.Delegations,
        parameters=(
            query(
                "all",
                "`1`: of everyone, for those who may change people of the whole organization.",
                enum=["0", "1", "false", "true"],
            ),
        ),
        examples=(examples.DELEGATIONS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Those that run or are to come, in which the caller is either side."""
        caller = self.caller(request)
        person_id = self.person(caller)
        here, now = caller.organization_id, clock()
        everyone = parameters.flag(request, "all")
        with scope.reading(here):
            if everyone:
                tenancy_policy.authorize(caller.actor, PEOPLE_WRITE, None, here)
            rows = queries.delegations(here, now=now, person_id=None if everyone else person_id)
            names = short_names(here, [one for row in rows for one in _sides(row)])
        found = [
            wire.DelegationFacts(
                id=row.id,
                person=names.get(row.person_id, row.person),
                delegate=names.get(row.delegate_id, row.delegate),
                starts_at=row.starts_at,
                ends_at=row.ends_at,
            )
            for row in rows
        ]
        return self.respond(wire.Delegations(at=now, delegations=found))

    @describe(
        "setDelegate",
        tag="reviews",
        summary="Let somebody review in one's place for a while",
        takes={JSON: wire.NewDelegation},
        gives=wire.DelegationOutcome,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_DELEGATION,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """The delegate decides what the absent person may, never the absent person's own requests.
        In the place of others only with the right to change people of the whole organization."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.NewDelegation)
        here = caller.organization_id
        with scope.reading(here):
            delegate_id = _person(here, body.delegate, field="delegate")
            person_id = body.person and _person(here, body.person, field="person")
        command = SetDelegate(
            delegate_id=delegate_id,
            person_id=person_id,
            # One spelling of an instant, so that a repeat is the same command.
            starts_at=body.starts_at.astimezone(UTC),
            ends_at=body.ends_at.astimezone(UTC),
        )
        outcome = execute(command, self.context(request, caller))
        return self.respond(
            wire.DelegationOutcome(id=outcome.result.delegation_id),
            status=201,
            replayed=outcome.replayed,
        )


class EndDelegationOperation(RequestOperation):
    """End a delegation."""

    @describe(
        "endDelegate",
        tag="reviews",
        summary="End a delegation before its time",
        takes={JSON: wire.DelegationEnd},
        gives=wire.DelegationOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.DELEGATION_END,),
    )
    def post(self, request: HttpRequest, delegation_id: UUID) -> HttpResponse:
        """One's own, or with the right to change people. One that is over already stays so."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.DelegationEnd)
        command = EndDelegate(delegation_id=delegation_id)
        outcome = execute(command, self.because(request, caller, body.reason))
        return self.respond(
            wire.DelegationOutcome(id=outcome.result.delegation_id), replayed=outcome.replayed
        )


def _sides(row: queries.DelegationRow) -> tuple[UUID, UUID]:
    return row.person_id, row.delegate_id


def _person(organization_id: UUID, name: str, *, field: str) -> UUID:
    try:
        return person_named(organization_id, name).id
    except NotFound as error:
        raise NotFound(error.code, error.detail, field=field) from None
