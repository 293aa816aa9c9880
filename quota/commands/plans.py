"""Make flavors, pools, tree and quotas as a plan says, whole or not at all."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota import events
from quota.commands.pools import (
    RECLAIM_SECONDS_MAX,
    UNITS_MAX,
    OpenPool,
    check_free,
    check_range,
    checked_weight,
    record_pool,
)
from quota.commands.reclassifying import reclassify
from quota.domain import promise
from quota.domain.changes import QuotaBook
from quota.domain.values import NO_QUOTA, Pool, Quota
from quota.importers.plan import PoolEntry, QuotaPlan
from quota.in_use import units_in_use
from quota.queries.standing import Cells, Ground, Node, nodes_of, stand
from quota.recording import Books, check_reason, open_books, record
from tenancy import events as tenancy
from tenancy.commands.imports import ImportTree, import_tree
from tenancy.domain.roles import POOL_WRITE
from tenancy.domain.tree import check_name
from tenancy.loading import lock_tree

LISTED_MAX = 500
_SIZES = {
    "capacity": events.PoolResized,
    "unavailable": events.PoolUnavailableSet,
    "safety_margin": events.PoolMarginSet,
    "reclaim_target_seconds": events.PoolReclaimTargetSet,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyQuotaPlan:
    """What the plan does not name stays.

    Attributes:
        prune: quotas of the plan's pools that it does not name are taken away.
        accept_over_promise: let a pool shrink although guarantees no longer fit.
    """

    plan: QuotaPlan
    prune: bool = False
    accept_over_promise: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """One change as a list shows it."""

    kind: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """An account that may get more or less of a pool than before, in units."""

    account: str
    pool: str
    available_before: int
    available_after: int
    potential_before: int
    potential_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanApplied:
    """What changed, and for whom. Lists hold the first LISTED_MAX; counts are of all."""

    counts: dict[str, int]
    changes: tuple[PlanChange, ...]
    affected: tuple[Affected, ...]
    affected_count: int


@handles(ApplyQuotaPlan, permission=POOL_WRITE)
def apply_quota_plan(command: ApplyQuotaPlan, unit: Unit) -> PlanApplied:
    """Compare under lock, check every rule on what comes out in the end, record it all.

    Who may change pools may change the tree as well: both are the operator's, on the root.
    """
    check_reason(unit)
    lock_tree(unit)
    applying = _Applying(command, unit)
    before = applying.ground()
    applying.flavors_and_pools()
    applying.tree()
    applying.quotas()
    applying.tiers()
    affected, count = _affected(before, applying.ground())
    return PlanApplied(
        counts=dict(applying.counts),
        changes=tuple(applying.changes[:LISTED_MAX]),
        affected=affected,
        affected_count=count,
    )


@dataclass(slots=True)
class _Known:
    id: UUID
    flavor: str
    cluster: str


@dataclass(slots=True)
class _Applying:
    command: ApplyQuotaPlan
    unit: Unit
    counts: Counter[str] = field(default_factory=Counter)
    changes: list[PlanChange] = field(default_factory=list)
    nodes: dict[UUID, Node] = field(default_factory=dict)
    books: Books = field(init=False)
    known_flavors: dict[str, tuple[UUID, Decimal]] = field(init=False)
    known_pools: dict[str, _Known] = field(init=False)
    sizes_before: dict[UUID, Pool] = field(default_factory=dict)
    use: dict[tuple[UUID, UUID], int] = field(init=False)

    def __post_init__(self) -> None:
        plan, unit = self.command.plan, self.unit
        self.known_flavors, self.known_pools = _load(unit.organization_id)
        wanted = [
            self.known_pools[name].id for name in self._pool_names() if name in self.known_pools
        ]
        # A tree that changes asks for all pools (quota.tree_guard): all at once, in one order.
        self.books = open_books(unit, None if plan.tree.accounts else wanted, tree_is_locked=True)
        self.nodes = {node[0]: node for node in nodes_of(unit.organization_id)}
        self.use = units_in_use(unit.organization_id, self.books.of, now=unit.now)

    def _pool_names(self) -> list[str]:
        plan = self.command.plan
        names = [*(one.name for one in plan.pools), *(one.pool for one in plan.quotas)]
        return list(dict.fromkeys(names))

    def ground(self) -> Ground:
        """Everybody in every pool, as things stand after the changes so far."""
        nodes = list(self.nodes.values())
        cells = Cells.none({node[0]: row for row, node in enumerate(nodes)}, len(self.books.of))
        for column, book in enumerate(self.books.of.values()):
            cells.fill(column, book)
        pools = {pool_id: book.pool for pool_id, book in self.books.of.items()}
        return stand(nodes, pools, cells, self.use)

    def note(self, kind: str, name: str, detail: str) -> None:
        self.counts[kind] += 1
        self.changes.append(PlanChange(kind=kind, name=name, detail=detail))

    def flavors_and_pools(self) -> None:
        for entry in self.command.plan.flavors:
            if entry.name not in self.known_flavors:
                self._define(entry.name, Decimal(1) if entry.weight is None else entry.weight)
                continue
            flavor_id, weight = self.known_flavors[entry.name]
            if entry.weight is not None and entry.weight != weight:
                self.unit.record(
                    events.FlavorWeightSet(flavor_id=flavor_id, weight=checked_weight(entry.weight))
                )
                self.note("flavors weighed", entry.name, f"{weight:f} -> {entry.weight:f}")
        for pool in self.command.plan.pools:
            if pool.name in self.known_pools:
                self._resize(pool, self.known_pools[pool.name])
            else:
                self._open(pool)

    def _define(self, name: str, weight: Decimal) -> None:
        check_name(name, field="flavor")
        check_free("quota_flavor", name, self.unit)
        flavor_id = self.unit.new_id()
        self.unit.record(
            events.FlavorDefined(flavor_id=flavor_id, name=name, weight=checked_weight(weight))
        )
        self.known_flavors[name] = (flavor_id, weight)
        self.note("flavors defined", name, f"weight {weight:f}")

    def _open(self, entry: PoolEntry) -> None:
        new = entry.if_new
        flavor = entry.flavor or (new.flavor if new else None)
        cluster = entry.cluster or (new.cluster if new else None)
        capacity = new.capacity if entry.capacity is None and new else entry.capacity
        if flavor is None or cluster is None or capacity is None:
            raise Invalid(
                "pool_incomplete",
                f"There is no pool {entry.name}. To open it, say its flavor, cluster and capacity.",
                field="pools",
                facts={"pool": entry.name},
            )
        if flavor not in self.known_flavors:
            if new is None:
                raise NotFound(
                    "flavor_unknown",
                    f"There is no flavor {flavor}. Define it under `flavors`.",
                    field="flavors",
                    facts={"flavor": flavor},
                )
            self._define(flavor, Decimal(1))
        given = {name: getattr(entry, name) for name in _SIZES if name != "capacity"}
        sizes = {"capacity": capacity, **{n: v for n, v in given.items() if v is not None}}
        made = record_pool(
            OpenPool(
                name=entry.name, flavor_id=self.known_flavors[flavor][0], cluster=cluster, **sizes
            ),
            self.unit,
        )
        self.known_pools[entry.name] = _Known(made.pool_id, flavor, cluster)
        pool = Pool(name=entry.name, **sizes)
        self.books.of[made.pool_id] = QuotaBook(pool=pool, cells={}, path=self.books.paths)
        self.books.pending[made.pool_id] = []
        self.note("pools opened", entry.name, f"{capacity} units of {flavor} in {cluster}")

    def _resize(self, entry: PoolEntry, known: _Known) -> None:
        for name in ("flavor", "cluster"):
            wanted, has = getattr(entry, name), getattr(known, name)
            if wanted is not None and wanted != has:
                raise Refused(
                    "pool_fixed",
                    f"Pool {entry.name} has {name} {has}, not {wanted}; that cannot change. Open "
                    "another pool.",
                    field="pools",
                    facts={"pool": entry.name, name: has},
                )
        book = self.books.of[known.id]
        self.sizes_before[known.id] = book.pool
        for name, event in _SIZES.items():
            value, has = getattr(entry, name), getattr(book.pool, name)
            if value is None or value == has:
                continue
            maximum = RECLAIM_SECONDS_MAX if name == "reclaim_target_seconds" else UNITS_MAX
            check_range(name, value, maximum)
            self.unit.record(event(pool_id=known.id, **{name: value}))
            book.pool = replace(book.pool, **{name: value})
            self.note("pools changed", entry.name, f"{name} {has} -> {value}")

    def tree(self) -> None:
        plan = self.command.plan
        if not plan.tree.accounts:
            return
        shares = _shares(self.unit.organization_id)
        wanted = replace(
            plan.tree,
            accounts=tuple(
                one
                if one.name in plan.shares_given or one.name not in shares
                else replace(one, shares=shares[one.name])
                for one in plan.tree.accounts
            ),
        )
        start = len(self.unit.recorded)
        imported = import_tree(ImportTree(wanted=wanted), self.unit)
        self.counts.update(imported.counts)
        self.changes += [
            PlanChange(kind=one.kind, name=one.name, detail=one.detail) for one in imported.changes
        ]
        for event in self.unit.recorded[start:]:
            self._follow(event.data)

    def _follow(self, data: Any) -> None:
        """Keep `nodes` as the tree will be. Depths do not matter here."""
        match data:
            case tenancy.AccountOpened():
                self.nodes[data.account_id] = (data.account_id, data.name, data.parent_id, 0, False)
            case tenancy.AccountMoved():
                account, name, _, depth, archived = self.nodes[data.account_id]
                self.nodes[account] = (account, name, data.to_parent_id, depth, archived)

    def tiers(self) -> None:
        """Who falls and rises in what has become of all this."""
        self.books.parents = {node[0]: node[2] for node in self.nodes.values()}
        reclassify(self.unit, self.books)

    def quotas(self) -> None:
        wanted: dict[str, dict[UUID, Quota]] = {name: {} for name in self._pool_names()}
        accounts = {node[1]: node for node in self.nodes.values()}
        for entry in self.command.plan.quotas:
            node = accounts.get(entry.account)
            if node is None:
                raise NotFound(
                    "account_unknown",
                    f"There is no account {entry.account}.",
                    field="quotas",
                    facts={"account": entry.account},
                )
            if node[4]:
                raise Refused(
                    "account_archived",
                    f"{entry.account} is archived and takes no new quota.",
                    field="quotas",
                    facts={"account": entry.account},
                )
            wanted[entry.pool][node[0]] = entry.quota
        for name, quotas in wanted.items():
            if name not in self.known_pools:
                raise NotFound(
                    "pool_unknown",
                    f"There is no pool {name}. Open it under `pools`.",
                    field="quotas",
                    facts={"pool": name},
                )
            self._set(self.known_pools[name].id, quotas)

    def _set(self, pool_id: UUID, quotas: dict[UUID, Quota]) -> None:
        book = self.books.of[pool_id]
        if self.command.prune:
            quotas = {
                **{one: NO_QUOTA for one, c in book.cells.items() if c.base != NO_QUOTA},
                **quotas,
            }
        changes = book.set_all(quotas, at=self.unit.now)
        before = self.sizes_before.get(pool_id, book.pool)
        promise.resize_pool(
            before=before,
            after=book.pool,
            guarantees=book.guarantees(),
            accept_over_promise=self.command.accept_over_promise,
        )
        record(self.unit, pool_id, changes)
        for change in sorted(changes, key=lambda one: self.nodes[one.account][1]):
            self.note(
                "quotas set",
                f"{self.nodes[change.account][1]}/{book.pool.name}",
                f"{said(change.before.quota)} -> {said(change.after.quota)}",
            )


def said(quota: Quota) -> str:
    """A quota in a few characters: `60, borrow 20, lend all`."""
    borrow = "any" if quota.borrowing_limit is None else quota.borrowing_limit
    lend = "all" if quota.lending_limit is None else quota.lending_limit
    return f"{quota.guaranteed} (borrow {borrow}, lend {lend})"


def _affected(before: Ground, after: Ground) -> tuple[tuple[Affected, ...], int]:
    """Whose `available` or `potential` is another, by pool and account."""
    then = _aligned(before, after)
    now = np.stack([after.standing.available, np.maximum(0, after.tree.potential)])
    pool_names = [pool.name for pool in after.pools.values()]
    rows, columns = np.nonzero((then != now).any(axis=0))
    found = sorted(
        (pool_names[column], after.nodes[row][1], row, column)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    )
    listed = tuple(
        Affected(
            account=account,
            pool=pool,
            available_before=int(then[0, row, column]),
            available_after=int(now[0, row, column]),
            potential_before=int(then[1, row, column]),
            potential_after=int(now[1, row, column]),
        )
        for pool, account, row, column in found[:LISTED_MAX]
    )
    return listed, len(found)


def _aligned(before: Ground, after: Ground) -> np.ndarray:
    """`available` and `potential` of before in the rows and columns of after; 0 where new."""
    aligned = np.zeros((2, len(after.nodes), len(after.pools)), dtype=np.int64)
    rows = [after.row_of[node[0]] for node in before.nodes]
    column_of = {pool_id: column for column, pool_id in enumerate(after.pools)}
    columns = [column_of[pool_id] for pool_id in before.pools]
    if rows and columns:
        aligned[0][np.ix_(rows, columns)] = before.standing.available
        aligned[1][np.ix_(rows, columns)] = np.maximum(0, before.tree.potential)
    return aligned


def _load(
    organization_id: UUID,
) -> tuple[dict[str, tuple[UUID, Decimal]], dict[str, _Known]]:
    """Flavors and pools by name. The tree's lock, taken alone, keeps other plans out."""
    with server_cursor() as cursor:
        flavors = cursor.execute(
            "SELECT name, id, weight FROM quota_flavor WHERE organization_id = %b",
            (organization_id,),
        ).fetchall()
        pools = cursor.execute(
            "SELECT p.name, p.id, f.name, p.cluster FROM quota_pool p JOIN quota_flavor f "
            "ON f.organization_id = p.organization_id AND f.id = p.flavor_id "
            "WHERE p.organization_id = %b",
            (organization_id,),
        ).fetchall()
    return {row[0]: row[1:] for row in flavors}, {row[0]: _Known(*row[1:]) for row in pools}


def _shares(organization_id: UUID) -> dict[str, int | None]:
    with server_cursor() as cursor:
        rows: Iterable[tuple[str, int | None]] = cursor.execute(
            "SELECT name, shares FROM tenancy_account WHERE organization_id = %b",
            (organization_id,),
        ).fetchall()
    return dict(rows)
