"""What admissions are decided on that hardly ever changes, kept by the process.

Accounts, people, quotas and the organization's times change by events of its main lane. Whoever
knows what they were at the head of that lane is told, under the lock of the pools, whether it is
the head still (`quota_standing`), and reads only what changes all the time. Nothing is ever taken
for true because it was true a while ago.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID

from quota.domain.batch import AdmissionPolicy
from quota.domain.book import Accounts
from quota.domain.column import PoolTree
from quota.domain.values import Quota

if TYPE_CHECKING:
    from quota.loading.standings import Standing

ROWS_MAX = 200_000
"""Accounts, quotas and people that a process keeps at most; the least recently used go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Values as in `Standing`, at one head of the organization's main lane. Shared: never changed.

    Attributes:
        stamp: the head.
        pools: ids by name; the pools that were asked together.
        ends_at: the first end of a temporary quota.
    """

    stamp: str
    pools: Mapping[str, UUID]
    accounts: Mapping[UUID, UUID | None]
    names: Mapping[UUID, str]
    closed: Collection[UUID]
    people: Mapping[str, UUID]
    quotas: Mapping[UUID, Mapping[UUID, Quota]]
    policy: AdmissionPolicy
    ends_at: datetime | None
    tree: Accounts
    ids: Mapping[str, UUID]
    trees: dict[UUID, PoolTree] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How much it keeps: of each account a row, and one in the tree of each pool."""
        quotas = sum(len(quotas) for quotas in self.quotas.values())
        return 1 + len(self.accounts) * (1 + len(self.pools)) + len(self.people) + quotas

    def pool_tree(self, pool_id: UUID) -> PoolTree:
        """The pool's quotas in the tree; worked out once."""
        found = self.trees.get(pool_id)
        if found is None:
            found = self.trees[pool_id] = self.tree.pool_tree(self.quotas.get(pool_id, {}))
        return found


class _Kept:
    """Grounds by organization and pools, the one used last at the end."""

    def __init__(self, rows_max: int) -> None:
        self._rows_max = rows_max
        self._rows = 0
        self._lock = Lock()
        self._grounds: OrderedDict[tuple[UUID, frozenset[str]], Ground] = OrderedDict()

    def get(self, key: tuple[UUID, frozenset[str]]) -> Ground | None:
        with self._lock:
            found = self._grounds.get(key)
            if found is not None:
                self._grounds.move_to_end(key)
            return found

    def put(self, key: tuple[UUID, frozenset[str]], ground: Ground) -> None:
        with self._lock:
            before = self._grounds.pop(key, None)
            self._rows -= before.rows if before else 0
            if ground.rows > self._rows_max:
                return  # all others would have to go, and it with them
            self._grounds[key] = ground
            self._rows += ground.rows
            while self._rows > self._rows_max:
                _, gone = self._grounds.popitem(last=False)
                self._rows -= gone.rows

    def drop(self, key: tuple[UUID, frozenset[str]]) -> None:
        with self._lock:
            gone = self._grounds.pop(key, None)
            self._rows -= gone.rows if gone else 0


_kept = _Kept(ROWS_MAX)


def known(
    organization_id: UUID,
    *,
    now: datetime,
    pool_names: Collection[str],
    account_names: Collection[str] = (),
    person_names: Collection[str] = (),
) -> Ground | None:
    """What is kept of these pools, if it has all these names in it and no quota in it has ended."""
    ground = _kept.get((organization_id, frozenset(pool_names)))
    if ground is None or (ground.ends_at is not None and ground.ends_at <= now):
        return None
    known_names = all(name in ground.ids for name in account_names) and all(
        name in ground.people for name in person_names
    )
    return ground if known_names else None


def keep(organization_id: UUID, stamp: str, found: "Standing", ends_at: datetime | None) -> Ground:
    """Keep what was read for the next one who asks these pools, and with it the accounts and people
    that were asked for before, if the head is still the same."""
    pools = {one.pool.name: id_ for id_, one in found.pools.items()}
    key = (organization_id, frozenset(pools))
    accounts, names, closed, people = found.accounts, found.names, found.closed, found.people
    before = _kept.get(key)
    if before is not None and before.stamp == stamp and before.rows < ROWS_MAX // 10:
        accounts = {**before.accounts, **accounts}
        names = {**before.names, **names}
        closed = {*before.closed, *closed}
        people = {**before.people, **people}
    ground = Ground(
        stamp=stamp,
        pools=MappingProxyType(pools),
        accounts=MappingProxyType(accounts),
        names=MappingProxyType(names),
        closed=frozenset(closed),
        people=MappingProxyType(people),
        quotas=MappingProxyType(found.quotas),
        policy=found.policy,
        ends_at=ends_at,
        tree=Accounts(dict(accounts)),
        ids={name: id_ for id_, name in names.items()},
    )
    _kept.put(key, ground)
    return ground


def forget(organization_id: UUID, ground: Ground) -> None:
    """Its names mean other pools now. By the old ones it would be found for ever."""
    _kept.drop((organization_id, frozenset(ground.pools)))
