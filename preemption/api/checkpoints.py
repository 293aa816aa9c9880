"""`POST /api/v1/pools/{pool}/checkpoints`: jobs saved themselves."""

import dataclasses
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.operation import Operation
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger.execution import execute
from preemption import wire
from preemption.api import examples
from preemption.commands.checkpoints import RecordCheckpoints
from tenancy.domain.roles import Scope


class CheckpointsOperation(Operation):
    """Tell of checkpoints."""

    @describe(
        "recordCheckpoints",
        tag="preemption",
        summary="Jobs saved themselves: less would be lost now",
        takes={JSON: wire.Checkpoints},
        gives=wire.CheckpointsTold,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.CHECKPOINTS,),
    )
    def post(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Plans take from whom the least work is lost, and tell its cost. The latest checkpoint of
        each job counts, in whichever order they come."""
        caller = self.caller(request)
        self.require(caller, Scope.PREEMPTION_WRITE)
        body = read_json(request, wire.Checkpoints)
        command = RecordCheckpoints(pool=pool, checkpoints=tuple(body.checkpoints))
        context = dataclasses.replace(self.context(request, caller), now=datetime.now(UTC))
        outcome = execute(command, context)
        return self.respond(outcome.result, replayed=outcome.replayed)
