"""Parquet: row groups of one size, decimals exact as decimal128(38, 12), instants in UTC.

Nothing in the file says when it was made; the writer's name and version are those of the library,
so the same library writes the same bytes.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from accounting.exports import files
from accounting.exports.tables import Kind, Table

PRECISION: Final = 38
SCALE: Final = 12
GROUP_ROWS: Final = 20_000
TYPES: Final = {
    Kind.TEXT: pa.string(),
    Kind.ID: pa.string(),
    Kind.INTEGER: pa.int64(),
    Kind.DECIMAL: pa.decimal128(PRECISION, SCALE),
    Kind.MONEY: pa.decimal128(PRECISION, SCALE),
    Kind.POINTED: pa.decimal128(PRECISION, SCALE),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
    Kind.DATE: pa.date32(),
}
_STEP: Final = Decimal(1).scaleb(-SCALE)


def write(table: Table, path: Path, done: Callable[[int], None]) -> None:
    """Rows to a file, a row group at a time."""
    facts = {name: value or "" for name, value in table.facts.items()}
    schema = pa.schema(
        [pa.field(one.name, TYPES[one.kind]) for one in table.columns], metadata=facts
    )
    with path.open("wb") as out, pq.ParquetWriter(out, schema, compression="zstd") as writer:
        group: list[tuple] = []
        for block in table.blocks():
            group += block
            while len(group) >= GROUP_ROWS:
                _add(writer, table, schema, group[:GROUP_ROWS])
                group = group[GROUP_ROWS:]
                files.check_size(out.tell())
            done(len(block))
        if group:
            _add(writer, table, schema, group)


def _add(writer: pq.ParquetWriter, table: Table, schema: pa.Schema, rows: list[tuple]) -> None:
    columns = [
        pa.array([_value(value, one.kind) for value in values], type=TYPES[one.kind])
        for one, values in zip(table.columns, zip(*rows, strict=True), strict=True)
    ]
    batch = pa.Table.from_arrays(columns, schema=schema)
    writer.write_table(batch, row_group_size=len(rows))


def _value(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind in (Kind.DECIMAL, Kind.MONEY, Kind.POINTED):
        return _scaled(value)
    if kind == Kind.INSTANT:
        return _utc(value)
    if kind == Kind.ID:
        return str(value)
    return value


def _scaled(value: Decimal) -> Decimal:
    """As the column holds it. Measured utilizations may have more digits than it: those are
    rounded half to even, amounts never have any."""
    return value if -value.as_tuple().exponent <= SCALE else round(value, SCALE)


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)
