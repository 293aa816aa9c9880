"""Changes that a person with all rights on the database could make, one column at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

BY_TYPE = {
    "uuid": "gen_random_uuid()",
    "bigint": "coalesce({c}, 0) + 100000",
    "integer": "coalesce({c}, 0) + 100000",
    "smallint": "coalesce({c}, 0) + 1",
    "text": "coalesce({c}, '') || 'x'",
    "timestamp with time zone": "coalesce({c}, now()) + interval '1 microsecond'",
    "jsonb": "coalesce({c}, '{{}}') || '{{\"x\": 1}}'",
    "bytea": "set_byte({c}, 31, get_byte({c}, 31) # 1)",
    "numeric": "coalesce({c}, 0) + 0.0001",
    "date": "coalesce({c}, current_date) + 1000",
    "boolean": "NOT coalesce({c}, false)",
    "ARRAY": "CASE WHEN {c} IS NULL THEN '{{}}' ELSE {c} || {c} END",
    "character varying": "'X' || substr({c}, 2)",
}
BY_COLUMN = {
    ("sign", "smallint"): "-sign",
    ("tier", "smallint"): "(tier + 1) % 3",
    ("accepted", "ARRAY"): "accepted || ARRAY['x']",
}


def changes(owner: psycopg.Connection, table: str) -> dict[str, str]:
    """An UPDATE expression for every column the table has, also columns added later."""
    rows = owner.execute(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'public' AND table_name = %s ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    return {
        name: BY_COLUMN.get((name, kind)) or BY_TYPE[kind].format(c=name) for name, kind in rows
    }


@contextmanager
def undone(owner: psycopg.Connection, *tables: str) -> Iterator[None]:
    """Without traps and checks inside; every row of the tables is as before afterwards."""
    owner.execute("SET session_replication_role = replica")
    checks = {table: _checks(owner, table) for table in tables}
    for table in tables:
        owner.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM public.{table}")
        for name in checks[table]:
            owner.execute(f"ALTER TABLE public.{table} DROP CONSTRAINT {name}")
    try:
        yield
    finally:
        for table in tables:
            owner.execute(f"DELETE FROM public.{table}")
            owner.execute(f"INSERT INTO public.{table} SELECT * FROM kept_{table}")
            owner.execute(f"DROP TABLE kept_{table}")
            for name, definition in checks[table].items():
                owner.execute(f"ALTER TABLE public.{table} ADD CONSTRAINT {name} {definition}")
        owner.execute("SET session_replication_role = DEFAULT")


def _checks(owner: psycopg.Connection, table: str) -> dict[str, str]:
    """The CHECK constraints of a table by name: whoever tampers as an owner can drop them."""
    rows = owner.execute(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = %s::regclass AND contype = 'c'",
        (f"public.{table}",),
    ).fetchall()
    return dict(rows)


def undetected(
    owner: psycopg.Connection,
    table: str,
    statements: dict[str, str],
    found: Callable[[str], bool],
) -> list[str]:
    """Names of the statements after which `found(name)` says that nothing was noticed."""
    missed = []
    for name, statement in statements.items():
        with undone(owner, table):
            changed = owner.execute(statement).rowcount
            assert changed > 0, f"{name} changed nothing"
            if not found(name):
                missed.append(name)
    return missed
