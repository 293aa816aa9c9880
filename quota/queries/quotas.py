"""What accounts are promised, now or at any past instant. Runs inside `scope.reading`.

Everything is judged at the instant that is asked about: a temporary quota whose end has passed is
not in force, a change that has fallen due is, whether or not a task has recorded it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger import queries as ledger
from ledger.queries import EventRow
from ledger.sql import server_cursor
from quota.domain.changes import NO_CELL, Cell, QuotaBook, Scheduled
from quota.domain.promise import Promise, promise_of
from quota.domain.values import Pool, Quota
from quota.loading import quotas as loading
from quota.loading.quotas import Paths
from tenancy.tree_history import tree_at

HISTORY_TYPES = (
    "quota.set",
    "quota.ended",
    "quota.scheduled",
    "quota.schedule_cancelled",
    "quota.lapsed",
)
LIST_MAX = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRow:
    """A quota as it stands.

    Attributes:
        base: what a temporary quota returns to at `ends_at`; the quota itself otherwise.
        lender: name of the account that paid for the rise of a temporary quota.
    """

    account_id: UUID
    account: str
    pool_id: UUID
    pool: str
    quota: Quota
    ends_at: datetime | None
    base: Quota
    lender: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingRow:
    """A change that has not taken effect."""

    change_id: UUID
    account_id: UUID
    account: str
    pool_id: UUID
    pool: str
    quota: Quota
    starts_at: datetime
    ends_at: datetime | None
    lender: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPromise:
    """A pool's sizes and what they can keep."""

    pool_id: UUID
    pool: Pool
    promise: Promise


