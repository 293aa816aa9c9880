"""From decided changes of quotas to events, the same for every command that makes some."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from ledger.errors import Invalid
from ledger.execution import Unit
from quota import events
from quota.commands.reclassifying import reclassify
from quota.domain.changes import Became, Cell, Change, Lapsed, QuotaBook, Scheduled
from quota.domain.values import Quota
from quota.loading import quotas as loading
from quota.loading.quotas import Paths
from quota.request_following import Said, follow
from tenancy.loading import hold_tree

_MEMO = "quota.books"


@dataclass(slots=True)
class Books:
    """Pools under lock, with everything that has fallen due recorded.

    Attributes:
        pending: changes still to come.
        exposed: accounts by pool whose use above their guarantee loses its tier.
        parents: the whole tree as the command makes it; None: as it is.
        is_reclassified: what the tiers make of it all is recorded.
    """

    paths: Paths
    of: dict[UUID, QuotaBook] = field(default_factory=dict)
    pending: dict[UUID, list[Scheduled]] = field(default_factory=dict)
    exposed: dict[UUID, set[UUID]] = field(default_factory=dict)
    parents: Mapping[UUID, UUID | None] | None = None
    is_reclassified: bool = False

    def expose(self, pool_id: UUID, account_id: UUID) -> None:
        """Let what the account uses above its guarantee become borrowed."""
        self.exposed.setdefault(pool_id, set()).add(account_id)


def open_books(
    unit: Unit, pool_ids: Iterable[UUID] | None = None, *, tree_is_locked: bool = False
) -> Books:
    """Lock pools (None: all), read their quotas, and record first what is due. When the command
    is done, the tiers of what runs follow (`quota.commands.reclassifying`).

    The books are the command's: whoever asks again gets the same ones, with all that the command
    has decided so far, and maybe more pools than asked for.

    Raises:
        NotFound: no such pool.
    """
    books: Books = unit.memo.setdefault(_MEMO, Books(paths=Paths(unit.organization_id)))
    unit.at_end[_MEMO] = partial(reclassify, unit, books)
    wanted = None if pool_ids is None else set(pool_ids)
    if wanted and wanted <= books.of.keys():
        return books  # under lock since they were opened
    if not tree_is_locked:
        hold_tree(unit)
    locked = loading.lock_pools(unit, wanted)
    pools = {pool_id: pool for pool_id, pool in locked.items() if pool_id not in books.of}
    found = loading.books(unit.organization_id, pools, books.paths)
    pending = loading.scheduled(unit.organization_id, pools)
    for pool_id, book in found.items():
        coming = pending.get(pool_id, [])
        record(unit, pool_id, book.settle(coming, now=unit.now))
        books.pending[pool_id] = [change for change in coming if change.starts_at > unit.now]
    books.of.update(found)
    return books


def record(unit: Unit, pool_id: UUID, changes: Iterable[Change], *, early: bool = False) -> None:
    """Events of changes, as of the instant at which each takes effect; the requests behind them
    follow."""
    books: Books | None = unit.memo.get(_MEMO)
    said: list[tuple[Said, datetime]] = []
    for change in changes:
        if books is not None and isinstance(change, Became) and change.expose:
            books.expose(pool_id, change.account)
        data = _lapsed(pool_id, change) if isinstance(change, Lapsed) else _became(pool_id, change)
        if early and isinstance(data, events.QuotaEnded):
            data = events.QuotaEnded(
                account_id=data.account_id,
                pool_id=pool_id,
                quota=data.quota,
                early=True,
                lender_id=data.lender_id,
                expose=data.expose,
            )
        unit.record(data, occurred_at=change.at)
        said.append((data, change.at))
    follow(unit, pool_id, said)


def values(quota: Quota) -> events.QuotaValues:
    """A quota as events write it."""
    return events.QuotaValues(
        guaranteed=quota.guaranteed,
        borrowing_limit=quota.borrowing_limit,
        lending_limit=quota.lending_limit,
    )


def check_reason(unit: Unit) -> None:
    """Who changes what others are promised says why.

    Raises:
        Invalid: no reason was given.
    """
    if not unit.reason.strip():
        raise Invalid(
            "reason_missing", "Say why: the reason is kept with the change.", field="reason"
        )


def _became(pool_id: UUID, change: Became) -> events.QuotaSet | events.QuotaEnded:
    if change.kind == "ended":
        return events.QuotaEnded(
            account_id=change.account,
            pool_id=pool_id,
            quota=values(change.after.quota),
            early=False,
            lender_id=change.other,
            expose=change.expose,
        )
    by_other = change.kind in ("lent", "repaid")
    # Beside a temporary quota that goes on the event names its lender: it is still to be repaid.
    goes_on = by_other or change.after.temporary is not None
    return events.QuotaSet(
        account_id=change.account,
        pool_id=pool_id,
        quota=values(change.after.quota),
        **_end(change.after),
        lender_id=_lender(change.after) if goes_on else change.other,
        borrower_id=change.other if by_other else None,
        change_id=change.scheduled,
        expose=change.expose,
    )


def _end(cell: Cell) -> dict:
    if cell.temporary is None:
        return {}
    return {
        "ends_at": cell.temporary.ends_at,
        "returns_to": values(cell.temporary.base),
        "end_exposes": cell.temporary.expose,
    }


def _lender(cell: Cell) -> UUID | None:
    return cell.temporary.lender if cell.temporary else None


def _lapsed(pool_id: UUID, lapsed: Lapsed) -> events.QuotaLapsed:
    return events.QuotaLapsed(
        account_id=lapsed.account,
        pool_id=pool_id,
        quota=values(lapsed.cell.quota),
        code=lapsed.error.code,
        detail=lapsed.error.detail,
        short_by=lapsed.error.facts.get("short_by"),
        change_id=lapsed.scheduled,
    )
