"""The one runner of every write: transaction, tenant, permission, receipt, append, retry.

    outcome = execute(OpenAccount(...), Context(organization_id=..., actor=...))

A handler loads under lock, asks the pure domain, records events and returns a result. The order
of steps is docs/design.md part 10, "How one write flows".
"""

import hashlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import UUID

import msgspec
import psycopg
from django.db import DataError, IntegrityError, OperationalError, transaction

from ledger import projection, scope, store, trips
from ledger.errors import Conflict, Invalid, Refused, from_stored
from ledger.ids import new_id
from ledger.types import Actor, ActorKind, Event, RecordedEvent

ATTEMPTS_MAX = 5
KEY_LENGTH_MAX = 200
# Serialization failure, deadlock, key taken meanwhile; a statement that was forgotten.
RETRIED = ("40001", "40P01", "23505", trips.LOST)
UNSTORABLE = ("22021", "22P05")  # NUL in a text, NUL in a JSON string

_COLLISIONS = (
    *(OperationalError, psycopg.OperationalError),
    *(IntegrityError, psycopg.IntegrityError),
    psycopg.errors.InvalidSqlStatementName,
)

Authorize = Callable[[Actor, str, Any, UUID], None]
AskAhead = Callable[[Any, UUID, datetime], scope.Ahead]


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
    so far are not projected yet, so a second look into the database would not see them. `at_end` is
    for what follows from all that a command has decided, whichever command it was: run once when
    the handler is done, before anything is projected. `ahead` is the question that a handler has
    sent along with the start of its transaction, answered.
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
    at_end: dict[str, Callable[[], Any]] = field(default_factory=dict)
    ahead: scope.Ahead | None = None

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
    ahead: AskAhead | None
    result_type: Any


_handlers: dict[type, _Handler] = {}
_authorize: list[Authorize] = []


def handles(
    command_type: type, *, permission: str, on: str | None = None, ahead: AskAhead | None = None
):
    """Register the handler of a command.

    Args:
        permission: what the actor must hold.
        on: the command's attribute naming the account the permission is needed on;
            None means on the organization's root.
        ahead: for what comes thousands of times a second: what it asks first goes to the server
            together with the start of the transaction, and the answer is `unit.ahead`. Given the
            command, the organization and the instant.
    """

    def register(run):
        hints = get_type_hints(run)
        _handlers[command_type] = _Handler(run, permission, on, ahead, hints.get("return", Any))
        return run

    return register


def use_authorizer(authorize: Authorize) -> None:
    """Install the permission check. `config/wiring.py` calls it once with tenancy's policy. What it
    says of a machine or the system it must know without the database."""
    _authorize[:] = [authorize]


def execute(command: Any, context: Context) -> Outcome:
    """Run a command in one durable transaction and return its outcome.

    Raises:
        DomainError: the command was refused; nothing but the receipt of a `Refused` was stored.
        OperationalError: deadlocks or serialization failures beyond ATTEMPTS_MAX tries; Django's
            or psycopg's, depending on whose cursor met it.
        IntegrityError: a constraint does not hold. A key that is taken is tried again: whoever
            took it while this one decided is seen then, and answered about.
    """
    handler = _handlers[type(command)]
    _check_key(context.idempotency_key)
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            return _attempt(command, handler, context)
        except _COLLISIONS as error:
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
    key = None if context.dry_run else _receipt_key(context)
    now, ahead, early = context.now, None, None
    if handler.ahead is not None:
        now = now or datetime.now(UTC)
        ahead = handler.ahead(command, context.organization_id, now)
        if context.actor.kind != ActorKind.PERSON:
            # A machine's permission is known without asking: no lock is taken for one without.
            _permit(command, handler, context)
            early = ahead
    try:
        with scope.writing(context.organization_id, key=key, ahead=early) as receipt:
            _permit(command, handler, context)
            if receipt is not None:
                return _replay(receipt, command, handler)
            unit = _unit(command, context, now or datetime.now(UTC))
            if ahead is not None:
                unit.ahead = ahead
                if not early:
                    ahead.rows = trips.ask(ahead.sql, ahead.values)
            outcome = _run(command, handler, context, key, unit)
            if context.dry_run:
                transaction.set_rollback(True)
            return outcome
    except _Refusal as refusal:
        if key is None:
            raise refusal.error from None
        return _keep_refusal(refusal.error, command, handler, context, key)


