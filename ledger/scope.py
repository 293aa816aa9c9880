"""The current organization: a context variable here, a transaction-local setting in PostgreSQL.

Nothing set means nothing seen: the policies compare with NULL. The setting is local to the
transaction, so a pooled connection can never carry one tenant's scope to the next request.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction

from ledger import trips

FindOrganization = Callable[[str], UUID | None]

_find: list[FindOrganization] = []
_current: ContextVar[UUID | None] = ContextVar("organization", default=None)


def current() -> UUID | None:
    """The organization of the running scope, for logs and checks."""
    return _current.get()


_ENTER = "SELECT set_config('apportion.organization', %s, true)"
# Every command holds the organization's write lock shared; only the swap of a rebuild takes it
# alone (docs/decisions/0005-ledger.md). It comes first, so it can be part of no deadlock.
_ENTER_TO_WRITE = "SELECT ledger_enter(%b::uuid, %b::text, %b::text)"


def enter(organization_id: UUID) -> None:
    """Set the organization for the rest of the running transaction.

    Raises:
        RuntimeError: no transaction is open, so the setting would be lost at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an organization can only be entered inside a transaction")
    with connection.cursor() as cursor:
        cursor.execute(_ENTER, [str(organization_id)])


@contextmanager
def reading(organization_id: UUID) -> Iterator[None]:
    """A transaction in which queries see exactly one organization. For reads only."""
    token = _current.set(organization_id)
    try:
        with transaction.atomic():
            enter(organization_id)
            yield
    finally:
        _current.reset(token)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a command with some key was, and what it answered; `result` is JSON."""

    command: str
    input_hash: bytes
    refused: bool
    result: str


@dataclass(slots=True)
class Ahead:
    """A question that goes along with the first statement of a command, and its answer.

    Attributes:
        memo: what whoever asks needs again with the answer.
    """

    sql: str
    values: Sequence[Any]
    memo: Any = None
    rows: list[tuple] = field(default_factory=list)


@contextmanager
def writing(
    organization_id: UUID, *, key: str | None = None, ahead: Ahead | None = None
) -> Iterator[Receipt | None]:
    """The transaction of one command; durable, so that a retry covers the whole of it.

    With a receipt's key it waits until no other transaction works under it, and gives the receipt
    that the key has, if any: of two equal calls at once one works and the other replays.

    Args:
        ahead: asked in the same round trip, behind the locks; its rows are there inside.
    """
    token = _current.set(organization_id)
    try:
        with transaction.atomic(durable=True), _rolled_back():
            enter = (_ENTER_TO_WRITE, (organization_id, _write_lock(organization_id), key))
            if ahead is None:
                [[found]] = trips.ask(*enter)
            else:
                [[found]], ahead.rows = trips.ask_both(enter, (ahead.sql, ahead.values))
            yield None if found is None else msgspec.json.decode(found, type=Receipt)
    finally:
        _current.reset(token)


@contextmanager
def _rolled_back() -> Iterator[None]:
    """End a transaction that fails, or that only tries, before Django does."""
    try:
        yield
    except BaseException:
        trips.roll_back()
        raise
    if transaction.get_rollback():
        trips.roll_back()


@contextmanager
def snapshot(organization_id: UUID) -> Iterator[None]:
    """A transaction that sees one organization as it was at a single instant, however long it
    reads. Projections commit together with their events, so within it they must agree."""
    token = _current.set(organization_id)
    outermost = not connection.in_atomic_block
    try:
        with transaction.atomic():
            if outermost:
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            enter(organization_id)
            yield
    finally:
        _current.reset(token)


@contextmanager
def maintaining(organization_id: UUID) -> Iterator[None]:
    """A transaction that repairs projections: without the write lock, so that commands go on until
    `stop_writers` is called; one at a time per organization."""
    token = _current.set(organization_id)
    try:
        with transaction.atomic():
            enter(organization_id)
            _lock_alone(f"maintain:{organization_id}")
            yield
    finally:
        _current.reset(token)


def stop_writers(organization_id: UUID) -> None:
    """Wait until no command of the organization runs, and let none start before this transaction
    ends."""
    _lock_alone(_write_lock(organization_id))


def use_directory(find: FindOrganization) -> None:
    """Install the look-up of organizations by slug. `config/wiring.py` calls it once."""
    _find[:] = [find]


def named(name: str) -> UUID | None:
    """The organization that an operator means by a slug or an id; None for none. An id is taken
    as it is: it must work also when the organization's own row is gone."""
    try:
        return UUID(name)
    except ValueError:
        return next((found for find in _find if (found := find(name)) is not None), None)


def organization_ids() -> list[UUID]:
    """Every organization's id, for tasks that work through all of them one by one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM ledger_organization_ids() AS id ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def _write_lock(organization_id: UUID) -> str:
    return f"write:{organization_id}"


def _lock_alone(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