@dataclass(frozen=True, slots=True)
class Asker:
    """Who scheduled a change: the circumstances of its `quota.scheduled` event."""

    event_id: UUID
    recorded_at: datetime
    actor_kind: str
    actor_id: UUID | None
    actor_label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One event of a quota's history. `asked_by`: who scheduled what fell due, and why; the event
    itself was then recorded by whoever came first."""

    event: EventRow
    asked_by: Asker | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """Changes, newest first. `next_before` continues; None at the end."""

    rows: tuple[ChangeRow, ...]
    next_before: int | None


def pools_at(
    organization_id: UUID,
    pool_ids: Iterable[UUID] | None = None,
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> dict[UUID, Pool]:
    """Pools (None: all) by name, in the sizes of the instant. One that was not open then is
    missing."""
    wanted = None if pool_ids is None else list(pool_ids)
    if as_of is None or as_of >= now:
        return _pools_now(organization_id, wanted)
    return _pools_then(organization_id, wanted, as_of)


def books_at(
    organization_id: UUID,
    pools: Mapping[UUID, Pool],
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> dict[UUID, QuotaBook]:
    """Every quota of the pools at `as_of`, or now. An instant to come shows what is known to
    come."""
    at = as_of or now
    if not pools:
        return {}
    if as_of is None or as_of >= now:
        found = loading.books(organization_id, pools, Paths(organization_id))
    else:
        found = _books_then(organization_id, pools, as_of)
    due = loading.scheduled(organization_id, pools, until=at)
    for pool_id, book in found.items():
        book.settle(due.get(pool_id, ()), now=at)
    return found


def quotas_of_account(
    organization_id: UUID, account_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> list[QuotaRow]:
    """Every quota of an account, by pool."""
    pools = pools_at(organization_id, now=now, as_of=as_of)
    source = source_at(now, as_of)
    due = loading.due_among(organization_id, pools, at=source.at, then=source.then)
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {loading.CELL_COLUMNS} FROM {source.table} WHERE organization_id = %b "
            f"AND account_id = %b AND pool_id = ANY(%b) {source.condition}",
            (organization_id, account_id, list(pools.keys() - due), *source.values),
        ).fetchall()
    found = {row[1]: loading.cell_of(row) for row in rows}
    settled = books_at(
        organization_id, {pool_id: pools[pool_id] for pool_id in due}, now=now, as_of=as_of
    )
    found.update({pool_id: book.cell(account_id) for pool_id, book in settled.items()})
    said = [(pool_id, account_id, cell) for pool_id, cell in found.items()]
    return _rows(organization_id, pools, said, source)


def quotas_of_pool(
    organization_id: UUID,
    pool_id: UUID,
    *,
    now: datetime,
    as_of: datetime | None = None,
    among: Collection[UUID] | None = None,
    after: str = "",
    limit: int = LIST_MAX,
) -> list[QuotaRow]:
    """Quotas in a pool, by account; at most LIST_MAX.

    Args:
        among: only of these accounts; None: of all.
        after: the account after which the page begins.
    """
    pools = pools_at(organization_id, (pool_id,), now=now, as_of=as_of)
    said = [
        (pool_id, account, cell)
        for book in books_at(organization_id, pools, now=now, as_of=as_of).values()
        for account, cell in book.cells.items()
        if among is None or account in among
    ]
    rows = _rows(organization_id, pools, said, source_at(now, as_of))
    return [row for row in rows if row.account > after][: min(limit, LIST_MAX)]


def coming(
    organization_id: UUID,
    *,
    now: datetime,
    account_id: UUID | None = None,
    pool_id: UUID | None = None,
) -> list[ComingRow]:
    """Changes to come, the next first; what is due and not recorded yet is not among them."""
    pools = _pools_now(organization_id, None if pool_id is None else [pool_id])
    found = [
        (of, change)
        for of, changes in loading.scheduled(organization_id, pools).items()
        for change in changes
        if change.starts_at > now and account_id in (None, change.wish.account)
    ]
    found.sort(key=lambda one: (one[1].starts_at, str(one[1].id)))
    names = _names(organization_id, _mentioned(change for _, change in found))
    return [
        ComingRow(
            change_id=change.id,
            account_id=change.wish.account,
            account=names[change.wish.account],
            pool_id=of,
            pool=pools[of].name,
            quota=change.wish.quota,
            starts_at=change.starts_at,
            ends_at=change.wish.ends_at,
            lender=names.get(change.wish.lender) if change.wish.lender else None,
        )
        for of, change in found[:LIST_MAX]
    ]


def promises(
    organization_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> list[PoolPromise]:
    """What every pool has promised beside what it can keep, by name."""
    pools = pools_at(organization_id, now=now, as_of=as_of)
    source = source_at(now, as_of)
    due = loading.due_among(organization_id, pools, at=source.at, then=source.then)
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT pool_id, sum(guaranteed)::bigint FROM {source.table} "
            f"WHERE organization_id = %b AND pool_id = ANY(%b) {source.condition} GROUP BY pool_id",
            (organization_id, list(pools.keys() - due), *source.values),
        ).fetchall()
    promised = dict(rows)
    settled = books_at(
        organization_id, {pool_id: pools[pool_id] for pool_id in due}, now=now, as_of=as_of
    )
    promised.update({pool_id: book.promise().promised for pool_id, book in settled.items()})
    return [
        PoolPromise(
            pool_id=pool_id, pool=pool, promise=promise_of(pool, (promised.get(pool_id, 0),))
        )
        for pool_id, pool in pools.items()
    ]


def history(
    organization_id: UUID,
    account_id: UUID,
    *,
    pool_id: UUID | None = None,
    before_position: int | None = None,
    limit: int = 50,
) -> ChangePage:
    """Changes of an account's quotas, in one pool or all, with actor, reason and event."""
    page = ledger.history(
        organization_id,
        stream=f"quota:{account_id}:{pool_id}" if pool_id else None,
        subject_id=None if pool_id else account_id,
        types=HISTORY_TYPES,
        before_position=before_position,
        limit=limit,
    )
    asked = _asked_by(organization_id, page.rows)
    return ChangePage(
        rows=tuple(
            ChangeRow(event=event, asked_by=asked.get(_change_id(event))) for event in page.rows
        ),
        next_before=page.next_before,
    )


@dataclass(frozen=True, slots=True)
class Source:
    """Where the quotas of an instant stand: `condition` with `values` after the other ones."""

    at: datetime
    then: bool
    table: str
    condition: str
    values: tuple


def source_at(now: datetime, as_of: datetime | None) -> Source:
    at = as_of or now
    if at >= now:
        return Source(at, False, "quota_quota", "", ())
    condition = "AND valid_from <= %b AND (valid_to IS NULL OR valid_to > %b)"
    return Source(at, True, "quota_quotahistory", condition, (at, at))


def _change_id(event: EventRow) -> str | None:
    return None if event.type == "quota.scheduled" else event.payload.get("change_id")


