"""Reads of flavors and pools."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor

LIST_MAX = 1_000


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool with its flavor. `weight` is the flavor's economic weight per unit."""

    id: UUID
    name: str
    cluster: str
    flavor: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int
    weight: Decimal


@dataclass(frozen=True, slots=True)
class FlavorRow:
    """A kind of resource."""

    id: UUID
    name: str
    weight: Decimal


def pools_with_weights(organization_id: UUID) -> list[PoolRow]:
    """All pools by name; at most LIST_MAX."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT q.id, q.name, q.cluster, f.name, q.capacity, q.unavailable, q.safety_margin, "
            "q.reclaim_target_seconds, f.weight FROM quota_pool q "
            "JOIN quota_flavor f ON f.organization_id = q.organization_id AND f.id = q.flavor_id "
            "WHERE q.organization_id = %b ORDER BY q.name LIMIT %b",
            (organization_id, LIST_MAX),
        ).fetchall()
    return [PoolRow(*row) for row in rows]


def flavors(organization_id: UUID) -> list[FlavorRow]:
    """All flavors by name; at most LIST_MAX."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name, weight FROM quota_flavor WHERE organization_id = %b "
            "ORDER BY name LIMIT %b",
            (organization_id, LIST_MAX),
        ).fetchall()
    return [FlavorRow(*row) for row in rows]
