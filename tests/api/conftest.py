"""A client that speaks as a machine of acme, and what most API tests start from."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.world import Tenant


@dataclass
class Api:
    """Requests with a bearer token; answers as Django gives them, problems included."""

    token: str | None
    client: Client

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> HttpResponse:
        return self.client.get(f"/api/v1/{path}", query, headers=self._headers(headers))

    def post(
        self,
        path: str,
        body: Any,
        *,
        content_type: str = "application/json",
        **headers: str,
    ) -> HttpResponse:
        return self.send("POST", path, body, content_type=content_type, **headers)

    def send(
        self,
        method: str,
        path: str,
        body: Any = b"",
        *,
        content_type: str = "application/json",
        **headers: str,
    ) -> HttpResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.generic(
            method, f"/api/v1/{path}", data, content_type, headers=self._headers(headers)
        )

    def _headers(self, given: dict[str, str]) -> dict[str, str]:
        headers = {name.replace("_", "-"): value for name, value in given.items()}
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        return headers


@pytest.fixture
def api(acme: Tenant) -> Api:
    """A machine of acme with the scopes of a scheduler."""
    return Api(fresh_token(acme), Client())


def fresh_token(tenant: Tenant, *scopes: str, **values: Any) -> str:
    """A token that is good now, whenever the tests run: requests read the clock."""
    return tenant.token(*scopes, now=datetime.now(UTC), **values)


def speaking(token: str | None, *, reraise: bool = True) -> Api:
    """A machine with another token, or none."""
    return Api(token, Client(raise_request_exception=reraise))


def is_problem(response: HttpResponse, status: int, code: str) -> dict[str, Any]:
    """Check that an answer is a proper problem document, and return it."""
    assert response["Content-Type"] == "application/problem+json", response.content[:300]
    body = json.loads(response.content)
    assert (response.status_code, body["code"]) == (status, code), body
    assert body["status"] == status
    assert body["type"] == f"/api/problems#{code}"
    assert body["title"] and body["detail"] and body["request_id"]
    assert body["instance"].startswith("/")
    return body


def signed_in(tenant: Tenant, name: str) -> Api:
    """A person of a tenant, with a session."""
    client = Client()
    client.force_login(tenant.users.get(name) or tenant.login(name))
    return Api(None, client)
