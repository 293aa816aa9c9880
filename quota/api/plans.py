"""`/api/v1/quota-plan`: the organization's pools, tree and quotas as one YAML document."""

import dataclasses
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

from config.api import bodies, parameters
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.errors import Invalid
from ledger.execution import execute
from quota.api import quota_examples as examples
from quota.api import quota_wire as wire
from quota.api.reading import QuotaOperation, fields_of
from quota.commands.plans import ApplyQuotaPlan, PlanApplied
from quota.importers import formats, native
from quota.importers.plan import PlanReading, QuotaPlan
from quota.queries.plans import as_plan
from tenancy.domain.roles import POOL_WRITE

YAML = "application/yaml"
BYTES_MAX = 8 * bodies.MIB
PROBLEMS_SHOWN_MAX = 20
SKIPPED_SHOWN_MAX = 100
_FLAGS = ("dry_run", "prune", "accept_over_promise")


class QuotaPlanOperation(QuotaOperation):
    """Read or apply a plan."""

    parameters = frozenset({*_FLAGS, "cluster", "reason"})
    offers = ("application/json", YAML)

    @describe(
        "readQuotaPlan",
        tag="quotas",
        summary="Pools, open accounts and quotas that stand, as a plan",
        gives=str,
        also_gives={YAML: "The plan."},
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Ask with `Accept: application/yaml`; as JSON the same text is one string. A temporary
        quota is written as what it returns to. For operators of the root account."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        with scope.reading(caller.organization_id):
            text = native.write(as_plan(caller.organization_id, now=datetime.now(UTC)))
        if request.get_preferred_type(self.offers) == YAML:
            return self.respond_bytes(text.encode(), content_type=YAML)
        return self.respond(text)

    @describe(
        "applyQuotaPlan",
        tag="quotas",
        summary="Make pools, tree and quotas as a plan says, whole or not at all",
        takes={YAML: "A plan of ours, or ClusterQueue, Cohort and ResourceFlavor of Kueue."},
        gives=wire.PlanOutcome,
        parameters=(
            query("dry_run", "`1` tells what would change.", enum=["0", "1", "false", "true"]),
            query(
                "prune",
                "`1`: quotas of the plan's pools that it does not name are taken away.",
                enum=["0", "1", "false", "true"],
            ),
            query(
                "accept_over_promise",
                "`1`: a pool may shrink although guarantees no longer fit.",
                enum=["0", "1", "false", "true"],
            ),
            query("cluster", "Of new pools that come from Kueue's objects."),
            query("reason", "Kept with every change; needed."),
            IDEMPOTENCY_KEY,
        ),
        problems=(404, 409, 422),
        examples=(examples.PLAN, examples.PLANNED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """What the plan does not name stays. The answer lists what changed and who could get more
        or less than before. For operators of the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        flags = {name: parameters.flag(request, name) for name in _FLAGS}
        cluster = parameters.text(request, "cluster") or formats.CLUSTER_DEFAULT
        _, body = bodies.read(request, (YAML,), bytes_max=BYTES_MAX)
        reading = formats.read(body.decode("utf-8-sig", errors="replace"), cluster=cluster)
        dry_run = flags.pop("dry_run")
        context = dataclasses.replace(
            self.context(request, caller),
            reason=parameters.text(request, "reason") or "",
            dry_run=dry_run,
        )
        outcome = execute(ApplyQuotaPlan(plan=_plan(reading), **flags), context)
        answer = _answer(outcome.result, reading, dry_run=dry_run)
        return self.respond(answer, replayed=outcome.replayed)


def _plan(reading: PlanReading) -> QuotaPlan:
    if reading.plan is not None:
        return reading.plan
    shown = [
        f"line {one.line}, {one.field}: {one.detail}"
        for one in reading.problems[:PROBLEMS_SHOWN_MAX]
    ]
    more = len(reading.problems) - len(shown)
    raise Invalid(
        "plan_unreadable",
        f"{' '.join(shown[:3])}{f' And {more} more.' if more else ''} Nothing was changed.",
        field="",
        facts={"problems": shown, "count": len(reading.problems)},
    )


def _answer(made: PlanApplied, reading: PlanReading, *, dry_run: bool) -> wire.PlanOutcome:
    return wire.PlanOutcome(
        dry_run=dry_run,
        counts=made.counts,
        changes=[
            wire.PlanLine(**fields_of(one, ("kind", "name", "detail"))) for one in made.changes
        ],
        affected=[
            wire.PlanAffected(**fields_of(one, wire.PlanAffected.__struct_fields__))
            for one in made.affected
        ],
        affected_count=made.affected_count,
        skipped=[
            f"line {one.line}: {one.detail} ({one.reason})"
            for one in reading.skipped[:SKIPPED_SHOWN_MAX]
        ],
    )
