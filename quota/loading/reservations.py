"""What is set aside for jobs, read under the lock of its pool."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.reservation import Reservation


def read(rows: Iterable[tuple]) -> list[Reservation]:
    """From the rows of kinds R (its pool and tier), r (its account, key and units) and o (what an
    allocation still owes to it) of `quota_standing`."""
    places: dict[UUID, tuple[UUID, str]] = {}
    stated: dict[UUID, tuple] = {}
    owed: dict[UUID, dict] = {}
    for kind, first, second, name, _, *amounts in rows:
        if kind == "R":
            places[first] = (second, name)
        elif kind == "r":
            stated[first] = (second, name, amounts[0], bool(amounts[1]))
        else:
            owed.setdefault(first, {})[second] = amounts[0]
    return [
        Reservation(
            id=id_,
            pool=places[id_][0],
            tier=places[id_][1],
            account=account,
            key=key,
            most=most,
            slow=slow,
            owed=owed.get(id_, {}),
        )
        for id_, (account, key, most, slow) in sorted(stated.items())
    ]


def past(organization_id: UUID, pool_id: UUID, *, now: datetime) -> list[UUID]:
    """Reservations of a pool whose time is over and which nobody has ended yet."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id FROM quota_reservation "
            "WHERE organization_id = %b AND pool_id = %b AND until <= %b ORDER BY until, id",
            (organization_id, pool_id, now),
        ).fetchall()
    return [row[0] for row in rows]


def pools_with_past(organization_id: UUID, *, now: datetime) -> list[UUID]:
    """Pools in which the time of a reservation is over."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT pool_id FROM quota_reservation "
            "WHERE organization_id = %b AND until <= %b ORDER BY pool_id",
            (organization_id, now),
        ).fetchall()
    return [row[0] for row in rows]
