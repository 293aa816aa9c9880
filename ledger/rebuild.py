"""Projections from events alone: compare them with the real ones, or put them in their place.

Temporary tables take the names of the projected ones, so the very functions that project a
command project its history into them. What differs is then a set operation in the database.

A rebuild replays while commands go on, then stops them for the little that came meanwhile and
for the swap, which changes only rows that differ, in one transaction: readers see the old rows
or the new ones. A dry run compares inside one snapshot and stops nobody.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

import psycopg

from ledger import projection, scope, store
from ledger.projection import ProjectedTable
from ledger.sql import server_cursor

ANALYZE_FROM = 1_000
"""After so many events, and at each doubling, the temporary tables get statistics."""
ROUNDS_MAX = 5
"""Catching up before writers are stopped; a busier organization is stopped anyway."""
REST_SMALL = 200
"""Events that are few enough to be replayed while writers wait."""

Progress = Callable[[int, int], None]
Heads = Mapping[UUID, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDifference:
    """Rows of a projected table that are not what the events say.

    `missing` rows are in the rebuild only, `surplus` rows in the real table only, `different`
    rows in both. `example` is the key of one of them as JSON, `columns` where that one differs.
    """

    table: str
    missing: int
    surplus: int
    different: int
    example: str
    columns: tuple[str, ...]

    @property
    def total(self) -> int:
        """Rows in any of the three states."""
        return self.missing + self.surplus + self.different


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild or a dry run found, and how many events it replayed."""

    events: int
    differences: tuple[TableDifference, ...]


def compare(organization_id: UUID, *, progress: Progress | None = None) -> Rebuilt:
    """Replay all events aside and tell where the projections differ. Changes nothing.

    Must run inside `scope.snapshot`, where events and projections are of one instant.
    """
    with _shadows():
        until = _heads(organization_id)
        events = _replay(organization_id, {}, until, progress)
        return Rebuilt(events=events, differences=_differences(organization_id))


def rebuild(organization_id: UUID, *, progress: Progress | None = None) -> Rebuilt:
    """Recreate every projection of the organization from its events, in one transaction.

    Vacuum waits for it meanwhile, as it does for any long transaction.

    Raises:
        UnknownEvent: an event that this release does not know; nothing is changed.
    """
    with scope.maintaining(organization_id):
        with _shadows():
            events = _replay_all(organization_id, progress)
            differences = _differences(organization_id)
            for difference in differences:
                _swap(_table(difference.table), organization_id)
        if differences:
            # Only now do the names mean the real tables again.
            changed = frozenset(difference.table for difference in differences)
            store.mark_remade(organization_id)
            projection.rebuilt(organization_id, changed)
    return Rebuilt(events=events, differences=differences)


def _replay_all(organization_id: UUID, progress: Progress | None) -> int:
    """Replay while commands go on, stop them when little is left, and replay that."""
    done: Heads = {}
    events = 0
    for _ in range(ROUNDS_MAX):
        until = _heads(organization_id)
        rest = sum(until.values()) - sum(done.values())
        events += _replay(organization_id, done, until, progress)
        done = until
        if rest <= REST_SMALL:
            break
    scope.stop_writers(organization_id)
    return events + _replay(organization_id, done, _heads(organization_id), progress)


@contextmanager
def _shadows() -> Iterator[None]:
    """Empty temporary tables in front of the real ones until the block ends.

    The search path is set although temporary tables come first anyway: statements prepared
    earlier in this session are bound to the real tables, and only another path unbinds them.
    """
    with server_cursor() as cursor:
        cursor.execute("SET LOCAL search_path TO pg_temp, public")
        for table in projection.tables():
            cursor.execute(
                f"CREATE TEMPORARY TABLE {table.name} (LIKE public.{table.name} INCLUDING ALL) "
                "ON COMMIT DROP"
            )
    yield
    # Not in a `finally`: after an error the transaction is rolled back, and the tables with it.
    with server_cursor() as cursor:
        for table in projection.tables():
            cursor.execute(f"DROP TABLE pg_temp.{table.name}")
        cursor.execute("SET LOCAL search_path TO DEFAULT")


def _heads(organization_id: UUID) -> Heads:
    return {lane: seq for lane, (seq, _) in store.heads(organization_id).items()}


