"""Where tests get their databases: a server for the run, a template, a clone a process."""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import psycopg
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config import services
from config.database import aliases
from config.postgres import APPLICATION, grant_database

BASE_DIR: Final = Path(__file__).resolve().parent.parent
TEMPLATES_KEPT: Final = 6
# Any number: the lock under which one process builds the template and the others wait.
TEMPLATE_LOCK: Final = 4_711_001


def schema_hash() -> str:
    """Changes with anything that may change what `migrate` makes."""
    digest = hashlib.sha256()
    for package in ("django", "django-allauth"):
        digest.update(importlib.metadata.version(package).encode())
    for configuration in sorted(apps.get_app_configs(), key=lambda app: app.name):
        folder = Path(configuration.path)
        digest.update(configuration.name.encode())
        if BASE_DIR not in folder.parents or ".venv" in folder.parts:
            continue
        sources = [*folder.glob("migrations/*.py"), *folder.rglob("*.sql")]
        sources += folder.glob("management/commands/migrate.py")
        for source in sorted(sources):
            digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestServer:
    """A PostgreSQL on which `admin_url` may create databases."""

    __test__ = False

    admin_url: str
    app_url: str
    owner_url: str | None
    owner_role: str

    @classmethod
    @contextlib.contextmanager
    def acquire(cls) -> Iterator["TestServer"]:
        """The server of DATABASE_URL, or the embedded one; the last user stops that."""
        url = os.environ.get("DATABASE_URL", "").strip()
        if url:
            owner_url = os.environ.get("DATABASE_OWNER_URL", "").strip() or None
            with psycopg.connect(owner_url or url) as connection:
                role = connection.info.user
            yield cls(admin_url=owner_url or url, app_url=url, owner_url=owner_url, owner_role=role)
            return
        directory = services.var_directory() / "test"
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "users.lock").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_SH)
            running = services.start(directory, test=True)
            server = cls(
                admin_url=running.superuser_url,
                app_url=running.database_url,
                owner_url=running.database_owner_url,
                owner_role=services.OWNER,
            )
            server.drop_abandoned()
            try:
                yield server
            finally:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    services.stop(directory, test=True)

    def admin(self) -> psycopg.Connection:
        return psycopg.connect(self.admin_url, autocommit=True)

    def drop_abandoned(self) -> None:
        """Remove what killed runs left; only where all test processes are of this machine."""
        with self.admin() as connection:
            rows = connection.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, 'apportion_test_')"
            ).fetchall()
            for (name,) in rows:
                if not psutil.pid_exists(int(name.split("_")[2])):
                    _drop(connection, name)

    def database(self, *, worker: str) -> "TestDatabase":
        """A fresh clone for this process, with Django's aliases pointing at it."""
        template = self._template()
        database = TestDatabase(
            server=self, name=f"apportion_test_{os.getpid()}_{worker}", template=template
        )
        database.renew()
        self._point_aliases(database.name)
        return database

    def _template(self) -> str:
        """The migrated template for the present migrations, built by whoever comes first."""
        name = f"apportion_template_{schema_hash()}"
        with self.admin() as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (TEMPLATE_LOCK,))
            complete = connection.execute(
                "SELECT datistemplate FROM pg_database WHERE datname = %s", (name,)
            ).fetchone()
            if complete and complete[0]:
                return name
            self._drop_old(connection)
            _drop(connection, name)
            self._create(connection, name)
            self._point_aliases(name)
            call_command("migrate", database="owner", verbosity=0, interactive=False)
            connections.close_all()
            connection.execute(
                sql.SQL("ALTER DATABASE {} WITH IS_TEMPLATE true").format(sql.Identifier(name))
            )
        return name

    def _create(self, connection: psycopg.Connection, name: str) -> None:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 OWNER {}").format(
                sql.Identifier(name), sql.Identifier(self.owner_role)
            )
        )
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APPLICATION,))
        if known.fetchone():
            url = make_conninfo(self.admin_url, dbname=name)
            with psycopg.connect(url, autocommit=True) as inside:
                grant_database(inside, database=name, owner=self.owner_role)

    def _drop_old(self, connection: psycopg.Connection) -> None:
        """Keep a few templates, for those who switch between branches."""
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, 'apportion_template_')"
            " ORDER BY oid DESC OFFSET %s",
            (TEMPLATES_KEPT,),
        ).fetchall()
        for (name,) in rows:
            _drop(connection, name)

    def _point_aliases(self, name: str) -> None:
        """Let both aliases mean that database, in place: connection objects share the dicts."""
        owner_url = self.owner_url and make_conninfo(self.owner_url, dbname=name)
        fresh = aliases(make_conninfo(self.app_url, dbname=name), owner_url, common={})
        connections.close_all()
        for alias, entry in fresh.items():
            settings.DATABASES[alias].update(entry)
            connections[alias].settings_dict.update(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestDatabase:
    """One process's database."""

    __test__ = False

    server: TestServer
    name: str
    template: str

    def renew(self) -> None:
        """Throw away what is in it: drop, and clone the template again."""
        with self.server.admin() as connection:
            _drop(connection, self.name)
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                    sql.Identifier(self.name),
                    sql.Identifier(self.template),
                    sql.Identifier(self.server.owner_role),
                )
            )

    def drop(self) -> None:
        with self.server.admin() as connection:
            _drop(connection, self.name)

    def superuser(self) -> psycopg.Connection:
        url = make_conninfo(self.server.admin_url, dbname=self.name)
        return psycopg.connect(url, autocommit=True)


def _drop(connection: psycopg.Connection, name: str) -> None:
    known = connection.execute(
        "SELECT datistemplate FROM pg_database WHERE datname = %s", (name,)
    ).fetchone()
    if known is None:
        return
    if known[0]:
        connection.execute(
            sql.SQL("ALTER DATABASE {} WITH IS_TEMPLATE false").format(sql.Identifier(name))
        )
    connection.execute(
        sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    )
