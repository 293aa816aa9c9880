"""`/api/v1/preemption-plans`: who gives units back for a job, and what became of it."""

import dataclasses
from datetime import UTC, datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging, query
from ledger import scope
from ledger.errors import Denied, NotFound
from ledger.execution import execute
from ledger.types import ActorKind
from preemption import loading, queries, wire
from preemption.api import examples
from preemption.commands.plans import OverridePreemption, PlanPreemption
from preemption.commands.reports import ReportActions
from preemption.commands.settling import CancelPlan, ConfirmPlan
from preemption.plans import StoredPlan, view
from quota.api.reading import QuotaOperation
from tenancy import policy
from tenancy.domain.roles import POOL_WRITE, Scope

LIMIT_DEFAULT = 50


class PreemptionOperation(QuotaOperation):
    """What operations on plans share."""

    def authorize_plans(self, caller) -> frozenset[UUID] | None:
        """Accounts whose plans the caller may read: those asked by them and those that take from
        them; None: all. Runs inside `scope.reading`.

        Raises:
            Denied: none.
        """
        actor = caller.actor
        if actor.kind == ActorKind.PERSON:
            return self.readable_ids(caller)
        if Scope.PREEMPTION_WRITE not in actor.scopes:
            policy.authorize(actor, Scope.EXPORT_READ, None, caller.organization_id)
        return None

    def views(self, caller, plans: list[StoredPlan]) -> list[wire.PreemptionPlan]:
        """Plans with names. Runs inside `scope.reading`."""
        pools, accounts = loading.names(caller.organization_id, plans)
        return [view(plan, pools=pools, accounts=accounts) for plan in plans]


