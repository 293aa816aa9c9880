"""What a writer is given: columns, and rows in blocks, so that no file is ever in memory whole.

Where the rows come from SQL, CSV does not pass through Python at all: PostgreSQL writes it, cell
guards included, and a test holds both ways to the same bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Protocol

from django.db import connection

from accounting.domain import money
from accounting.domain.exports import FORMULA_STARTS, guarded
from ledger.sql import server_cursor

BLOCK_ROWS: Final = 2_000
SORT_MEMORY: Final = "64MB"
"""Of PostgreSQL, for putting rows in their order; it spills to disk beyond."""
COPY_BYTES: Final = 1 << 16
_STARTS: Final = ",".join(str(ord(start)) for start in FORMULA_STARTS)
RENAMED: Final = "coalesce(%(renamed)s::jsonb->>id::text, name)"
"""An account's name as it was, where it has another one since."""
_CURSOR: Final = "apportion_export"
_QUOTED = re.compile('[",\r\n]')


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    ID = "id"
    INTEGER = "integer"
    DECIMAL = "decimal"
    MONEY = "money"
    POINTED = "pointed"
    INSTANT = "instant"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """A column. MONEY keeps its decimals, a DECIMAL has none that are only zeros, a POINTED one has
    always one at least. An ID is text that is ours, so no guard looks at it.

    Attributes:
        sql: its expression where rows come from SQL.
        sql_text: the finished text of it, where that is known for many rows at once.
    """

    name: str
    kind: Kind
    sql: str = ""
    sql_text: str = ""


class Table(Protocol):
    """Rows to write.

    Attributes:
        facts: what a document says of all of them.
        guards: texts that could be formulas stand behind an apostrophe in CSV and workbooks.
    """

    columns: Sequence[Column]
    facts: Mapping[str, str | None]
    guards: bool

    def blocks(self) -> Iterator[list[tuple]]:
        """Rows in their one order, at most BLOCK_ROWS at once."""
        ...

    def csv(self) -> Iterator[tuple[bytes, int]]:
        """The rows as CSV, without the head, and how many rows each piece has."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTable:
    """Rows that Python makes."""

    columns: Sequence[Column]
    facts: Mapping[str, str | None]
    rows: Iterable[tuple]
    guards: bool = True

    def blocks(self) -> Iterator[list[tuple]]:
        """See `Table`."""
        block: list[tuple] = []
        for row in self.rows:
            block.append(row)
            if len(block) == BLOCK_ROWS:
                yield block
                block = []
        if block:
            yield block

    def csv(self) -> Iterator[tuple[bytes, int]]:
        """See `Table`."""
        return csv_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTable:
    """Rows of a query, read in the running transaction.

    Attributes:
        head: before SELECT: `WITH ...`; `tail`: FROM and all behind it, with its order.
        values: by name; client-side in a COPY, which takes no parameters.
    """

    columns: Sequence[Column]
    facts: Mapping[str, str | None]
    tail: str
    values: Mapping[str, Any]
    head: str = ""
    guards: bool = True

    def blocks(self) -> Iterator[list[tuple]]:
        """See `Table`."""
        columns = ", ".join(column.sql for column in self.columns)
        _plan()
        with connection.connection.cursor(name=_CURSOR) as cursor:
            cursor.execute(f"{self.head} SELECT {columns} {self.tail}", self.values)
            while block := cursor.fetchmany(BLOCK_ROWS):
                yield block

    def csv(self) -> Iterator[tuple[bytes, int]]:
        """See `Table`."""
        columns = ", ".join(_text_in_sql(column, guard=self.guards) for column in self.columns)
        sql = f"COPY ({self.head} SELECT {columns} {self.tail}) TO STDOUT (FORMAT csv)"
        _plan()
        with server_cursor() as cursor, cursor.copy(sql, self.values) as copy:
            pieces: list[bytes] = []
            size = 0
            while piece := copy.read():
                pieces.append(bytes(piece))
                size += len(piece)
                if size >= COPY_BYTES:
                    yield b"".join(pieces), len(pieces)
                    pieces, size = [], 0
            yield b"".join(pieces), len(pieces)


def _plan() -> None:
    """How PostgreSQL reads a table of an export, for the rest of the transaction: in the order of
    an index where there is one, and of few batches it would expect few records."""
    with server_cursor() as cursor:
        cursor.execute(f"SET LOCAL work_mem = '{SORT_MEMORY}'")
        cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute("SET LOCAL enable_sort = off")


def csv_of(table: Table) -> Iterator[tuple[bytes, int]]:
    """Rows as CSV by Python: exactly what PostgreSQL writes."""
    kinds = [column.kind for column in table.columns]
    for block in table.blocks():
        lines = (
            ",".join(
                _cell(value, kind, guard=table.guards)
                for value, kind in zip(row, kinds, strict=True)
            )
            for row in block
        )
        yield "".join(f"{line}\n" for line in lines).encode(), len(block)


def csv_head(table: Table) -> bytes:
    """The line of names."""
    return (",".join(column.name for column in table.columns) + "\n").encode()


def guarded_in_sql(sql: str) -> str:
    """`guarded` as an expression."""
    return f"CASE WHEN ascii({sql}) = ANY ('{{{_STARTS}}}') THEN '''' || ({sql}) ELSE ({sql}) END"


def named(name: str, kind: Kind, sql: str, pairs: str) -> Column:
    """A column of texts that are few and stand in many rows: one map of all of them, finished
    cells, made once; a row looks its own up. No join, so that rows stay in their order and are
    never sorted with all their texts.

    Args:
        sql: the key of a row, as text.
        pairs: a query of (id, name), each id once.
    """
    return Column(name, kind, _looked_up(sql, pairs, "name"), _looked_up(sql, pairs, _CELL))


_CELL: Final = guarded_in_sql("name")


def _looked_up(sql: str, pairs: str, value: str) -> str:
    return f"(SELECT jsonb_object_agg(id, {value}) FROM ({pairs}) p)->>({sql})"


def names_in_sql(table: str, name: str = "name") -> str:
    """Ids and names of a table of the organization."""
    return f"SELECT id, {name} AS name FROM {table} WHERE organization_id = %(organization)s"


def instant_in_sql(sql: str) -> str:
    """`instant` as an expression. Django's connections speak UTC: ...+00."""
    return f"replace(replace(({sql})::text, ' ', 'T'), '+00', 'Z')"


