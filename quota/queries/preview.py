"""What a change would do, before it is made. Runs inside `scope.reading`; changes nothing.

Whether the change is allowed is the command's to say, in a dry run. Here it is made in a
`QuotaBook` of the reader's own, and everything else follows from the same arithmetic that admits:
the tree (quota/domain/tree.py) and who rises (quota/domain/promotion.py). The number of questions
to the database is constant.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from ledger.errors import NotFound
from quota.domain.changes import Cell, Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.promise import Promise, promise_of
from quota.domain.promotion import Promotion
from quota.domain.provisioning import grant, wishes_of
from quota.domain.requests import Terms
from quota.domain.values import Pool
from quota.in_use import units_in_use
from quota.loading import allocations as allocation_loading
from quota.loading import quotas as loading
from quota.loading import standings
from quota.loading.quotas import Paths
from quota.loading.standings import LivePool, Standing
from quota.queries.cells import Cells, Node, nodes_of
from quota.queries.preview_tiers import tiers_of
from quota.queries.quotas import pools_at
from quota.queries.standing import AccountStanding, Ground, stand

SHOWN_MAX = 20
"""Accounts, and jobs of each kind, that a preview names; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """An account whose standing would be another. `part`: `subject`, `lender` or `other`."""

    part: str
    before: AccountStanding
    after: AccountStanding

    @property
    def over_by(self) -> int:
        """Units by which it would newly be above all it could get by right."""
        return max(0, self.after.overshoot - self.before.overshoot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A live allocation that the change is felt by. `tier`: what it would have then."""

    key: str
    attempt: int
    account: str
    units: int
    tier_before: str
    tier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """A change to come that would be refused at its time, although it is not refused now.

    `is_end`: it is the end of a temporary quota, whose values would then stay."""

    account: str
    at: datetime
    detail: str
    is_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The pool before and after a change, and everybody who would feel it.

    Attributes:
        at: when the change takes effect.
        use: units that run and are held, in all tiers.
        shifts: the first SHOWN_MAX of `shifts_count` accounts: the account itself, who lends to
            it, who would be over, then who loses most.
        rises: jobs that would get a better tier; `above`, with a guarantee that no longer holds
            them: the first SHOWN_MAX of each.
        above_units: units of all jobs above their guarantee.
        refused: why a change to come would lapse, as things stand now.
        lapses: other changes to come that would lapse because of it.
        promised_to: the largest guarantees, where the pool would be over-promised.
    """

    pool_before: Pool
    pool_after: Pool
    promise_before: Promise
    promise_after: Promise
    at: datetime
    use: int
    shifts: tuple[Shift, ...]
    shifts_count: int
    over_count: int
    rises: tuple[Job, ...]
    rises_count: int
    above: tuple[Job, ...]
    above_count: int
    above_units: int
    expose: bool
    refused: str | None
    lapses: tuple[Lapse, ...]
    promised_to: tuple[AccountStanding, ...]

    @property
    def is_over_promised(self) -> bool:
        return not self.promise_after.holds

    @property
    def too_few_units(self) -> int:
        """Units that run although the pool would not have them."""
        return max(0, self.use - self.pool_after.usable)


@dataclass(slots=True, kw_only=True)
class _Desk:
    """Everything that was read, once."""

    pool_id: UUID
    pool: Pool
    book: QuotaBook
    pending: list[Scheduled]
    nodes: list[Node]
    use: dict[tuple[UUID, UUID], int]
    standing: Standing
    organization_id: UUID
    now: datetime

    def copy(self, pool: Pool | None = None) -> QuotaBook:
        """A book of its own to change; cells are values."""
        return QuotaBook(pool=pool or self.pool, cells=dict(self.book.cells), path=self.book.path)

    def due(self, at: datetime) -> list[Scheduled]:
        return [one for one in self.pending if one.starts_at <= at]


def preview_wish(
    organization_id: UUID,
    pool_id: UUID,
    wish: Wish,
    *,
    now: datetime,
    starts_at: datetime | None = None,
    change_id: UUID | None = None,
) -> Preview:
    """What a quota would do, now or at `starts_at`, `change_id` being the id it would have.

    Raises:
        NotFound: no such pool or account.
        DomainError: of `QuotaBook.set`, where it is to take effect now.
    """
    desk = _desk(organization_id, pool_id, (wish.account,), now=now)
    at = starts_at or now
    before, after = desk.copy(), desk.copy()
    before.settle(desk.due(at), now=at)
    refused = None
    if starts_at is None:
        after.settle(desk.due(at), now=at)
        after.set(wish, at=at)
    else:
        change = Scheduled(id=change_id, starts_at=starts_at, wish=wish)
        for made in after.settle([*desk.due(at), change], now=at):
            if isinstance(made, Lapsed) and made.scheduled == change_id:
                refused = made.error.detail
    lender = wish.lender
    if lender is None and (temporary := desk.book.cell(wish.account).temporary):
        lender = temporary.lender
    return _compare(
        desk,
        before,
        after,
        at=at,
        subject=wish.account,
        lender=lender,
        expose=wish.expose,
        refused=refused,
    )


def preview_request(organization_id: UUID, terms: Terms, *, now: datetime) -> Preview | None:
    """What granting a request would do to everybody, at its start. None: it changes no quota.

    Raises:
        NotFound: no such pool or account.
        DomainError: it cannot be granted as things stand; `quota.domain.provisioning.attempt`
            says by how much it is short.
    """
    named = [one for one in (terms.account_id, terms.to_account_id) if one is not None]
    desk = _desk(organization_id, terms.pool_id, named, now=now)
    at = terms.begins(now)
    before, after = desk.copy(), desk.copy()
    for book in (before, after):
        book.settle(desk.due(at), now=at)
    coming = [one for one in desk.pending if one.starts_at > now]
    wishes = wishes_of(terms, after, coming=coming, at=at)
    if not wishes:
        return None
    grant(after, wishes, at=at)
    return _compare(desk, before, after, at=at, subject=terms.account_id, lender=wishes[0].lender)


def preview_end(
    organization_id: UUID, pool_id: UUID, account_id: UUID, *, now: datetime
) -> Preview:
    """What ending a temporary quota early would do.

    Raises:
        NotFound: no such pool or account.
        Refused: of `QuotaBook.end`.
    """
    desk = _desk(organization_id, pool_id, (account_id,), now=now)
    before, after = desk.copy(), desk.copy()
    for book in (before, after):
        book.settle(desk.due(now), now=now)
    temporary = after.cell(account_id).temporary
    after.end(account_id, at=now)
    return _compare(
        desk,
        before,
        after,
        at=now,
        subject=account_id,
        lender=temporary.lender if temporary else None,
        expose=bool(temporary and temporary.expose),
    )


def preview_size(
    organization_id: UUID, pool_id: UUID, sizes: dict[str, int], *, now: datetime
) -> Preview:
    """What other sizes of the pool would do; names as in `Pool`.

    Raises:
        NotFound: no such pool.
        Invalid: a size is none.
    """
    desk = _desk(organization_id, pool_id, (), now=now)
    before, after = desk.copy(), desk.copy(replace(desk.pool, **sizes))
    before.settle(desk.due(now), now=now)
    after.cells = dict(before.cells)  # what is due fell due under the old size
    return _compare(desk, before, after, at=now)


def _desk(
    organization_id: UUID, pool_id: UUID, accounts: Iterable[UUID], *, now: datetime
) -> _Desk:
    pools = pools_at(organization_id, (pool_id,), now=now)
    if pool_id not in pools:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")
    paths = Paths(organization_id)
    pending = loading.scheduled(organization_id, pools).get(pool_id, [])
    named = {one.wish.account for one in pending} | set(accounts)
    paths.load(sorted(named))
    live = {pool_id: LivePool(pool_id, pools[pool_id])}
    standing = standings.standing(
        organization_id,
        live,
        now=now,
        account_names=[paths.known[one][0] for one in named if one in paths.known],
    )
    for stored in allocation_loading.lapsed(organization_id, (pool_id,), now=now):
        one = stored.value
        standing.move(pool_id, one.account, one.tier, -one.units, slow=stored.slow)
    return _Desk(
        pool_id=pool_id,
        pool=pools[pool_id],
        book=loading.books(organization_id, pools, paths)[pool_id],
        pending=pending,
        nodes=nodes_of(organization_id),
        use=units_in_use(organization_id, pools, now=now),
        standing=standing,
        organization_id=organization_id,
        now=now,
    )


def _compare(
    desk: _Desk,
    before: QuotaBook,
    after: QuotaBook,
    *,
    at: datetime,
    subject: UUID | None = None,
    lender: UUID | None = None,
    expose: bool = False,
    refused: str | None = None,
) -> Preview:
    was, would = _ground(desk, before), _ground(desk, after)
    shifts, shifts_count, over_count = _shifts(was, would, subject, lender)
    felt = tiers_of(
        desk.organization_id,
        desk.pool_id,
        desk.standing,
        before,
        after,
        exposed=subject if expose else None,
        now=desk.now,
    )
    names = {node[0]: node[1] for node in desk.nodes}
    promise = promise_of(after.pool, after.guarantees())
    tier = "borrowed" if expose else "guaranteed"
    return Preview(
        pool_before=before.pool,
        pool_after=after.pool,
        promise_before=promise_of(before.pool, before.guarantees()),
        promise_after=promise,
        at=at,
        use=sum(one.total for one in desk.standing.holdings.get(desk.pool_id, {}).values()),
        shifts=shifts,
        shifts_count=shifts_count,
        over_count=over_count,
        rises=tuple(_risen(one, names) for one in felt.rises[:SHOWN_MAX]),
        rises_count=len(felt.rises),
        above=tuple(_job(one, names, "guaranteed", tier) for one in felt.above[:SHOWN_MAX]),
        above_count=len(felt.above),
        above_units=sum(one.units for one in felt.above),
        expose=expose,
        refused=refused,
        lapses=_lapses(desk, before, after, at=at, names=names),
        promised_to=() if promise.holds else _largest(would),
    )


def _ground(desk: _Desk, book: QuotaBook) -> Ground:
    cells = Cells.none({node[0]: row for row, node in enumerate(desk.nodes)}, 1)
    cells.fill(0, book)
    return stand(desk.nodes, {desk.pool_id: book.pool}, cells, desk.use)


def _shifts(
    was: Ground, would: Ground, subject: UUID | None, lender: UUID | None
) -> tuple[tuple[Shift, ...], int, int]:
    """Who would stand otherwise; the first few, how many in all, how many newly over."""

    def differ(of: str, name: str) -> np.ndarray:
        return getattr(getattr(was, of), name)[:, 0] != getattr(getattr(would, of), name)[:, 0]

    changed = differ("standing", "available") | differ("standing", "overshoot")
    for name in ("guaranteed", "borrowing", "borrowing_bounded", "lending", "lending_bounded"):
        changed |= differ("tree", name)
    changed |= differ("tree", "potential")
    over = would.standing.overshoot[:, 0] - was.standing.overshoot[:, 0]
    lost = (was.tree.potential[:, 0] - would.tree.potential[:, 0]) + (
        was.standing.available[:, 0] - would.standing.available[:, 0]
    )
    parts = {subject: "subject", lender: "lender"}
    order = {"subject": 0, "lender": 1, "other": 2}
    rows = [
        (order[parts.get(was.nodes[row][0], "other")], -int(over[row]), -int(lost[row]), row)
        for row in np.flatnonzero(changed)
    ]
    rows.sort()
    found = tuple(
        Shift(
            part=parts.get(was.nodes[row][0], "other"),
            before=was.at(row, 0),
            after=would.at(row, 0),
        )
        for *_, row in rows[:SHOWN_MAX]
    )
    return found, len(rows), int((over > 0).sum())


def _lapses(
    desk: _Desk, before: QuotaBook, after: QuotaBook, *, at: datetime, names: dict[UUID, str]
) -> tuple[Lapse, ...]:
    """Changes to come, and ends, that only this change would make impossible."""
    later = [one for one in desk.pending if one.starts_at > at]
    instants = [instant for one in later for instant in (one.starts_at, one.wish.ends_at)]
    for book in (before, after):
        instants += [_ends_at(cell) for cell in book.cells.values() if cell.temporary]
    known = [instant for instant in instants if instant is not None]
    if not known:
        return ()
    found: list[dict[Any, Lapsed]] = []
    for book in (before, after):
        trial = QuotaBook(pool=book.pool, cells=dict(book.cells), path=book.path)
        lapsed = [one for one in trial.settle(later, now=max(known)) if isinstance(one, Lapsed)]
        found.append({(one.account, one.scheduled): one for one in lapsed})
    new = [found[1][key] for key in found[1].keys() - found[0].keys()]
    new.sort(key=lambda one: (one.at, names.get(one.account, "")))
    return tuple(
        Lapse(
            account=names[one.account],
            at=one.at,
            detail=one.error.detail,
            is_end=one.scheduled is None,
        )
        for one in new[:SHOWN_MAX]
    )


def _ends_at(cell: Cell) -> datetime | None:
    return cell.temporary.ends_at if cell.temporary else None


def _largest(ground: Ground) -> tuple[AccountStanding, ...]:
    """The accounts with the largest guarantees of their own."""
    guarantees = ground.tree.guaranteed[:, 0]
    rows = sorted(np.flatnonzero(guarantees), key=lambda row: -int(guarantees[row]))
    return tuple(ground.at(int(row), 0) for row in rows[:SHOWN_MAX])


def _risen(one: Promotion, names: dict[UUID, str]) -> Job:
    return _job(one.allocation, names, one.allocation.tier, one.tier)


def _job(one: Any, names: dict[UUID, str], tier_before: str, tier: str) -> Job:
    return Job(
        key=one.key,
        attempt=one.attempt,
        account=names[one.account],
        units=one.units,
        tier_before=tier_before,
        tier=tier,
    )
