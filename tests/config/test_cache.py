"""Without Redis the cache goes on in memory, and looks for Redis again later."""

import pytest
from redis.exceptions import ConnectionError as RedisAway

from config import cache
from config.cache import AWAY_SECONDS, SturdyRedisCache


class Clock:
    """Seconds that a test moves."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cache, "time", made)
    monkeypatch.setattr(SturdyRedisCache, "_away_until", 0.0)
    return made


@pytest.fixture
def nowhere(clock: Clock) -> SturdyRedisCache:
    """A cache whose Redis refuses: nothing listens on port 1."""
    made = SturdyRedisCache("redis://127.0.0.1:1/0", {"KEY_PREFIX": "test"})
    made.clear()
    return made


def test_counts_go_on_in_memory(nowhere: SturdyRedisCache) -> None:
    assert nowhere.get("attempts") is None
    assert nowhere.add("attempts", 1)
    assert not nowhere.add("attempts", 5)
    assert nowhere.incr("attempts") == 2
    nowhere.set_many({"a": 1, "b": 2})
    assert nowhere.get_many(["attempts", "a", "b"]) == {"attempts": 2, "a": 1, "b": 2}
    assert "a" in nowhere
    assert nowhere.delete("a")
    with pytest.raises(ValueError, match="not found"):
        nowhere.incr("a")


def test_every_thread_sees_the_same_counts(nowhere: SturdyRedisCache) -> None:
    nowhere.set("attempts", 3)
    other = SturdyRedisCache("redis://127.0.0.1:1/0", {"KEY_PREFIX": "test"})
    assert other.get("attempts") == 3


def test_a_failing_redis_is_left_alone_for_a_while(
    nowhere: SturdyRedisCache, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away(*args: object, **kwargs: object) -> None:
        asked.append(args)
        raise RedisAway("no")

    clock.now += AWAY_SECONDS
    monkeypatch.setattr("django.core.cache.backends.redis.RedisCacheClient.get", away)
    for _ in range(5):
        nowhere.get("x")
    assert len(asked) == 1
    clock.now += AWAY_SECONDS
    nowhere.get("x")
    assert len(asked) == 2


def test_a_ping_asks_redis_itself(nowhere: SturdyRedisCache) -> None:
    with pytest.raises(cache.OUTAGES):
        nowhere.ping()
