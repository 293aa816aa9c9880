"""The registry of notice kinds: what happens that people are told about, whom, and in which words.

A kind is a pure function from an event to a draft. It asks nothing: names of what the event names
are in the `Look` it is given, and whom "the leads of nlp" are is resolved afterwards, for a whole
batch at once. Kinds live in `notices/kinds/`, one module a subject; importing it registers them.

    @kind("quota.ended", label="A temporary quota ended", about="...", on=(QuotaEnded,))
    def quota_ended(event: RecordedEvent, look: Look) -> Draft | None: ...

What happens by the passing of time has no event; a `reminder` finds it (docs/decisions/0011).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from ledger.types import Event, RecordedEvent

TITLE_LENGTH_MAX = 200
BODY_LENGTH_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Someone:
    """A recipient who is known: the requester, the author, somebody mentioned."""

    person_id: UUID | None


@dataclass(frozen=True, slots=True)
class Holders:
    """Whoever holds one of the roles on an account or above it.

    Attributes:
        account_id: None is the root, so the whole organization.
        nearest: only those closest to the account: a team's lead, and the department's only when
            the team has none.
    """

    account_id: UUID | None
    roles: tuple[str, ...]
    nearest: bool = True


Recipient = Someone | Holders

OPERATORS = Holders(None, ("operator",))


def leads(account_id: UUID) -> Holders:
    """The leads nearest to an account."""
    return Holders(account_id, ("lead",))


def approvers(account_id: UUID) -> Holders:
    """The approvers nearest to an account."""
    return Holders(account_id, ("approver",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A notice before it is known who gets it.

    Attributes:
        title: one line that says what happened, without the deadline.
        body: a sentence or two: why it matters, what to do.
        link: the page that settles it: the name of its address, then the parts of it.
        query: the address's query.
        deadline: until when something can be done; shown in the organization's time zone.
        also_author: whoever caused it is told too; usually they know.
        but: people who are told of the same thing by another kind.
        once: what makes it unique in place of the event: for what many events say over and over.
    """

    to: tuple[Recipient, ...]
    title: str
    body: str
    link: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    deadline: datetime | None = None
    also_author: bool = False
    but: frozenset[UUID] = frozenset()
    once: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a kind may know beside the event.

    Attributes:
        names: of accounts, people, pools and tokens that the batch's events name.
        facts: what the kind's own `facts` found for this event; None without.
        zone: the organization's.
    """

    names: Mapping[UUID, str]
    zone: ZoneInfo
    now: datetime
    facts: Any = None

    def name(self, of: UUID | None, otherwise: str = "?") -> str:
        """A name for people to read."""
        return self.names.get(of, otherwise) if of else otherwise

    def who(self, event: RecordedEvent) -> str:
        """Whoever caused an event, by the name that people know."""
        return self.name(event.actor_id, event.actor_label)

    def day(self, at: datetime) -> str:
        """A day and time in the organization's zone, such as `13 Dec 2026, 18:00`."""
        return f"{at.astimezone(self.zone):%-d %b %Y, %H:%M}"


Make = Callable[[RecordedEvent, Look], Draft | None]
Facts = Callable[[UUID, Sequence[RecordedEvent], datetime], Mapping[UUID, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of notice, as preferences show it. `name` is kept in rows and never changes."""

    name: str
    label: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """How events become notices of a kind. `facts` reads, once for all events of a batch, what
    is not in the events: event id -> anything."""

    kind: str
    on: frozenset[str]
    make: Make
    facts: Facts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A notice that time makes due.

    Attributes:
        key: what it is about and until when, such as `quota:<account>:<pool>:<end>`.
        step: days before the end; each (key, step) is told once, and none after a smaller one.
    """

    key: str
    step: int
    draft: Draft


Scan = Callable[[UUID, Look], Iterable[Reminder]]

KINDS: dict[str, Kind] = {}
TRIGGERS: dict[str, Trigger] = {}
SCANS: dict[str, Scan] = {}


def kind(
    name: str,
    *,
    label: str,
    about: str,
    on: Iterable[type[Event]],
    facts: Facts | None = None,
) -> Callable[[Make], Make]:
    """Register a kind of notice that events make.

    Raises:
        ValueError: the name is taken.
    """

    def register(make: Make) -> Make:
        _declare(name, label, about)
        types = frozenset(one.event_type for one in on)
        TRIGGERS[name] = Trigger(kind=name, on=types, make=make, facts=facts)
        return make

    return register


def reminder(name: str, *, label: str, about: str) -> Callable[[Scan], Scan]:
    """Register a kind of notice that time makes.

    Raises:
        ValueError: the name is taken.
    """

    def register(scan: Scan) -> Scan:
        _declare(name, label, about)
        SCANS[name] = scan
        return scan

    return register


def label_of(name: str) -> str:
    """A kind's label; its name for one that is no longer there."""
    found = KINDS.get(name)
    return found.label if found else name


def event_types() -> frozenset[str]:
    """Types of all events that make some notice."""
    return frozenset().union(*(trigger.on for trigger in TRIGGERS.values()))


def _declare(name: str, label: str, about: str) -> None:
    if name in KINDS:
        raise ValueError(f"there are two kinds of notice {name}")
    KINDS[name] = Kind(name=name, label=label, about=about)
