"""`GET /api/v1/pools` and `/api/v1/flavors`: what there is to use, by name."""

from decimal import Decimal
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api.operation import Operation
from config.api.schema import answer_example, describe
from ledger import scope
from ledger.types import ActorKind
from quota import queries
from tenancy.domain.roles import READ, Scope
from tenancy.policy import accounts_permitting


class Pool(msgspec.Struct, kw_only=True):
    """One flavor in one cluster. `capacity`, `unavailable` and `safety_margin` are whole units."""

    id: UUID
    name: str
    cluster: str
    flavor: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int


class Pools(msgspec.Struct):
    """Pools by name."""

    pools: list[Pool]


class Flavor(msgspec.Struct, kw_only=True):
    """A kind of resource. `weight` is what a unit weighs in fair-share."""

    id: UUID
    name: str
    weight: Decimal


class Flavors(msgspec.Struct):
    """Flavors by name."""

    flavors: list[Flavor]


_ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"
POOLS = answer_example(
    "One pool",
    {
        "pools": [
            {
                "id": _ID,
                "name": "h100",
                "cluster": "lab",
                "flavor": "h100-80gb",
                "capacity": 512,
                "unavailable": 8,
                "safety_margin": 4,
                "reclaim_target_seconds": 300,
            }
        ]
    },
)
FLAVORS = answer_example(
    "One flavor", {"flavors": [{"id": _ID, "name": "h100-80gb", "weight": "1.0000"}]}
)


class _PoolOperation(Operation):
    def require_reading(self, caller) -> None:
        """Inside `scope.reading`: a machine that reports or asks, or a person with any role."""
        here, actor = caller.organization_id, caller.actor
        if actor.kind != ActorKind.TOKEN:
            accounts_permitting(actor, READ, here)
        elif Scope.USAGE_WRITE not in actor.scopes:
            accounts_permitting(actor, Scope.PRIORITY_READ, here)


class PoolsOperation(_PoolOperation):
    """Read the pools."""

    @describe(
        "listPools",
        tag="pools",
        summary="Pools by name",
        gives=Pools,
        examples=(POOLS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Up to 1,000 pools; a token that is bound to pools sees those."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.require_reading(caller)
            rows = queries.pools_with_weights(caller.organization_id)
        bound = caller.actor.pool_ids
        return self.respond(
            Pools(
                [
                    Pool(
                        id=row.id,
                        name=row.name,
                        cluster=row.cluster,
                        flavor=row.flavor,
                        capacity=row.capacity,
                        unavailable=row.unavailable,
                        safety_margin=row.safety_margin,
                        reclaim_target_seconds=row.reclaim_target_seconds,
                    )
                    for row in rows
                    if bound is None or row.id in bound
                ]
            )
        )


class FlavorsOperation(_PoolOperation):
    """Read the flavors."""

    @describe(
        "listFlavors",
        tag="pools",
        summary="Flavors by name",
        gives=Flavors,
        examples=(FLAVORS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Up to 1,000 flavors with their weights. Needs what listing pools needs."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.require_reading(caller)
            rows = queries.flavors(caller.organization_id)
        found = [Flavor(id=row.id, name=row.name, weight=row.weight) for row in rows]
        return self.respond(Flavors(found))
