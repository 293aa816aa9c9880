"""The event store: append and read. The only file that inserts events.

An append is one call of a function of the database. It locks the heads of the lanes it writes (in
one order, so two appends cannot deadlock), takes positions and stream versions, links the hashes
and inserts everything. The locks are taken last in a transaction, and held until it commits:
within a lane, sequence numbers are gapless and in commit order, across lanes positions respect
cause and effect.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
import psycopg

from ledger import chain, registry, trips
from ledger.chain import Link
from ledger.errors import Conflict
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

READ_MAX = 5_000
"""Upper bound of one read; callers page."""

_COLUMNS = (
    "position, id, organization_id, lane, lane_seq, stream, version, type, schema_version, "
    "occurred_at, recorded_at, actor_kind, actor_id, actor_label, command, command_id, "
    "idempotency_key, reason, payload"
)

_RECEIPT = """
INSERT INTO ledger_receipt
    (organization_id, key, command, input_hash, refused, result, recorded_at)
VALUES (%b::uuid, %b::text, %b::text, %b::bytea, %b::boolean, %b::text::jsonb, %b::timestamptz)
"""
_APPEND_ONE = """
SELECT ledger_append_one(
    %b::uuid, %b::uuid, %b::text, %b::uuid, %b::text, %b::smallint, %b::timestamptz, %b::text,
    %b::text, %b::text, %b::text, %b::timestamptz, %b::text, %b::uuid, %b::text, %b::text,
    %b::uuid, %b::text, %b::text, %b::text, %b::bytea, %b::text)
"""
_APPEND = """
SELECT positions, seqs, versions FROM ledger_append(
    %b::uuid, %b::uuid[], %b::text[], %b::uuid[], %b::int[], %b::int[], %b::text[], %b::smallint[],
    %b::timestamptz[], %b::text[], %b::text[], %b::text[], %b::text[], %b::timestamptz, %b::text,
    %b::uuid, %b::text, %b::text, %b::uuid, %b::text, %b::text)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReceipt:
    """What a command answered under a key; `result` is JSON."""

    key: str
    command: str
    input_hash: bytes
    refused: bool
    result: str
    recorded_at: datetime


def _receipt_values(organization_id: UUID, receipt: NewReceipt) -> tuple:
    return (
        organization_id,
        receipt.key,
        receipt.command,
        receipt.input_hash,
        receipt.refused,
        receipt.result,
        receipt.recorded_at,
    )


def append(
    organization_id: UUID,
    events: Sequence[RecordedEvent],
    *,
    idempotency_key: str | None = None,
    expected_versions: Mapping[str, int] | None = None,
    receipt: NewReceipt | None = None,
    commit: bool = False,
) -> list[RecordedEvent]:
    """Add events to their streams and lanes and return them with their place, and keep the receipt
    of the command with them.

    All events share the circumstances (recorded_at, actor, command, reason) of the first.

    Args:
        expected_versions: the version each stream was read at; 0 for "does not exist yet".
        commit: nothing follows: the transaction may end with this.

    Raises:
        Conflict: a stream has moved on since it was read.
    """
    if not events:
        if receipt is not None:
            trips.ask(_RECEIPT, _receipt_values(organization_id, receipt), commit=commit)
        return []
    # What was expected is compared before anything is final.
    ends = commit and not expected_versions
    append_ = _append_one if len(events) == 1 else _append_all
    placed = append_(organization_id, events, idempotency_key, receipt, ends)
    if expected_versions:
        _compare(placed, expected_versions)
    return placed


def _append_one(
    organization_id: UUID,
    events: Sequence[RecordedEvent],
    key: str | None,
    receipt: NewReceipt | None,
    ends: bool,
) -> list[RecordedEvent]:
    """One event, as most commands are: plain values instead of arrays, its receipt with it. That is
    of the event's command and instant; a refusal has no event."""
    [event] = events
    lane = event.lane or organization_id
    place, said, rest, payload = chain.pieces(event, organization_id, key)
    kept = receipt and (receipt.key, receipt.input_hash, receipt.result)
    values = (
        *(organization_id, lane, event.stream, event.id, event.data.event_type),
        *(event.data.event_version, event.occurred_at, payload, place, said, rest),
        *(event.recorded_at, event.actor_kind, event.actor_id, event.actor_label, event.command),
        *(event.command_id, key, event.reason, *(kept or (None, None, None))),
    )
    [[[position, seq, version]]] = trips.ask(_APPEND_ONE, values, commit=ends)
    return [_placed(event, position, lane, seq, version)]


