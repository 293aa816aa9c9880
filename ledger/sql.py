"""Hot paths speak SQL: a psycopg cursor with server-side binding on Django's connection."""

import psycopg
from django.db import connection


def server_cursor() -> psycopg.Cursor:
    """A cursor that binds on the server, so that parameters may be binary (`%b`) and `COPY` works.

    It shares Django's connection and so its transaction and the organization set in it.
    """
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)


def first_row(sql: str, params: tuple) -> tuple | None:
    """The row of a read that is the first of its request, outside any transaction.

    A connection the server has closed meanwhile is noticed by the read itself and replaced,
    which saves the round trip of asking for its health beforehand.
    """
    if connection.connection is not None and not connection.in_atomic_block:
        connection.health_check_done = True
        try:
            return server_cursor().execute(sql, params).fetchone()
        except psycopg.OperationalError:
            if connection.is_usable():
                raise
            connection.close()
    return server_cursor().execute(sql, params).fetchone()
