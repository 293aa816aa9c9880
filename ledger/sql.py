"""Hot paths speak SQL: a psycopg cursor with server-side binding on Django's connection."""

from collections.abc import Mapping, Sequence

import psycopg
from django.db import connection

from ledger import trips


def server_cursor() -> psycopg.Cursor:
    """A cursor that binds on the server, so that parameters may be binary (`%b`) and `COPY` works.

    It shares Django's connection and so its transaction and the organization set in it.
    """
    connection.ensure_connection()
    trips.catch_up()
    return psycopg.Cursor(connection.connection)


def rows_of(columns: Mapping[str, str], count: int) -> str:
    """A FROM item for `count` rows given by `row_values`: of arrays, or of plain values for a
    single row, which is what most commands write: arrays of one cost more than the statement.

    Args:
        columns: SQL types by name.
    """
    if count == 1:
        return f"(VALUES ({', '.join(f'%b::{type_}' for type_ in columns.values())}))"
    return f"unnest({', '.join(f'%b::{type_}[]' for type_ in columns.values())})"


def row_values(rows: Sequence[tuple]) -> tuple:
    """The parameters of `rows_of`."""
    if len(rows) == 1:
        return rows[0]
    return tuple(list(column) for column in zip(*rows, strict=True))


def first_row(sql: str, value: str) -> tuple | None:
    """The row of a read that is the first of its request, outside any transaction.

    A connection the server has closed meanwhile is noticed by the read itself and replaced,
    which saves the round trip of asking for its health beforehand. It speaks to libpq directly:
    a cursor would take as long as the server does.

    Args:
        sql: with one parameter, `$1`.
    """
    if connection.connection is not None and not connection.in_atomic_block:
        connection.health_check_done = True
        try:
            return trips.row(sql.encode(), value.encode())
        except psycopg.Error:
            if not connection.connection.closed:
                raise
            connection.close()
    connection.ensure_connection()
    return trips.row(sql.encode(), value.encode())