def _append_all(
    organization_id: UUID,
    events: Sequence[RecordedEvent],
    key: str | None,
    receipt: NewReceipt | None,
    ends: bool,
) -> list[RecordedEvent]:
    if receipt is not None:
        trips.send(_RECEIPT, _receipt_values(organization_id, receipt))
    lanes = sorted({event.lane or organization_id for event in events})
    streams = list({event.stream: None for event in events})
    values = _append_values(organization_id, events, lanes, streams, key)
    [places] = trips.ask(_APPEND, values, commit=ends)
    return [
        _placed(event, position, event.lane or organization_id, seq, version)
        for event, position, seq, version in zip(events, *places, strict=True)
    ]


def _append_values(
    organization_id: UUID,
    events: Sequence[RecordedEvent],
    lanes: list[UUID],
    streams: list[str],
    key: str | None,
) -> tuple:
    """The parameters of an append."""
    first = events[0]
    lane_number = {lane: number for number, lane in enumerate(lanes, start=1)}
    stream_number = {stream: number for number, stream in enumerate(streams, start=1)}
    pieces = [chain.pieces(event, organization_id, key) for event in events]
    places, said, rests, payloads = zip(*pieces, strict=True)
    return (
        organization_id,
        lanes,
        streams,
        [event.id for event in events],
        [lane_number[event.lane or organization_id] for event in events],
        [stream_number[event.stream] for event in events],
        [event.data.event_type for event in events],
        [event.data.event_version for event in events],
        [event.occurred_at for event in events],
        payloads,
        places,
        said,
        rests,
        first.recorded_at,
        first.actor_kind,
        first.actor_id,
        first.actor_label,
        first.command,
        first.command_id,
        key,
        first.reason,
    )


def _compare(placed: Sequence[RecordedEvent], expected_versions: Mapping[str, int]) -> None:
    before: dict[str, int] = {}
    for event in placed:
        before.setdefault(event.stream, event.version - 1)
    for stream, expected in expected_versions.items():
        found = before.get(stream, 0)
        if found != expected:
            raise Conflict(
                "stale_version",
                "This was changed by someone else meanwhile. Reload it and decide again.",
                facts={"stream": stream, "expected": expected, "found": found},
            )


def _placed(event: RecordedEvent, position: int, lane: UUID, seq: int, version: int):
    """`dataclasses.replace`, spelled out: this runs for every event, and four times as fast."""
    return RecordedEvent(
        id=event.id,
        organization_id=event.organization_id,
        stream=event.stream,
        occurred_at=event.occurred_at,
        recorded_at=event.recorded_at,
        actor_kind=event.actor_kind,
        actor_id=event.actor_id,
        actor_label=event.actor_label,
        command=event.command,
        command_id=event.command_id,
        reason=event.reason,
        data=event.data,
        position=position,
        lane=lane,
        lane_seq=seq,
        version=version,
    )


def stream_version(organization_id: UUID, stream: str) -> int:
    """The version a stream is at; 0 when it has no event yet."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT max(version) FROM ledger_event WHERE organization_id = %b AND stream = %b",
            (organization_id, stream),
        ).fetchone()
        return row[0] or 0


def read_stream(
    organization_id: UUID, stream: str, *, after_version: int = 0
) -> list[RecordedEvent]:
    """Up to READ_MAX events of one stream, oldest first."""
    return _read(
        "organization_id = %b AND stream = %b AND version > %b ORDER BY version LIMIT %b",
        (organization_id, stream, after_version, READ_MAX),
    )


def read_lane(
    organization_id: UUID, lane: UUID, *, after_seq: int, limit: int
) -> list[RecordedEvent]:
    """Up to `limit` events of one lane after a sequence number, oldest first."""
    return _read(
        "organization_id = %b AND lane = %b AND lane_seq > %b ORDER BY lane_seq LIMIT %b",
        (organization_id, lane, after_seq, min(limit, READ_MAX)),
    )


def read_type(organization_id: UUID, event_type: str) -> Iterator[RecordedEvent]:
    """All events of one type by position, read in blocks. Inside one snapshot only: positions of
    several lanes may commit out of order."""
    after = 0
    while True:
        events = _read(
            "organization_id = %b AND type = %b AND position > %b ORDER BY position LIMIT %b",
            (organization_id, event_type, after, READ_MAX),
        )
        yield from events
        if len(events) < READ_MAX:
            return
        after = events[-1].position


def read_ids(organization_id: UUID, event_ids: Sequence[UUID]) -> list[RecordedEvent]:
    """The events with these ids, in position order."""
    return _read(
        "organization_id = %b AND id = ANY(%b) ORDER BY position LIMIT %b",
        (organization_id, list(event_ids), READ_MAX),
    )


def heads(organization_id: UUID) -> dict[UUID, tuple[int, bytes]]:
    """(sequence, hash) of every lane's head."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT lane, seq, hash FROM ledger_lane WHERE organization_id = %b ORDER BY lane",
            (organization_id,),
        )
        return {lane: (seq, bytes(digest)) for lane, seq, digest in cursor}


