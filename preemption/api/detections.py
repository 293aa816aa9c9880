"""`/api/v1/detections`: allocations that do nothing, accounts that use far more than usual, and
what became of each; `/api/v1/detection-policy`: what is found."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging, query
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import execute
from ledger.types import ActorKind
from preemption import detection_loading as loading
from preemption import detection_queries as queries
from preemption import detection_wire as wire
from preemption.api import detection_examples as examples
from preemption.commands.detection_policy import SetDetectionPolicy, policy_of
from preemption.commands.detections import AcknowledgeDetection, ReleaseDetected
from preemption.detection_queries import DetectionRow
from quota.api.reading import ACCOUNTS_MAX, QuotaOperation, fields_of
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.api.reading import account_named
from tenancy.domain.roles import POOL_WRITE, REQUEST_WRITE, Scope

LIMIT_DEFAULT = 50
Body = wire.DetectionAcknowledgement | wire.DetectionRelease
Make = Callable[[DetectionRow, Any], AcknowledgeDetection | ReleaseDetected]
_FACTS = (
    *("kind", "state", "account", "pool", "person", "job", "units", "worth_per_hour", "since"),
    *("found_at", "by", "reason", "acknowledged_at", "quiet_until", "closed_at", "why"),
)
_COUNTS = (
    *("idle_minutes", "progress_seconds_max", "baseline_factor", "baseline_spread"),
    "baseline_days_min",
)


class _DetectionOperation(QuotaOperation):
    def seen(self, caller) -> frozenset[UUID] | None:
        """Accounts whose detections the caller may read; None: all. Inside `scope.reading`.

        Raises:
            Denied: none.
        """
        if caller.actor.kind == ActorKind.PERSON:
            return self.readable_ids(caller)
        policy.authorize(caller.actor, Scope.EXPORT_READ, None, caller.organization_id)
        return None

    def one(self, caller, detection_id: UUID) -> DetectionRow:
        """A detection that the caller may read. Inside `scope.reading`.

        Raises:
            NotFound: there is none, for this caller.
        """
        seen, bound = self.seen(caller), caller.actor.pool_ids
        row = queries.detection(caller.organization_id, detection_id)
        if (
            row is None
            or (seen is not None and row.account_id not in seen)
            or (bound is not None and row.pool_id not in bound)
        ):
            raise NotFound("detection_unknown", "There is no such detection.", field="detection")
        return row

    def decide(
        self, request: HttpRequest, detection_id: UUID, kind: type[Body], make: Make
    ) -> HttpResponse:
        """Run the command about a detection that a body asks for."""
        caller = self.caller(request)
        if caller.actor.kind == ActorKind.TOKEN:
            self.require(caller, REQUEST_WRITE)
        with scope.reading(caller.organization_id):
            row = self.one(caller, detection_id)
        body = read_json(request, kind)
        outcome = execute(make(row, body), self.change(request, caller, body))
        decided = wire.DetectionDecision(
            id=str(row.id), **fields_of(outcome.result, ("changed", "state", "units"))
        )
        return self.respond(decided, replayed=outcome.replayed)


class DetectionsOperation(_DetectionOperation):
    """List detections."""

    parameters = frozenset({"kind", "account", "pool", "state", "cursor", "limit"})

    @describe(
        "listDetections",
        tag="preemption",
        summary="Idle and zombie allocations and use far above the usual",
        gives=wire.DetectionPage,
        parameters=(
            query("kind", "Of this kind.", enum=list(loading.ALL_KINDS)),
            query("account", "Of this account and all below it."),
            query("pool", "In this pool."),
            query(
                "state",
                "`current` (absent): open or acknowledged.",
                enum=list(queries.STATE_CHOICES),
            ),
            *paging(queries.LIST_MAX - 1, LIMIT_DEFAULT),
        ),
        problems=(404,),
        examples=(examples.PAGE,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The newest first. People see the accounts on which they have a role; machines need
        `export:read`."""
        caller = self.caller(request)
        here = caller.organization_id
        limit = parameters.integer(
            request, "limit", low=1, high=queries.LIST_MAX - 1, default=LIMIT_DEFAULT
        )
        state = parameters.one_of(request, "state", queries.STATE_CHOICES, default="current")
        kind = None
        if "kind" in request.GET:
            kind = parameters.one_of(request, "kind", loading.ALL_KINDS, default="idle")
        cursor = cursors.read(request, UUID)
        with scope.reading(here):
            rows = queries.detections(
                here,
                accounts=self._accounts(request, caller),
                pool_ids=self._pools(request, caller),
                kind=kind,
                state=state,
                before=cursor,
                limit=limit + 1,
            )
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, str(rows[limit - 1].id))
        return self.respond(
            wire.DetectionPage(
                at=datetime.now(UTC), detections=[facts(r) for r in rows[:limit]], next=following
            )
        )

    def _accounts(self, request: HttpRequest, caller) -> Collection[UUID] | None:
        seen = self.seen(caller)
        name = parameters.text(request, "account")
        if name is None:
            return seen
        here = caller.organization_id
        top = account_named(here, name)
        if seen is not None and top.id not in seen:
            raise NotFound("account_unknown", "There is no such account.", field="account")
        return frozenset(tenancy.subtree_ids(here, (top.id,), limit=ACCOUNTS_MAX))

    def _pools(self, request: HttpRequest, caller) -> Collection[UUID] | None:
        name = parameters.text(request, "pool")
        return caller.actor.pool_ids if name is None else (self.pool(caller, name).id,)


