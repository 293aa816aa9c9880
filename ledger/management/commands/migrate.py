"""`migrate` on the alias that owns the tables, after making sure the application role exists."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import connections
from django.db.utils import DatabaseError

APPLICATION_ROLE = "apportion_app"

# Whoever makes a role may hand it out, but from PostgreSQL 16 on not yet take it on themselves:
# being a member and being allowed `SET ROLE` are two things there, and 15 knows only the first.
MAY_TAKE = f"""
pg_has_role(current_user, '{APPLICATION_ROLE}',
    CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END)
"""
PREPARE = f"""
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APPLICATION_ROLE}') THEN
        BEGIN
            CREATE ROLE {APPLICATION_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END IF;
    IF current_user <> '{APPLICATION_ROLE}'
       AND NOT {MAY_TAKE}
       AND EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND rolcreaterole) THEN
        GRANT {APPLICATION_ROLE} TO CURRENT_USER;
    END IF;
END $$;
GRANT USAGE ON SCHEMA public TO {APPLICATION_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APPLICATION_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {APPLICATION_ROLE};
"""


class Command(DjangoMigrate):
    """Django's `migrate`, on the owner's connection."""

    def add_arguments(self, parser: Any) -> None:
        """The same arguments; only the default database differs."""
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the application role and its default privileges, then migrate.

        Raises:
            CommandError: the login may neither find nor create the role, or not take it on.
        """
        if options["database"] == "owner":
            self._prepare()
        super().handle(*args, **options)

    def _prepare(self) -> None:
        try:
            with connections["owner"].cursor() as cursor:
                cursor.execute(PREPARE)
                name = connections["owner"].settings_dict["NAME"]
                quoted = connections["owner"].ops.quote_name(name)
                cursor.execute(
                    f"GRANT CONNECT, TEMPORARY ON DATABASE {quoted} TO {APPLICATION_ROLE}"
                )
                cursor.execute(f"SELECT {MAY_TAKE}")
                may_take = cursor.fetchone()[0]
        except DatabaseError as error:
            raise CommandError(
                f"The role {APPLICATION_ROLE} could not be prepared: {error}. Create it once as an "
                f"administrator: CREATE ROLE {APPLICATION_ROLE} NOLOGIN; and grant it to the login "
                "of DATABASE_URL."
            ) from error
        # One login for both aliases: the application connects with it and steps down to the role.
        if not may_take and _login("default") == _login("owner"):
            raise CommandError(
                f"The login {_login('owner')} may not take on the role {APPLICATION_ROLE}. Let an "
                f"administrator run once: GRANT {APPLICATION_ROLE} TO {_login('owner')};"
            )


def _login(alias: str) -> str:
    return connections[alias].settings_dict["USER"]
