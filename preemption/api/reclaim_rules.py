"""`/api/v1/reclaim-rule` and `/api/v1/pools/{pool}/reclaim-rule`: rules for idle guarantees, the
organization's and each pool's own, and trials of them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import queries as ledger
from ledger import scope
from ledger.execution import execute
from preemption import reclaim_loading as loading
from preemption import reclaim_queries as queries
from preemption import reclaim_wire as wire
from preemption.api import reclaim_examples as examples
from preemption.commands.reclaim_rules import DropReclaimRule, SetReclaimRule, rule_of
from preemption.domain.reclaim import Stage
from quota.api.reading import QuotaOperation, fields_of
from quota.queries.pools import PoolRow
from tenancy.api.reading import account_named
from tenancy.domain.roles import POOL_WRITE

_NUMBERS = ("window_seconds", "cooldown_seconds", "gap_seconds_max", "unknown_seconds_max")
_FIELDS = (*_NUMBERS, "watch_seconds", "threshold", "clear_margin")


class _RuleOperation(QuotaOperation):
    """What operations on a rule share. `pool` None: the organization's rule."""

    def answer(self, caller, pool: PoolRow | None, *, replayed: bool = False) -> HttpResponse:
        """The rule as it stands, with the version of its stream."""
        here = caller.organization_id
        with scope.reading(here):
            of = here if pool is None else pool.id
            found = loading.default_rule(here) if pool is None else loading.rule(here, pool.id)
            names = queries.names(here, list(found.exempt_ids))
            newest = ledger.history(here, stream=f"reclaim_rule:{of}", limit=1).rows
        rule = found.rule
        told = wire.ReclaimRule(
            pool=None if pool is None else pool.name,
            set_for=found.set_for,
            version=newest[0].version if newest else 0,
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
        return self.respond(told, replayed=replayed)

    def read(self, request: HttpRequest, pool: str | None) -> HttpResponse:
        """For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            row = None if pool is None else self.pool(caller, pool)
        return self.answer(caller, row)

    def put_rule(self, request: HttpRequest, pool: str | None) -> HttpResponse:
        """Set it as a whole."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewReclaimRule)
        with scope.reading(caller.organization_id):
            row = None if pool is None else self.pool(caller, pool)
            command = _command(
                caller.organization_id,
                row,
                body,
                enabled=body.enabled,
                expected_version=body.expected_version,
            )
        outcome = execute(command, self.change(request, caller, body))
        return self.answer(caller, row, replayed=outcome.replayed)

    def attempt(self, request: HttpRequest, pool: str | None) -> HttpResponse:
        """Try one; nothing is changed or recorded."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.ReclaimTrial)
        now = datetime.now(UTC)
        start = now - timedelta(days=body.days)
        here = caller.organization_id
        with scope.reading(here):
            row = None if pool is None else self.pool(caller, pool)
            rule = rule_of(_command(here, row, body))
            pools = queries.followers(here) if row is None else {row.id: row.name}
            found = queries.dry_run(here, pools, rule, start=start, now=now)
        tried = [_tried(one) for one in found]
        return self.respond(wire.ReclaimTrialAnswer(start=start, end=now, guarantees=tried))


class ReclaimDefaultOperation(_RuleOperation):
    """Read or set the organization's rule."""

    @describe(
        "readReclaimDefault",
        tag="preemption",
        summary="When idle guarantees are taken back in pools without a rule of their own",
        gives=wire.ReclaimRule,
        examples=(examples.DEFAULT,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The organization's rule; off where none was set. For whoever may read some account."""
        return self.read(request, None)

    @describe(
        "setReclaimDefault",
        tag="preemption",
        summary="Set the organization's rule for idle guarantees",
        takes={JSON: wire.NewReclaimRule},
        gives=wire.ReclaimRule,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.NEW_RULE, examples.DEFAULT),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """Holds from the next run on in every pool without a rule of its own. For operators of the
        root account; no token may do it."""
        return self.put_rule(request, None)


class ReclaimDefaultTrialOperation(_RuleOperation):
    """Try an organization's rule."""

    @describe(
        "tryReclaimDefault",
        tag="preemption",
        summary="What a rule would have done with past use of pools without one of their own",
        takes={JSON: wire.ReclaimTrial},
        gives=wire.ReclaimTrialAnswer,
        problems=(404, 422),
        examples=(examples.TRIAL, examples.TRIED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """As for one pool, over all pools that follow the organization's rule."""
        return self.attempt(request, None)


class ReclaimRuleOperation(_RuleOperation):
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
        """The rule that holds: the pool's own, else the organization's; off where none was set. For
        whoever may read some account."""
        return self.read(request, pool)

    @describe(
        "setReclaimRule",
        tag="preemption",
        summary="Set a pool's own rule for idle guarantees",
        takes={JSON: wire.NewReclaimRule},
        gives=wire.ReclaimRule,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.NEW_RULE, examples.RULE),
    )
    def put(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Holds from the next run on, whatever the organization's rule says; the rule replaces the
        one before as a whole. For operators of the root account; no token may do it."""
        return self.put_rule(request, pool)


class ReclaimFollowOperation(_RuleOperation):
    """Give a pool's own rule up."""

    @describe(
        "followReclaimDefault",
        tag="preemption",
        summary="Let a pool follow the organization's rule for idle guarantees again",
        takes={JSON: wire.ReclaimFollow},
        gives=wire.ReclaimRule,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.FOLLOW, examples.RULE),
    )
    def post(self, request: HttpRequest, pool: str) -> HttpResponse:
        """From the next run on. For operators of the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.ReclaimFollow)
        with scope.reading(caller.organization_id):
            row = self.pool(caller, pool)
        command = DropReclaimRule(pool_id=row.id, expected_version=body.expected_version)
        outcome = execute(command, self.change(request, caller, body))
        return self.answer(caller, row, replayed=outcome.replayed)


class ReclaimTrialOperation(_RuleOperation):
    """Try a rule."""

    @describe(
        "tryReclaimRule",
        tag="preemption",
        summary="What a rule would have done with past use",
        takes={JSON: wire.ReclaimTrial},
        gives=wire.ReclaimTrialAnswer,
        problems=(404, 422),
        examples=(examples.TRIAL, examples.TRIED),
    )
    def post(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Every guarantee as large as it is now, since it is. Nothing is changed or recorded. For
        operators of the root account; no token may do it."""
        return self.attempt(request, pool)


def _command(
    organization_id: UUID,
    pool: PoolRow | None,
    body: wire.NewReclaimRule | wire.ReclaimTrial,
    **options,
) -> SetReclaimRule:
    return SetReclaimRule(
        pool_id=None if pool is None else pool.id,
        exempt_ids=_accounts(organization_id, body.exempt),
        maintenance=tuple((window.start, window.end) for window in body.maintenance),
        **fields_of(body, _FIELDS),
        **options,
    )


def _accounts(organization_id: UUID, names: Sequence[str]) -> tuple[UUID, ...]:
    return tuple(
        sorted({account_named(organization_id, name, field="exempt").id for name in names})
    )


def _tried(one: queries.WouldHave) -> wire.ReclaimTried:
    told = one.recommendation
    return wire.ReclaimTried(
        pool=one.pool,
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
