"""Lines of closed months against the events that vouch for them. Part of `ledger verify`."""

from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from accounting import statement_close
from accounting.statement_events import StatementDrawn
from ledger import store
from ledger.sql import server_cursor
from ledger.verification import Finding

CHECK = "statements"
EXAMPLES_MAX = 20

_UNVOUCHED = """
SELECT month, chunk, count(*) FROM (
    SELECT month, chunk FROM accounting_statementline WHERE organization_id = %b
    UNION ALL
    SELECT month, chunk FROM accounting_statementpart WHERE organization_id = %b
) stored GROUP BY month, chunk ORDER BY month, chunk
"""


def verify_statements(organization_id: UUID) -> Iterator[Finding]:
    """Digest every chunk again and compare; then look for lines that no event names. Runs in the
    organization's snapshot."""
    vouched = set()
    for event in store.read_type(organization_id, StatementDrawn.event_type):
        data: StatementDrawn = event.data
        vouched.add((data.month, data.chunk))
        lines = [
            (*row[:-1], msgspec.json.decode(row[-1]))
            for row in _rows(organization_id, data, "line", statement_close.LINE_COLUMNS)
        ]
        parts = _rows(organization_id, data, "part", statement_close.PART_COLUMNS)
        found = statement_close.chunk_digest(lines, parts)
        if (len(lines), len(parts), found) != (data.lines, data.parts, data.digest):
            yield _finding(
                data.month,
                data.chunk,
                f"the lines of {data.month:%Y-%m}, chunk {data.chunk}, are not those of the event",
                lines=len(lines),
                lines_recorded=data.lines,
            )
    with server_cursor() as cursor:
        rows = cursor.execute(_UNVOUCHED, (organization_id, organization_id)).fetchall()
    strangers = [row for row in rows if row[:2] not in vouched]
    for month, chunk, count in strangers[:EXAMPLES_MAX]:
        yield _finding(
            month,
            chunk,
            f"{count} lines or parts of {month:%Y-%m}, chunk {chunk}, are in no event",
            lines=count,
        )


def _rows(
    organization_id: UUID, data: StatementDrawn, name: str, columns: tuple[str, ...]
) -> list[tuple]:
    wanted = ", ".join("facts::text" if column == "facts" else column for column in columns)
    order = ", ".join(column for column in columns if column.endswith("_no"))
    with server_cursor() as cursor:
        return cursor.execute(
            f"SELECT {wanted} FROM accounting_statement{name} WHERE organization_id = %b "
            f"AND month = %b AND chunk = %b ORDER BY {order}",
            (organization_id, data.month, data.chunk),
        ).fetchall()


def _finding(month: date, chunk: int, problem: str, **facts: Any) -> Finding:
    return Finding(
        check=CHECK, problem=problem, facts={"month": f"{month:%Y-%m}", "chunk": chunk, **facts}
    )
