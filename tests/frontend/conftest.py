"""Pages are asked for at the instant of the tests, by people of the cast who are signed in."""

from collections.abc import Callable

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
