"""Events of flavors and pools to rows."""

from collections.abc import Sequence

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from quota import events as ev

Run = Sequence[RecordedEvent]

_FLAVOR = ProjectedTable(name="quota_flavor", key=("organization_id", "id"))
_POOL = ProjectedTable(name="quota_pool", key=("organization_id", "id"))


def flavor_defined(run: Run) -> None:
    """New kinds of resource."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_flavor (organization_id, id, name, weight) "
                "VALUES (%b, %b, %b, %b)",
                (event.organization_id, data.flavor_id, data.name, data.weight),
            )


def flavor_weight_set(run: Run) -> None:
    """Economic weights."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE quota_flavor SET weight = %b WHERE organization_id = %b AND id = %b",
                (data.weight, event.organization_id, data.flavor_id),
            )


def pool_opened(run: Run) -> None:
    """New pools."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_pool (organization_id, id, name, flavor_id, cluster, capacity, "
                "unavailable, safety_margin, reclaim_target_seconds, opened_at) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.pool_id,
                    data.name,
                    data.flavor_id,
                    data.cluster,
                    data.capacity,
                    data.unavailable,
                    data.safety_margin,
                    data.reclaim_target_seconds,
                    event.recorded_at,
                ),
            )


def _projector(event_type: type[ev.Event], project, table: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"quota:{name}", project=project, types=frozenset({name}), tables=(table,)
    )


PROJECTORS = (
    _projector(ev.FlavorDefined, flavor_defined, _FLAVOR),
    _projector(ev.FlavorWeightSet, flavor_weight_set, _FLAVOR),
    _projector(ev.PoolOpened, pool_opened, _POOL),
)
