"""Names and versions of events, and how old versions become new ones. Pure.

Names are strings we choose (`account.opened`), never class paths. A field is never renamed or
given another meaning: that is a new version, with an upcaster from the one before.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import msgspec

from ledger.types import Event

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]

_types: dict[str, type[Event]] = {}
_upcasters: dict[tuple[str, int], Upcaster] = {}


class UnknownEvent(LookupError):
    """The store holds an event type or version this release does not know."""


def event(name: str, *, version: int = 1) -> Callable[[type[Event]], type[Event]]:
    """Register a frozen dataclass as the current shape of event `name`.

    Raises:
        ValueError: the name is taken by another class.
    """

    def register(cls: type[Event]) -> type[Event]:
        known = _types.get(name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise ValueError(f"event {name!r} is already {known.__qualname__}")
        cls.event_type = name
        cls.event_version = version
        _types[name] = cls
        return cls

    return register


def upcaster(name: str, *, from_version: int) -> Callable[[Upcaster], Upcaster]:
    """Register the step from `from_version` of an event's payload to the next version."""

    def register(step: Upcaster) -> Upcaster:
        _upcasters[name, from_version] = step
        return step

    return register


def to_payload(data: Event) -> Payload:
    """JSON-friendly fields of an event. Decimals, ids and instants become strings."""
    return msgspec.to_builtins(data)


def from_payload(name: str, version: int, payload: Payload) -> Event:
    """The typed event for a stored payload, upcast step by step to the current version.

    Raises:
        UnknownEvent: no such name, a version from the future, or a missing upcaster.
    """
    cls = _types.get(name)
    if cls is None or version > cls.event_version:
        raise UnknownEvent(f"{name} version {version}")
    while version < cls.event_version:
        step = _upcasters.get((name, version))
        if step is None:
            raise UnknownEvent(f"{name} version {version} has no upcaster")
        payload = step(payload)
        version += 1
    return msgspec.convert(payload, cls, strict=True)


def catalogue() -> list[tuple[str, int, list[tuple[str, str]], str]]:
    """(name, version, [(field, type)], meaning) of every event, sorted: `docs/events.md`."""
    rows = []
    for name, cls in sorted(_types.items()):
        described = [(field.name, _type_name(field.type)) for field in fields(cls)]  # type: ignore[arg-type]
        rows.append((name, cls.event_version, described, (cls.__doc__ or "").strip()))
    return rows


def _type_name(annotation: Any) -> str:
    """The type as it is written in code, without module names."""
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"\b[a-z_]+\.", "", name)
