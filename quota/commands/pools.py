"""Define flavors, weigh them, open pools."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from ledger.errors import Conflict, Invalid, NotFound
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota import events
from tenancy.domain.roles import POOL_WRITE
from tenancy.domain.tree import check_name

UNITS_MAX = 10_000_000
WEIGHT_MAX = Decimal(1_000_000)
WEIGHT_PLACES = 4
RECLAIM_SECONDS_MAX = 7 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineFlavor:
    """A kind of resource and its economic weight in fair-share."""

    name: str
    weight: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorRef:
    """The flavor a command made or changed."""

    flavor_id: UUID


@handles(DefineFlavor, permission=POOL_WRITE)
def define_flavor(command: DefineFlavor, unit: Unit) -> FlavorRef:
    """Check name and weight; record the flavor."""
    check_name(command.name, field="name")
    _check_free("quota_flavor", command.name, unit)
    flavor_id = unit.new_id()
    unit.record(
        events.FlavorDefined(
            flavor_id=flavor_id, name=command.name, weight=_checked_weight(command.weight)
        )
    )
    return FlavorRef(flavor_id=flavor_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFlavorWeight:
    """Change what a flavor weighs in fair-share, for past and future use alike."""

    flavor_id: UUID
    weight: Decimal


@handles(SetFlavorWeight, permission=POOL_WRITE)
def set_flavor_weight(command: SetFlavorWeight, unit: Unit) -> FlavorRef:
    """Record the new weight."""
    _check_known("quota_flavor", command.flavor_id, unit, field="flavor")
    unit.record(
        events.FlavorWeightSet(flavor_id=command.flavor_id, weight=_checked_weight(command.weight))
    )
    return FlavorRef(flavor_id=command.flavor_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPool:
    """One flavor in one cluster, in whole units."""

    name: str
    flavor_id: UUID
    cluster: str
    capacity: int
    unavailable: int = 0
    safety_margin: int = 0
    reclaim_target_seconds: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRef:
    """The pool a command made."""

    pool_id: UUID


@handles(OpenPool, permission=POOL_WRITE)
def open_pool(command: OpenPool, unit: Unit) -> PoolRef:
    """Check names and amounts; record the pool."""
    check_name(command.name, field="name")
    check_name(command.cluster, field="cluster")
    for field in ("capacity", "unavailable", "safety_margin"):
        _check_range(field, getattr(command, field), UNITS_MAX)
    _check_range("reclaim_target_seconds", command.reclaim_target_seconds, RECLAIM_SECONDS_MAX)
    _check_known("quota_flavor", command.flavor_id, unit, field="flavor")
    _check_free("quota_pool", command.name, unit)
    pool_id = unit.new_id()
    unit.record(
        events.PoolOpened(
            pool_id=pool_id,
            name=command.name,
            flavor_id=command.flavor_id,
            cluster=command.cluster,
            capacity=command.capacity,
            unavailable=command.unavailable,
            safety_margin=command.safety_margin,
            reclaim_target_seconds=command.reclaim_target_seconds,
        )
    )
    return PoolRef(pool_id=pool_id)


def _checked_weight(weight: Decimal) -> Decimal:
    if (
        not weight.is_finite()
        or not 0 <= weight <= WEIGHT_MAX
        or -weight.as_tuple().exponent > WEIGHT_PLACES
    ):
        raise Invalid(
            "weight_out_of_range",
            f"A weight is a number from 0 to {WEIGHT_MAX} with at most {WEIGHT_PLACES} decimals.",
            field="weight",
        )
    return weight


def _check_range(field: str, value: int, maximum: int) -> None:
    if not 0 <= value <= maximum:
        raise Invalid(
            "out_of_range",
            f"{field} must be a whole number from 0 to {maximum}.",
            field=field,
            facts={"minimum": 0, "maximum": maximum},
        )


def _check_free(table: str, name: str, unit: Unit) -> None:
    with server_cursor() as cursor:
        # The chain lock comes too late to make a name unique; this one is short and rarely taken.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"{table}:{unit.organization_id}",),
        )
        taken = cursor.execute(
            f"SELECT 1 FROM {table} WHERE organization_id = %b AND name = %b",
            (unit.organization_id, name),
        ).fetchone()
    if taken:
        raise Conflict("name_taken", f"The name {name} is taken. Choose another.", field="name")


def _check_known(table: str, key: UUID, unit: Unit, *, field: str) -> None:
    with server_cursor() as cursor:
        known = cursor.execute(
            f"SELECT 1 FROM {table} WHERE organization_id = %b AND id = %b",
            (unit.organization_id, key),
        ).fetchone()
    if not known:
        raise NotFound(f"{field}_unknown", f"There is no such {field}.", field=field)
