"""`/api/v1/preemption-policy`: an organization's budgets of preemption."""

import dataclasses
from decimal import Decimal

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from preemption import loading, wire
from preemption.api import examples
from preemption.commands.policies import SetPreemptionPolicy
from quota.api.reading import QuotaOperation, fields_of
from tenancy.domain.roles import POOL_WRITE

_BUDGETS = tuple(field.name for field in dataclasses.fields(SetPreemptionPolicy))
_COUNTS = tuple(name for name in _BUDGETS if name not in ("pool_share", "plan_seconds"))


class PreemptionPolicyOperation(QuotaOperation):
    """Read or set the budgets."""

    @describe(
        "readPreemptionPolicy",
        tag="preemption",
        summary="How much may be preempted, and how often",
        gives=wire.PreemptionBudgets,
        examples=(examples.BUDGETS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """What holds for every plan from now on. For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            found = loading.policy(caller.organization_id)
        share = found.budgets.pool_share
        return self.respond(
            wire.PreemptionBudgets(
                pool_share=Decimal(share.numerator) / Decimal(share.denominator),
                plan_seconds=found.plan_seconds,
                **fields_of(found.budgets, _COUNTS),
            )
        )

    @describe(
        "setPreemptionPolicy",
        tag="preemption",
        summary="Set the budgets of preemption",
        takes={JSON: wire.NewPreemptionBudgets},
        gives=wire.PreemptionBudgets,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_BUDGETS, examples.BUDGETS),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """Plans that stand keep what they were made with. For operators of the root account; no
        token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewPreemptionBudgets)
        values = fields_of(body, _BUDGETS)
        outcome = execute(SetPreemptionPolicy(**values), self.change(request, caller, body))
        return self.respond(wire.PreemptionBudgets(**values), replayed=outcome.replayed)
