"""Define flavors, weigh them, open pools and change their size."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias
from uuid import UUID

from ledger.errors import Conflict, Invalid, NotFound
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota import events
from quota.domain import promise
from quota.domain.values import Pool
from quota.recording import check_reason, open_books
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
    check_reason(unit)
    check_name(command.name, field="name")
    check_free("quota_flavor", command.name, unit)
    flavor_id = unit.new_id()
    unit.record(
        events.FlavorDefined(
            flavor_id=flavor_id, name=command.name, weight=checked_weight(command.weight)
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
    """Record the new weight: everybody's place in the queue follows it, so it says why."""
    check_reason(unit)
    _check_known("quota_flavor", command.flavor_id, unit, field="flavor")
    unit.record(
        events.FlavorWeightSet(flavor_id=command.flavor_id, weight=checked_weight(command.weight))
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
    check_reason(unit)
    _check_known("quota_flavor", command.flavor_id, unit, field="flavor")
    return record_pool(command, unit)


def record_pool(command: OpenPool, unit: Unit) -> PoolRef:
    """Open a pool of a flavor that exists, or is defined by the same command."""
    check_name(command.name, field="name")
    check_name(command.cluster, field="cluster")
    for field in ("capacity", "unavailable", "safety_margin"):
        check_range(field, getattr(command, field), UNITS_MAX)
    check_range("reclaim_target_seconds", command.reclaim_target_seconds, RECLAIM_SECONDS_MAX)
    check_free("quota_pool", command.name, unit)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizePool:
    """The pool's physical size.

    Attributes:
        accept_over_promise: shrink although guarantees no longer fit: the hardware is gone
            whatever we say. Nothing is cut; nothing is added until it fits again.
        expected_version: of the pool's stream when its author looked at it; another one is a
            conflict. None: whatever stands is replaced.
    """

    pool_id: UUID
    capacity: int
    accept_over_promise: bool = False
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUnavailable:
    """How many of the pool's units are failed or drained: a fact, never refused."""

    pool_id: UUID
    unavailable: int
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSafetyMargin:
    """How many of the pool's units are never promised; `accept_over_promise` as in ResizePool."""

    pool_id: UUID
    safety_margin: int
    accept_over_promise: bool = False
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReclaimTarget:
    """Seconds within which a guarantee in the pool must be honoured."""

    pool_id: UUID
    reclaim_target_seconds: int
    expected_version: int | None = None


SizeChange: TypeAlias = ResizePool | SetUnavailable | SetSafetyMargin | SetReclaimTarget
SIZES: Final[dict[str, type[SizeChange]]] = {
    "capacity": ResizePool,
    "unavailable": SetUnavailable,
    "safety_margin": SetSafetyMargin,
    "reclaim_target_seconds": SetReclaimTarget,
}
"""What sets a size of a pool, by its name."""
_DECIDED: Final = (ResizePool, SetSafetyMargin)
"""What somebody decides, and what promises may therefore refuse; failed units are a fact."""


def size_change(
    pool_id: UUID,
    size: str,
    value: int,
    *,
    accept_over_promise: bool,
    expected_version: int | None,
) -> SizeChange:
    """The command that sets one of `SIZES`; what promises cannot refuse needs no acceptance."""
    change = SIZES[size]
    accepts = {"accept_over_promise": accept_over_promise} if change in _DECIDED else {}
    return change(pool_id=pool_id, expected_version=expected_version, **{size: value}, **accepts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChanged:
    """The pool's promise after the change. `changed` False: it was so already."""

    pool_id: UUID
    changed: bool
    promised: int
    promisable: int
    over_promised_by: int


@handles(ResizePool, permission=POOL_WRITE)
def resize_pool(command: ResizePool, unit: Unit) -> PoolChanged:
    """Record the size; refuse to shrink it under its promises unless that is accepted."""
    check_range("capacity", command.capacity, UNITS_MAX)
    return _change_pool(
        command,
        unit,
        events.PoolResized(pool_id=command.pool_id, capacity=command.capacity),
        field="capacity",
    )


@handles(SetUnavailable, permission=POOL_WRITE)
def set_unavailable(command: SetUnavailable, unit: Unit) -> PoolChanged:
    """Record the number; the answer says by how much the pool is over-promised then."""
    check_range("unavailable", command.unavailable, UNITS_MAX)
    return _change_pool(
        command,
        unit,
        events.PoolUnavailableSet(pool_id=command.pool_id, unavailable=command.unavailable),
        field="unavailable",
    )


@handles(SetSafetyMargin, permission=POOL_WRITE)
def set_safety_margin(command: SetSafetyMargin, unit: Unit) -> PoolChanged:
    """Record the margin; refuse to raise it over what is promised unless that is accepted."""
    check_range("safety_margin", command.safety_margin, UNITS_MAX)
    return _change_pool(
        command,
        unit,
        events.PoolMarginSet(pool_id=command.pool_id, safety_margin=command.safety_margin),
        field="safety_margin",
    )


@handles(SetReclaimTarget, permission=POOL_WRITE)
def set_reclaim_target(command: SetReclaimTarget, unit: Unit) -> PoolChanged:
    """Record the target."""
    seconds = command.reclaim_target_seconds
    check_range("reclaim_target_seconds", seconds, RECLAIM_SECONDS_MAX)
    return _change_pool(
        command,
        unit,
        events.PoolReclaimTargetSet(pool_id=command.pool_id, reclaim_target_seconds=seconds),
        field="reclaim_target_seconds",
    )


def _change_pool(command, unit: Unit, event: events.Event, *, field: str) -> PoolChanged:
    """What is due is recorded first, under the pool's lock: it fell due under the old size."""
    check_reason(unit)
    if command.expected_version is not None:
        unit.expect(event.stream, command.expected_version)
    books = open_books(unit, (command.pool_id,))
    book = books.of[command.pool_id]
    after: Pool = replace(book.pool, **{field: getattr(command, field)})
    found = promise.resize_pool(
        before=book.pool,
        after=after,
        guarantees=book.guarantees(),
        accept_over_promise=getattr(command, "accept_over_promise", False),
    )
    changed = after != book.pool
    book.pool = after
    if changed:
        unit.record(event)
    return PoolChanged(
        pool_id=command.pool_id,
        changed=changed,
        promised=found.promised,
        promisable=found.promisable,
        over_promised_by=found.over_promised_by,
    )


def checked_weight(weight: Decimal) -> Decimal:
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


def check_range(field: str, value: int, maximum: int) -> None:
    if not 0 <= value <= maximum:
        raise Invalid(
            "out_of_range",
            f"{field} must be a whole number from 0 to {maximum}.",
            field=field,
            facts={"minimum": 0, "maximum": maximum},
        )


def check_free(table: str, name: str, unit: Unit) -> None:
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
