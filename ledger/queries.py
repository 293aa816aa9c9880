"""Reading the ledger: the history of a thing, a person or the whole organization, paged.

Runs inside `scope.reading`; who may read what is the caller's question (tenancy.policy).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from ledger import registry
from ledger.errors import NotFound
from ledger.sql import server_cursor

PAGE_MAX = 200

_COLUMNS = """
e.position, e.id, e.type, e.schema_version, e.stream, e.version, e.lane, e.lane_seq,
e.occurred_at, e.recorded_at, e.actor_kind, e.actor_id, e.actor_label, e.command, e.command_id,
e.idempotency_key, e.reason, e.payload, encode(e.hash, 'hex')
"""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event as history shows it. `payload` is what was stored, in the shape of its version;
    `subjects` are the ids it is about, whose names the caller knows."""

    position: int
    id: UUID
    type: str
    schema_version: int
    stream: str
    version: int
    lane: UUID
    lane_seq: int
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: str
    actor_id: UUID | None
    actor_label: str
    command: str
    command_id: UUID
    idempotency_key: str | None
    reason: str
    payload: dict[str, Any]
    hash: str
    subjects: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events, newest first. `next_before` continues to older ones; None at the end."""

    rows: tuple[EventRow, ...]
    next_before: int | None


def history(
    organization_id: UUID,
    *,
    subject_id: UUID | None = None,
    subject_ids: Sequence[UUID] = (),
    stream: str | None = None,
    types: Sequence[str] = (),
    actor_id: UUID | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before_position: int | None = None,
    limit: int = 50,
) -> EventPage:
    """A page of events, newest first.

    With `subject_id`, everything that names it: an account's page shows its own events and those
    of its roles, people and use. `subject_ids` does the same for a subtree, each event once. Such a
    page goes by the events' ids, which follow time and are
    the order of the index; positions of one page are sorted, and pages never share or skip an
    event.

    Args:
        since: recorded at or after.
        until: recorded before.
        before_position: `next_before` of the page before.
        limit: at most PAGE_MAX.
    """
    limit = max(1, min(limit, PAGE_MAX))
    sql, values = statement(
        organization_id,
        subject_id=subject_id,
        subject_ids=subject_ids,
        stream=stream,
        types=types,
        actor_id=actor_id,
        since=since,
        until=until,
        before_position=before_position,
        limit=limit + 1,
    )
    with server_cursor() as cursor:
        found = cursor.execute(sql, values).fetchall()
    rows = [_row(row) for row in found[:limit]]
    return EventPage(
        rows=tuple(sorted(rows, key=lambda row: -row.position)),
        next_before=rows[-1].position if len(found) > limit else None,
    )


def statement(
    organization_id: UUID,
    *,
    limit: int,
    subject_id: UUID | None = None,
    subject_ids: Sequence[UUID] = (),
    stream: str | None = None,
    types: Sequence[str] = (),
    actor_id: UUID | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before_position: int | None = None,
) -> tuple[str, tuple]:
    """The SQL of `history` and its parameters; a test looks at its plan."""
    if subject_id is not None:
        source, values = _of_subject(organization_id, subject_id, before_position)
        order = "s.event_id"
    elif subject_ids:
        source, values = _of_subjects(organization_id, subject_ids, before_position)
        order = "s.event_id"
    elif stream is not None:
        source, values = _of_stream(organization_id, stream, before_position)
        order, stream = "e.version", None
    else:
        source, values = _of_all(organization_id, before_position)
        order = "e.position"
    conditions, params = _conditions(stream, types, actor_id, since, until)
    sql = f"SELECT {_COLUMNS} {source} {conditions} ORDER BY {order} DESC LIMIT %b"
    return sql, (*values, *params, limit)


def event(organization_id: UUID, event_id: UUID) -> EventRow:
    """One event.

    Raises:
        NotFound: no such event in this organization.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_COLUMNS} FROM ledger_event e WHERE e.organization_id = %b AND e.id = %b",
            (organization_id, event_id),
        ).fetchone()
    if row is None:
        raise NotFound("event_unknown", "There is no such event.", field="event")
    return _row(row)


def event_types() -> list[str]:
    """Names of all events this release knows, for a filter."""
    return [name for name, *_ in registry.catalogue()]


def _of_subject(
    organization_id: UUID, subject_id: UUID, before_position: int | None
) -> tuple[str, tuple]:
    sql = (
        "FROM ledger_subject s JOIN ledger_event e "
        "ON e.organization_id = s.organization_id AND e.id = s.event_id "
        "WHERE s.organization_id = %b AND s.subject_id = %b"
    )
    if before_position is None:
        return sql, (organization_id, subject_id)
    before = (
        " AND s.event_id < (SELECT b.id FROM ledger_event b "
        "WHERE b.organization_id = %b AND b.position = %b)"
    )
    return sql + before, (organization_id, subject_id, organization_id, before_position)


def _of_subjects(
    organization_id: UUID, subject_ids: Sequence[UUID], before_position: int | None
) -> tuple[str, tuple]:
    before, values = "", (organization_id, list(subject_ids))
    if before_position is not None:
        before = (
            " AND x.event_id < (SELECT b.id FROM ledger_event b "
            "WHERE b.organization_id = %b AND b.position = %b)"
        )
        values += (organization_id, before_position)
    sql = (
        "FROM (SELECT DISTINCT x.event_id FROM ledger_subject x "
        f"WHERE x.organization_id = %b AND x.subject_id = ANY(%b::uuid[]){before}) s "
        "JOIN ledger_event e ON e.organization_id = %b AND e.id = s.event_id WHERE true"
    )
    return sql, (*values, organization_id)


def _of_stream(
    organization_id: UUID, stream: str, before_position: int | None
) -> tuple[str, tuple]:
    """A stream lies in one lane, so its versions follow positions and are in an index."""
    sql = "FROM ledger_event e WHERE e.organization_id = %b AND e.stream = %b"
    if before_position is None:
        return sql, (organization_id, stream)
    before = (
        " AND e.version < (SELECT b.version FROM ledger_event b "
        "WHERE b.organization_id = %b AND b.position = %b)"
    )
    return sql + before, (organization_id, stream, organization_id, before_position)


def _of_all(organization_id: UUID, before_position: int | None) -> tuple[str, tuple]:
    sql = "FROM ledger_event e WHERE e.organization_id = %b"
    if before_position is None:
        return sql, (organization_id,)
    return f"{sql} AND e.position < %b", (organization_id, before_position)


def _conditions(
    stream: str | None,
    types: Sequence[str],
    actor_id: UUID | None,
    since: datetime | None,
    until: datetime | None,
) -> tuple[str, tuple]:
    given = (
        ("e.stream = %b", stream),
        ("e.type = %b", types[0] if len(types) == 1 else None),
        ("e.type = ANY(%b)", list(types) if len(types) > 1 else None),
        ("e.actor_id = %b", actor_id),
        ("e.recorded_at >= %b", since),
        ("e.recorded_at < %b", until),
    )
    wanted = [(sql, value) for sql, value in given if value is not None]
    return "".join(f" AND {sql}" for sql, _ in wanted), tuple(value for _, value in wanted)


def _row(row: tuple) -> EventRow:
    *values, digest = row
    payload = msgspec.json.decode(values[-1])
    try:
        subjects = registry.from_payload(row[2], row[3], payload).subjects
    except (registry.UnknownEvent, msgspec.ValidationError):
        # Written by a newer release: history shows it all the same.
        subjects = frozenset()
    return EventRow(*values[:-1], payload, digest, tuple(sorted(subjects)))
