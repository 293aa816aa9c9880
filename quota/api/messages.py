"""`POST /api/v1/allocations/...`: what schedulers tell of admitted jobs, one or many at once."""

import dataclasses
from datetime import UTC, datetime
from itertools import islice
from typing import Any, ClassVar

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api import bodies
from config.api.faults import fault
from config.api.json_bodies import read_json
from config.api.operation import JSON, Operation
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger.errors import Invalid, NotFound
from ledger.execution import execute
from quota import wire
from quota.api import examples
from quota.api.admissions import named
from quota.commands.allocations import (
    HeartbeatAllocations,
    ReleaseAllocations,
    ResizeAllocations,
    StartAllocations,
)
from tenancy.domain.roles import Scope

BYTES_MAX = 16 * bodies.MIB
_FAILURES = (msgspec.DecodeError, RecursionError)
_loose = msgspec.json.Decoder(wire.LooseMessageBatch)


class _Telling(Operation):
    """Tell of jobs."""

    command: ClassVar[type]
    message: ClassVar[type]

    def tell(self, request: HttpRequest, caller, messages: list[Any]) -> tuple[wire.Told, bool]:
        """Run the command; the answer and whether it was given before."""
        context = dataclasses.replace(self.context(request, caller), now=datetime.now(UTC))
        outcome = execute(self.command(messages=tuple(messages)), context)
        return outcome.result, outcome.replayed

    def tell_many(self, request: HttpRequest) -> HttpResponse:
        """All messages of a body; those that mean nothing are answered in place."""
        caller = self.caller(request)
        self.require(caller, Scope.ADMISSION_WRITE)
        _, body = bodies.read(request, (JSON,), bytes_max=BYTES_MAX)
        items = _items(body, self.message)
        good = [item for item in items if not isinstance(item, wire.MessageResult)]
        told, replayed = self.tell(request, caller, good)
        return self.respond(_merged(items, told), replayed=replayed)

    def tell_one(self, request: HttpRequest, key: str, kind: type) -> HttpResponse:
        """One job by the key in the address."""
        caller = self.caller(request)
        self.require(caller, Scope.ADMISSION_WRITE)
        one = read_json(request, kind)
        values = {name: getattr(one, name) for name in one.__struct_fields__}
        try:
            message = msgspec.convert({"key": key} | values, self.message)
        except msgspec.ValidationError:
            raise _unknown() from None
        told, replayed = self.tell(request, caller, [message])
        if told.results[0].status == "unknown":
            raise _unknown()
        return self.respond(told, replayed=replayed)


def _unknown() -> NotFound:
    return NotFound(
        "allocation_unknown", "No allocation has this key, attempt and pool.", field="key"
    )


def _items(body: bytes, kind: type) -> list[Any]:
    try:
        texts = _loose.decode(body).messages
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    except _FAILURES as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
    if len(texts) > wire.MESSAGES_MAX:
        raise Invalid(
            "too_many_items",
            f"One request takes at most {wire.MESSAGES_MAX} items. Send the rest in further ones.",
            field="messages",
            facts={"limit": wire.MESSAGES_MAX},
        )
    decoder = msgspec.json.Decoder(kind)
    return [_item(text, decoder) for text in texts]


def _item(text: msgspec.Raw, decoder: msgspec.json.Decoder) -> Any:
    try:
        return decoder.decode(text)
    except _FAILURES as error:
        found = fault(error)
        key, attempt = named(text)
        detail = f"{found.field}: {found.detail}" if found.field else found.detail
        return wire.MessageResult(
            key=key, attempt=attempt, pool=None, status="invalid", code=found.code, detail=detail
        )


