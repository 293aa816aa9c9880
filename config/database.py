"""Database aliases from connection URLs, and the rule which role each alias has.

`default` is the application role, which row-level security binds; `owner` owns the tables and
migrates. Both may be one login: then `default` steps down to the application role on connecting.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.utils import OperationalError
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

APPLICATION_ROLE: Final = "apportion_app"
OWNER_ALIAS: Final = "owner"
SERVER_VERSION_MIN: Final = 15
PREPARE_THRESHOLD: Final = 5

# Names Django wants outside OPTIONS.
_DJANGO_NAMES: Final[Mapping[str, str]] = {
    "dbname": "NAME",
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
}


def database_settings(
    url: str, *, variable: str, common: Mapping[str, Any], role: str | None = None
) -> dict[str, Any]:
    """One entry of DATABASES from a PostgreSQL URL or key=value string.

    `variable` is named in errors. `role` is taken on with SET ROLE at connection.
    """
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"{variable} is not a PostgreSQL address: {error}") from error
    if not parts.get("dbname"):
        raise ImproperlyConfigured(f"{variable} names no database.")
    entry = {name: str(parts.pop(key, "") or "") for key, name in _DJANGO_NAMES.items()}
    if role is not None:
        parts["options"] = f"{parts.get('options') or ''} -c role={role}".strip()
    parts.setdefault("application_name", "apportion")
    # Statements that come again are planned once: planning costs more than most of them.
    parts.setdefault("prepare_threshold", PREPARE_THRESHOLD)
    return {"ENGINE": "django.db.backends.postgresql", **entry, "OPTIONS": parts, **common}


def aliases(url: str, owner_url: str | None, *, common: Mapping[str, Any]) -> dict[str, Any]:
    """DATABASES: `default` under the application role, `owner` for migrations.

    `owner_url` None means the login of `url` owns the tables too.
    """
    owner = database_settings(
        owner_url or url,
        variable="DATABASE_OWNER_URL" if owner_url else "DATABASE_URL",
        common={**common, "CONN_MAX_AGE": 0},
    )
    default = database_settings(url, variable="DATABASE_URL", common=common)
    if default["USER"] == owner["USER"] and default["USER"] != APPLICATION_ROLE:
        default = database_settings(
            url, variable="DATABASE_URL", common=common, role=APPLICATION_ROLE
        )
    return {"default": default, OWNER_ALIAS: owner}


class MigrateOnOwner:
    """Database router: tables are made on the alias `owner`, everything else uses `default`."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == OWNER_ALIAS

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        """Both aliases are one database."""
        return True


def check_server(
    app_configs: list[AppConfig] | None, databases: list[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """System check (run by migrate and `check --database`): a server too old is refused."""
    messages: list[CheckMessage] = []
    if databases and not settings.DATABASE_CONFIGURED:
        return [
            Error(
                "There is no database.",
                hint="Run `make demo` for the embedded one, or set DATABASE_URL.",
                id="config.E002",
            )
        ]
    for alias in databases or ():
        connection = connections[alias]
        try:
            version = connection.pg_version
        except OperationalError:
            continue  # migrate says it better, with the address
        if version < SERVER_VERSION_MIN * 10_000:
            messages.append(
                Error(
                    f"PostgreSQL {version // 10_000} is too old: Apportion needs "
                    f"{SERVER_VERSION_MIN} or newer.",
                    hint="Point DATABASE_URL at a newer server, or unset it to use the "
                    "embedded one.",
                    id="config.E001",
                )
            )
    return messages