def _permit(command: Any, handler: _Handler, context: Context) -> None:
    for authorize in _authorize:
        on = getattr(command, handler.on) if handler.on else None
        authorize(context.actor, handler.permission, on, context.organization_id)


def _unit(command: Any, context: Context, now: datetime) -> Unit:
    return Unit(
        organization_id=context.organization_id,
        actor=context.actor,
        now=now,
        command=type(command).__name__,
        command_id=new_id(),
        reason=context.reason,
    )


class _Refusal(Exception):
    """Carries a `Refused` of the handler out of the transaction, which rolls back with it: one that
    comes out of a replay must not be kept again."""

    def __init__(self, error: Refused) -> None:
        super().__init__(str(error))
        self.error = error


def _run(command: Any, handler: _Handler, context: Context, key: str | None, unit: Unit) -> Outcome:
    """Decide; then project, append and commit, the receipt with the events, in one round trip."""
    try:
        result = handler.run(command, unit)
        for last in unit.at_end.values():
            last()
        receipt = None
        if key is not None:
            receipt = _receipt(command, key, refused=False, result=result, at=unit.now)
        with trips.gathered():
            projection.apply(unit.recorded)
            placed = store.append(
                unit.organization_id,
                unit.recorded,
                idempotency_key=context.idempotency_key,
                expected_versions=unit.expected_versions,
                receipt=receipt,
                commit=not context.dry_run,
            )
    except Refused as error:
        raise _Refusal(error) from error
    return Outcome(result, False, tuple(placed))


def _keep_refusal(
    error: Refused, command: Any, handler: _Handler, context: Context, key: str
) -> Outcome:
    """Keep the receipt of a refusal, in a transaction of its own: everything the handler touched is
    gone. Whoever used the key in between was first, and is answered instead.

    Raises:
        Refused: the refusal, unless another outcome is the first.
    """
    with scope.writing(context.organization_id, key=key) as receipt:
        if receipt is not None:
            return _replay(receipt, command, handler)
        at = context.now or datetime.now(UTC)
        kept = _receipt(command, key, refused=True, result=error.as_stored(), at=at)
        store.append(context.organization_id, [], receipt=kept, commit=True)
    raise error


def input_hash(command: Any) -> bytes:
    """SHA-256 of a command's content; a command with bulk content may bring its own digest."""
    own = getattr(command, "content_digest", None)
    if own is not None:
        return own
    builtins = msgspec.to_builtins(command)
    return hashlib.sha256(
        msgspec.json.encode([type(command).__name__, builtins], order="sorted")
    ).digest()


def _receipt_key(context: Context) -> str | None:
    """Keys belong to their author: another actor's equal key neither clashes nor replays."""
    if context.idempotency_key is None:
        return None
    return (
        f"{context.actor.kind}:{context.actor.id or context.actor.label}/{context.idempotency_key}"
    )


def _receipt(
    command: Any, key: str, *, refused: bool, result: Any, at: datetime
) -> store.NewReceipt:
    """The receipt to write. `scope.writing` has seen to it that the key is free and stays so."""
    return store.NewReceipt(
        key=key,
        command=type(command).__name__,
        input_hash=input_hash(command),
        refused=refused,
        result=msgspec.json.encode(result).decode(),
        recorded_at=at,
    )


def _replay(receipt: scope.Receipt, command: Any, handler: _Handler) -> Outcome:
    """The first answer again.

    Raises:
        Conflict: the key belongs to another request.
        Refused: the first answer was a refusal.
    """
    same = receipt.command == type(command).__name__
    if not same or receipt.input_hash != input_hash(command):
        raise Conflict(
            "idempotency_key_reused",
            "This idempotency key was used for another request. Use a new key for new content.",
            field="Idempotency-Key",
            facts={"command": receipt.command},
        )
    result = msgspec.json.decode(receipt.result)
    if receipt.refused:
        raise from_stored(result)
    if handler.result_type is not Any and handler.result_type is not None:
        result = msgspec.convert(result, handler.result_type, strict=False)
    return Outcome(result, True, ())
