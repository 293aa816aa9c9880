"""`POST /api/v1/pools/{pool}/snapshot`: a scheduler's whole truth about a pool."""

import dataclasses
from datetime import UTC, datetime

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api import bodies
from config.api.faults import fault
from config.api.operation import JSON, Operation
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger.errors import Invalid
from ledger.execution import execute
from quota import wire
from quota.api import examples
from quota.commands.snapshots import ReconcilePool
from tenancy.domain.roles import Scope

BYTES_MAX = 64 * bodies.MIB
_decoder = msgspec.json.Decoder(wire.Snapshot)


class SnapshotOperation(Operation):
    """Reconcile a pool."""

    @describe(
        "reconcilePool",
        tag="allocations",
        summary="Tell everything that runs in a pool; learn what differed",
        takes={JSON: wire.Snapshot},
        gives=wire.Reconciled,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.SNAPSHOT, examples.RECONCILED),
    )
    def post(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Jobs that the scheduler does not name are ended, jobs that were never admitted are
        adopted, lost starts and sizes are caught up with; what cannot be resolved is disputed.
        `dry_run` says what would be done."""
        caller = self.caller(request)
        self.require(caller, Scope.ADMISSION_WRITE)
        _, body = bodies.read(request, (JSON,), bytes_max=BYTES_MAX)
        snapshot = _read(body)
        now = datetime.now(UTC)
        context = dataclasses.replace(
            self.context(request, caller), now=now, dry_run=snapshot.dry_run
        )
        command = ReconcilePool(pool=pool, at=snapshot.at or now, jobs=tuple(snapshot.jobs))
        outcome = execute(command, context)
        outcome.result.dry_run = snapshot.dry_run
        return self.respond(outcome.result, replayed=outcome.replayed)


def _read(body: bytes) -> wire.Snapshot:
    try:
        return _decoder.decode(body)
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
