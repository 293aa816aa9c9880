"""Requests a minute: counted for each token, told in headers, shared by processes."""

import pytest
from django.core.cache import cache
from redis.exceptions import ConnectionError as RedisAway

from config.api import limits
from tests.api.conftest import fresh_token, is_problem, speaking

NOON = 1_764_417_600.0


@pytest.fixture(autouse=True)
def fresh():
    cache.clear()
    limits.forget()
    yield
    cache.clear()
    limits.forget()


@pytest.fixture
def few(settings):
    settings.RATE_LIMITS = {"api": 3, "usage": 250, "priorities": 0}


def test_a_quota_ends_and_comes_back_with_the_next_minute(few):
    asked = [limits.spend("api", "a", now=NOON + n) for n in range(4)]
    assert [(one.left, one.allowed) for one in asked] == [
        (2, True),
        (1, True),
        (0, True),
        (0, False),
    ]
    assert [one.reset_seconds for one in asked] == [60, 59, 58, 57]
    assert limits.spend("api", "a", now=NOON + 60).allowed


def test_callers_and_kinds_count_apart(few):
    for _ in range(4):
        limits.spend("api", "a", now=NOON)
    assert limits.spend("api", "b", now=NOON).allowed
    assert limits.spend("usage", "a", now=NOON).allowed
    assert limits.spend("priorities", "a", now=NOON) is None


def test_processes_share_one_count_and_never_let_through_more(few):
    admitted = 0
    for _process in range(5):
        limits.forget()  # another process, with nothing in hand
        calls = [limits.spend("usage", "a", now=NOON) for _ in range(60)]
        admitted += sum(one.allowed for one in calls)
    assert 250 - 5 * 2 <= admitted <= 250


def test_a_process_asks_the_cache_once_for_many(few, monkeypatch):
    asked = []
    incr = cache.incr
    monkeypatch.setattr(limits.cache, "incr", lambda *a: asked.append(a) or incr(*a))
    for _ in range(250):
        limits.spend("usage", "a", now=NOON)
    assert len(asked) <= 250 / 2 + 2
    before = len(asked)
    refused = [limits.spend("usage", "a", now=NOON) for _ in range(50)]
    assert not any(one.allowed for one in refused)
    assert len(asked) == before


def test_without_the_cache_each_process_counts_alone(few, monkeypatch):
    def away(*_args):
        raise RedisAway("refused")

    monkeypatch.setattr(limits.cache, "incr", away)
    answers = [limits.spend("api", "a", now=NOON) for _ in range(4)]
    assert [one.allowed for one in answers] == [True, True, True, False]


def test_limits_can_be_off(few, settings):
    settings.RATE_LIMITS_ON = False
    assert limits.spend("api", "a", now=NOON) is None


@pytest.mark.django_db(transaction=True)
def test_answers_tell_what_is_left_and_then_refuse(acme, settings):
    settings.RATE_LIMITS = {"api": 2}
    api = speaking(fresh_token(acme))
    first = api.get("me")
    assert first["RateLimit-Policy"] == '"api";q=2;w=60'
    assert first["RateLimit"].startswith('"api";r=1;t=')
    assert "RateLimit" in api.get("accounts/nowhere")
    refused = api.get("me")
    is_problem(refused, 429, "too_many_requests")
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused["RateLimit"].startswith('"api";r=0;t=')
    assert speaking(fresh_token(acme)).get("me").status_code == 200
    assert "RateLimit" not in speaking(None).get("me")
