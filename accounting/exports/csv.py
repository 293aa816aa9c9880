"""CSV: UTF-8, lines ended by LF, as PostgreSQL writes it. Null is empty, an empty text is `""`."""

from collections.abc import Callable
from pathlib import Path

from accounting.exports import files
from accounting.exports.tables import Table, csv_head


def write(table: Table, path: Path, done: Callable[[int], None]) -> None:
    """Rows to a file; `done` is told how many more are written."""
    size = 0
    with path.open("wb") as out:
        size += out.write(csv_head(table))
        for piece, rows in table.csv():
            size += out.write(piece)
            files.check_size(size)
            done(rows)
