"""The ledger's own command: let the main lane vouch for the others."""

from dataclasses import dataclass

from ledger import store
from ledger.events import LaneHead, LaneHeadsRecorded
from ledger.execution import Unit, handles

SYSTEM_ONLY = "system"
"""The permission that no role and no scope carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLaneHeads:
    """Record in the main lane how far the others have come, unless that is recorded already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHeadsAnswer:
    """How many heads were recorded; 0 when none had moved."""

    heads: int


@handles(RecordLaneHeads, permission=SYSTEM_ONLY)
def record_lane_heads(command: RecordLaneHeads, unit: Unit) -> LaneHeadsAnswer:
    """Compare committed heads with the last record; record all when one differs."""
    heads = tuple(
        LaneHead(lane=lane, seq=seq, hash=digest.hex())
        for lane, (seq, digest) in store.heads(unit.organization_id).items()
        if lane != unit.organization_id and seq > 0
    )
    event = LaneHeadsRecorded(organization_id=unit.organization_id, heads=heads)
    last = store.latest(unit.organization_id, event.stream)
    if not heads or (last is not None and last.data == event):
        return LaneHeadsAnswer(heads=0)
    unit.record(event)
    return LaneHeadsAnswer(heads=len(heads))
