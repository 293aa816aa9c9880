"""Probes, metrics, request ids: what operators look at."""

import json
import logging

import pytest
from django.db import connections
from django.db.utils import OperationalError
from django.test import Client, RequestFactory, override_settings
from redis.exceptions import ConnectionError as RedisDown

from config import health
from config.logging import logging_settings
from config.middleware import RequestContextMiddleware


@pytest.fixture
def never_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrations_seen_complete", False)


def test_healthz_asks_nobody(client: Client) -> None:
    """Runs without the database fixture: a query would fail the test."""
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")
    assert response["Cache-Control"].startswith("max-age=0")


@pytest.mark.django_db
def test_ready(client: Client, never_seen: None) -> None:
    response = client.get("/readyz")
    assert response.json() == {
        "ready": True,
        "checks": {"database": "ok", "migrations": "ok", "redis": "ok"},
    }


@pytest.mark.django_db
def test_not_ready_while_a_migration_is_missing(
    client: Client, never_seen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = "django.db.migrations.recorder.MigrationRecorder.applied_migrations"
    monkeypatch.setattr(loader, lambda recorder: {})
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["migrations"].endswith("not applied")


@pytest.mark.django_db
def test_not_ready_without_a_database_and_says_no_address(
    client: Client, never_seen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OperationalError("connection to db.internal failed")

    monkeypatch.setattr(connections["default"], "cursor", refuse)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["database"] == "unreachable"
    assert b"db.internal" not in response.content


@pytest.mark.django_db
@override_settings(TEST=False)
def test_ready_without_redis_and_says_so(
    client: Client, never_seen: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise RedisDown("no")

    monkeypatch.setattr(health.cache, "ping", refuse, raising=False)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["checks"]["redis"]) == (200, "unreachable")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_only_read(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405


@override_settings(SECURE_SSL_REDIRECT=True, ALLOWED_HOSTS=["apportion.example"])
def test_probes_come_by_address_and_without_tls(client: Client) -> None:
    assert client.get("/healthz", headers={"Host": "10.0.0.7:8000"}).status_code == 200
    assert client.get("/no/such/page", headers={"Host": "10.0.0.7:8000"}).status_code == 400


def test_metrics_count_routes_not_paths(client: Client) -> None:
    client.get("/healthz")
    client.get("/no/such/page")
    client.generic("SPAM", "/healthz")
    text = client.get("/metrics").content.decode()
    assert 'method="GET",route="/healthz",status="200"' in text
    assert 'method="GET",route="unmatched",status="404"' in text
    assert "such" not in text
    assert "SPAM" not in text


@override_settings(METRICS_TOKEN="t" * 32)
def test_metrics_want_their_token(client: Client) -> None:
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer é"}).status_code == 401
    right = {"Authorization": "Bearer " + "t" * 32}
    assert client.get("/metrics", headers=right).status_code == 200


@override_settings(INSECURE_HTTP=False)
def test_metrics_are_closed_where_no_token_is_set(client: Client) -> None:
    assert client.get("/metrics").status_code == 404


def test_a_request_id_comes_back(client: Client) -> None:
    given = client.get("/healthz", headers={"X-Request-ID": "job-4711-abc"})
    assert given["X-Request-ID"] == "job-4711-abc"
    assert len(client.get("/healthz")["X-Request-ID"]) == 36


@pytest.mark.parametrize("forged", ["short", "x" * 129, 'a"b{"level": "x"}', "line break"])
def test_a_request_id_that_could_forge_a_line_is_replaced(client: Client, forged: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": forged})["X-Request-ID"]
    assert answer != forged
    assert len(answer) == 36


def test_headers_of_every_answer(client: Client) -> None:
    response = client.get("/no/such/page")
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"


def test_log_lines_carry_ids_and_no_local_variables() -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    formatter = logging_settings(level="INFO", style="json")["formatters"]["structured"]
    factory = formatter.pop("()")
    handler = Keep()
    handler.setFormatter(factory(**formatter))
    logger = logging.getLogger("tests.log")
    logger.addHandler(handler)
    logger.setLevel("INFO")

    def fail(password: str) -> None:
        raise ValueError("no")

    def view(request: object) -> None:
        try:
            fail("hunter2")
        except ValueError:
            logger.exception("failed")
        raise LookupError

    request = RequestFactory().get("/x", headers={"X-Request-ID": "request-4711"})
    try:
        with pytest.raises(LookupError):
            RequestContextMiddleware(view)(request)  # type: ignore[arg-type]  # never answers
    finally:
        logger.removeHandler(handler)
    entry = json.loads(lines[0])
    assert entry["request_id"] == "request-4711"
    assert entry["level"] == "error"
    assert entry["exception"][0]["exc_type"] == "ValueError"
    assert "hunter2" not in lines[0]
