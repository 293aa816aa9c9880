"""`GET /api/v1/allocations`: what was admitted and what became of it."""

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.operation import Operation
from config.api.schema import describe, paging, query
from ledger import scope
from ledger.errors import NotFound
from ledger.types import ActorKind
from quota import wire
from quota.api import examples
from quota.queries import allocations as queries
from quota.queries.allocations import AllocationRow
from tenancy import policy
from tenancy.domain.roles import READ, Scope

LIMIT_DEFAULT = 100


class _ReadOperation(Operation):
    def bounds(self, caller) -> dict[str, Any]:
        """What the caller may see. Runs inside `scope.reading`.

        Raises:
            Denied: nothing.
        """
        actor, here = caller.actor, caller.organization_id
        if actor.kind == ActorKind.PERSON:
            under = policy.accounts_with(actor, READ, here)
            if not under:
                policy.authorize(actor, READ, None, here)
            return {"under": under}
        if Scope.ADMISSION_WRITE not in actor.scopes:
            policy.authorize(actor, Scope.EXPORT_READ, None, here)
        return {"pool_ids": None if actor.pool_ids is None else tuple(actor.pool_ids)}


class AllocationsOperation(_ReadOperation):
    """List allocations."""

    parameters = frozenset({"account", "person", "pool", "state", "sort", "cursor", "limit"})

    @describe(
        "listAllocations",
        tag="allocations",
        summary="Allocations, newest first or in another order",
        gives=wire.AllocationPage,
        parameters=(
            query("account", "Of this account and all below it."),
            query("person", "Of this person."),
            query("pool", "Of this pool."),
            query("state", "`live` is held or running.", enum=list(queries.STATES)),
            query(
                "sort",
                "`newest`; `units`: largest first; `lease`: of live ones, what is over first; "
                "`ended`: of past ones, last ended first.",
                enum=list(queries.ORDERS),
            ),
            *paging(queries.LIST_MAX, LIMIT_DEFAULT),
        ),
        examples=(examples.PAGE,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """People see the accounts on which they have a role; machines need `admission:write` or
        `export:read`. States are judged now."""
        caller = self.caller(request)
        now = datetime.now(UTC)
        limit = parameters.integer(
            request, "limit", low=1, high=queries.LIST_MAX, default=LIMIT_DEFAULT
        )
        state = None
        if "state" in request.GET:
            state = parameters.one_of(request, "state", queries.STATES, default="live")
        sort = parameters.one_of(request, "sort", tuple(queries.ORDERS), default="newest")
        cursor = cursors.read(request, str)
        after = None if cursor is None else queries.Place.of(cursor, sort)
        with scope.reading(caller.organization_id):
            rows = queries.allocations(
                caller.organization_id,
                now=now,
                account=parameters.text(request, "account"),
                person=parameters.text(request, "person"),
                pool=parameters.text(request, "pool"),
                state=state,
                sort=sort,
                after=after,
                limit=min(limit + 1, queries.LIST_MAX),
                **self.bounds(caller),
            )
        more = len(rows) > limit or len(rows) == queries.LIST_MAX
        rows = rows[:limit]
        return self.respond(
            wire.AllocationPage(
                at=now,
                allocations=[facts(row) for row in rows],
                next=(
                    cursors.next_address(request, queries.place_of(rows[-1], sort).text())
                    if more and rows
                    else None
                ),
            )
        )


class AllocationOperation(_ReadOperation):
    """Read the allocations of a job."""

    @describe(
        "readAllocation",
        tag="allocations",
        summary="A job's allocations, of all attempts",
        gives=wire.AllocationsOfJob,
        problems=(404,),
        examples=(examples.OF_JOB,),
    )
    def get(self, request: HttpRequest, key: str) -> HttpResponse:
        """By the scheduler's own key of the job."""
        caller = self.caller(request)
        now = datetime.now(UTC)
        with scope.reading(caller.organization_id):
            rows = queries.of_key(caller.organization_id, key, now=now, **self.bounds(caller))
        if not rows:
            raise NotFound("allocation_unknown", "No allocation has this key.", field="key")
        return self.respond(wire.AllocationsOfJob(at=now, allocations=[facts(r) for r in rows]))


def facts(row: AllocationRow) -> wire.AllocationFacts:
    """An allocation for JSON."""
    return wire.AllocationFacts(
        id=str(row.id),
        key=row.key,
        attempt=row.attempt,
        pool=row.pool,
        account=row.account,
        person=row.person,
        units=row.units,
        min_units=row.min_units,
        wanted_units=row.wanted_units,
        job_class=row.priority_class,
        tier=row.tier,
        state=row.state,
        held_at=row.held_at,
        hold_until=row.hold_until,
        started_at=row.started_at,
        heard_at=row.heard_at,
        lease_until=row.lease_until,
        lease_seconds=row.lease_seconds,
        duration_seconds=row.duration_seconds,
        ended_at=row.ended_at,
        reclaim_seconds=row.reclaim_seconds,
        adopted=row.adopted,
        labels=row.labels,
        steps=[wire.StepView(at=at, units=units, tier=tier) for at, units, tier in row.steps],
    )
