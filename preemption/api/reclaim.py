"""`/api/v1/pools/{pool}/reclaim…`: where idle guarantees stand, and what becomes of what left
them."""

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from preemption import reclaim_loading as loading
from preemption import reclaim_queries as queries
from preemption import reclaim_wire as wire
from preemption.api import reclaim_examples as examples
from preemption.commands.reclaim import RestoreQuota, ReturnQuota
from quota.api.reading import QuotaOperation, fields_of
from tenancy.api.reading import account_named

_STANDS = (
    *("state", "at", "guarantee", "units", "due_at", "until", "demotions"),
    "justifications",
)


class ReclaimBoardOperation(QuotaOperation):
    """Where guarantees stand."""

    @describe(
        "readReclaim",
        tag="preemption",
        summary="Guarantees that were watched, demoted, justified, restored or returned",
        gives=wire.ReclaimBoard,
        problems=(404,),
        examples=(examples.BOARD,),
    )
    def get(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Of the accounts that the caller may see."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            seen = self.readable_ids(caller)
            row = self.pool(caller, pool)
            found = {
                account: stands
                for account, stands in loading.standings(here, row.id).items()
                if seen is None or account in seen
            }
            names = queries.names(here, list(found))
        rows = [
            wire.ReclaimedGuarantee(account=names[account], **fields_of(stands, _STANDS))
            for account, stands in found.items()
        ]
        rows.sort(key=lambda each: each.account)
        return self.respond(wire.ReclaimBoard(pool=row.name, guarantees=rows))


class RestoreOperation(QuotaOperation):
    """Restore what left a guarantee."""

    @describe(
        "restoreGuarantee",
        tag="preemption",
        summary="Let idle units that left a guarantee be of it again",
        takes={JSON: wire.ReclaimDecision},
        gives=wire.ReclaimDecided,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.DECISION, examples.RESTORED),
    )
    def post(self, request: HttpRequest, pool: str, account: str) -> HttpResponse:
        """Within the cooldown, if the pool can promise them. For leads of the account; no token may
        do it."""
        return _decide(self, request, pool, account, RestoreQuota)


class ReturnOperation(QuotaOperation):
    """Give up what left a guarantee."""

    @describe(
        "returnGuarantee",
        tag="preemption",
        summary="Let idle units that left a guarantee go to the account above",
        takes={JSON: wire.ReclaimDecision},
        gives=wire.ReclaimDecided,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.DECISION, examples.RETURNED),
    )
    def post(self, request: HttpRequest, pool: str, account: str) -> HttpResponse:
        """For good. For whoever reviews the account; no token may do it."""
        return _decide(self, request, pool, account, ReturnQuota)


def _decide(
    operation: QuotaOperation,
    request: HttpRequest,
    pool: str,
    account: str,
    command: type[RestoreQuota] | type[ReturnQuota],
) -> HttpResponse:
    caller = operation.caller(request)
    here = caller.organization_id
    with scope.reading(here):
        operation.readable(caller)
        row = operation.pool(caller, pool)
        of = account_named(here, account)
        operation.authorize_reading(caller, of.id)
    body = read_json(request, wire.ReclaimDecision)
    outcome = execute(
        command(account_id=of.id, pool_id=row.id), operation.change(request, caller, body)
    )
    result = outcome.result
    parent = None
    if result.parent_id is not None:
        with scope.reading(here):
            parent = queries.names(here, [result.parent_id]).get(result.parent_id)
    return operation.respond(
        wire.ReclaimDecided(
            account=of.name,
            pool=row.name,
            changed=result.changed,
            guarantee=result.guarantee,
            parent=parent,
        ),
        replayed=outcome.replayed,
    )
