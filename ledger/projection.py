"""Projectors: which functions turn which events into rows, and which tables they own.

A projector is a plain function `project(events)`; it gets all events of its types from one
command in order and writes set-based SQL with unqualified table names. It decides nothing: an
event says everything. The same function runs in the recording transaction and in a rebuild,
where temporary tables of the same names stand in for the real ones.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger.types import RecordedEvent

Project = Callable[[Sequence[RecordedEvent]], None]
Rebuilt = Callable[[UUID, frozenset[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedTable:
    """A table that can be rebuilt from events.

    `key` are the columns that identify a row (the organization first), used to compare and swap.
    `ignored` are columns that are not facts (a version counter, say) and may differ; a rebuild
    keeps what a row has there.
    """

    name: str
    key: tuple[str, ...]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Projector:
    """One function with the event types it takes; `types` empty means every event."""

    name: str
    project: Project
    types: frozenset[str]
    tables: tuple[ProjectedTable, ...]


_projectors: list[Projector] = []
_taking: dict[str, list[Projector]] = {}
_rebuilt: list[Rebuilt] = []


def register(projectors: Iterable[Projector]) -> None:
    """Add projectors in the order they must run. Called by `config/wiring.py` only."""
    known = {projector.name for projector in _projectors}
    _projectors.extend(projector for projector in projectors if projector.name not in known)
    _taking.clear()


def on_rebuilt(callback: Rebuilt) -> None:
    """Have `callback(organization_id, names of changed tables)` run inside the transaction of a
    rebuild that changed rows, so that caches drop. Called by `config/wiring.py` only."""
    if callback not in _rebuilt:
        _rebuilt.append(callback)


def rebuilt(organization_id: UUID, changed: frozenset[str]) -> None:
    """Tell everyone who asked that rows changed without an event."""
    for callback in _rebuilt:
        callback(organization_id, changed)


def projectors() -> Sequence[Projector]:
    """All projectors in running order."""
    return tuple(_projectors)


def tables() -> tuple[ProjectedTable, ...]:
    """All projected tables, each once, in projector order."""
    found: dict[str, ProjectedTable] = {}
    for projector in _projectors:
        for table in projector.tables:
            found.setdefault(table.name, table)
    return tuple(found.values())


def apply(events: Sequence[RecordedEvent]) -> None:
    """Run every projector over the events it takes.

    Events go in order, runs of the same type together, so that a projector stays set-based and
    still sees an account opened before a person joins it.
    """
    for run in _runs(events):
        for projector in _takers(run[0].data.event_type):
            projector.project(run)


def _takers(event_type: str) -> list[Projector]:
    found = _taking.get(event_type)
    if found is None:
        found = _taking[event_type] = [
            projector
            for projector in _projectors
            if not projector.types or event_type in projector.types
        ]
    return found


def _runs(events: Sequence[RecordedEvent]) -> Iterable[Sequence[RecordedEvent]]:
    start = 0
    for index in range(1, len(events) + 1):
        at_end = index == len(events)
        if at_end or events[index].data.event_type != events[start].data.event_type:
            yield events[start:index]
            start = index
