"""One PostgreSQL for the run, one database a process, cloned from a migrated template.

Tests run on the alias `default` under the application role, so row-level security is real; only
migrations, and what a test asks of the fixture `owner`, run as the owner. The server is the
embedded one under var/test, or the one that DATABASE_URL names.
"""

import os

os.environ["APPORTION_TEST"] = "1"
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

import django

django.setup()

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.test import TransactionTestCase
from hypothesis import settings as hypothesis_settings

from tests.database import TestDatabase, TestServer

# How long an example takes is a matter of benchmarks: a busy machine fails no test.
hypothesis_settings.register_profile("apportion", deadline=None)
hypothesis_settings.load_profile("apportion")

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    """The instant at which every test happens, unless it says otherwise."""
    return NOW


@pytest.fixture(scope="session")
def test_server() -> Iterator[TestServer]:
    with TestServer.acquire() as server:
        yield server


@pytest.fixture(scope="session")
def test_database(
    test_server: TestServer, request: pytest.FixtureRequest, django_db_blocker: Any
) -> Iterator[TestDatabase]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    with django_db_blocker.unblock():
        database = test_server.database(worker=worker)
        yield database
        connections.close_all()
        database.drop()


@pytest.fixture(scope="session")
def django_db_setup(test_database: TestDatabase) -> Iterator[None]:
    """Replaces pytest-django's: no create_test_db, no flush through the application role."""
    from accounting import partitions

    original = TransactionTestCase._fixture_teardown

    def renew(case: TransactionTestCase) -> None:
        connections.close_all()
        test_database.renew()
        partitions.forget()

    # Django would TRUNCATE on `default`, whose role may not; a new clone also brings back what
    # migrations inserted.
    TransactionTestCase._fixture_teardown = renew
    yield
    TransactionTestCase._fixture_teardown = original


@pytest.fixture
def owner(transactional_db: None, test_database: TestDatabase) -> Iterator[psycopg.Connection]:
    """A raw autocommit connection that row-level security does not bind, for tampering."""
    with test_database.superuser() as connection:
        bound = connection.execute(
            "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if bound and bound[0]:
            pytest.skip("the login of DATABASE_URL is bound by row-level security")
        yield connection


assert settings.TEST, "tests/conftest.py must be loaded before Django's settings"


@pytest.fixture
def acme(db: None):
    """The organization most tests happen in; see tests/world.py."""
    from tests import world

    return world.acme()


@pytest.fixture
def globex(db: None):
    """Another tenant, where Charlie works; he must never see anything of acme."""
    from tests import world

    return world.globex()


@pytest.fixture
def rounds(monkeypatch) -> list[list[bytes]]:
    """The first words of the statements of each round trip that commands make from now on."""
    from ledger import trips

    found: list[list[bytes]] = []
    travel = trips._round

    def noted(raw, line, asked):
        found.append([one.statement.sql.split()[0] for one in asked])
        return travel(raw, line, asked)

    monkeypatch.setattr(trips, "_round", noted)
    return found


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement sent to PostgreSQL, also those that do not go through Django's cursor."""
    sent: list[str] = []
    plain = psycopg.Cursor.execute

    def execute(cursor, query, *args, **kwargs):
        sent.append(str(query))
        return plain(cursor, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return sent
