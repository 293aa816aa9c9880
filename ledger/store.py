"""The event store: append and read. The only file that inserts events.

An append locks the heads of the lanes it writes (in one order, so two appends cannot deadlock),
takes positions and stream versions, links the hashes and inserts everything in one statement.
The locks are taken last in a transaction, and held until it commits: within a lane, sequence
numbers are gapless and in commit order, across lanes positions respect cause and effect.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
import psycopg

from ledger import registry
from ledger.chain import Link, chained
from ledger.errors import Conflict
from ledger.sql import row_values, rows_of, server_cursor
from ledger.types import RecordedEvent

READ_MAX = 5_000
"""Upper bound of one read; callers page."""

_COLUMNS = (
    "position, id, organization_id, lane, lane_seq, stream, version, type, schema_version, "
    "occurred_at, recorded_at, actor_kind, actor_id, actor_label, command, command_id, "
    "idempotency_key, reason, payload"
)

_EVENT_COLUMNS = {
    "position": "bigint",
    "id": "uuid",
    "lane": "uuid",
    "lane_seq": "bigint",
    "stream": "text",
    "version": "int",
    "type": "text",
    "schema_version": "smallint",
    "occurred_at": "timestamptz",
    "payload": "text",
    "previous_hash": "bytea",
    "hash": "bytea",
}
_HEAD_COLUMNS = {"lane": "uuid", "seq": "bigint", "hash": "bytea"}


_RECEIPT = """
INSERT INTO ledger_receipt
    (organization_id, key, command, input_hash, refused, result, recorded_at)
VALUES (%b::uuid, %b::text, %b::text, %b::bytea, %b::boolean, %b::text::jsonb, %b::timestamptz)
"""


def _insert_sql(events: int, lanes: int, *, receipt: bool) -> str:
    """Insert the events, move the heads of their lanes, keep the receipt: one statement."""
    return f"""
WITH {f"kept AS ({_RECEIPT})," if receipt else ""} moved AS (
    UPDATE ledger_lane l SET seq = h.seq, hash = h.hash
    FROM {rows_of(_HEAD_COLUMNS, lanes)} AS h({", ".join(_HEAD_COLUMNS)})
    WHERE l.organization_id = %b::uuid AND l.lane = h.lane
)
INSERT INTO ledger_event ({_COLUMNS}, previous_hash, hash)
SELECT position, id, %b::uuid, lane, lane_seq, stream, version, type, schema_version,
       occurred_at, %b::timestamptz, %b::text, %b::uuid, %b::text, %b::text, %b::uuid,
       %b::text, %b::text, payload::jsonb, previous_hash, hash
FROM {rows_of(_EVENT_COLUMNS, events)} AS new({", ".join(_EVENT_COLUMNS)})
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
) -> list[RecordedEvent]:
    """Add events to their streams and lanes and return them with their place, and keep the receipt
    of the command with them.

    All events share the circumstances (recorded_at, actor, command, reason) of the first.

    Args:
        expected_versions: the version each stream was read at; 0 for "does not exist yet".

    Raises:
        Conflict: a stream has moved on since it was read.
    """
    if not events:
        if receipt is not None:
            server_cursor().execute(_RECEIPT, _receipt_values(organization_id, receipt))
        return []
    heads, positions, versions = _places(organization_id, events)
    for stream, expected in (expected_versions or {}).items():
        if versions.get(stream, 0) != expected:
            raise Conflict(
                "stale_version",
                "This was changed by someone else meanwhile. Reload it and decide again.",
                facts={"stream": stream, "expected": expected, "found": versions.get(stream, 0)},
            )
    links, placed = _link(organization_id, events, positions, versions, heads, idempotency_key)
    _insert(events[0], organization_id, idempotency_key, links, receipt)
    return placed


_PLACES = (
    "SELECT seqs, hashes, positions, versions "
    "FROM ledger_places(%b::uuid, %b::uuid[], %b::text[], %b::int)"
)


def _places(
    organization_id: UUID, events: Sequence[RecordedEvent]
) -> tuple[dict[UUID, tuple[int, bytes]], list[int], dict[str, int]]:
    """Lock the heads of the events' lanes; give the heads, as many positions as there are events,
    and the version each stream is at. Everything is read behind the locks."""
    lanes = sorted({event.lane or organization_id for event in events})
    streams = list({event.stream for event in events})
    with server_cursor() as cursor:
        row = cursor.execute(_PLACES, (organization_id, lanes, streams, len(events))).fetchone()
    seqs, hashes, positions, versions = row
    heads = {
        lane: (seq, bytes(digest)) for lane, seq, digest in zip(lanes, seqs, hashes, strict=True)
    }
    return heads, positions, dict(zip(streams, versions, strict=True))


def _link(organization_id, events, positions, versions, heads, idempotency_key):
    """Give events their place and chain them lane by lane; order within a lane is kept."""
    by_lane: dict[UUID, list[Link]] = {}
    placed = []
    versions = dict(versions)
    sequences = {lane: seq for lane, (seq, _) in heads.items()}
    for event, position in zip(events, positions, strict=True):
        lane = event.lane or organization_id
        sequences[lane] += 1
        versions[event.stream] += 1
        done = _placed(event, position, lane, sequences[lane], versions[event.stream])
        placed.append(done)
        by_lane.setdefault(lane, []).append(_as_link(done, idempotency_key))
    links = []
    for lane, lane_links in by_lane.items():
        links.extend(chained(lane_links, after=heads[lane][1]))
    return links, placed


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


def _as_link(event: RecordedEvent, idempotency_key: str | None) -> Link:
    return Link(
        position=event.position,
        id=event.id,
        organization_id=event.organization_id,
        lane=event.lane,
        lane_seq=event.lane_seq,
        stream=event.stream,
        version=event.version,
        type=event.data.event_type,
        schema_version=event.data.event_version,
        occurred_at=event.occurred_at,
        recorded_at=event.recorded_at,
        actor_kind=event.actor_kind,
        actor_id=event.actor_id,
        actor_label=event.actor_label,
        command=event.command,
        command_id=event.command_id,
        idempotency_key=idempotency_key,
        reason=event.reason,
        payload=registry.to_payload(event.data),
    )


def _insert(
    first: RecordedEvent,
    organization_id: UUID,
    key: str | None,
    links,
    receipt: NewReceipt | None,
) -> None:
    encode = msgspec.json.encode
    rows = [
        (
            link.position,
            link.id,
            link.lane,
            link.lane_seq,
            link.stream,
            link.version,
            link.type,
            link.schema_version,
            link.occurred_at,
            encode(link.payload).decode(),
            previous,
            digest,
        )
        for link, previous, digest in links
    ]
    heads = {link.lane: (link.lane, link.lane_seq, digest) for link, _, digest in links}
    shared = (
        organization_id,
        first.recorded_at,
        first.actor_kind,
        first.actor_id,
        first.actor_label,
        first.command,
        first.command_id,
        key,
        first.reason,
    )
    kept = () if receipt is None else _receipt_values(organization_id, receipt)
    moved = (*row_values(list(heads.values())), organization_id)
    with server_cursor() as cursor:
        cursor.execute(
            _insert_sql(len(rows), len(heads), receipt=receipt is not None),
            (*kept, *moved, *shared, *row_values(rows)),
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
