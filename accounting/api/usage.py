"""`POST /api/v1/usage`: report use, exactly once however often it is sent."""

import hashlib
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

from accounting import partitions
from accounting.api import examples
from accounting.commands.usage import RecordUsage, UsageRecorded
from accounting.usage_bodies import NDJSON, read_batch
from accounting.wire import Usage, UsageBatch
from config.api import bodies, parameters
from config.api.operation import JSON, Operation
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger.execution import execute
from tenancy.domain.roles import Scope


class RecordUsageOperation(Operation):
    """Report a batch of usage records; the answer lists each one that was not accepted."""

    parameters = frozenset({"source"})
    limit = "usage"

    @describe(
        "recordUsage",
        tag="usage",
        summary="Report use, exactly once",
        takes={
            JSON: UsageBatch | list[Usage],
            NDJSON: "One record a line, each as in the JSON body.",
        },
        gives=UsageRecorded,
        parameters=(
            query(
                "source",
                "Stands for records that name no source; the token's name if absent. Keys are "
                "unique within a source.",
            ),
            IDEMPOTENCY_KEY,
        ),
        problems=(409,),
        examples=(examples.USAGE, examples.USAGE_LINES, examples.USAGE_RECORDED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Store up to 100,000 records."""
        caller = self.caller(request)
        # Before the body is even read: whoever may not report use must not keep us busy.
        self.require(caller, Scope.USAGE_WRITE)
        source = parameters.text(request, "source") or caller.actor.label
        content_type, body = bodies.read(request, (JSON, NDJSON))
        batch = read_batch(
            body, ndjson=content_type == NDJSON, source=source, now=datetime.now(UTC)
        )
        if batch.first_started_at is not None:
            partitions.ensure(batch.first_started_at.date(), batch.last_started_at.date())
        command = RecordUsage(
            batch=batch,
            content_digest=_digest(content_type, source, body),
            pool_ids=caller.actor.pool_ids,
        )
        outcome = execute(command, self.context(request, caller))
        return self.respond(outcome.result, replayed=outcome.replayed)


def _digest(content_type: str, source: str, body: bytes) -> bytes:
    """What an idempotency key is bound to: the bytes sent, and what gives them meaning."""
    head = f"{content_type}\n{source}\n".encode()
    return hashlib.sha256(head + hashlib.sha256(body).digest()).digest()
