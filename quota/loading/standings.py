"""What pools stand at, read under lock into values of the domain.

Pools are locked first and in one order; everything of allocations happens under the lock of their
pool, so what is read afterwards stays true until the command commits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import psycopg

from ledger import scope, trips
from ledger.sql import server_cursor
from quota.allocation_facts import StoredAllocation
from quota.domain.batch import AdmissionPolicy, Holding, Occupant, PoolState
from quota.domain.book import Accounts
from quota.domain.column import PoolTree
from quota.domain.reservation import Reservation, with_reserved
from quota.domain.values import Pool, Quota
from quota.loading import grounds, reservations
from quota.loading import quotas as quota_loading
from quota.loading.grounds import Ground

_USUAL_TIMES = AdmissionPolicy()


@dataclass(frozen=True, slots=True)
class LivePool:
    """A pool under lock."""

    id: UUID
    pool: Pool


@dataclass(slots=True, kw_only=True)
class Standing:
    """Pools as they stand, and the accounts that matter for them. Open to what a command changes.

    Attributes:
        accounts: parents of all accounts with a quota, a holding or a request, and of those above.
        names: of the same accounts.
        closed: archived ones among them.
        people: ids of those that were asked for, by name.
        has_lapses: something is over in these pools that is not recorded yet.
        has_known_keys: a job that was asked for has allocations already.
        policy: the organization's times.
        reservations: units of these pools that are set aside for jobs.
        retargeted: pools whose reclaim target the command changes.
        ground: what hardly ever changes of all this, where it is shared with others: then accounts,
            names, people and quotas are not this command's to change.
    """

    pools: dict[UUID, LivePool]
    accounts: Mapping[UUID, UUID | None]
    names: Mapping[UUID, str]
    closed: Collection[UUID]
    quotas: Mapping[UUID, Mapping[UUID, Quota]]
    holdings: dict[UUID, dict[UUID, Holding]] = field(default_factory=dict)
    people: Mapping[str, UUID] = field(default_factory=dict)
    has_lapses: bool = False
    has_known_keys: bool = False
    policy: AdmissionPolicy = _USUAL_TIMES
    reservations: list[Reservation] = field(default_factory=list)
    retargeted: set[UUID] = field(default_factory=set)
    ground: Ground | None = None

    def tree(self) -> Accounts:
        """The accounts as rows."""
        return self.ground.tree if self.ground else Accounts(self.accounts)

    def pool_tree(self, pool_id: UUID) -> PoolTree | None:
        """A pool's quotas on the rows of `tree()`, if they have been worked out."""
        return self.ground.pool_tree(pool_id) if self.ground else None

    def measured(self, one: StoredAllocation) -> StoredAllocation:
        """The allocation, slow or not by the pool's target as the command leaves it."""
        if one.value.pool not in self.retargeted:
            return one
        target = self.pools[one.value.pool].pool.reclaim_target_seconds
        return replace(one, slow=one.value.reclaim_seconds > target)

    def state(self, pool_id: UUID, occupants: Sequence[Occupant] = ()) -> PoolState:
        """One pool for the domain; what is set aside counts as held by whom it is for."""
        reserved = [one for one in self.reservations if one.pool == pool_id and one.units]
        holdings = self.holdings.get(pool_id, {})
        return PoolState(
            pool=self.pools[pool_id].pool,
            quotas=self.quotas.get(pool_id, {}),
            holdings=with_reserved(holdings, reserved) if reserved else holdings,
            occupants=occupants,
        )

    def move(self, pool_id: UUID, account_id: UUID, tier: str, units: int, *, slow: bool) -> None:
        """Enter units into a holding, or take them out."""
        here = self.holdings.setdefault(pool_id, {})
        held = here.get(account_id, Holding())
        amounts = {name: getattr(held, name) for name in Holding.__dataclass_fields__}
        amounts[tier] += units
        if slow and tier != "guaranteed":
            amounts[f"slow_{tier}"] += units
        here[account_id] = Holding(**amounts)

    def gave(self, allocation_id: UUID, units: int | None = None) -> None:
        """Units of an allocation (None: all) are free: what it owes to a reservation is less."""
        for one in self.reservations:
            left = one.owed.pop(allocation_id, 0) - (units or 0)
            if units is not None and left > 0:
                one.owed[allocation_id] = left


