"""How many requests one token or person may send in a minute, and how many are left.

    RateLimit-Policy: "usage";q=600;w=60
    RateLimit: "usage";r=420;t=31

The count of a window stands in the shared cache, but a process takes permits from it by the
hundredth of the quota and spends them alone: a scheduler that asks a thousand times a second pays
a thousandth of a round trip each. What a process took and did not use is lost with the window, so
a client may be stopped up to one hundredth a process early and is never let through late.
"""

import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

import structlog
from django.conf import settings
from django.core.cache import cache
from django.http import HttpResponse
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled

WINDOW_SECONDS = 60
_BLOCKS = 100
_LEASES_MAX = 10_000
_OUTAGES = (OSError, RedisError)

logger = structlog.get_logger("apportion.limits")


class Standing(NamedTuple):
    """Where a caller stands after a request. `reset_seconds` until the window ends."""

    policy: str
    quota: int
    left: int
    reset_seconds: int
    allowed: bool


@dataclass(slots=True)
class _Lease:
    """Permits that this process holds for one caller in one window."""

    window: int
    left: int
    unclaimed: int


_leases: dict[tuple[str, str], _Lease] = {}
_lock = threading.Lock()


def spend(policy: str, who: str, *, now: float | None = None) -> Standing | None:
    """Count a request of `who`; None when limits are off or the policy has none."""
    quota = settings.RATE_LIMITS.get(policy) if settings.RATE_LIMITS_ON else None
    if not quota:
        return None
    instant = int(time.time() if now is None else now)
    window = instant // WINDOW_SECONDS
    key = (policy, who)
    reset_seconds = (window + 1) * WINDOW_SECONDS - instant
    with _lock:
        lease = _leases.get(key)
        if lease is not None and lease.window == window and (lease.left or not lease.unclaimed):
            return _spent(lease, policy, quota, reset_seconds)
    # Outside of the lock: nobody else shall wait for the cache.
    given, unclaimed = _take(key, window, quota)
    with _lock:
        lease = _leases.get(key)
        if lease is None or lease.window != window:
            _forget_ended(window)
            lease = _leases[key] = _Lease(window, 0, 0)
        lease.left += given
        lease.unclaimed = unclaimed
        return _spent(lease, policy, quota, reset_seconds)


def _spent(lease: _Lease, policy: str, quota: int, reset_seconds: int) -> Standing:
    allowed = lease.left > 0
    if allowed:
        lease.left -= 1
    return Standing(policy, quota, lease.left + lease.unclaimed, reset_seconds, allowed)


def check(policy: str, who: str) -> Standing | None:
    """`spend`, refusing what is too much.

    Raises:
        Refusal: 429, with the seconds to wait.
    """
    standing = spend(policy, who)
    if standing is not None and not standing.allowed:
        raise Refusal(standing)
    return standing


class Refusal(Throttled):
    """Too many requests in this minute."""

    def __init__(self, standing: Standing) -> None:
        super().__init__(
            standing.reset_seconds,
            f"At most {standing.quota} requests of this kind are answered in "
            f"{WINDOW_SECONDS} seconds.",
        )
        self.standing = standing


def declare(response: HttpResponse, standing: Standing) -> None:
    """Tell the client, in the headers of draft-ietf-httpapi-ratelimit-headers."""
    name, quota, left, reset, _ = standing
    response["RateLimit-Policy"] = f'"{name}";q={quota};w={WINDOW_SECONDS}'
    response["RateLimit"] = f'"{name}";r={left};t={reset}'


def forget() -> None:
    """Drop what this process holds. For tests."""
    with _lock:
        _leases.clear()


def _take(key: tuple[str, str], window: int, quota: int) -> tuple[int, int]:
    """Another block of permits from the shared count: (given, left for others)."""
    block = max(1, quota // _BLOCKS)
    try:
        taken = _add(f"rate:{key[0]}:{key[1]}:{window}", block)
    except _OUTAGES as error:
        # Better to let a minute's worth through here than to stop everybody with the cache.
        logger.warning("rate limits count alone", error=str(error))
        return quota, 0
    return max(0, min(block, quota - (taken - block))), max(0, quota - taken)


def _forget_ended(window: int) -> None:
    if len(_leases) >= _LEASES_MAX:
        for key in [key for key, lease in _leases.items() if lease.window != window]:
            del _leases[key]


def _add(name: str, amount: int) -> int:
    try:
        return cache.incr(name, amount)
    except ValueError:
        # Two processes may both find nothing: `add` lets one of them make it.
        cache.add(name, 0, timeout=2 * WINDOW_SECONDS)
        return cache.incr(name, amount)
