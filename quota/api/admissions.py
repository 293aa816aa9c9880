"""`POST /api/v1/admissions`: may these jobs run, and on whose capacity?"""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api import bodies, parameters
from config.api.faults import fault
from config.api.operation import JSON, Operation
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger.errors import Invalid
from ledger.execution import execute
from quota import wire
from quota.api import examples
from quota.commands.admissions import AdmitBatch
from quota.domain.batch import REQUESTS_MAX
from tenancy.domain.roles import Scope

BYTES_MAX = 32 * bodies.MIB
_FAILURES = (msgspec.DecodeError, RecursionError)

_whole = msgspec.json.Decoder(wire.AskBatch)
_loose = msgspec.json.Decoder(wire.LooseAskBatch)
_one = msgspec.json.Decoder(wire.Ask)

Item = wire.Ask | wire.AdmissionResult


class AdmissionsOperation(Operation):
    """Decide waiting jobs."""

    parameters = frozenset({"dry_run"})

    @describe(
        "admitJobs",
        tag="admissions",
        summary="Admit waiting jobs, or say what stops them",
        takes={JSON: wire.AskBatch},
        gives=wire.Admissions,
        parameters=(
            query("dry_run", "`1` decides and changes nothing.", enum=["0", "1", "false", "true"]),
            IDEMPOTENCY_KEY,
        ),
        problems=(409,),
        examples=(examples.ADMIT, examples.ADMITTED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide up to 10,000 jobs in their order, in one transaction. Each gets its answer; a job
        that was admitted before gets its allocations again."""
        caller = self.caller(request)
        self.require(caller, Scope.ADMISSION_WRITE)
        dry_run = parameters.flag(request, "dry_run")
        _, body = bodies.read(request, (JSON,), bytes_max=BYTES_MAX)
        items, says_dry = _read(body)
        asks = tuple(item for item in items if isinstance(item, wire.Ask))
        context = dataclasses.replace(
            self.context(request, caller), dry_run=dry_run or says_dry, now=datetime.now(UTC)
        )
        outcome = execute(AdmitBatch(requests=asks), context)
        answer = _merged(items, outcome.result, dry_run=context.dry_run)
        return self.respond(answer, replayed=outcome.replayed)


def _read(body: bytes) -> tuple[list[Item], bool]:
    """The jobs of a body; those that mean nothing are answered in place."""
    try:
        whole = _whole.decode(body)
    except msgspec.ValidationError:
        return _read_loosely(body)
    except _FAILURES as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
    _check_count(len(whole.requests))
    return list(whole.requests), whole.dry_run


def _read_loosely(body: bytes) -> tuple[list[Item], bool]:
    try:
        loose = _loose.decode(body)
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    _check_count(len(loose.requests))
    return [_item(text) for text in loose.requests], loose.dry_run


def _item(text: msgspec.Raw) -> Item:
    try:
        return _one.decode(text)
    except _FAILURES as error:
        found = fault(error)
        wrong = wire.Fault(code=found.code, field=found.field, detail=found.detail)
        key, attempt = named(text)
        return wire.AdmissionResult(key=key, attempt=attempt, status="invalid", errors=[wrong])


def named(text: msgspec.Raw) -> tuple[str | None, int | None]:
    """Key and attempt of an item at fault, if that much can be read."""
    try:
        found: Any = msgspec.json.decode(text)
    except _FAILURES:
        return None, None
    if not isinstance(found, dict):
        return None, None
    key, attempt = found.get("key"), found.get("attempt")
    return (
        key[:255] if isinstance(key, str) else None,
        attempt if isinstance(attempt, int) and abs(attempt) < 2**53 else None,
    )


def _check_count(count: int) -> None:
    if count > REQUESTS_MAX:
        raise Invalid(
            "too_many_items",
            f"One request takes at most {REQUESTS_MAX} items. Send the rest in further ones.",
            field="requests",
            facts={"limit": REQUESTS_MAX},
        )


def _merged(items: list[Item], decided: wire.Admissions, *, dry_run: bool) -> wire.Admissions:
    """Answers in the order of the questions. What a dry run made was never there: no ids."""
    answers = iter(decided.results)
    results = [item if isinstance(item, wire.AdmissionResult) else next(answers) for item in items]
    if dry_run:
        for result in results:
            if not result.repeated:
                for allocation in result.allocations:
                    allocation.id = None
    return wire.Admissions(
        at=decided.at,
        dry_run=dry_run,
        admitted=decided.admitted,
        denied=decided.denied,
        heartbeat_seconds=decided.heartbeat_seconds,
        results=results,
    )
