"""Units of a pool that are set aside for one job, in the hash-chain lane of the pool. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An allocation that is to give `units` back and go on with `left`."""

    allocation_id: UUID
    units: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfReservation(Event):
    """Something about one reservation. It shows in no history but its own: the plan behind it
    shows in those of its accounts."""

    reservation_id: UUID
    pool_id: UUID

    @property
    def stream(self) -> str:
        return f"reservation:{self.reservation_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset()


@event("reservation.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationSet(_OfReservation):
    """Up to `until`, units are set aside for the job `key` of an account, in a tier: `free_units`
    that were free, and what `claims` give back, as soon as it is free and at most `units`
    together. Replaces what was set before."""

    account_id: UUID
    key: str
    tier: str
    slow: bool
    units: int
    free_units: int
    until: datetime
    claims: tuple[Claim, ...]


@event("reservation.ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEnded(_OfReservation):
    """Nothing is set aside any more. `why`: `used`: the job was admitted; `released`: nobody needs
    it; `lapsed`: its time was over."""

    why: str
