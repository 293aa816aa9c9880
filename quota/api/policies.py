"""`/api/v1/admission-policy`: an organization's times of admission."""

import dataclasses

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from quota.api import quota_examples as examples
from quota.api import quota_wire as wire
from quota.api.reading import QuotaOperation, fields_of
from quota.commands.policies import SetAdmissionPolicy
from quota.loading.standings import admission_policy
from tenancy.domain.roles import POOL_WRITE

_TIMES = tuple(field.name for field in dataclasses.fields(SetAdmissionPolicy))


class AdmissionPolicyOperation(QuotaOperation):
    """Read or set the times of admission."""

    @describe(
        "readAdmissionPolicy",
        tag="admissions",
        summary="How long holds and leases last, how often to send heartbeats",
        gives=wire.AdmissionTimes,
        examples=(examples.TIMES,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """What holds for everything admitted from now on. For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            found = admission_policy(caller.organization_id)
        return self.respond(wire.AdmissionTimes(**fields_of(found, _TIMES)))

    @describe(
        "setAdmissionPolicy",
        tag="admissions",
        summary="Set the times of admission",
        takes={JSON: wire.NewAdmissionTimes},
        gives=wire.AdmissionTimes,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_TIMES, examples.TIMES),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """What is held or runs already keeps the times it was given. For operators of the root
        account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewAdmissionTimes)
        command = SetAdmissionPolicy(**fields_of(body, _TIMES))
        outcome = execute(command, self.change(request, caller, body))
        return self.respond(
            wire.AdmissionTimes(**fields_of(outcome.result, _TIMES)), replayed=outcome.replayed
        )