def lock_pools(
    organization_id: UUID, *, names: Collection[str] = (), ids: Collection[UUID] = ()
) -> dict[UUID, LivePool]:
    """Lock the pools with these names or ids, always in the order of their ids."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name, capacity, unavailable, safety_margin, reclaim_target_seconds "
            "FROM quota_pool WHERE organization_id = %b "
            "AND (name = ANY(%b::text[]) OR id = ANY(%b::uuid[])) ORDER BY id FOR NO KEY UPDATE",
            (organization_id, list(names), list(ids)),
        ).fetchall()
    return {row[0]: _live_pool(*row) for row in rows}


def _live_pool(
    id_: UUID, name: str, capacity: int, unavailable: int, margin: int, target: int
) -> LivePool:
    return LivePool(
        id_,
        Pool(
            name=name,
            capacity=capacity,
            unavailable=unavailable,
            safety_margin=margin,
            reclaim_target_seconds=target,
        ),
    )


_STANDING = (
    "SELECT * FROM quota_standing(%b::uuid, %b::text[], %b::uuid[], %b::boolean, "
    "%b::timestamptz, %b::text[], %b::text[], %b::text[], %b::text)"
)


def locked_standing(
    organization_id: UUID,
    *,
    now: datetime,
    pool_names: Collection[str] = (),
    pool_ids: Collection[UUID] = (),
    account_names: Collection[str] = (),
) -> Standing:
    """Lock pools as `lock_pools` does and give what they stand at, in one round trip."""
    names = (list(account_names), [], [])
    values = (organization_id, list(pool_names), list(pool_ids), True, now, *names, None)
    return standing_from(organization_id, trips.ask(_STANDING, values), now=now)


def locked_standing_ahead(
    organization_id: UUID,
    *,
    now: datetime,
    pool_names: Collection[str],
    account_names: Collection[str],
    person_names: Collection[str],
    keys: Sequence[str],
) -> scope.Ahead:
    """The question of `locked_standing` for an admission, to be sent with the start of a
    transaction. Its memo is the ground that is known of these pools, accounts and people: what
    still holds of it is not read again."""
    known = grounds.known(
        organization_id,
        now=now,
        pool_names=pool_names,
        account_names=account_names,
        person_names=person_names,
    )
    pools = (list(pool_names), []) if known is None else ([], list(known.pools.values()))
    names = (list(account_names), list(person_names), list(keys))
    stamp = known.stamp if known else None
    values = (organization_id, *pools, True, now, *names, stamp)
    return scope.Ahead(_STANDING, values, memo=known)


def standing(
    organization_id: UUID,
    pools: dict[UUID, LivePool],
    *,
    now: datetime,
    account_names: Collection[str] = (),
    person_names: Collection[str] = (),
    keys: Collection[str] = (),
) -> Standing:
    """Quotas in force at `now`, holdings as recorded, and the accounts they and the names are of.
    One statement, whatever the number of pools and accounts."""
    names = (list(account_names), list(person_names), list(keys))
    rows = trips.ask(_STANDING, (organization_id, [], list(pools), False, now, *names, None))
    return standing_from(organization_id, rows, now=now, pools=pools)


def standing_on_ground(
    organization_id: UUID, pools: dict[UUID, LivePool], *, now: datetime
) -> Standing:
    """As `standing`, of pools that are locked: what is known of them is not read again."""
    names = [one.pool.name for one in pools.values()]
    known = grounds.known(organization_id, now=now, pool_names=names)
    stamp = known.stamp if known else None
    rows = trips.ask(_STANDING, (organization_id, [], list(pools), False, now, [], [], [], stamp))
    return standing_from(organization_id, rows, now=now, pools=pools, known=known, is_kept=True)


def standing_from(
    organization_id: UUID,
    rows: Sequence[tuple],
    *,
    now: datetime,
    pools: Mapping[UUID, LivePool] | None = None,
    known: Ground | None = None,
    is_kept: bool = False,
) -> Standing:
    """Sort the rows of `quota_standing` by their kind.

    Args:
        pools: the ones known before.
        known: the ground that was asked with.
        is_kept: keep the ground that is found.
    """
    accounts: dict[UUID, UUID | None] = {}
    names: dict[UUID, str] = {}
    closed: set[UUID] = set()
    quotas: dict[UUID, dict[UUID, Quota]] = {}
    people: dict[str, UUID] = {}
    found = Standing(
        pools=dict(pools or {}),
        accounts=accounts,
        names=names,
        closed=closed,
        quotas=quotas,
        people=people,
    )
    found.reservations = reservations.read(row for row in rows if row[0] in "Rro")
    is_due, holds, stamp, ends_at = False, False, None, None
    for kind, first, second, name, at, *amounts in rows:
        if kind == "a":
            accounts[first] = second
            names[first] = name
            if at is not None:
                closed.add(first)
        elif kind == "q":
            if at is not None:
                is_due |= at <= now
                ends_at = at if ends_at is None else min(at, ends_at)
            guaranteed, borrowing, lending = amounts[:3]
            quotas.setdefault(first, {})[second] = Quota(
                guaranteed=guaranteed, borrowing_limit=borrowing, lending_limit=lending
            )
        elif kind == "h":
            found.holdings.setdefault(first, {})[second] = _holding(*amounts)
        elif kind == "P":
            if first not in found.pools:
                found.pools[first] = _live_pool(first, name, *amounts[:4])
        elif kind == "p":
            people[name] = first
        elif kind == "d":
            is_due = True
        elif kind == "l":
            found.has_lapses = True
        elif kind == "k":
            found.has_known_keys = True
        elif kind == "t":
            found.policy = policy_of(amounts[:4])
        elif kind == "s":
            stamp, holds = name, bool(amounts[0])
    _check_names(organization_id, found, known)
    if is_due:
        found.quotas = _settled(organization_id, found.pools, now)
    elif known is not None and holds:
        _stand_on(organization_id, found, known)
    elif is_kept and stamp is not None:
        _stand_on(organization_id, found, grounds.keep(organization_id, stamp, found, ends_at))
    return found


def _check_names(organization_id: UUID, found: Standing, known: Ground | None) -> None:
    """No event gives a pool another name; a rebuild of what was tampered with may.

    Raises:
        SerializationFailure: it did. The command is run again, and asks by name.
    """
    if known and known.pools.keys() != {one.pool.name for one in found.pools.values()}:
        grounds.forget(organization_id, known)
        raise psycopg.errors.SerializationFailure("pools are not those that their names meant")


def _stand_on(organization_id: UUID, found: Standing, known: Ground) -> None:
    """Take from the ground what was not read again."""
    found.accounts, found.names, found.closed = known.accounts, known.names, known.closed
    found.people, found.quotas, found.policy = known.people, known.quotas, known.policy
    accounts = known.accounts
    missing = {one for held in found.holdings.values() for one in held if one not in accounts}
    if missing:
        # Somebody without a quota holds something since; nobody has asked for them here before.
        rows = _with_all_above(organization_id, missing)
        found.accounts = {**accounts, **{row[0]: row[1] for row in rows}}
        found.names = {**known.names, **{row[0]: row[2] for row in rows}}
        found.closed = {*known.closed, *(row[0] for row in rows if row[3])}
    else:
        found.ground = known


def _with_all_above(organization_id: UUID, accounts: Collection[UUID]) -> list[tuple]:
    """Id, parent, name, and whether archived, of accounts and of all above them."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT id, parent_id, name, archived_at IS NOT NULL FROM tenancy_account "
            "WHERE organization_id = %b AND id IN (SELECT unnest(ancestors) FROM tenancy_account "
            "WHERE organization_id = %b AND id = ANY(%b::uuid[]))",
            (organization_id, organization_id, list(accounts)),
        ).fetchall()


