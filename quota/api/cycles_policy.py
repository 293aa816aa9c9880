"""`/api/v1/reviews/cycles/policy`: how reviews of quotas open by themselves."""

import dataclasses
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from quota.api import cycles_examples as examples
from quota.api import cycles_wire as wire
from quota.api.cycles_reading import CycleOperation
from quota.api.reading import fields_of
from quota.commands.cycles import SetCyclePolicy
from quota.domain.cycles import CyclePolicy
from quota.loading import cycles as loading
from quota.queries.versions import versions
from tenancy.domain.roles import POLICY_WRITE

RULES: Final = tuple(field.name for field in dataclasses.fields(CyclePolicy))


class CyclePolicyOperation(CycleOperation):
    """Read or set how review cycles open by themselves."""

    @describe(
        "readCyclePolicy",
        tag="reviews",
        summary="How reviews of quotas open by themselves each quarter",
        gives=wire.CyclePolicyFacts,
        examples=(examples.CYCLE_POLICY,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """For whoever sees reviews of some account."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            self.viewer(caller)
            found = _told(loading.policy(here), _version(here))
        return self.respond(found)

    @describe(
        "setCyclePolicy",
        tag="reviews",
        summary="Set how reviews of quotas open by themselves",
        takes={JSON: wire.NewCyclePolicy},
        gives=wire.CyclePolicyOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_CYCLE_POLICY, examples.CYCLE_POLICY_SET),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """As a whole, for cycles that open from now on. For operators of the root account; no
        token may do it."""
        caller = self.caller(request)
        self.require(caller, POLICY_WRITE)
        body = read_json(request, wire.NewCyclePolicy)
        wanted = CyclePolicy(**fields_of(body, RULES))
        command = SetCyclePolicy(policy=wanted, expected_version=body.expected_version)
        outcome = execute(command, self.because(request, caller, body.reason))
        done = outcome.result
        answer = wire.CyclePolicyOutcome(changed=done.changed, policy=_told(wanted, done.version))
        return self.respond(answer, replayed=outcome.replayed)


def _told(policy: CyclePolicy, version: int) -> wire.CyclePolicyFacts:
    return wire.CyclePolicyFacts(version=version, **fields_of(policy, RULES))


def _version(organization_id: UUID) -> int:
    stream = f"cycle_policy:{organization_id}"
    return versions(organization_id, (stream,)).get(stream, 0)
