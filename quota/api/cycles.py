"""`/api/v1/reviews/cycles`: list, open, read, close, give up. The commands are the browser's."""

from dataclasses import replace
from datetime import UTC
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging
from ledger import scope
from ledger.execution import execute
from quota.api import cycles_examples as examples
from quota.api import cycles_wire as wire
from quota.api.cycles_reading import CycleOperation, summaries
from quota.api.reading import fields_of
from quota.api.requests_reading import clock, placed
from quota.commands.cycle_close import CloseCycle
from quota.commands.cycles import CancelCycle, OpenCycle
from quota.queries import cycles as queries
from tenancy.api.reading import account_named

LIMIT_DEFAULT = 50
_LIMIT_MAX = queries.LIST_MAX - 1
_IMPOSSIBLE = ("account", "pool", "units", "code", "detail")


class CyclesOperation(CycleOperation):
    """List review cycles, or open one."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listCycles",
        tag="reviews",
        summary="Reviews of all quotas of a subtree, newest first",
        gives=wire.Cycles,
        parameters=paging(_LIMIT_MAX, LIMIT_DEFAULT, entries="Reviews"),
        examples=(examples.CYCLES,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Those of accounts that the caller leads, reviews or audits, or that lie above. A machine
        needs `export:read`."""
        caller = self.caller(request)
        here = caller.organization_id
        limit = parameters.integer(request, "limit", low=1, high=_LIMIT_MAX, default=LIMIT_DEFAULT)
        before = cursors.read(request, UUID)
        with scope.reading(here):
            who = self.viewer(caller)
            rows = queries.cycles(here, who, before=before, limit=limit + 1)
            told = summaries(here, rows[:limit])
            waiting = queries.waiting_for(here, who.leads) if who.leads else 0
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].id)
        return self.respond(wire.Cycles(at=clock(), waiting=waiting, cycles=told, next=following))

    @describe(
        "openCycle",
        tag="reviews",
        summary="Open a review of every quota at and below an account",
        takes={JSON: wire.NewCycle},
        gives=wire.CycleOpening,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_CYCLE,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """By whoever reviews the account. The list of quotas is fixed at the opening. With
        `dry_run` nothing is opened, and the answer says how many it would be."""
        caller = self.caller(request)
        self.person(caller)
        body = read_json(request, wire.NewCycle)
        with scope.reading(caller.organization_id):
            account = account_named(caller.organization_id, body.account)
        command = OpenCycle(
            account_id=account.id,
            name=body.name,
            # One spelling of an instant, so that a repeat is the same command.
            deadline=body.deadline.astimezone(UTC),
            window_days=body.window_days,
        )
        with placed(body):
            outcome = execute(command, self.change(request, caller, body))
        made = outcome.result
        return self.respond(
            wire.CycleOpening(
                id=None if body.dry_run else made.cycle_id, quota_count=made.quota_count
            ),
            status=201,
            replayed=outcome.replayed,
        )


class OneCycleOperation(CycleOperation):
    """Read a review cycle."""

    @describe(
        "readCycle",
        tag="reviews",
        summary="A review with its progress and what its decisions would do",
        gives=wire.CycleDetail,
        problems=(404,),
        examples=(examples.CYCLE,),
    )
    def get(self, request: HttpRequest, cycle_id: UUID) -> HttpResponse:
        """Counts are of the whole review, whatever part of it the caller sees; to a token that is
        bound to pools, `pools` holds only these."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            row, _ = self.visible(caller, cycle_id)
            (summary,) = summaries(here, [row])
            people = queries.reviewers(here, row.id)
            pools = queries.effects(here, row.id)
            known = None if self.pool_ids(caller) is None else self.pools(caller)
        return self.respond(
            wire.CycleDetail(
                at=clock(),
                cycle=summary,
                reviewers=[
                    wire.CycleReviewer(person=one.short_name, decided=one.decided) for one in people
                ],
                pools=[
                    wire.CyclePool(**fields_of(one, wire.CyclePool.__struct_fields__))
                    for one in pools
                    if known is None or one.pool in known
                ],
            )
        )


class CloseCycleOperation(CycleOperation):
    """Close."""

    @describe(
        "closeCycle",
        tag="reviews",
        summary="Apply all decisions of a review at once",
        takes={JSON: wire.CycleClosing},
        gives=wire.CycleOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.CLOSING, examples.CLOSED),
    )
    def post(self, request: HttpRequest, cycle_id: UUID) -> HttpResponse:
        """By whoever reviews the whole of it. All or nothing: quotas without a decision refuse it
        unless `undecided_keep`, decisions that cannot be applied unless `without_impossible`. With
        `dry_run` nothing changes, and the answer says what would."""
        caller = self.acting(request, cycle_id)
        body = read_json(request, wire.CycleClosing)
        command = CloseCycle(
            cycle_id=cycle_id,
            undecided_keep=body.undecided_keep,
            without_impossible=body.without_impossible,
        )
        with placed(body):
            outcome = execute(command, self.change(request, caller, body))
        made = outcome.result
        return self.respond(
            wire.CycleOutcome(
                dry_run=body.dry_run,
                **fields_of(made, ("changed", "kept", "undecided", "impossible_count")),
                impossible=[
                    wire.CycleImpossible(**fields_of(one, _IMPOSSIBLE)) for one in made.impossible
                ],
            ),
            replayed=outcome.replayed,
        )


class CancelCycleOperation(CycleOperation):
    """Give up."""

    @describe(
        "cancelCycle",
        tag="reviews",
        summary="Give a review up; nothing of it is applied",
        takes={JSON: wire.CycleEnd},
        gives=wire.CycleEnded,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.CANCEL,),
    )
    def post(self, request: HttpRequest, cycle_id: UUID) -> HttpResponse:
        """By whoever may close it. The reason is kept."""
        caller = self.acting(request, cycle_id)
        body = read_json(request, wire.CycleEnd)
        context = replace(self.context(request, caller), reason=body.reason)
        outcome = execute(CancelCycle(cycle_id=cycle_id), context)
        return self.respond(wire.CycleEnded(id=outcome.result.cycle_id), replayed=outcome.replayed)