def mark_remade(organization_id: UUID) -> None:
    """Tell whoever keeps what it has read by the head of the main lane that it may not hold any
    more, though there is no new event."""
    with server_cursor() as cursor:
        cursor.execute(
            "UPDATE ledger_lane SET remade = remade + 1 WHERE organization_id = %b AND lane = %b",
            (organization_id, organization_id),
        )


def replay(
    organization_id: UUID, *, after: Mapping[UUID, int], until: Mapping[UUID, int]
) -> Iterator[RecordedEvent]:
    """Events of all lanes in position order, each lane from beyond `after` up to `until`.

    When `until` are heads read in one statement, the events are a complete past: whatever an
    event builds on is among them, before it.
    """
    block = max(50, READ_MAX // max(1, len(until)))
    lanes = [
        _lane(organization_id, lane, after.get(lane, 0), last, block)
        for lane, last in until.items()
        if last > after.get(lane, 0)
    ]
    return heapq.merge(*lanes, key=lambda event: event.position)


def _lane(
    organization_id: UUID, lane: UUID, after: int, last: int, block: int
) -> Iterator[RecordedEvent]:
    while after < last:
        events = read_lane(organization_id, lane, after_seq=after, limit=min(block, last - after))
        yield from events
        if not events:
            return
        after = events[-1].lane_seq


def latest(organization_id: UUID, stream: str) -> RecordedEvent | None:
    """The newest event of a stream."""
    found = _read(
        "organization_id = %b AND stream = %b ORDER BY version DESC LIMIT 1",
        (organization_id, stream),
    )
    return found[0] if found else None


def stored_links(organization_id: UUID, lane: UUID) -> Iterator[tuple[Link, bytes, bytes]]:
    """Every link of a lane in order, read in blocks, for verification.

    Raises:
        psycopg.DataError: at a row that holds what no append can have written, say an infinite
            instant; all rows before it were given.
    """
    after, block = 0, READ_MAX
    while True:
        try:
            rows = _link_rows(organization_id, lane, after, block)
        except psycopg.DataError:
            if block == 1:
                raise
            block = 1
            continue
        for row in rows:
            yield _stored_link(row), bytes(row[-2]), bytes(row[-1])
        if len(rows) < block:
            return
        after = rows[-1][4]


def _link_rows(organization_id: UUID, lane: UUID, after: int, limit: int) -> list[tuple]:
    with server_cursor() as cursor:
        return cursor.execute(
            f"SELECT {_COLUMNS}, previous_hash, hash FROM ledger_event "
            "WHERE organization_id = %b AND lane = %b AND lane_seq > %b "
            "ORDER BY lane_seq LIMIT %b",
            (organization_id, lane, after, limit),
        ).fetchall()


def links_since(organization_id: UUID, *, position: int) -> Iterator[tuple[Link, bytes, bytes]]:
    """Links of all lanes after a position, in position order, with their previous hash and hash;
    read in blocks, inside one snapshot."""
    while True:
        with server_cursor() as cursor:
            rows = cursor.execute(
                f"SELECT {_COLUMNS}, previous_hash, hash FROM ledger_event "
                "WHERE organization_id = %b AND position > %b ORDER BY position LIMIT %b",
                (organization_id, position, READ_MAX),
            ).fetchall()
        for row in rows:
            yield _stored_link(row), bytes(row[-2]), bytes(row[-1])
        if len(rows) < READ_MAX:
            return
        position = rows[-1][0]


def _stored_link(row: tuple) -> Link:
    values = dict(zip(_COLUMNS.split(", "), row, strict=False))
    values["payload"] = _json(values["payload"])
    return Link(**values)


def _read(where: str, params: tuple) -> list[RecordedEvent]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_COLUMNS} FROM ledger_event WHERE {where}",
            params,
        ).fetchall()
    return [_recorded(row) for row in rows]


def _recorded(row: tuple) -> RecordedEvent:
    link = _stored_link(row)
    return RecordedEvent(
        id=link.id,
        organization_id=link.organization_id,
        stream=link.stream,
        occurred_at=link.occurred_at,
        recorded_at=link.recorded_at,
        actor_kind=link.actor_kind,
        actor_id=link.actor_id,
        actor_label=link.actor_label,
        command=link.command,
        command_id=link.command_id,
        reason=link.reason,
        data=registry.from_payload(link.type, link.schema_version, link.payload),
        position=link.position,
        lane=link.lane,
        lane_seq=link.lane_seq,
        version=link.version,
    )


def _json(value):
    return msgspec.json.decode(value) if isinstance(value, (str, bytes)) else value
