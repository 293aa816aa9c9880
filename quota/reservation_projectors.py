"""Events of reservations to rows. They decide nothing: an event says everything."""

from collections.abc import Sequence

import msgspec

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from quota.reservation_events import ReservationEnded, ReservationSet

Run = Sequence[RecordedEvent]

RESERVATION = ProjectedTable(name="quota_reservation", key=("organization_id", "id"))

_SET = """
INSERT INTO quota_reservation (organization_id, id, pool_id, account_id, key, tier, slow, units,
    free_units, until, claims)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b::text::jsonb)
ON CONFLICT (organization_id, id) DO UPDATE SET tier = excluded.tier, slow = excluded.slow,
    units = excluded.units, free_units = excluded.free_units, until = excluded.until,
    claims = excluded.claims
"""


def reservation_set(run: Run) -> None:
    """The last word about each counts."""
    latest = {event.data.reservation_id: event for event in run}
    with server_cursor() as cursor:
        for event in latest.values():
            data = event.data
            cursor.execute(
                _SET,
                (
                    *(event.organization_id, data.reservation_id, data.pool_id, data.account_id),
                    *(data.key, data.tier, data.slow, data.units, data.free_units, data.until),
                    msgspec.json.encode(data.claims).decode(),
                ),
            )


def reservation_ended(run: Run) -> None:
    """Rows of what is set aside go when nothing is."""
    with server_cursor() as cursor:
        cursor.execute(
            "DELETE FROM quota_reservation WHERE organization_id = %b AND id = ANY(%b::uuid[])",
            (run[0].organization_id, [event.data.reservation_id for event in run]),
        )


PROJECTORS = (
    Projector(
        name="quota:reservation.set",
        project=reservation_set,
        types=frozenset({ReservationSet.event_type}),
        tables=(RESERVATION,),
    ),
    Projector(
        name="quota:reservation.ended",
        project=reservation_ended,
        types=frozenset({ReservationEnded.event_type}),
        tables=(RESERVATION,),
    ),
)
