"""The left navigation: what a person can use, in the order of how often. Pure but for addresses."""

from collections.abc import Collection
from dataclasses import dataclass

from django.urls import reverse

from tenancy.domain.roles import LEDGER_READ, POOL_WRITE, READ, TOKEN_WRITE


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation. `key` follows `g` on the keyboard."""

    title: str
    address: str
    icon: str
    key: str
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under a title, or the first ones under none."""

    title: str
    entries: tuple[Entry, ...]


_MAIN = (
    ("Overview", "overview", "speedometer2", "h", None),
    ("Capacity", "capacity", "cpu", "c", READ),
    ("Allocations", "allocations", "list", "a", READ),
    ("Requests", "requests", "clipboard", "r", None),
    ("Fair-share", "fairshare", "diagram-3", "f", None),
    ("Usage", "usage", "graph-up", "u", READ),
    ("Ledger", "ledger", "journal-text", "l", LEDGER_READ),
)
_SETTINGS = (
    ("People and roles", "people", "people", "p", READ),
    ("API tokens", "tokens", "key", "t", TOKEN_WRITE),
    ("Times of admission", "admission_times", "clock-history", "i", POOL_WRITE),
)


def groups(path: str, held: Collection[str]) -> list[Group]:
    """The groups somebody with these permissions sees, the page they are on marked."""
    found = [
        Group("", _entries(_MAIN, path, held)),
        Group("Settings", _entries(_SETTINGS, path, held)),
    ]
    return [group for group in found if group.entries]


def _entries(wanted: tuple, path: str, held: Collection[str]) -> tuple[Entry, ...]:
    entries = []
    for title, name, icon, key, permission in wanted:
        if permission is not None and permission not in held:
            continue
        address = reverse(name)
        current = path == address or (address != "/" and path.startswith(f"{address}/"))
        entries.append(Entry(title, address, icon, key, current))
    return tuple(entries)