def text(value: Any, kind: Kind) -> str:
    """A value in the one form in which CSV and JSON have it."""
    if kind == Kind.DECIMAL:
        return plain(value)
    if kind == Kind.POINTED:
        found = plain(value)
        return found if "." in found else f"{found}.0"
    if kind == Kind.INSTANT:
        return instant(value)
    if kind == Kind.DATE:
        return value.isoformat()
    return str(value)


def plain(value: Decimal) -> str:
    """All digits of a decimal and no zeros behind the last."""
    return f"{money.EXACT.normalize(value):f}" if value else "0"


def instant(value: datetime) -> str:
    """As `2026-10-01T00:00:00Z`, with a fraction only where there is one."""
    at = value.astimezone(UTC)
    fraction = f".{at.microsecond:06}".rstrip("0") if at.microsecond else ""
    return f"{at:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def month(first: date | None) -> str | None:
    """As `2026-10`."""
    return None if first is None else f"{first:%Y-%m}"


def _cell(value: Any, kind: Kind, *, guard: bool) -> str:
    if value is None:
        return ""
    found = text(value, kind)
    if kind != Kind.TEXT:
        return found
    if guard:
        found = guarded(found)
    # As COPY does: an empty text is not null.
    if not found or _QUOTED.search(found):
        return '"' + found.replace('"', '""') + '"'
    return found


def _text_in_sql(column: Column, *, guard: bool) -> str:
    if column.sql_text:
        return column.sql_text
    if column.kind == Kind.DECIMAL:
        return f"trim_scale({column.sql})"
    if column.kind == Kind.INSTANT:
        return instant_in_sql(column.sql)
    if column.kind == Kind.TEXT and guard:
        return guarded_in_sql(column.sql)
    return column.sql
