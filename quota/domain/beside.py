"""What is asked while a temporary quota runs. Pure.

An account has one temporary quota at a time. What is granted beside it:

*For good*: what is in force and what it returns to move together, its end stays. After the end
exactly the part for good is left. Units that a temporary quota lent cannot be given away: they go
back by themselves.

*For a while*: the running one rises to its end, so it has to be asked until that end (to the day:
who says another hour of that day means it). Who lent for it lends for the rise, if it has enough of
its own; otherwise the nearest account above that can lend for both, otherwise the promise.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from ledger.errors import Refused
from ledger.instants import written
from quota.domain.changes import Cell, QuotaBook, Scheduled, Temporary, Wish
from quota.domain.requests import AT_ONCE, Kind, Terms
from quota.domain.values import Quota

SAME_END = timedelta(days=1)
"""Ends that lie less than this apart are meant to be the same."""


def wish_beside(
    terms: Terms,
    book: QuotaBook,
    cell: Cell,
    above: tuple,
    *,
    target: Callable[[Terms, Quota], Quota],
    lender_of: Callable[[QuotaBook, tuple, int], UUID | None],
    is_later: bool,
) -> Wish:
    """What to set so that the request is granted while a temporary quota runs.

    Args:
        target: what a quota becomes by the terms.
        lender_of: who pays for a rise for good.
        is_later: it would begin in the future, before the running one ends.

    Raises:
        Refused: `temporary_running` with `ends_at`; of `target`.
    """
    running = cell.temporary
    if is_later:
        raise _running(running, "Ask for a start now, or then", field="starts_at")
    if terms.ends_at is not None:
        return _further(terms, book, cell, above, target=target)
    base = target(terms, cell.base)
    units = base.guaranteed - cell.base.guaranteed
    if units < 0 and cell.quota.guaranteed + units < 0:
        raise _running(running, f"Give back at most {cell.quota.guaranteed:,}", field="units")
    quota = replace(cell.quota, guaranteed=cell.quota.guaranteed + units)
    if terms.kind == Kind.CEILING:
        quota = replace(quota, borrowing_limit=_ceiling_meanwhile(cell, base.borrowing_limit))
    return Wish(
        account=terms.account_id, quota=quota, base=base, lender=lender_of(book, above, units)
    )


def _ceiling_meanwhile(cell: Cell, units: int | None) -> int | None:
    """A borrowing limit that is temporary itself stays where it is the higher one; None is no
    limit."""
    mine = cell.quota.borrowing_limit
    if mine == cell.base.borrowing_limit:
        return units
    return None if mine is None or units is None else max(mine, units)


def _further(
    terms: Terms,
    book: QuotaBook,
    cell: Cell,
    above: tuple,
    *,
    target: Callable[[Terms, Quota], Quota],
) -> Wish:
    running = cell.temporary
    if abs(terms.ends_at - running.ends_at) >= SAME_END:
        raise _running(
            running,
            "What is added for a while ends with it: ask until then (an extension moves both), "
            "or for a start then",
            field="ends_at",
        )
    if terms.kind == Kind.NEW:
        target(terms, cell.base)
        terms = replace(terms, kind=Kind.RAISE)
    quota = target(terms, cell.quota)
    return Wish(
        account=terms.account_id,
        quota=quota,
        lender=_lender(book, cell, above, quota.guaranteed - cell.quota.guaranteed),
        ends_at=running.ends_at,
        expose=running.expose,
    )


def _lender(book: QuotaBook, cell: Cell, above: tuple, rise: int) -> UUID | None:
    """Who lends for the running temporary quota and its rise."""
    running = cell.temporary.lender
    if rise <= 0 or (running is None and book.promise().unpromised >= rise):
        return running
    lent = cell.quota.guaranteed - cell.base.guaranteed
    nearest = [account for account in reversed(above) if account != running]
    for account in [running, *nearest] if running is not None else nearest:
        own = book.cell(account)
        has = min(own.quota.guaranteed, own.base.guaranteed)
        if has >= (rise if account == running else lent + rise):
            return account
    return None


def held_for_good(cell: Cell) -> int:
    """Units that are the account's own to give away."""
    return min(cell.quota.guaranteed, cell.base.guaranteed)


def _running(running: Temporary, way_out: str, *, field: str) -> Refused:
    return Refused(
        "temporary_running",
        f"A temporary quota runs until {written(running.ends_at)}. {way_out}.",
        field=field,
        facts={"ends_at": running.ends_at.isoformat()},
    )


def check_quiet(terms: Terms, coming: Collection[Scheduled], *, at: datetime) -> None:
    """Nothing that is to come for the quotas that change was reckoned from what they are now; what
    is over before it does not touch it.

    Raises:
        Refused: `change_to_come` with `starts_at`.
    """
    for account in (terms.account_id, terms.to_account_id):
        later = [change.starts_at for change in coming if change.wish.account == account]
        if account is None or not later or (terms.ends_at and terms.ends_at <= min(later)):
            continue
        way_out = "Ask after that, or have the change cancelled"
        if terms.kind not in AT_ONCE and min(later) > at:
            way_out = "Ask until then, or after that; or have the change cancelled"
        raise Refused(
            "change_to_come",
            f"This quota changes on {written(min(later))} already. {way_out}.",
            field="starts_at",
            facts={"starts_at": min(later).isoformat()},
        )