class PlansOperation(PreemptionOperation):
    """List plans, or ask for one."""

    parameters = frozenset({"state", "cursor", "limit"})

    @describe(
        "listPreemptionPlans",
        tag="preemption",
        summary="Plans, the newest first",
        gives=wire.PreemptionPlans,
        parameters=(
            query("state", "`open`, or `over`; absent: both.", enum=["open", "over"]),
            *paging(queries.LIST_MAX - 1, LIMIT_DEFAULT),
        ),
        examples=(examples.PAGE,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """People see plans that were asked for by, or take from, accounts on which they have a
        role; machines need `preemption:write` or `export:read`. States are judged now."""
        caller = self.caller(request)
        now = datetime.now(UTC)
        limit = parameters.integer(
            request, "limit", low=1, high=queries.LIST_MAX - 1, default=LIMIT_DEFAULT
        )
        is_open = None
        if "state" in request.GET:
            state = parameters.one_of(request, "state", ("open", "over"), default="open")
            is_open = state == "open"
        cursor = cursors.read(request, UUID)
        with scope.reading(caller.organization_id):
            found = queries.plans(
                caller.organization_id,
                now=now,
                is_open=is_open,
                accounts=self.authorize_plans(caller),
                pool_ids=caller.actor.pool_ids,
                before=cursor,
                limit=limit + 1,
            )
            shown = self.views(caller, found[:limit])
        following = None
        if len(found) > limit:
            following = cursors.next_address(request, str(found[limit - 1].id))
        return self.respond(wire.PreemptionPlans(at=now, plans=shown, next=following))

    @describe(
        "planPreemption",
        tag="preemption",
        summary="Who gives units back so that a job fits, or what it must wait for",
        takes={JSON: wire.PreemptionAsk},
        gives=wire.PreemptionAnswer,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.ASK, examples.ANSWER),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """A plan is made with its budgets drawn and its units set aside, or nothing is. `dry_run`
        decides the same and changes nothing. `override` is for operators, with its reason."""
        caller = self.caller(request)
        body = read_json(request, wire.PreemptionAsk)
        self.require(caller, POOL_WRITE if body.override else Scope.PREEMPTION_WRITE)
        command = OverridePreemption(ask=body) if body.override else PlanPreemption(ask=body)
        context = dataclasses.replace(
            self.context(request, caller),
            now=datetime.now(UTC),
            reason=body.override or "",
            dry_run=body.dry_run,
        )
        outcome = execute(command, context)
        answer = outcome.result
        answer.dry_run = body.dry_run
        if body.dry_run and answer.plan is not None and not answer.repeated:
            answer.plan.id = None  # it was never there
        return self.respond(answer, replayed=outcome.replayed)


class PlanOperation(PreemptionOperation):
    """Read a plan."""

    @describe(
        "readPreemptionPlan",
        tag="preemption",
        summary="A plan and what became of it",
        gives=wire.PreemptionPlan,
        problems=(404,),
    )
    def get(self, request: HttpRequest, plan_id: UUID) -> HttpResponse:
        """Judged now."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            accounts = self.authorize_plans(caller)
            found = queries.plan(caller.organization_id, plan_id, now=datetime.now(UTC))
            if found is None or not _concerns(found, accounts):
                raise NotFound("plan_unknown", "There is no such plan.", field="plan")
            bound = caller.actor.pool_ids
            if bound is not None and found.pool_id not in bound:
                raise Denied("pool_denied", "This token may not ask about the plan's pool.")
            (shown,) = self.views(caller, [found])
        return self.respond(shown)


class ReportsOperation(PreemptionOperation):
    """Report what became of actions."""

    @describe(
        "reportPreemption",
        tag="preemption",
        summary="What became of a plan's actions",
        takes={JSON: wire.PreemptionReports},
        gives=wire.PreemptionTold,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.REPORTS, examples.TOLD),
    )
    def post(self, request: HttpRequest, plan_id: UUID) -> HttpResponse:
        """Each report is answered by itself. What was taken ends or shrinks its allocation at
        once; a separate release is not needed, and does no harm."""
        caller = self.caller(request)
        self.require(caller, Scope.PREEMPTION_WRITE)
        body = read_json(request, wire.PreemptionReports)
        command = ReportActions(plan_id=plan_id, reports=tuple(body.reports))
        context = dataclasses.replace(self.context(request, caller), now=datetime.now(UTC))
        outcome = execute(command, context)
        return self.respond(outcome.result, replayed=outcome.replayed)


class ConfirmOperation(PreemptionOperation):
    """Confirm a plan."""

    @describe(
        "confirmPreemption",
        tag="preemption",
        summary="The units are there",
        takes={JSON: wire.PreemptionSettle},
        gives=wire.PreemptionSettled,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def post(self, request: HttpRequest, plan_id: UUID) -> HttpResponse:
        """Refused while actions are open. Units whose job is not admitted yet wait for it as long
        as a hold."""
        return _settle(self, request, ConfirmPlan(plan_id=plan_id))


class CancelOperation(PreemptionOperation):
    """Cancel a plan."""

    @describe(
        "cancelPreemption",
        tag="preemption",
        summary="The units are not needed any more",
        takes={JSON: wire.PreemptionSettle},
        gives=wire.PreemptionSettled,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def post(self, request: HttpRequest, plan_id: UUID) -> HttpResponse:
        """What was not taken gives its budgets back; what was is free for everybody."""
        return _settle(self, request, CancelPlan(plan_id=plan_id))


def _settle(
    operation: PreemptionOperation, request: HttpRequest, command: ConfirmPlan | CancelPlan
) -> HttpResponse:
    caller = operation.caller(request)
    operation.require(caller, Scope.PREEMPTION_WRITE)
    body = read_json(request, wire.PreemptionSettle)
    context = dataclasses.replace(
        operation.context(request, caller), now=datetime.now(UTC), reason=body.reason
    )
    outcome = execute(command, context)
    return operation.respond(outcome.result, replayed=outcome.replayed)


def _concerns(plan: StoredPlan, accounts: frozenset[UUID] | None) -> bool:
    if accounts is None:
        return True
    return bool(accounts & {plan.account_id, *(action.account_id for action in plan.actions)})
