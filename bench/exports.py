"""A million usage records and a million lines of a closed month as files, against a plain `COPY`.

Rows are put in by SQL, for what is measured is what comes after. The ceiling is the same table's
rows as they are, copied out through the same driver in the same run, one after the other.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import django
import psycopg

if __name__ == "__main__":
    django.setup()

from accounting.domain.exports import Format, What, spec
from accounting.exports import making
from accounting.exports.extent import extent
from bench import statements
from bench.measure import Report, seconds
from ledger import scope
from ledger.ids import new_id
from ledger.sql import server_cursor

ROUNDS = 3
LATER = statements.NOW + timedelta(days=1)

_BATCH = """
INSERT INTO accounting_usagebatch (organization_id, id, event_id, source_ids, recorded_at, rows,
    duplicates, conflicts, rejected, unit_seconds, first_started_at, last_started_at, digest)
SELECT organization_id, batch_id, batch_id, ARRAY[source_id], min(started_at), count(*),
    0, 0, 0, 0, min(started_at), max(started_at), ''
FROM accounting_usagerecord WHERE organization_id = %(organization)s GROUP BY 1, 2, source_id
"""
_SOURCE = """
INSERT INTO accounting_usagesource (organization_id, id, name)
SELECT DISTINCT organization_id, source_id, 'bench' FROM accounting_usagerecord
WHERE organization_id = %(organization)s
"""
_CLOSE = """
INSERT INTO accounting_monthclose (organization_id, month, state, started_at, started_by, accepted,
    waits, accounts, drawn_accounts, chunks, lines, amount, list_amount, closed_at, digest)
VALUES (%(organization)s, %(month)s, 'closed', %(now)s, 'bench', '{}', false, 0, 0, 1, 0, 0, 0,
    %(now)s, '')
"""
_LINES = """
INSERT INTO accounting_statementline (organization_id, month, chunk, line_no, account_id, above,
    kind, of_kind, pool_id, flavor_id, tier, unit_seconds, price, list_price, amount, list_amount,
    facts)
SELECT a.organization_id, %(month)s, 1 + i / 100000, i, a.id, a.ancestors, 'usage', 'usage',
    p.id, p.flavor_id, 'guaranteed', i * 7, 2.5, 2.5, round(i * 7 * 2.5 / 3600, 2),
    round(i * 7 * 2.5 / 3600, 2), '{}'
FROM generate_series(1, %(rows)s) AS i
JOIN (SELECT *, row_number() OVER (ORDER BY id) AS n FROM tenancy_account
    WHERE organization_id = %(organization)s) a ON a.n = 1 + i %% 1000
JOIN (SELECT *, row_number() OVER (ORDER BY id) AS n FROM quota_pool
    WHERE organization_id = %(organization)s) p ON p.n = 1 + i %% 4
"""
_PLAIN = {
    What.RECORDS: "SELECT * FROM accounting_usagerecord WHERE organization_id = {organization} "
    "AND started_at >= '2025-12-01' AND started_at < '2026-02-01'",
    What.LINES: "SELECT * FROM accounting_statementline WHERE organization_id = {organization} "
    "AND month = '2026-01-01'",
}


def run(report: Report, superuser_url: str, *, rows: int) -> None:
    """Fill, copy, export, measure memory."""
    organization_id, root = statements._organization()
    with psycopg.connect(superuser_url) as connection:
        statements._fill(connection, organization_id, rows)
        _fill(connection, organization_id, rows)
    try:
        for what in (What.RECORDS, What.LINES):
            plain, ours = [], []
            for _ in range(ROUNDS):
                plain.append(seconds(lambda w=what: _copy(organization_id, w)))
                ours.append(seconds(lambda w=what: _export(organization_id, root, w, Format.CSV)))
            ceiling, found = statistics.median(plain), statistics.median(ours)
            report.add(f"plain COPY of {rows:,} {what}", ceiling, "s")
            report.add("the same as an export in CSV", found, "s")
            report.add(f"CSV of {what} / COPY", found / ceiling, "ratio", at_most=3)
        for format_ in Format:
            few, many = (_memory(organization_id, root, format_, n) for n in (rows // 4, rows))
            report.add(f"memory of {format_}, a quarter of the rows", few, "MiB")
            report.add(f"memory of {format_}, all rows", many, "MiB", at_most=round(few * 1.25 + 8))
    finally:
        statements._empty(superuser_url, organization_id)


def _fill(connection: psycopg.Connection, organization_id: UUID, rows: int) -> None:
    values = {
        "organization": organization_id,
        "rows": rows,
        "month": statements.MONTH,
        "now": statements.NOW,
        "id": new_id(),
    }
    for statement in (_BATCH, _SOURCE, _CLOSE, _LINES):
        connection.execute(statement, values)
    connection.commit()
    connection.autocommit = True
    # As autovacuum would have done by the time anybody exports.
    for table in ("accounting_statementline", "accounting_usagebatch", "accounting_usagesource"):
        connection.execute(f"VACUUM ANALYZE {table}")
    connection.autocommit = False


def _copy(organization_id: UUID, what: What) -> None:
    rows = _PLAIN[what].format(organization=f"'{organization_id}'")
    sql = f"COPY ({rows}) TO STDOUT (FORMAT csv)"
    with (
        scope.reading(organization_id),
        tempfile.TemporaryFile() as out,
        server_cursor() as cursor,
        cursor.copy(sql) as copy,
    ):
        while piece := copy.read():
            out.write(piece)


def _export(organization_id: UUID, root: UUID, what: What, format_: Format) -> int:
    """Write the file as a worker does, its digest included."""
    wish = spec(account_id=root, month=statements.MONTH, what=what, suffix=format_)
    with tempfile.NamedTemporaryFile() as file, scope.snapshot(organization_id):
        here = extent(organization_id, wish, asked_at=LATER)
        rows, _ = making.write(here, Path(file.name), lambda rows, of: None)
        making.files.seal(Path(file.name))
    return rows


def _memory(organization_id: UUID, root: UUID, format_: Format, rows: int) -> float:
    """The most that a process of its own has held while it wrote so many lines, in MiB."""
    # A workbook of a million rows takes a minute; a tenth of them tells as much.
    wanted = rows // 10 if format_ == Format.XLSX else rows
    arguments = [str(organization_id), str(root), format_.value, str(wanted)]
    out = subprocess.run(
        [sys.executable, "-m", "bench.exports", *arguments], capture_output=True, check=True
    )
    return float(out.stdout)


def _measured(organization_id: str, root: str, format_: str, rows: str) -> None:
    """Write lines of which there are enough, stop after so many, say how much memory it took."""
    here_id = UUID(organization_id)
    wish = spec(account_id=UUID(root), month=statements.MONTH, what="lines", suffix=format_)
    with tempfile.NamedTemporaryFile() as file, scope.snapshot(here_id):
        here = extent(here_id, wish, asked_at=LATER)
        table = making.table_of(here)
        table = replace(table, tail=f"{table.tail} LIMIT {int(rows)}")
        making.WRITERS[Format(format_)](table, Path(file.name), lambda more: None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    _measured(*sys.argv[1:])
