"""Month partitions of the usage table, made by the owner through a function before they are
needed: ahead by a task, and on demand for records of long ago."""

from datetime import date

from django.db import connection

_known: set[tuple[int, int]] = set()


def forget() -> None:
    """Ask the database again: for tests, which get a new one under the same name."""
    _known.clear()


def ensure(first_day: date, last_day: date) -> int:
    """Make the partitions for all months from `first_day` to `last_day`; returns how many were new.

    Runs in a transaction of its own, outside any command, so that no long transaction holds the
    lock that attaching needs.
    """
    wanted = {
        (year, month)
        for year in range(first_day.year, last_day.year + 1)
        for month in range(1, 13)
        if (first_day.year, first_day.month) <= (year, month) <= (last_day.year, last_day.month)
    }
    if wanted <= _known:
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT accounting_ensure_partitions(%s, %s)", (first_day, last_day))
        made = cursor.fetchone()[0]
    if not connection.in_atomic_block:
        # Inside a transaction the new partitions may still be rolled back.
        _known.update(wanted)
    return made
