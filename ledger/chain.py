"""The hash chain: canonical bytes of an event and the link to the one before. Pure.

Each lane (the organization's main one, and one per pool) is a chain of its own. A link is
`SHA-256(previous hash || canonical JSON of every stored field)`, with sorted keys and no blanks,
so any change of any byte of any stored event breaks its own link and every later one.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from ledger.types import RecordedEvent

GENESIS = bytes(32)

_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Every field of a stored event that the chain covers, in the form it is stored."""

    position: int
    id: UUID
    organization_id: UUID
    lane: UUID
    lane_seq: int
    stream: str
    version: int
    type: str
    schema_version: int
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: str
    actor_id: UUID | None
    actor_label: str
    command: str
    command_id: UUID
    idempotency_key: str | None
    reason: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where a chain does not hold."""

    lane: UUID
    lane_seq: int
    position: int | None
    event_id: UUID | None
    problem: str


FIELDS = tuple(field.name for field in fields(Link))
"""The order in which the fields of a link are hashed. It never changes."""


_get = attrgetter(*FIELDS)
_OCCURRED, _RECORDED = FIELDS.index("occurred_at"), FIELDS.index("recorded_at")


def values(link: Link) -> list[Any]:
    """The link's fields in the order of FIELDS, instants as text in UTC with microseconds."""
    found = list(_get(link))
    found[_OCCURRED] = _instant(link.occurred_at)
    found[_RECORDED] = _instant(link.recorded_at)
    return found


def canonical(link: Link) -> bytes:
    """The bytes that are hashed: a JSON array of all fields in their order, keys inside the payload
    sorted, no blanks, UTF-8 (docs/operator/ledger.md)."""
    return _encoder.encode(values(link))


def pieces(event: RecordedEvent, organization_id: UUID, key: str | None) -> tuple[str, ...]:
    """The canonical text of a new event without what the append gives it: after its position, after
    its sequence number, after its version, and the payload. `canonical` of the stored event is

        [ position pieces[0] lane_seq pieces[1] version pieces[2] pieces[3] ]

    without the blanks, which the database puts together and hashes (`ledger_append`).
    """
    data = event.data
    rest = _encoder.encode(
        [
            data.event_type,
            data.event_version,
            _instant(event.occurred_at),
            _instant(event.recorded_at),
            event.actor_kind,
            event.actor_id,
            event.actor_label,
            event.command,
            event.command_id,
            key,
            event.reason,
        ]
    )
    return (
        f',"{event.id}","{organization_id}","{event.lane or organization_id}",',
        f",{_encoder.encode(event.stream).decode()},",
        f",{rest[1:-1].decode()},",
        _encoder.encode(data).decode(),
    )


def link_hash(previous: bytes, link: Link) -> bytes:
    """SHA-256 of the previous link's hash followed by this event's canonical bytes."""
    return hashlib.sha256(previous + canonical(link)).digest()


def first_break(
    lane: UUID, stored: Iterable[tuple[Link, bytes, bytes]], *, head: tuple[int, bytes]
) -> Break | None:
    """Walk one lane in order and return the first fault, or None when it holds.

    Args:
        stored: (link, previous hash, hash) ordered by `lane_seq`.
        head: (sequence, hash) the lane is said to end with; catches a removed tail.
    """
    previous, expected_seq = GENESIS, 1
    for link, stored_previous, stored_hash in stored:
        problem = _fault(link, stored_previous, stored_hash, previous, expected_seq)
        if problem is not None:
            return Break(lane, expected_seq, link.position, link.id, problem)
        previous, expected_seq = stored_hash, expected_seq + 1
    if head != (expected_seq - 1, previous):
        problem = f"the lane ends at {expected_seq - 1}, its head says {head[0]}"
        return Break(lane, expected_seq, None, None, problem)
    return None


def _fault(
    link: Link, stored_previous: bytes, stored_hash: bytes, previous: bytes, expected_seq: int
) -> str | None:
    if link.lane_seq != expected_seq:
        return f"event {expected_seq} is missing, found {link.lane_seq}"
    if stored_previous != previous:
        return "the previous hash does not match the event before"
    if stored_hash != link_hash(previous, link):
        return "the content does not match its hash"
    return None


@lru_cache(maxsize=256)
def _instant(value: datetime) -> str:
    # Events of one command share their instants: most are found again.
    return value.astimezone(UTC).isoformat(timespec="microseconds")
