"""Events of flavors and pools. Pure; names and versions are fixed."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@event("flavor.defined")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorDefined(Event):
    """A kind of resource exists; `weight` is what a unit-hour of it weighs in fair-share."""

    flavor_id: UUID
    name: str
    weight: Decimal

    @property
    def stream(self) -> str:
        return f"flavor:{self.flavor_id}"


@event("flavor.weight_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorWeightSet(Event):
    """All use of the flavor, past and future, weighs this much in fair-share from now on."""

    flavor_id: UUID
    weight: Decimal

    @property
    def stream(self) -> str:
        return f"flavor:{self.flavor_id}"


@event("pool.opened")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOpened(Event):
    """One flavor in one cluster, in whole units."""

    pool_id: UUID
    name: str
    flavor_id: UUID
    cluster: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"