def _replay(organization_id: UUID, after: Heads, until: Heads, progress: Progress | None) -> int:
    """Project the events from `after` to `until`, command by command as they were recorded."""
    total = sum(until.values()) - sum(after.values())
    done, next_analyze = 0, ANALYZE_FROM
    events = store.replay(organization_id, after=after, until=until)
    for _, command in groupby(events, key=lambda event: event.command_id):
        recorded = list(command)
        projection.apply(recorded)
        done += len(recorded)
        if done >= next_analyze:
            _analyze()
            next_analyze = 2 * done
        if progress is not None:
            progress(done, total)
    return done


def _analyze() -> None:
    """Autovacuum never sees temporary tables; without statistics joins go wrong at size."""
    with server_cursor() as cursor:
        for table in projection.tables():
            cursor.execute(f"ANALYZE pg_temp.{table.name}")


def _table(name: str) -> ProjectedTable:
    return next(table for table in projection.tables() if table.name == name)


def _differences(organization_id: UUID) -> tuple[TableDifference, ...]:
    found = (_difference(table, organization_id) for table in projection.tables())
    return tuple(difference for difference in found if difference is not None)


def _difference(table: ProjectedTable, organization_id: UUID) -> TableDifference | None:
    keys = ", ".join(table.key)
    with server_cursor() as cursor:
        facts = _facts(cursor, table)
        differs = " OR ".join(f"o.{c} IS DISTINCT FROM n.{c}" for c in facts) or "false"
        which = ", ".join(f"CASE WHEN o.{c} IS DISTINCT FROM n.{c} THEN '{c}' END" for c in facts)
        example = ", ".join(f"'{column}', {column}" for column in table.key)
        missing, surplus, different, key, columns = cursor.execute(
            f"""
            WITH found AS (
                SELECT o.is_there IS NULL AS missing, n.is_there IS NULL AS surplus,
                    jsonb_build_object({example})::text AS key,
                    concat_ws(',', {which or "NULL"}) AS columns
                FROM (SELECT true AS is_there, * FROM public.{table.name}
                      WHERE {table.key[0]} = %b) o
                FULL JOIN (SELECT true AS is_there, * FROM pg_temp.{table.name}) n USING ({keys})
                WHERE o.is_there IS NULL OR n.is_there IS NULL OR {differs}
            )
            SELECT count(*) FILTER (WHERE missing), count(*) FILTER (WHERE surplus),
                count(*) FILTER (WHERE NOT missing AND NOT surplus), min(key),
                (SELECT columns FROM found WHERE NOT missing AND NOT surplus
                 ORDER BY key LIMIT 1)
            FROM found
            """,
            (organization_id,),
        ).fetchone()
    if key is None:
        return None
    return TableDifference(
        table=table.name,
        missing=missing,
        surplus=surplus,
        different=different,
        example=key,
        columns=tuple(columns.split(",")) if columns else (),
    )


def _facts(cursor: psycopg.Cursor, table: ProjectedTable) -> list[str]:
    """The columns that are compared: neither key nor ignored."""
    left_out = {*table.key, *table.ignored}
    return [column for column in _columns(cursor, table.name) if column not in left_out]


def _columns(cursor: psycopg.Cursor, name: str) -> list[str]:
    rows = cursor.execute(
        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %b::text::regclass "
        "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (f"public.{name}",),
    )
    return [row[0] for row in rows]


def _swap(table: ProjectedTable, organization_id: UUID) -> None:
    """Put the rebuilt rows that differ in the place of the real ones.

    First all go that are wrong, then all come that are missing: two rows that exchanged a unique
    value would otherwise get in each other's way.
    """
    same = " AND ".join(f"o.{column} = n.{column}" for column in table.key)
    mine = f"o.{table.key[0]} = %b"
    with server_cursor() as cursor:
        if table.ignored:
            keep = ", ".join(f"{column} = o.{column}" for column in table.ignored)
            cursor.execute(
                f"UPDATE pg_temp.{table.name} n SET {keep} FROM public.{table.name} o "
                f"WHERE {mine} AND {same}",
                (organization_id,),
            )
        equal = " AND ".join(f"o.{c} IS NOT DISTINCT FROM n.{c}" for c in _facts(cursor, table))
        cursor.execute(
            f"DELETE FROM public.{table.name} o WHERE {mine} AND NOT EXISTS ("
            f"SELECT 1 FROM pg_temp.{table.name} n WHERE {same} AND {equal or 'true'})",
            (organization_id,),
        )
        columns = ", ".join(_columns(cursor, table.name))
        cursor.execute(
            f"INSERT INTO public.{table.name} ({columns}) SELECT {columns} "
            f"FROM pg_temp.{table.name} n WHERE NOT EXISTS ("
            f"SELECT 1 FROM public.{table.name} o WHERE {mine} AND {same})",
            (organization_id,),
        )
