"""Idle units that leave a guarantee, and that come back: what use-it-or-lose-it may do to quotas,
and the only door through which it does (docs/decisions/0014-preemption.md).

A guarantee's ceiling stays: what leaves it may still be borrowed. Nothing that runs is harmed.
"""

from dataclasses import replace
from uuid import UUID

from ledger.errors import Refused
from ledger.execution import Unit
from quota.domain.changes import Wish
from quota.domain.values import Quota
from quota.recording import open_books, record


def hold(unit: Unit, *, pool_id: UUID) -> None:
    """Lock a pool: its quotas stand still until the command is done. What is due is recorded."""
    open_books(unit, (pool_id,))


def guarantee_of(unit: Unit, *, pool_id: UUID, account_id: UUID) -> int | None:
    """Units under lock, with what is due recorded; None: a temporary quota runs, which ends by
    itself."""
    cell = open_books(unit, (pool_id,)).of[pool_id].cell(account_id)
    return None if cell.temporary else cell.quota.guaranteed


def take_idle(unit: Unit, *, pool_id: UUID, account_id: UUID, units: int) -> int | None:
    """Let units leave a guarantee. Returns what is left of it; None: the account's quota may not
    change now, so nothing happened."""
    try:
        return _shift(unit, pool_id, account_id, -units)
    except Refused:
        return None


def give_back(unit: Unit, *, pool_id: UUID, account_id: UUID, units: int) -> int:
    """Let units be of a guarantee again. Returns the guarantee.

    Raises:
        Refused: `promise_exceeded`, `pool_over_promised`, `account_archived`.
    """
    return _shift(unit, pool_id, account_id, units)


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


def _shift(unit: Unit, pool_id: UUID, account_id: UUID, units: int) -> int:
    book = open_books(unit, (pool_id,)).of[pool_id]
    if not units:
        return book.cell(account_id).quota.guaranteed
    if book.cell(account_id).temporary:
        # It goes on beside the change, as does what it returns to.
        record(unit, pool_id, book.shift({account_id: units}, at=unit.now))
        return book.cell(account_id).quota.guaranteed
    before = book.cell(account_id).quota
    limit = before.borrowing_limit
    quota: Quota = replace(
        before,
        guaranteed=before.guaranteed + units,
        borrowing_limit=None if limit is None else max(0, limit - units),
    )
    record(unit, pool_id, book.set(Wish(account=account_id, quota=quota), at=unit.now))
    return quota.guaranteed
