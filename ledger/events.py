"""The ledger's own events. Pure; names and versions are fixed."""

from dataclasses import dataclass
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHead:
    """How far a lane had come: the sequence number of its last event and that event's hash."""

    lane: UUID
    seq: int
    hash: str


@event("ledger.lane_heads_recorded")
@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHeadsRecorded(Event):
    """The heads of all lanes but the main one, which holds this event: one chain vouches for
    all. Lanes that had not moved since the last record are repeated. Hashes are in hex."""

    organization_id: UUID
    heads: tuple[LaneHead, ...]

    @property
    def stream(self) -> str:
        return f"ledger:{self.organization_id}"
