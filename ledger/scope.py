"""The current organization: a context variable here, a transaction-local setting in PostgreSQL.

Nothing set means nothing seen: the policies compare with NULL. The setting is local to the
transaction, so a pooled connection can never carry one tenant's scope to the next request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from django.db import connection, transaction

_current: ContextVar[UUID | None] = ContextVar("organization", default=None)


def current() -> UUID | None:
    """The organization of the running scope, for logs and checks."""
    return _current.get()


def enter(organization_id: UUID) -> None:
    """Set the organization for the rest of the running transaction.

    Raises:
        RuntimeError: no transaction is open, so the setting would be lost at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an organization can only be entered inside a transaction")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('apportion.organization', %s, true)", [str(organization_id)]
        )


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


@contextmanager
def writing(organization_id: UUID) -> Iterator[None]:
    """The transaction of one command; durable, so that a retry covers the whole of it."""
    token = _current.set(organization_id)
    try:
        with transaction.atomic(durable=True):
            enter(organization_id)
            yield
    finally:
        _current.reset(token)


def organization_ids() -> list[UUID]:
    """Every organization's id, for tasks that work through all of them one by one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM ledger_organization_ids() AS id ORDER BY id")
        return [row[0] for row in cursor.fetchall()]
