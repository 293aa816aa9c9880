"""`/api/v1/pools/{pool}/reclaim…`: the rule for idle guarantees, a trial of it, where guarantees
stand, and what becomes of what left them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from preemption import reclaim_loading as loading
from preemption import reclaim_queries as queries
from preemption import reclaim_wire as wire
from preemption.api import reclaim_examples as examples
from preemption.commands.reclaim import RestoreQuota, ReturnQuota
from preemption.commands.reclaim_rules import SetReclaimRule, rule_of
from preemption.domain.reclaim import Stage
from preemption.reclaim_loading import PoolRule
from quota.api.reading import QuotaOperation, fields_of
from tenancy.api.reading import account_named
from tenancy.domain.roles import POOL_WRITE

_NUMBERS = ("window_seconds", "cooldown_seconds", "gap_seconds_max", "unknown_seconds_max")
_FIELDS = (*_NUMBERS, "watch_seconds", "threshold", "clear_margin")
_STANDS = (
    *("state", "at", "guarantee", "units", "due_at", "until", "demotions"),
    "justifications",
)


class ReclaimRuleOperation(QuotaOperation):
    """Read or set a pool's rule."""

    @describe(
        "readReclaimRule",
        tag="preemption",
        summary="When idle guarantees of a pool are taken back",
        gives=wire.ReclaimRule,
        problems=(404,),
        examples=(examples.RULE,),
    )
    def get(self, request: HttpRequest, pool: str) -> HttpResponse:
        """The rule that holds; off where none was set. For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            row = self.pool(caller, pool)
            found = loading.rule(caller.organization_id, row.id)
            names = queries.names(caller.organization_id, list(found.exempt_ids))
        return self.respond(_rule(row.name, found, names))

    @describe(
        "setReclaimRule",
        tag="preemption",
        summary="Set a pool's rule for idle guarantees",
        takes={JSON: wire.NewReclaimRule},
        gives=wire.ReclaimRule,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.NEW_RULE, examples.RULE),
    )
    def put(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Holds from the next run on; the rule replaces the one before as a whole. For operators of
        the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewReclaimRule)
        with scope.reading(caller.organization_id):
            row = self.pool(caller, pool)
            command = _command(caller.organization_id, row.id, body, enabled=body.enabled)
        wanted = rule_of(command)
        outcome = execute(command, self.change(request, caller, body))
        with scope.reading(caller.organization_id):
            names = queries.names(caller.organization_id, list(wanted.exempt_ids))
        return self.respond(_rule(row.name, wanted, names), replayed=outcome.replayed)


class ReclaimTrialOperation(QuotaOperation):
    """Try a rule."""

    @describe(
        "tryReclaimRule",
        tag="preemption",
        summary="What a rule would have done with past use",
        takes={JSON: wire.ReclaimTrial},
        gives=wire.ReclaimTrialAnswer,
        problems=(404,),
        examples=(examples.TRIAL, examples.TRIED),
    )
    def post(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Every guarantee as large as it is now, since it is. Nothing is changed or recorded. For
        operators of the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.ReclaimTrial)
        now = datetime.now(UTC)
        start = now - timedelta(days=body.days)
        here = caller.organization_id
        with scope.reading(here):
            row = self.pool(caller, pool)
            rule = rule_of(_command(here, row.id, body))
            found = queries.dry_run(here, row.id, rule, start=start, now=now)
        tried = [_tried(one) for one in found]
        return self.respond(wire.ReclaimTrialAnswer(start=start, end=now, guarantees=tried))


class ReclaimBoardOperation(QuotaOperation):
    """Where guarantees stand."""

    @describe(
        "readReclaim",
        tag="preemption",
        summary="Guarantees that were watched, demoted, justified, restored or returned",
        gives=wire.ReclaimBoard,
        problems=(404,),
        examples=(examples.BOARD,),
    )
    def get(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Of the accounts that the caller may see."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            seen = self.readable_ids(caller)
            row = self.pool(caller, pool)
            found = {
                account: stands
                for account, stands in loading.standings(here, row.id).items()
                if seen is None or account in seen
            }
            names = queries.names(here, list(found))
        rows = [
            wire.ReclaimedGuarantee(account=names[account], **fields_of(stands, _STANDS))
            for account, stands in found.items()
        ]
        rows.sort(key=lambda each: each.account)
        return self.respond(wire.ReclaimBoard(pool=row.name, guarantees=rows))


class RestoreOperation(QuotaOperation):
    """Restore what left a guarantee."""

    @describe(
        "restoreGuarantee",
        tag="preemption",
        summary="Let idle units that left a guarantee be of it again",
        takes={JSON: wire.ReclaimDecision},
        gives=wire.ReclaimDecided,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.DECISION, examples.RESTORED),
    )
    def post(self, request: HttpRequest, pool: str, account: str) -> HttpResponse:
        """Within the cooldown, if the pool can promise them. For leads of the account; no token may
        do it."""
        return _decide(self, request, pool, account, RestoreQuota)


class ReturnOperation(QuotaOperation):
    """Give up what left a guarantee."""

    @describe(
        "returnGuarantee",
        tag="preemption",
        summary="Let idle units that left a guarantee go to the account above",
        takes={JSON: wire.ReclaimDecision},
        gives=wire.ReclaimDecided,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.DECISION, examples.RETURNED),
    )
    def post(self, request: HttpRequest, pool: str, account: str) -> HttpResponse:
        """For good. For whoever reviews the account; no token may do it."""
        return _decide(self, request, pool, account, ReturnQuota)


def _decide(
    operation: QuotaOperation,
    request: HttpRequest,
    pool: str,
    account: str,
    command: type[RestoreQuota] | type[ReturnQuota],
) -> HttpResponse:
    caller = operation.caller(request)
    here = caller.organization_id
    with scope.reading(here):
        operation.readable(caller)
        row = operation.pool(caller, pool)
        of = account_named(here, account)
        operation.authorize_reading(caller, of.id)
    body = read_json(request, wire.ReclaimDecision)
    outcome = execute(
        command(account_id=of.id, pool_id=row.id), operation.change(request, caller, body)
    )
    result = outcome.result
    parent = None
    if result.parent_id is not None:
        with scope.reading(here):
            parent = queries.names(here, [result.parent_id]).get(result.parent_id)
    return operation.respond(
        wire.ReclaimDecided(
            account=of.name,
            pool=row.name,
            changed=result.changed,
            guarantee=result.guarantee,
            parent=parent,
        ),
        replayed=outcome.replayed,
    )


def _command(
    organization_id: UUID,
    pool_id: UUID,
    body: wire.NewReclaimRule | wire.ReclaimTrial,
    *,
    enabled: bool = False,
) -> SetReclaimRule:
    return SetReclaimRule(
        pool_id=pool_id,
        enabled=enabled,
        exempt_ids=_accounts(organization_id, body.exempt),
        maintenance=tuple((window.start, window.end) for window in body.maintenance),
        **fields_of(body, _FIELDS),
    )


def _accounts(organization_id: UUID, names: Sequence[str]) -> tuple[UUID, ...]:
    return tuple(
        sorted({account_named(organization_id, name, field="exempt").id for name in names})
    )


def _rule(pool: str, found: PoolRule, names: Mapping[UUID, str]) -> wire.ReclaimRule:
    rule = found.rule
    return wire.ReclaimRule(
        pool=pool,
        enabled=found.enabled,
        threshold=_decimal(rule.threshold),
        clear_margin=_decimal(rule.clear_margin),
        watch_seconds=rule.watch_seconds,
        exempt=sorted(names.values()),
        maintenance=[
            wire.ReclaimMaintenance(start=low, end=high) for low, high in found.maintenance
        ],
        **fields_of(rule, _NUMBERS),
    )


def _tried(one: queries.WouldHave) -> wire.ReclaimTried:
    told = one.recommendation
    return wire.ReclaimTried(
        account=one.account,
        guarantee=one.guarantee,
        units=one.units,
        left_alone=one.left_alone,
        stages=[_stage(stage) for stage in one.stages],
        utilisation=None if told is None else float(told.utilisation),
        p95=None if told is None else told.p95,
        recommended=None if told is None else told.guarantee,
        idle_cost=None if one.idle_cost is None else one.idle_cost.amount,
        worth_a_month=None if one.worth_a_month is None else one.worth_a_month.amount,
    )


def _stage(stage: Stage) -> wire.ReclaimStage:
    return wire.ReclaimStage(
        stage=stage.name,
        utilisation=None if stage.utilisation is None else float(stage.utilisation),
        **fields_of(stage, ("at", "units", "guarantee", "p95", "until")),
    )


def _decimal(share: Fraction) -> Decimal:
    return Decimal(share.numerator) / Decimal(share.denominator)
