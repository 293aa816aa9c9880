"""Pages are asked for at the instant of the tests, by people of the cast who are signed in."""

from collections.abc import Callable

import psycopg
import pytest
from django.test import Client

from accounting import fairshare_state
from frontend import pages
from tests.quota.requests.conftest import desk, known  # noqa: F401 (fixtures of requests)
from tests.world import NOW, Tenant


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are made at NOW, by processes that know nothing yet."""
    monkeypatch.setattr(pages, "clock", lambda: NOW)
    fairshare_state.forget()


@pytest.fixture
def browse(db: None) -> Callable[[Tenant, str], Client]:
    """A client signed in as somebody of a tenant: `browse(acme, "alice").get("/")`."""

    def sign_in(tenant: Tenant, name: str) -> Client:
        client = Client()
        client.force_login(tenant.users.get(name) or tenant.login(name))
        return client

    return sign_in


@pytest.fixture
def statements(monkeypatch):
    """Every statement sent to PostgreSQL, also those that do not go through Django's cursor."""
    sent: list[str] = []
    plain = psycopg.Cursor.execute

    def execute(cursor, query, *args, **kwargs):
        sent.append(str(query))
        return plain(cursor, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return sent
