"""100,000 usage records through HTTP against raw COPY of the same rows into the same table."""

import statistics
import time
import urllib.request

import msgspec
import psycopg

from accounting.ingest import ROW_COLUMNS
from bench.measure import Report, seconds
from bench.world import World, usage_lines
from ledger.ids import new_id

RECORDS = 100_000
ROUNDS = 5


def run(report: Report, world: World, address: str, superuser_url: str) -> None:
    """Ingest and COPY take turns. The COPY commits, as the ingest does; its rows go afterwards."""
    ours, raw = [], []
    with psycopg.connect(superuser_url) as connection:
        for number in range(ROUNDS):
            body = usage_lines(world, RECORDS, prefix=f"{time.time_ns()}", seed=number)
            answers: list[dict] = []
            ours.append(seconds(lambda body=body, a=answers: a.append(_post(address, world, body))))
            if answers[0]["accepted"] != RECORDS:
                raise SystemExit(f"the ingest did not accept everything: {answers[0]}")
            text, batch = _rows(connection, world, answers[0]["batch_id"])
            raw.append(seconds(lambda text=text: _copy_in(connection, text)))
            _remove(connection, batch)
    mine, ceiling = statistics.median(ours), statistics.median(raw)
    report.add("100,000 usage records through HTTP", mine, "s")
    report.add("raw COPY of the same rows", ceiling, "s")
    report.add("ingest / raw COPY", mine / ceiling, "ratio", at_most=5)


def _post(address: str, world: World, body: bytes) -> dict:
    request = urllib.request.Request(
        f"{address}/api/v1/usage?source=bench",
        data=body,
        headers={
            "Authorization": f"Bearer {world.token}",
            "Content-Type": "application/x-ndjson",
        },
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return msgspec.json.decode(answer.read())


def _rows(connection: psycopg.Connection, world: World, batch_id: str) -> tuple[bytes, str]:
    fresh = str(new_id())
    query = (
        f"SELECT {ROW_COLUMNS} FROM accounting_usagerecord "
        f"WHERE organization_id = '{world.organization_id}' AND batch_id = '{batch_id}' "
        "ORDER BY row_no"
    )
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        text = b"".join(bytes(block) for block in copy)
    connection.commit()
    return text.replace(batch_id.encode(), fresh.encode()), fresh


def _copy_in(connection: psycopg.Connection, text: bytes) -> None:
    statement = f"COPY accounting_usagerecord ({ROW_COLUMNS}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(text)
    connection.commit()


def _remove(connection: psycopg.Connection, batch_id: str) -> None:
    """Take the copied rows out again; the trap is lifted for this transaction alone."""
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute("DELETE FROM accounting_usagerecord WHERE batch_id = %s", (batch_id,))
    connection.commit()
