"""One pool over REST, and the operator's commands on pools and flavors, the browser's own."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from msgspec import UNSET

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import Invalid, NotFound
from ledger.execution import execute
from quota.api import quota_examples as examples
from quota.api import quota_wire as wire
from quota.api.pools import Flavor, FlavorsOperation, PoolsOperation
from quota.api.quotas import tiers
from quota.api.reading import AS_OF, QuotaOperation, fields_of
from quota.commands.pools import (
    SIZES,
    DefineFlavor,
    OpenPool,
    SetFlavorWeight,
    SizeChange,
    size_change,
)
from quota.queries.capacity import NOTHING, held_by_account
from quota.queries.pools import FlavorRow, PoolRow, flavors
from quota.queries.quotas import PoolPromise, promises
from quota.queries.reserved import reserved
from quota.queries.versions import versions
from tenancy.domain.roles import POOL_WRITE


class OpenPoolOperation(PoolsOperation, QuotaOperation):
    """Read the pools; open one."""

    @describe(
        "openPool",
        tag="pools",
        summary="Open a pool",
        takes={JSON: wire.NewPool},
        gives=wire.PoolFacts,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_POOL,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """One flavor in one cluster, in whole units. For operators of the root account."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewPool)
        with scope.reading(caller.organization_id):
            flavor = _flavor(caller.organization_id, body.flavor)
        command = OpenPool(
            flavor_id=flavor.id,
            **fields_of(body, ("name", "cluster", *SIZES)),
        )
        outcome = execute(command, self.change(request, caller, body))
        now, _ = self.instants(request)
        with scope.reading(caller.organization_id):
            answer = facts(caller.organization_id, self.pool(caller, body.name), now=now)
        response = self.respond(answer, status=201, replayed=outcome.replayed)
        response["Location"] = reverse("api-pool", args=[body.name])
        return response


class PoolOperation(QuotaOperation):
    """Read or change one pool."""

    parameters = frozenset({"as_of"})

    @describe(
        "readPool",
        tag="pools",
        summary="A pool, its promise, and who holds its units",
        gives=wire.PoolFacts,
        parameters=(AS_OF,),
        problems=(404,),
        examples=(examples.POOL,),
    )
    def get(self, request: HttpRequest, pool: str) -> HttpResponse:
        """Sizes, promise and use, now or at a past instant. For whoever may read some account."""
        caller = self.caller(request)
        now, as_of = self.instants(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            row = self.pool(caller, pool)
            return self.respond(facts(caller.organization_id, row, now=now, as_of=as_of))

    @describe(
        "changePool",
        tag="pools",
        summary="Change a pool's size, margin, failed units or reclaim target",
        takes={JSON: wire.PoolChange},
        gives=wire.PoolOutcome,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.POOL_CHANGE, examples.POOL_OUTCOME),
    )
    def patch(self, request: HttpRequest, pool: str) -> HttpResponse:
        """One fact a request, each an event with its own reason. Refused where promises no longer
        fit, unless that is accepted. For operators of the root account."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.PoolChange)
        with scope.reading(caller.organization_id):
            row = self.pool(caller, pool)
        context = self.change(request, caller, body)
        outcome = execute(_command(row, body), context)
        answer = wire.PoolOutcome(
            pool=row.name,
            dry_run=context.dry_run,
            **fields_of(outcome.result, ("changed", "promised", "promisable", "over_promised_by")),
        )
        return self.respond(answer, replayed=outcome.replayed)


class DefineFlavorOperation(FlavorsOperation, QuotaOperation):
    """Read the flavors; define one."""

    @describe(
        "defineFlavor",
        tag="pools",
        summary="Define a flavor",
        takes={JSON: wire.NewFlavor},
        gives=Flavor,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409, 422),
        examples=(examples.NEW_FLAVOR,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """A kind of resource. For operators of the root account."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.NewFlavor)
        command = DefineFlavor(name=body.name, weight=body.weight)
        outcome = execute(command, self.change(request, caller, body))
        made = Flavor(id=outcome.result.flavor_id, name=body.name, weight=body.weight)
        return self.respond(made, status=201, replayed=outcome.replayed)


class FlavorOperation(QuotaOperation):
    """Weigh a flavor."""

    @describe(
        "changeFlavor",
        tag="pools",
        summary="Change what a flavor weighs in fair-share",
        takes={JSON: wire.FlavorChange},
        gives=Flavor,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.FLAVOR_CHANGE,),
    )
    def patch(self, request: HttpRequest, flavor: str) -> HttpResponse:
        """Past use weighs anew as well. For operators of the root account."""
        caller = self.caller(request)
        self.require(caller, POOL_WRITE)
        body = read_json(request, wire.FlavorChange)
        with scope.reading(caller.organization_id):
            row = _flavor(caller.organization_id, flavor)
        outcome = execute(
            SetFlavorWeight(flavor_id=row.id, weight=body.weight),
            self.change(request, caller, body),
        )
        return self.respond(
            Flavor(id=row.id, name=row.name, weight=body.weight), replayed=outcome.replayed
        )


def facts(
    organization_id, row: PoolRow, *, now: datetime, as_of: datetime | None = None
) -> wire.PoolFacts:
    """A pool at an instant. Runs inside `scope.reading`.

    Raises:
        NotFound: it was not open then.
    """
    found: list[PoolPromise] = [
        one for one in promises(organization_id, now=now, as_of=as_of) if one.pool_id == row.id
    ]
    if not found:
        raise NotFound("pool_unknown", f"The pool {row.name} was not open then.", field="as_of")
    pool, promise = found[0].pool, found[0].promise
    held = held_by_account(organization_id, [row.id], now=now, as_of=as_of).get(row.id, {})
    in_use = sum(held.values(), NOTHING)
    aside = NOTHING
    if as_of is None or as_of >= now:
        kept = reserved(organization_id, [row.id], now=now).get(row.id, ())
        aside = sum((one.held for one in kept), NOTHING)
    stream = f"pool:{row.id}"
    return wire.PoolFacts(
        **fields_of(row, ("id", "name", "cluster", "flavor")),
        **fields_of(pool, SIZES),
        **fields_of(promise, ("promised", "promisable", "over_promised_by")),
        in_use=tiers(in_use),
        set_aside=tiers(aside),
        free=max(0, pool.usable - in_use.units - aside.units),
        at=as_of or now,
        version=versions(organization_id, [stream]).get(stream, 0),
    )


def _command(row: PoolRow, body: wire.PoolChange) -> SizeChange:
    """The command that a body asks for.

    Raises:
        Invalid: none, or more than one.
    """
    wanted = {name: getattr(body, name) for name in SIZES if getattr(body, name) is not UNSET}
    if len(wanted) != 1:
        raise Invalid("one_change", f"Send one of {', '.join(SIZES)}.", field="")
    ((name, value),) = wanted.items()
    return size_change(
        row.id,
        name,
        value,
        accept_over_promise=body.accept_over_promise,
        expected_version=body.expected_version,
    )


def _flavor(organization_id, name: str) -> FlavorRow:
    for row in flavors(organization_id):
        if row.name == name:
            return row
    raise NotFound("flavor_unknown", f"There is no flavor {name[:80]!r}.", field="flavor")
