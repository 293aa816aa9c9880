"""Redis as a cache that may go away: what needs it goes on in the memory of each process.

Only counts live here (of sign-in attempts, of requests a minute), nothing that must survive. With
Redis gone they are kept per process, so limits become a little wider; nobody is locked out.
"""

import functools
import time
from typing import Any, Final

import structlog
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

OUTAGES: Final = (OSError, RedisError)
AWAY_SECONDS: Final = 10
"""How long Redis is left alone after a failure: one that hangs must not slow every request."""

logger = structlog.get_logger("apportion.cache")


class SturdyRedisCache(RedisCache):
    """Django's Redis cache, with memory to fall back to.

    `ping` asks Redis itself, for the probe that tells whether it is there.
    """

    _away_until: float = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        spare = {name: value for name, value in params.items() if name != "OPTIONS"}
        self._spare = LocMemCache(f"spare of {self.key_prefix}", spare)

    def ping(self) -> None:
        """Raises one of OUTAGES when Redis does not answer."""
        self._cache.get_client().ping()

    def _try(self, method: str, *args: Any, **kwargs: Any) -> Any:
        # Caches are made for each thread; what is known of Redis holds for the process.
        kind = type(self)
        if time.monotonic() >= kind._away_until:
            try:
                return getattr(RedisCache, method)(self, *args, **kwargs)
            except OUTAGES as error:
                kind._away_until = time.monotonic() + AWAY_SECONDS
                logger.warning("redis is away, memory instead", error=str(error))
        return getattr(self._spare, method)(*args, **kwargs)


def _sturdy(method: str) -> Any:
    plain = getattr(RedisCache, method)

    @functools.wraps(plain)
    def sturdy(self: SturdyRedisCache, *args: Any, **kwargs: Any) -> Any:
        return self._try(method, *args, **kwargs)

    return sturdy


for _method in (
    *("add", "get", "set", "touch", "delete", "get_many", "has_key", "incr"),
    *("set_many", "delete_many", "clear"),
):
    setattr(SturdyRedisCache, _method, _sturdy(_method))
