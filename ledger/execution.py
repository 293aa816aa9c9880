"""The one runner of every write: transaction, tenant, permission, receipt, append, retry.

    outcome = execute(OpenAccount(...), Context(organization_id=..., actor=...))

A handler loads under lock, asks the pure domain, records events and returns a result. The order
of steps is docs/design.md part 10, "How one write flows".
"""

import hashlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import UUID

import msgspec
import psycopg
from django.db import DataError, OperationalError, transaction

from ledger import projection, scope, store
from ledger.errors import Conflict, DomainError, Invalid, Refused, from_stored
from ledger.ids import new_id
from ledger.sql import server_cursor
from ledger.types import Actor, Event, RecordedEvent

ATTEMPTS_MAX = 5
KEY_LENGTH_MAX = 200
RETRIED = ("40001", "40P01")  # serialization failure, deadlock
UNSTORABLE = ("22021", "22P05")  # NUL in a text, NUL in a JSON string

Authorize = Callable[[Actor, str, Any, UUID], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Circumstances of a command: for whom, by whom, under which key, why, when.

    `now` is injected by tests and backfills; None takes the clock once, here.
    """

    organization_id: UUID
    actor: Actor
    idempotency_key: str | None = None
    reason: str = ""
    now: datetime | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command answered. `replayed` says that the answer is the first one, given again."""

    result: Any
    replayed: bool
    events: tuple[RecordedEvent, ...]


@dataclass(slots=True, kw_only=True)
class Unit:
    """What a handler works with inside the transaction.

    `memo` is for what parts of one command share, under a name of the app's own: events recorded
    so far are not projected yet, so a second look into the database would not see them.
    """

    organization_id: UUID
    actor: Actor
    now: datetime
    command: str
    command_id: UUID
    reason: str
    recorded: list[RecordedEvent] = field(default_factory=list)
    expected_versions: dict[str, int] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)

    def new_id(self) -> UUID:
        """A fresh id, for the values the domain creates."""
        return new_id()

    def record(self, *events: Event, occurred_at: datetime | None = None) -> None:
        """Add events to what this command will append, in order."""
        for data in events:
            self.recorded.append(
                RecordedEvent(
                    id=new_id(),
                    organization_id=self.organization_id,
                    stream=data.stream,
                    lane=data.lane,
                    occurred_at=occurred_at or self.now,
                    recorded_at=self.now,
                    actor_kind=self.actor.kind,
                    actor_id=self.actor.id,
                    actor_label=self.actor.label,
                    command=self.command,
                    command_id=self.command_id,
                    reason=self.reason,
                    data=data,
                )
            )

    def expect(self, stream: str, version: int) -> None:
        """Refuse the append if the stream is no longer at `version`."""
        self.expected_versions[stream] = version


@dataclass(frozen=True, slots=True)
class _Handler:
    run: Callable[[Any, Unit], Any]
    permission: str
    on: str | None
    result_type: Any


_handlers: dict[type, _Handler] = {}
_authorize: list[Authorize] = []


def handles(command_type: type, *, permission: str, on: str | None = None):
    """Register the handler of a command.

    Args:
        permission: what the actor must hold.
        on: the command's attribute naming the account the permission is needed on;
            None means on the organization's root.
    """

    def register(run):
        hints = get_type_hints(run)
        _handlers[command_type] = _Handler(run, permission, on, hints.get("return", Any))
        return run

    return register


def use_authorizer(authorize: Authorize) -> None:
    """Install the permission check. `config/wiring.py` calls it once with tenancy's policy."""
    _authorize[:] = [authorize]


def execute(command: Any, context: Context) -> Outcome:
    """Run a command in one durable transaction and return its outcome.

    Raises:
        DomainError: the command was refused; nothing but the receipt of a `Refused` was stored.
        OperationalError: deadlocks or serialization failures beyond ATTEMPTS_MAX tries; Django's
            or psycopg's, depending on whose cursor met it.
    """
    handler = _handlers[type(command)]
    _check_key(context.idempotency_key)
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            return _attempt(command, handler, context)
        except (OperationalError, psycopg.OperationalError) as error:
            if _sqlstate(error) not in RETRIED or attempt == ATTEMPTS_MAX:
                raise
            # Full jitter: two commands that collided once must not collide again in step.
            time.sleep(random.uniform(0, 0.02 * 2**attempt))
        except (DataError, psycopg.DataError) as error:
            if _sqlstate(error) not in UNSTORABLE:
                raise
            raise _unstorable() from error
        except UnicodeEncodeError as error:
            raise _unstorable() from error
    raise AssertionError("unreachable")


def _unstorable() -> Invalid:
    """Whatever field it was in: no text of ours may hold what PostgreSQL cannot."""
    return Invalid(
        "text_unstorable", "A text holds NUL characters or half of a character. Remove them."
    )


