"""What the ledger is made of: events as typed values, and who caused them. Pure."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

import msgspec


class ActorKind(StrEnum):
    """Who acts: a person signed in, a machine's token, or the system itself (tasks, shell)."""

    PERSON = "person"
    TOKEN = "token"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The author of a command. `label` is how history names it, kept even if the name changes."""

    kind: ActorKind
    id: UUID | None
    label: str
    scopes: frozenset[str] = frozenset()
    pool_ids: frozenset[UUID] | None = None


SYSTEM = Actor(kind=ActorKind.SYSTEM, id=None, label="system")


class Event:
    """Base of all events: a frozen dataclass registered under a name and a version.

    A subclass says which `stream` it belongs to (the order that must not be disturbed by two
    writers) and, if it is not the organization's main one, which hash-chain `lane`.
    """

    __slots__ = ()
    event_type: ClassVar[str]
    event_version: ClassVar[int]

    @property
    def stream(self) -> str:
        """`kind:id` of the thing whose history this event continues."""
        raise NotImplementedError

    @property
    def lane(self) -> UUID | None:
        """The pool whose chain takes the event; None for the organization's main lane."""
        return None

    @property
    def subjects(self) -> frozenset[UUID]:
        """Ids of everything whose history should show the event: its `*_id` fields."""
        found: set[UUID] = set()
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, UUID):
                found.add(value)
            elif isinstance(value, tuple):
                found.update(item for item in value if isinstance(item, UUID))
        return frozenset(found)


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event with its circumstances, as projectors and readers get it. A struct, which is made
    ten times as fast as a frozen dataclass: there are two for every event.

    `position` is None while the recording transaction still runs: projectors run before the
    append and must not depend on it (docs/decisions/0005-ledger.md).
    """

    id: UUID
    organization_id: UUID
    stream: str
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: str
    actor_id: UUID | None
    actor_label: str
    command: str
    command_id: UUID
    reason: str
    data: Any
    position: int | None = None
    lane: UUID | None = None
    lane_seq: int | None = None
    version: int | None = None
