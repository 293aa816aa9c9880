"""Idle units that leave a guarantee, and that come back: what use-it-or-lose-it may do to quotas,
and the only door through which it does (docs/decisions/0014-preemption.md).

A guarantee's ceiling stays: what leaves it may still be borrowed. Nothing that runs is harmed.
"""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from ledger.errors import Refused
from ledger.execution import Unit
from quota.domain.changes import Change, QuotaBook, Wish
from quota.recording import open_books, record


def hold(unit: Unit, *, pool_id: UUID) -> None:
    """Lock a pool: its quotas stand still until the command is done. What is due is recorded."""
    open_books(unit, (pool_id,))


def guarantee_of(unit: Unit, *, pool_id: UUID, account_id: UUID) -> int | None:
    """Units under lock, with what is due recorded; None: a temporary quota runs, which ends by
    itself."""
    cell = open_books(unit, (pool_id,)).of[pool_id].cell(account_id)
    return None if cell.temporary else cell.quota.guaranteed


def base_of(unit: Unit, *, pool_id: UUID, account_id: UUID) -> int:
    """The guarantee that is for good, under lock: what a temporary quota returns to."""
    return open_books(unit, (pool_id,)).of[pool_id].cell(account_id).base.guaranteed


def narrow(unit: Unit, *, pool_id: UUID, account_id: UUID, units: int) -> None:
    """Take units out of a borrowing limit: what a demotion let be borrowed is guaranteed again.
    Nothing where the limit does not hold so many, or a temporary quota runs."""
    book = open_books(unit, (pool_id,)).of[pool_id]
    cell = book.cell(account_id)
    limit = cell.quota.borrowing_limit
    if cell.temporary or limit is None or limit < units:
        return
    quota = replace(cell.quota, borrowing_limit=limit - units)
    record(unit, pool_id, book.set(Wish(account=account_id, quota=quota), at=unit.now))


def take_idle(unit: Unit, *, pool_id: UUID, units: Mapping[UUID, int]) -> dict[UUID, int]:
    """Let units leave guarantees, by account. Returns what is left of each; an account whose quota
    may not change now keeps it and is missing."""
    books = open_books(unit, (pool_id,))
    books.paths.load(units)
    book = books.of[pool_id]
    changes: list[Change] = []
    left = {}
    for account_id, idle in units.items():
        try:
            changes += _shifted(unit, book, account_id, -idle)
        except Refused:
            continue
        left[account_id] = book.cell(account_id).quota.guaranteed
    record(unit, pool_id, changes)
    return left


def give_back(unit: Unit, *, pool_id: UUID, account_id: UUID, units: int) -> int:
    """Let units be of a guarantee again. Returns the guarantee.

    Raises:
        Refused: `promise_exceeded`, `pool_over_promised`, `account_archived`.
    """
    book = open_books(unit, (pool_id,)).of[pool_id]
    record(unit, pool_id, _shifted(unit, book, account_id, units))
    return book.cell(account_id).quota.guaranteed


def hand_up(unit: Unit, *, pool_id: UUID, account_id: UUID, units: int) -> UUID | None:
    """Add units to the own guarantee of the account above. Returns it; None: there is none, or the
    pool cannot promise them, or the account is archived."""
    book = open_books(unit, (pool_id,)).of[pool_id]
    try:
        above = book.path(account_id)
        if not above:
            return None
        record(unit, pool_id, book.shift({above[-1]: units}, at=unit.now))
    except Refused:
        return None
    return above[-1]


def _shifted(unit: Unit, book: QuotaBook, account_id: UUID, units: int) -> list[Change]:
    """Enter units into a guarantee, or take them out; a temporary quota goes on beside the change,
    as does what it returns to."""
    cell = book.cell(account_id)
    if not units:
        return []
    if cell.temporary:
        return list(book.shift({account_id: units}, at=unit.now))
    limit = cell.quota.borrowing_limit
    quota = replace(
        cell.quota,
        guaranteed=cell.quota.guaranteed + units,
        borrowing_limit=None if limit is None else max(0, limit - units),
    )
    return list(book.set(Wish(account=account_id, quota=quota), at=unit.now))
