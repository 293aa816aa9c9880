"""Hot paths speak SQL: a psycopg cursor with server-side binding on Django's connection."""

import psycopg
from django.db import connection


def server_cursor() -> psycopg.Cursor:
    """A cursor that binds on the server, so that parameters may be binary (`%b`) and `COPY` works.

    It shares Django's connection and so its transaction and the organization set in it.
    """
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)