def _sqlstate(error: Exception) -> str | None:
    """Django wraps psycopg's errors; cursors of `ledger.sql` raise them as they are."""
    return getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None)


def _check_key(key: str | None) -> None:
    if key is not None and not 1 <= len(key) <= KEY_LENGTH_MAX:
        raise Invalid(
            "idempotency_key_length",
            f"The idempotency key must have 1 to {KEY_LENGTH_MAX} characters.",
            field="Idempotency-Key",
            facts={"limit": KEY_LENGTH_MAX},
        )


def _attempt(command: Any, handler: _Handler, context: Context) -> Outcome:
    name = type(command).__name__
    refusal: DomainError | None = None
    with scope.writing(context.organization_id):
        for authorize in _authorize:
            on = getattr(command, handler.on) if handler.on else None
            authorize(context.actor, handler.permission, on, context.organization_id)
        stored = _claim_receipt(command, name, context)
        if stored is not None:
            return _replay(stored, handler)
        unit = Unit(
            organization_id=context.organization_id,
            actor=context.actor,
            now=context.now or datetime.now(UTC),
            command=name,
            command_id=new_id(),
            reason=context.reason,
        )
        try:
            # The savepoint lets a refusal keep its receipt while everything it touched goes.
            with transaction.atomic():
                result = handler.run(command, unit)
                projection.apply(unit.recorded)
                placed = store.append(
                    unit.organization_id,
                    unit.recorded,
                    idempotency_key=context.idempotency_key,
                    expected_versions=unit.expected_versions,
                )
        except Refused as error:
            refusal = error
            _finish_receipt(context, refused=True, result=error.as_stored())
        else:
            _finish_receipt(context, refused=False, result=msgspec.to_builtins(result))
        if context.dry_run:
            transaction.set_rollback(True)
    if refusal is not None:
        raise refusal
    return Outcome(result, False, tuple(placed))


def input_hash(command: Any) -> bytes:
    """SHA-256 of a command's content; a command with bulk content may bring its own digest."""
    own = getattr(command, "content_digest", None)
    if own is not None:
        return own
    builtins = msgspec.to_builtins(command)
    return hashlib.sha256(
        msgspec.json.encode([type(command).__name__, builtins], order="sorted")
    ).digest()


def _receipt_key(context: Context) -> str:
    """Keys belong to their author: another actor's equal key neither clashes nor replays."""
    return (
        f"{context.actor.kind}:{context.actor.id or context.actor.label}/{context.idempotency_key}"
    )


def _claim_receipt(command: Any, name: str, context: Context) -> Mapping[str, Any] | None:
    """Take the key for this command, or return the receipt of the command that has it.

    The insert waits for a running holder of the same key to commit or roll back, so of two equal
    calls at once one works and the other replays.
    """
    if context.idempotency_key is None or context.dry_run:
        return None
    digest = input_hash(command)
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledger_receipt "
            "(organization_id, key, command, input_hash, refused, result, recorded_at) "
            "VALUES (%b, %b, %b, %b, false, 'null', %b) ON CONFLICT DO NOTHING",
            (
                context.organization_id,
                _receipt_key(context),
                name,
                digest,
                context.now or datetime.now(UTC),
            ),
        )
        if cursor.rowcount == 1:
            return None
        row = cursor.execute(
            "SELECT command, input_hash, refused, result FROM ledger_receipt "
            "WHERE organization_id = %b AND key = %b",
            (context.organization_id, _receipt_key(context)),
        ).fetchone()
    if row[0] != name or bytes(row[1]) != digest:
        raise Conflict(
            "idempotency_key_reused",
            "This idempotency key was used for another request. Use a new key for new content.",
            field="Idempotency-Key",
            facts={"command": row[0]},
        )
    result = msgspec.json.decode(row[3]) if isinstance(row[3], (str, bytes)) else row[3]
    return {"refused": row[2], "result": result}


def _finish_receipt(context: Context, *, refused: bool, result: Any) -> None:
    if context.idempotency_key is None or context.dry_run:
        return
    with server_cursor() as cursor:
        cursor.execute(
            "UPDATE ledger_receipt SET refused = %b, result = %b::text::jsonb "
            "WHERE organization_id = %b AND key = %b",
            (
                refused,
                msgspec.json.encode(result).decode(),
                context.organization_id,
                _receipt_key(context),
            ),
        )


def _replay(stored: Mapping[str, Any], handler: _Handler) -> Outcome:
    if stored["refused"]:
        raise from_stored(stored["result"])
    result = stored["result"]
    if handler.result_type is not Any and handler.result_type is not None:
        result = msgspec.convert(result, handler.result_type, strict=False)
    return Outcome(result, True, ())