def _holding(
    guaranteed: int, borrowed: int, spot: int, slow_borrowed: int, slow_spot: int
) -> Holding:
    return Holding(
        guaranteed=guaranteed,
        borrowed=borrowed,
        spot=spot,
        slow_borrowed=slow_borrowed,
        slow_spot=slow_spot,
    )


def policy_of(row: Sequence[int]) -> AdmissionPolicy:
    """The times in the order of the table's columns."""
    hold, lease, heartbeat, interactive = row
    return AdmissionPolicy(
        hold_seconds=hold,
        lease_seconds=lease,
        heartbeat_seconds=heartbeat,
        interactive_seconds_max=interactive,
    )


def admission_policy(organization_id: UUID) -> AdmissionPolicy:
    """The organization's times, the defaults where it has set none."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT hold_seconds, lease_seconds, heartbeat_seconds, interactive_seconds_max "
            "FROM quota_admissionpolicy WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    return policy_of(row) if row else AdmissionPolicy()


def _settled(
    organization_id: UUID, pools: dict[UUID, LivePool], now: datetime
) -> dict[UUID, dict[UUID, Quota]]:
    """Quotas with what has fallen due and is not recorded yet."""
    values = {pool_id: one.pool for pool_id, one in pools.items()}
    books = quota_loading.books(organization_id, values, quota_loading.Paths(organization_id))
    pending = quota_loading.scheduled(organization_id, pools, until=now)
    for pool_id, book in books.items():
        book.settle(pending.get(pool_id, ()), now=now)
    return {
        pool_id: {account: cell.quota for account, cell in book.cells.items()}
        for pool_id, book in books.items()
    }
