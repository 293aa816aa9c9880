"""The left navigation: what a person can use, in the order of how often. Pure but for addresses."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.urls import reverse

from tenancy.domain.roles import (
    LEDGER_READ,
    POLICY_WRITE,
    POOL_WRITE,
    READ,
    REQUEST_REVIEW,
    TOKEN_WRITE,
    Scope,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation. `key` follows `g` on the keyboard; `count` waits there."""

    title: str
    address: str
    icon: str
    key: str
    current: bool
    count: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under a title, or the first ones under none."""

    title: str
    entries: tuple[Entry, ...]


_MAIN = (
    ("Overview", "overview", "speedometer2", "h", None),
    ("Capacity", "capacity", "cpu", "c", READ),
    ("Allocations", "allocations", "list", "a", READ),
    ("Preemption", "preemption", "arrow-repeat", "b", READ),
    ("Use it or lose it", "reclaim", "clock-history", "w", READ),
    ("Detections", "detections", "search", "z", READ),
    ("Requests", "requests", "clipboard", "r", None),
    ("Reviews", "reviews", "check-lg", "v", REQUEST_REVIEW),
    ("Fair-share", "fairshare", "diagram-3", "f", None),
    ("Usage", "usage", "graph-up", "u", READ),
    ("Costs", "showback", "bar-chart-line", "m", READ),
    ("Budgets", "budgets", "graph-up", "d", READ),
    ("Rates", "rates", "table", "e", READ),
    ("Exports", "exports", "inbox", "x", Scope.EXPORT_READ),
    ("Ledger", "ledger", "journal-text", "l", LEDGER_READ),
)
_SETTINGS = (
    ("People and roles", "people", "people", "p", READ),
    ("API tokens", "tokens", "key", "t", TOKEN_WRITE),
    ("Routing of requests", "request_policy", "diagram-3", "o", POLICY_WRITE),
    ("Comparison of teams", "comparison_policy", "people", "y", POLICY_WRITE),
    ("Times of admission", "admission_times", "clock-history", "i", POOL_WRITE),
)


def groups(path: str, held: Collection[str], waiting: int = 0) -> list[Group]:
    """The groups somebody with these permissions sees, the page they are on marked.

    Args:
        waiting: requests for their word; who stands in for a reviewer sees the page for them.
    """
    if waiting:
        held = {*held, REQUEST_REVIEW}
    found = [
        Group("", _entries(_MAIN, path, held, {"reviews": waiting})),
        Group("Settings", _entries(_SETTINGS, path, held, {})),
    ]
    return [group for group in found if group.entries]


def _entries(
    wanted: tuple, path: str, held: Collection[str], waiting: Mapping[str, int]
) -> tuple[Entry, ...]:
    entries = []
    for title, name, icon, key, permission in wanted:
        if permission is not None and permission not in held:
            continue
        address = reverse(name)
        current = path == address or (address != "/" and path.startswith(f"{address}/"))
        entries.append(Entry(title, address, icon, key, current, waiting.get(name, 0)))
    return tuple(entries)
