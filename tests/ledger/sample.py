"""A small event and a command of the tests' own, so that the ledger is tried without any app."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from django.db import connections

from ledger.errors import Invalid, Refused
from ledger.execution import Unit, handles
from ledger.registry import event
from ledger.types import Actor, ActorKind, Event

PERMISSION = "test:note"


@event("test.noted")
@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """A line was added to a note. With a pool, in the pool's lane."""

    note_id: UUID
    text: str
    pool_id: UUID | None = None

    @property
    def stream(self) -> str:
        return f"note:{self.note_id}"

    @property
    def lane(self) -> UUID | None:
        return self.pool_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Add lines to a note; `expected` is the version it was read at."""

    note_id: UUID
    lines: tuple[str, ...]
    pool_id: UUID | None = None
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAnswer:
    """How many lines were added, and the id of this very execution."""

    lines: int
    command_id: UUID


class Hooks:
    """What a test lets happen inside the handler, before it records."""

    before: ClassVar[Callable[[Unit], None] | None] = None
    calls: ClassVar[int] = 0


@handles(Note, permission=PERMISSION)
def note(command: Note, unit: Unit) -> NoteAnswer:
    """Record the lines; `refuse` and `invalid` are lines that are not taken."""
    Hooks.calls += 1
    if Hooks.before is not None:
        Hooks.before(unit)
    if command.expected is not None:
        unit.expect(f"note:{command.note_id}", command.expected)
    for text in command.lines:
        unit.record(Noted(note_id=command.note_id, text=text, pool_id=command.pool_id))
    if "refuse" in command.lines:
        raise Refused("line_refused", "This line is refused.", facts={"line": "refuse"})
    if "invalid" in command.lines:
        raise Invalid("line_invalid", "This line is invalid.", field="lines")
    return NoteAnswer(lines=len(command.lines), command_id=unit.command_id)


def machine(number: int) -> Actor:
    """One of several machines that may note."""
    return Actor(
        kind=ActorKind.TOKEN,
        id=UUID(int=number),
        label=f"machine {number}",
        scopes=frozenset({PERMISSION}),
    )


def together(jobs: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run all jobs at once, each in a thread with a connection of its own; returns what each
    returned or raised."""
    jobs = list(jobs)
    barrier = threading.Barrier(len(jobs))
    outcomes: list[Any] = [None] * len(jobs)

    def run(index: int, job: Callable[[], Any]) -> None:
        try:
            barrier.wait(timeout=30)
            outcomes[index] = job()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            outcomes[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index, job)) for index, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return outcomes
