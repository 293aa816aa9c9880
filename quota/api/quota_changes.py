"""Changes of quotas over REST: set, end, schedule, cancel. The commands are the browser's own."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import Context, execute
from quota.api import quota_examples as examples
from quota.api import quota_wire as wire
from quota.api.quotas import standings
from quota.api.reading import AS_OF, QuotaOperation, fields_of
from quota.commands.quotas import CancelScheduledQuota, EndQuota, SetQuota
from quota.queries import quotas as queries
from quota.queries.pools import PoolRow
from tenancy.api.reading import account_named
from tenancy.domain.roles import POOL_WRITE
from tenancy.queries import AccountRow


class _OneQuotaOperation(QuotaOperation):
    def _place(self, caller, name: str, pool: str) -> tuple[AccountRow, PoolRow]:
        return account_named(caller.organization_id, name), self.pool(caller, pool)

    def _answer(
        self, command: SetQuota | EndQuota, context: Context, account: AccountRow, pool: PoolRow
    ) -> HttpResponse:
        outcome = execute(command, context)
        answer = wire.QuotaOutcome(
            account=account.name,
            pool=pool.name,
            dry_run=context.dry_run,
            **fields_of(
                outcome.result, ("changed", "promised", "promisable", "change_id", "foreseen")
            ),
        )
        return self.respond(answer, replayed=outcome.replayed)


class AccountQuotaOperation(_OneQuotaOperation):
    """Read or set one quota."""

    parameters = frozenset({"as_of"})

    @describe(
        "readQuota",
        tag="quotas",
        summary="An account in one pool",
        gives=wire.QuotaStanding,
        parameters=(AS_OF,),
        problems=(404,),
    )
    def get(self, request: HttpRequest, name: str, pool: str) -> HttpResponse:
        """The same as one entry of the account's quotas."""
        caller = self.caller(request)
        here = caller.organization_id
        now, as_of = self.instants(request)
        with scope.reading(here):
            account, row = self._place(caller, name, pool)
            self.authorize_reading(caller, account.id)
            readable = self.readable_ids(caller)
            found = standings(here, account.id, [row.id], now=now, as_of=as_of, readable=readable)
        if not found:
            raise NotFound(
                "account_unknown", "The account or the pool did not exist then.", field="as_of"
            )
        return self.respond(found[0])

    @describe(
        "setQuota",
        tag="quotas",
        summary="Set a quota, now, later or for a while",
        takes={JSON: wire.NewQuota},
        gives=wire.QuotaOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_QUOTA, examples.QUOTA_OUTCOME),
    )
    def put(self, request: HttpRequest, name: str, pool: str) -> HttpResponse:
        """The quota as a whole: what is left out is no limit. Refused with the shortfall where the
        pool cannot keep the promise. Needs the role operator on the root; no token may do it."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewQuota)
        here = caller.organization_id
        with scope.reading(here):
            account, row = self._place(caller, name, pool)
            lender = (
                account_named(here, body.carve_from, field="carve_from")
                if body.carve_from
                else None
            )
        command = SetQuota(
            account_id=account.id,
            pool_id=row.id,
            carve_from_id=lender.id if lender else None,
            **fields_of(
                body,
                (
                    *("guaranteed", "borrowing_limit", "lending_limit", "effective_at"),
                    *("ends_at", "expose", "expected_version"),
                ),
            ),
        )
        return self._answer(command, self.change(request, caller, body), account, row)


class EndQuotaOperation(_OneQuotaOperation):
    """End a temporary quota."""

    @describe(
        "endQuota",
        tag="quotas",
        summary="End a temporary quota before its time",
        takes={JSON: wire.QuotaEnd},
        gives=wire.QuotaOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.QUOTA_END,),
    )
    def post(self, request: HttpRequest, name: str, pool: str) -> HttpResponse:
        """What stood before stands again; what was carved goes back. For operators."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.QuotaEnd)
        with scope.reading(caller.organization_id):
            account, row = self._place(caller, name, pool)
        command = EndQuota(
            account_id=account.id, pool_id=row.id, expected_version=body.expected_version
        )
        return self._answer(command, self.change(request, caller, body), account, row)


class ScheduledQuotasOperation(QuotaOperation):
    """Read what is to come."""

    parameters = frozenset({"account", "pool"})

    @describe(
        "listScheduledQuotas",
        tag="quotas",
        summary="Changes of quotas to come, the next first",
        gives=wire.ScheduledQuotas,
        parameters=(query("account", "Only of this account."), query("pool", "Only in this pool.")),
        problems=(404,),
        examples=(examples.SCHEDULED,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Of the accounts that the caller may read."""
        caller = self.caller(request)
        here = caller.organization_id
        now, _ = self.instants(request)
        account, pool = parameters.text(request, "account"), parameters.text(request, "pool")
        with scope.reading(here):
            readable = self.readable_ids(caller)
            bound = {row.id for row in self.pools(caller).values()}
            rows = queries.coming(
                here,
                now=now,
                account_id=account_named(here, account).id if account else None,
                pool_id=self.pool(caller, pool).id if pool else None,
            )
        changes = [
            wire.ScheduledQuotaFacts(
                **fields_of(one, ("change_id", "account", "pool", "starts_at", "ends_at")),
                **fields_of(one.quota, ("guaranteed", "borrowing_limit", "lending_limit")),
                lender=one.lender,
            )
            for one in rows
            if one.pool_id in bound and (readable is None or one.account_id in readable)
        ]
        return self.respond(wire.ScheduledQuotas(at=now, changes=changes))


class CancelScheduledQuotaOperation(QuotaOperation):
    """Take a change back."""

    @describe(
        "cancelScheduledQuota",
        tag="quotas",
        summary="Cancel a change that has not taken effect",
        takes={JSON: wire.ScheduleCancel},
        gives=wire.ScheduleGone,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409, 422),
        examples=(examples.CANCEL,),
    )
    def post(self, request: HttpRequest, change_id: UUID) -> HttpResponse:
        """Refused where it took effect, is due, or never was. For operators."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.ScheduleCancel)
        outcome = execute(
            CancelScheduledQuota(change_id=change_id), self.change(request, caller, body)
        )
        return self.respond(
            wire.ScheduleGone(change_id=outcome.result.change_id), replayed=outcome.replayed
        )