def _merged(items: list[Any], told: wire.Told) -> wire.Told:
    """Answers in the order of the messages, those that mean nothing among them."""
    if len(items) == len(told.counts):
        return told
    answers, given = iter(told.results), iter(told.counts)
    results: list[wire.MessageResult] = []
    counts: list[int] = []
    for item in items:
        wrong = isinstance(item, wire.MessageResult)
        mine = [item] if wrong else list(islice(answers, next(given)))
        results += mine
        counts.append(len(mine))
    return wire.Told(at=told.at, changed=told.changed, counts=counts, results=results)


class StartOperation(_Telling):
    """Tell that jobs run."""

    command = StartAllocations
    message = wire.Message

    @describe(
        "startAllocations",
        tag="allocations",
        summary="Held jobs run",
        takes={JSON: wire.MessageBatch},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.MESSAGES, examples.TOLD),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """A hold that is not started in time lapses. From its start a job has a lease, which
        heartbeats extend."""
        return self.tell_many(request)


class StartOneOperation(StartOperation):
    """Tell of one job."""

    @describe(
        "startAllocation",
        tag="allocations",
        summary="A held job runs",
        takes={JSON: wire.OneMessage},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.ONE, examples.TOLD),
    )
    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """A hold that is not started in time lapses; from its start the job has a lease."""
        return self.tell_one(request, key, wire.OneMessage)


class HeartbeatOperation(_Telling):
    """Tell of jobs."""

    command = HeartbeatAllocations
    message = wire.HeartbeatMessage

    @describe(
        "heartbeatAllocations",
        tag="allocations",
        summary="Running jobs are alive",
        takes={JSON: wire.HeartbeatBatch},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.HEARTBEATS, examples.TOLD),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Each heartbeat extends the job's lease from the instant it speaks of. It may tell of the
        job's work: by that, allocations that lie idle are found."""
        return self.tell_many(request)


class HeartbeatOneOperation(HeartbeatOperation):
    """Tell of one job."""

    @describe(
        "heartbeatAllocation",
        tag="allocations",
        summary="A running job is alive",
        takes={JSON: wire.OneHeartbeat},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.ONE_HEARTBEAT, examples.TOLD),
    )
    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """Each heartbeat extends the job's lease from the instant it speaks of. It may tell of the
        job's work: by that, allocations that lie idle are found."""
        return self.tell_one(request, key, wire.OneHeartbeat)


class ResizeOperation(_Telling):
    """Tell of jobs."""

    command = ResizeAllocations
    message = wire.ResizeMessage

    @describe(
        "resizeAllocations",
        tag="allocations",
        summary="Running jobs have other units",
        takes={JSON: wire.ResizeBatch},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.RESIZES, examples.TOLD),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Between the least and the most that was asked for; growth needs room in its own tier."""
        return self.tell_many(request)


class ResizeOneOperation(ResizeOperation):
    """Tell of one job."""

    @describe(
        "resizeAllocation",
        tag="allocations",
        summary="A running job has other units",
        takes={JSON: wire.OneResize},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.ONE_RESIZE, examples.TOLD),
    )
    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """Between the least and the most that was asked for; growth needs room in its own tier."""
        return self.tell_one(request, key, wire.OneResize)


class ReleaseOperation(_Telling):
    """Tell of jobs."""

    command = ReleaseAllocations
    message = wire.ReleaseMessage

    @describe(
        "releaseAllocations",
        tag="allocations",
        summary="Jobs have ended",
        takes={JSON: wire.ReleaseBatch},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.RELEASES, examples.TOLD),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """The units are free at once, and borrowers may rise into what became free. What was held
        becomes usage."""
        return self.tell_many(request)


class ReleaseOneOperation(ReleaseOperation):
    """Tell of one job."""

    @describe(
        "releaseAllocation",
        tag="allocations",
        summary="A job has ended",
        takes={JSON: wire.OneRelease},
        gives=wire.Told,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.ONE, examples.TOLD),
    )
    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """The units are free at once, and borrowers may rise into what became free. What was held
        becomes usage."""
        return self.tell_one(request, key, wire.OneRelease)
