"""Event append in batches, with the hash chain, against raw COPY into the same table."""

import statistics
from datetime import UTC, datetime

import psycopg

from bench.measure import Report, seconds
from bench.world import World
from ledger import scope, store
from ledger.ids import new_id
from ledger.types import RecordedEvent
from tenancy.events import AccountRenamed

BATCH = 1_000
BATCHES = 20
ROUNDS = 3
COLUMNS = (
    "organization_id, position, id, lane, lane_seq, stream, version, type, schema_version, "
    "occurred_at, recorded_at, actor_kind, actor_id, actor_label, command, command_id, "
    "idempotency_key, reason, payload, previous_hash, hash"
)


def run(report: Report, world: World, superuser_url: str) -> None:
    """Append and COPY take turns, so that both meet the same machine."""
    ours, raw = [], []
    with psycopg.connect(superuser_url) as connection:
        for _ in range(ROUNDS):
            events = [_events(world, number) for number in range(BATCHES)]
            ours.append(seconds(lambda events=events: _append(world, events)))
            text = _copied_out(connection, world, BATCH * BATCHES)
            raw.append(seconds(lambda text=text: _copy_in(connection, text)))
            connection.rollback()
    count = BATCH * BATCHES
    rate, ceiling = count / statistics.median(ours), count / statistics.median(raw)
    report.add("events appended with chain, 1,000 a transaction", rate, "events/s")
    report.add("raw COPY into the same table", ceiling, "rows/s")
    report.add("append / raw COPY", rate / ceiling, "ratio", at_least=0.333)


def _events(world: World, number: int) -> list[RecordedEvent]:
    now = datetime.now(UTC)
    command_id = new_id()
    return [
        RecordedEvent(
            id=new_id(),
            organization_id=world.organization_id,
            stream=f"account:{(account_id := new_id())}",
            occurred_at=now,
            recorded_at=now,
            actor_kind="system",
            actor_id=None,
            actor_label="bench",
            command="RenameAccount",
            command_id=command_id,
            reason="",
            data=AccountRenamed(
                account_id=account_id, name=f"account{index}", description=f"batch {number}"
            ),
        )
        for index in range(BATCH)
    ]


def _append(world: World, batches: list[list[RecordedEvent]]) -> None:
    for batch in batches:
        with scope.writing(world.organization_id):
            store.append(world.organization_id, batch)


def _copied_out(connection: psycopg.Connection, world: World, count: int) -> bytes:
    """The newest events as COPY text, with places and streams that are free."""
    organization = world.organization_id
    query = (
        f"SELECT organization_id, position + 1000000000, id, lane, lane_seq + 1000000000, "
        f"'copy:' || stream, {COLUMNS.partition('stream, ')[2]} FROM ledger_event "
        f"WHERE organization_id = '{organization}' ORDER BY position DESC LIMIT {count}"
    )
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        return b"".join(bytes(block) for block in copy)


def _copy_in(connection: psycopg.Connection, text: bytes) -> None:
    statement = f"COPY ledger_event ({COLUMNS}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(text)
