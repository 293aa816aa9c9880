"""Identifiers: UUID version 7, so that keys follow time and indexes stay compact."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A fresh UUIDv7. Only the command runner calls it; below it, ids are arguments."""
    return uuid7()
