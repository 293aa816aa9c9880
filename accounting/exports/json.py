"""JSON: a document that says what it is of and holds the rows, or one row a line. Decimals are
text, as everywhere in the API; null is null."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from accounting.exports import files
from accounting.exports.tables import Kind, Table, text

_encoder = msgspec.json.Encoder()


def write(table: Table, path: Path, done: Callable[[int], None]) -> None:
    """A document: facts, columns, `rows`."""
    head = _encoder.encode(
        {**table.facts, "columns": [[one.name, str(one.kind)] for one in table.columns]}
    )
    _write(table, path, done, first=head[:-1] + b',"rows":[\n', between=b",\n", last=b"\n]}\n")


def write_lines(table: Table, path: Path, done: Callable[[int], None]) -> None:
    """One row a line, each an object."""
    _write(table, path, done, first=b"", between=b"\n", last=b"\n")


def _write(
    table: Table,
    path: Path,
    done: Callable[[int], None],
    *,
    first: bytes,
    between: bytes,
    last: bytes,
) -> None:
    columns = [(one.name, one.kind) for one in table.columns]
    with path.open("wb") as out:
        size = out.write(first)
        empty = True
        for block in table.blocks():
            piece = between.join(
                _encoder.encode(
                    {
                        name: _plain(value, kind)
                        for (name, kind), value in zip(columns, row, strict=True)
                    }
                )
                for row in block
            )
            size += out.write(piece if empty else between + piece)
            empty = False
            files.check_size(size)
            done(len(block))
        if not empty or first:
            out.write(last)


def _plain(value: Any, kind: Kind) -> Any:
    return value if value is None or kind == Kind.INTEGER else text(value, kind)
