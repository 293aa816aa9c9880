"""Who gets in, and how refusals read: every one is a problem document."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from ledger.ids import new_id
from tenancy import tokens
from tenancy.commands.tokens import RevokeToken
from tenancy.models import User
from tests.api.conftest import fresh_token, is_problem, speaking

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = {"jobs": []}


def test_nobody_gets_in_without_a_token_or_a_session(acme):
    answer = speaking(None).post("priorities", QUESTION)
    is_problem(answer, 401, "not_authenticated")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer["Cache-Control"] == "no-store"
    assert "Authorization" in answer["Vary"]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer", "token_malformed"),
        ("Bearer a b", "token_malformed"),
        ("Bearer nonsense", "token_malformed"),
        ("Bearer \xff", "token_malformed"),
        ("Bearer " + "x" * 5000, "token_malformed"),
        ("Basic YTpi", "not_authenticated"),
        ("Bearer " + tokens.render(new_id(), tokens.new_secret()), "token_unknown"),
    ],
)
def test_bad_credentials_are_told_apart(acme, header, code):
    answer = speaking(None).post("priorities", QUESTION, Authorization=header)
    is_problem(answer, 401, code)
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_wrong_secret_an_expired_and_a_revoked_token_are_refused(acme):
    good = tokens.parse(fresh_token(acme))
    forged = tokens.render(good.id, tokens.new_secret())
    is_problem(speaking(forged).post("priorities", QUESTION), 401, "token_unknown")
    long_ago = datetime.now(UTC) - timedelta(days=100)
    expired = acme.token(now=long_ago, days=90)
    is_problem(speaking(expired).post("priorities", QUESTION), 401, "token_expired")
    acme.run(RevokeToken(token_id=good.id), now=datetime.now(UTC))
    revoked = tokens.render(good.id, good.secret)
    is_problem(speaking(revoked).post("priorities", QUESTION), 401, "token_revoked")


@pytest.mark.parametrize(
    ("scope", "path", "wanted"),
    [
        ("usage:write", "priorities", "priority:read"),
        ("priority:read", "usage", "usage:write"),
        ("export:read", "usage", "usage:write"),
    ],
)
def test_a_token_without_the_scope_is_told_which_one_is_missing(acme, scope, path, wanted):
    api = speaking(fresh_token(acme, scope))
    answer = api.post(path, b"not even read")
    found = is_problem(answer, 403, "scope_missing")
    assert (found["permission"], found["scopes"]) == (wanted, [scope])
    assert wanted in answer["WWW-Authenticate"]


def test_a_login_without_organization_is_refused(db):
    client = Client()
    client.force_login(User.objects.create_user("nobody@example.org", "x"))
    is_problem(
        client.post("/api/v1/priorities", QUESTION, "application/json"),
        403,
        "organization_missing",
    )


def test_a_member_may_not_report_usage(acme):
    client = Client()
    client.force_login(acme.login("bob"))
    answer = client.post("/api/v1/usage", [{}], "application/json")
    found = is_problem(answer, 403, "role_missing")
    assert found["roles"] == ["operator"]


def test_unknown_addresses_and_methods_are_problems_too(api):
    is_problem(api.get("nothing"), 404, "address_unknown")
    is_problem(api.post("nothing/at/all", {}), 404, "address_unknown")
    is_problem(Client().get("/api/"), 404, "address_unknown")
    answer = api.get("usage")
    is_problem(answer, 405, "method_not_allowed")
    assert answer["Allow"] == "POST, OPTIONS"
    is_problem(api.post("priorities", QUESTION, accept="text/html"), 406, "accept_unsupported")
    assert api.post("priorities", QUESTION, accept="application/*").status_code == 200


def test_our_own_failures_are_problems_with_the_request_id(acme, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("accounting.api.priorities.read_question", broken)
    api = speaking(fresh_token(acme), reraise=False)
    answer = api.post("priorities", QUESTION, x_request_id="my-request-1")
    found = is_problem(answer, 500, "internal_error")
    assert found["request_id"] == "my-request-1"
    assert b"secret" not in answer.content


@pytest.mark.parametrize("away", [OperationalError, InterfaceError, psycopg.OperationalError])
def test_without_the_database_the_answer_is_to_wait(acme, monkeypatch, away):
    def broken(*_, **__):
        raise away("connection to db.internal failed")

    monkeypatch.setattr("accounting.api.priorities.read_question", broken)
    monkeypatch.setattr("frontend.views.overview.render", broken)
    answer = speaking(fresh_token(acme), reraise=False).post("priorities", QUESTION)
    is_problem(answer, 503, "unavailable")
    assert answer["Retry-After"] == "5"
    assert b"db.internal" not in answer.content
    browser = Client(raise_request_exception=False)
    browser.force_login(acme.login("alice"))
    page = browser.get("/")
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert b"Try again" in page.content