def _asked_by(organization_id: UUID, events: Iterable[EventRow]) -> dict[str | None, Asker]:
    """Who scheduled the changes that these events made true, in one question."""
    changes = {_change_id(event) for event in events} - {None}
    if not changes:
        return {}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT s.subject_id::text, e.id, e.recorded_at, e.actor_kind, e.actor_id, "
            "e.actor_label, e.reason FROM ledger_subject s JOIN ledger_event e "
            "ON e.organization_id = s.organization_id AND e.id = s.event_id "
            "WHERE s.organization_id = %b AND s.subject_id = ANY(%b::uuid[]) "
            "AND e.type = 'quota.scheduled'",
            (organization_id, sorted(changes)),
        ).fetchall()
    return {row[0]: Asker(*row[1:]) for row in rows}


def _pools_now(organization_id: UUID, pool_ids: list[UUID] | None) -> dict[UUID, Pool]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name, capacity, unavailable, safety_margin, reclaim_target_seconds "
            "FROM quota_pool WHERE organization_id = %b "
            "AND (%b::uuid[] IS NULL OR id = ANY(%b::uuid[])) ORDER BY name",
            (organization_id, pool_ids, pool_ids),
        ).fetchall()
    return {row[0]: loading.pool_of(row[1:]) for row in rows}


def _pools_then(
    organization_id: UUID, pool_ids: list[UUID] | None, at: datetime
) -> dict[UUID, Pool]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT h.pool_id, p.name, h.capacity, h.unavailable, h.safety_margin, "
            "h.reclaim_target_seconds FROM quota_poolhistory h JOIN quota_pool p "
            "ON p.organization_id = h.organization_id AND p.id = h.pool_id "
            "WHERE h.organization_id = %b AND (%b::uuid[] IS NULL OR h.pool_id = ANY(%b::uuid[])) "
            "AND h.valid_from <= %b AND (h.valid_to IS NULL OR h.valid_to > %b) ORDER BY p.name",
            (organization_id, pool_ids, pool_ids, at, at),
        ).fetchall()
    return {row[0]: loading.pool_of(row[1:]) for row in rows}


def _books_then(
    organization_id: UUID, pools: Mapping[UUID, Pool], at: datetime
) -> dict[UUID, QuotaBook]:
    paths = Paths(organization_id)
    found = {pool_id: QuotaBook(pool=pool, cells={}, path=paths) for pool_id, pool in pools.items()}
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {loading.CELL_COLUMNS} FROM quota_quotahistory WHERE organization_id = %b "
            "AND pool_id = ANY(%b) AND valid_from <= %b AND (valid_to IS NULL OR valid_to > %b)",
            (organization_id, list(pools), at, at),
        ).fetchall()
    for row in rows:
        found[row[1]].cells[row[0]] = loading.cell_of(row)
    return found


def _rows(
    organization_id: UUID,
    pools: Mapping[UUID, Pool],
    said: Iterable[tuple[UUID, Any, Cell]],
    source: Source,
) -> list[QuotaRow]:
    """Quotas that say something, by pool and account, with the names of the instant."""
    said = [one for one in said if one[2] != NO_CELL]
    mentioned: set[Any] = set()
    for _, account, cell in said:
        mentioned |= {account, cell.temporary.lender if cell.temporary else None}
    names = _names(organization_id, mentioned - {None})
    if source.then:
        names |= {node[0]: node[1] for node in tree_at(organization_id, source.at)}
    found = [_row(pool_id, pools[pool_id], account, cell, names) for pool_id, account, cell in said]
    return sorted(found, key=lambda row: (row.pool, row.account))


def _row(
    pool_id: UUID, pool: Pool, account: Any, cell: Cell, names: Mapping[UUID, str]
) -> QuotaRow:
    lender = cell.temporary.lender if cell.temporary else None
    return QuotaRow(
        account_id=account,
        account=names[account],
        pool_id=pool_id,
        pool=pool.name,
        quota=cell.quota,
        ends_at=cell.temporary.ends_at if cell.temporary else None,
        base=cell.base,
        lender=names.get(lender) if lender else None,
    )


def _mentioned(changes: Iterable[Scheduled]) -> set[Any]:
    found: set[Any] = set()
    for change in changes:
        found |= {change.wish.account, change.wish.lender}
    return found - {None}


def _names(organization_id: UUID, accounts: Iterable[UUID]) -> dict[UUID, str]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(accounts)),
        ).fetchall()
    return dict(rows)
