"""Asynchronous readers: at least once, in order within a lane, skipping nothing.

A reader keeps one cursor per lane. Sequence numbers of a lane are gapless and become visible in
order, because an append holds the lane's head until it commits; so "everything up to n" is a
complete prefix and no running transaction can hide an earlier event. That is simpler than
bounding a global position by the oldest running transaction, and it survives dump and restore
(docs/decisions/0005-ledger.md). The cursor moves in the same transaction as the reader's effect.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger import scope, store
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

BATCH_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A named consumer. `handle` gets events of one lane in order and may see some twice after a
    crash outside the database; what it writes in the database happens exactly once."""

    name: str
    handle: Callable[[Sequence[RecordedEvent]], None]


def catch_up(reader: Reader, organization_id: UUID, *, batch: int = BATCH_MAX) -> int:
    """Feed a reader everything committed so far; returns how many events it was given."""
    total = 0
    while True:
        given = _step(reader, organization_id, batch)
        total += given
        if given == 0:
            return total


def catch_up_with_commands(reader: Reader, organization_id: UUID, *, batch: int = BATCH_MAX) -> int:
    """As `catch_up`, for a reader whose effect are commands, which bring their own transactions.

    The cursor moves after them: a crash in between, or two workers at once, and they are given
    again. They must be idempotent.
    """
    total = 0
    while True:
        with scope.reading(organization_id):
            lane, events = _news(reader, organization_id, batch)
        if not events:
            return total
        reader.handle(events)
        with scope.writing(organization_id):
            _move(reader, organization_id, lane, events[-1].lane_seq)
        total += len(events)


def _news(
    reader: Reader, organization_id: UUID, batch: int
) -> tuple[UUID, Sequence[RecordedEvent]]:
    positions = _positions(reader, organization_id)
    for lane, (head, _) in store.heads(organization_id).items():
        reached = positions.get(lane, 0)
        if head > reached:
            return lane, store.read_lane(organization_id, lane, after_seq=reached, limit=batch)
    return organization_id, ()


def _step(reader: Reader, organization_id: UUID, batch: int) -> int:
    with scope.writing(organization_id):
        if not _lock(reader, organization_id):
            return 0
        lane, events = _news(reader, organization_id, batch)
        if not events:
            return 0
        reader.handle(events)
        _move(reader, organization_id, lane, events[-1].lane_seq)
        return len(events)


def _lock(reader: Reader, organization_id: UUID) -> bool:
    """One worker at a time per reader and organization; a second one leaves it to the first."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"reader:{reader.name}:{organization_id}",),
        ).fetchone()
        return row[0]


def _positions(reader: Reader, organization_id: UUID) -> dict[UUID, int]:
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT lane, seq FROM ledger_reader WHERE organization_id = %b AND reader = %b",
            (organization_id, reader.name),
        )
        return dict(cursor.fetchall())


def _move(reader: Reader, organization_id: UUID, lane: UUID, seq: int) -> None:
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledger_reader (organization_id, reader, lane, seq) "
            "VALUES (%b, %b, %b, %b) "
            "ON CONFLICT (organization_id, reader, lane) DO UPDATE "
            "SET seq = greatest(ledger_reader.seq, excluded.seq)",
            (organization_id, reader.name, lane, seq),
        )