class DetectionOperation(_DetectionOperation):
    """Read a detection."""

    @describe(
        "readDetection",
        tag="preemption",
        summary="What was found, its evidence, and what became of it",
        gives=wire.DetectionFacts,
        problems=(404,),
        examples=(examples.ONE,),
    )
    def get(self, request: HttpRequest, detection_id: UUID) -> HttpResponse:
        """Evidence is as it was when it was found."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = self.one(caller, detection_id)
        return self.respond(facts(row))


class AcknowledgeDetectionOperation(_DetectionOperation):
    """Acknowledge a detection."""

    @describe(
        "acknowledgeDetection",
        tag="preemption",
        summary="Say that it is known, and why it is so",
        takes={JSON: wire.DetectionAcknowledgement},
        gives=wire.DetectionDecision,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.ACKNOWLEDGEMENT, examples.ACKNOWLEDGED),
    )
    def post(self, request: HttpRequest, detection_id: UUID) -> HttpResponse:
        """For leads of the account and operators; no token may do it."""
        return self.decide(
            request,
            detection_id,
            wire.DetectionAcknowledgement,
            lambda row, body: AcknowledgeDetection(
                detection_id=row.id, account_id=row.account_id, until=body.until
            ),
        )


class ReleaseDetectedOperation(_DetectionOperation):
    """Release what was found idle."""

    @describe(
        "releaseDetected",
        tag="preemption",
        summary="Release an allocation that does nothing",
        takes={JSON: wire.DetectionRelease},
        gives=wire.DetectionDecision,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.RELEASE, examples.RELEASED),
    )
    def post(self, request: HttpRequest, detection_id: UUID) -> HttpResponse:
        """Its units are free at once; the scheduler is told at the job's next heartbeat, by
        `already_ended`. For leads of the account and operators; no token may do it."""
        return self.decide(
            request,
            detection_id,
            wire.DetectionRelease,
            lambda row, body: ReleaseDetected(detection_id=row.id, account_id=row.account_id),
        )


class DetectionPolicyOperation(QuotaOperation):
    """Read or set what is found."""

    @describe(
        "readDetectionPolicy",
        tag="preemption",
        summary="What is found to be idle, a zombie, or far above the usual",
        gives=wire.DetectionPolicy,
        examples=(examples.POLICY,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """What holds for the next look. For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            found = loading.policy(caller.organization_id)
        return self.respond(_policy(found))

    @describe(
        "setDetectionPolicy",
        tag="preemption",
        summary="Set what is found",
        takes={JSON: wire.NewDetectionPolicy},
        gives=wire.DetectionPolicy,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_POLICY, examples.POLICY),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """Holds from the next look on; replaces the policy as a whole. For operators of the root
        account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewDetectionPolicy)
        shares = {"idle_below": body.idle_below, "zombie_below": body.zombie_below}
        command = SetDetectionPolicy(kinds=tuple(body.kinds), **shares, **fields_of(body, _COUNTS))
        wanted = policy_of(command)
        outcome = execute(command, self.change(request, caller, body))
        return self.respond(_policy(wanted), replayed=outcome.replayed)


def facts(row: DetectionRow) -> wire.DetectionFacts:
    """A detection for JSON."""
    work, use = row.work, row.use
    return wire.DetectionFacts(
        id=str(row.id),
        work=None
        if work is None
        else wire.DetectionWork(
            until=work.until,
            compute_util=float(work.compute_util),
            below=float(work.below),
            limit_seconds=work.limit_seconds,
            memory_gb=None if work.memory_gb is None else float(work.memory_gb),
            progress_at=work.progress_at,
            stretches=[
                wire.DetectionWorkStretch(
                    start=one.start, mean=float(one.mean), peak=float(one.peak)
                )
                for one in work.stretches
            ],
        ),
        use=None
        if use is None
        else wire.DetectionUse(
            median=float(use.median),
            deviation=float(use.deviation),
            times=float(use.times),
            days=list(use.days),
            **fields_of(use, ("day", "consumed", "factor", "spread", "first_day")),
        ),
        **fields_of(row, _FACTS),
    )


def _policy(found: loading.DetectionPolicy) -> wire.DetectionPolicy:
    rule = found.rule
    return wire.DetectionPolicy(
        kinds=list(found.kinds),
        idle_below=_decimal(rule.idle_below),
        zombie_below=_decimal(rule.zombie_below),
        **fields_of(rule, _COUNTS),
    )


def _decimal(share: Fraction) -> Decimal:
    return Decimal(share.numerator) / Decimal(share.denominator)
