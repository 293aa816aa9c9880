"""Typed reads of plans, bounded and paged. All run inside `scope.reading`, judged at `now`."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.sql import server_cursor
from preemption import loading
from preemption.domain.budgets import BudgetPolicy
from preemption.loading import Drawn
from preemption.plans import StoredPlan
from quota.loading.allocations import account_names
from quota.queries.pools import PoolRow, pools_with_weights

LIST_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGauge:
    """A pool's budget now, over the window that ends now.

    Attributes:
        taken, planned: units that were taken in it, and those of open plans that nobody reported
            yet; together they are `used` of the `limit`.
        frees_at: when the first of what was taken leaves the window.
    """

    pool_id: UUID
    pool: str
    capacity: int
    taken: int
    planned: int
    limit: int
    window_seconds: int
    open_plans: int
    frees_at: datetime | None

    @property
    def used(self) -> int:
        return self.taken + self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedGauge:
    """Allocations taken in 24 hours for an account's jobs that rose by waiting, of the limit."""

    account_id: UUID
    account: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """Budgets now. `aged`: of accounts that have drawn on theirs, who drew most first."""

    pools: tuple[PoolGauge, ...]
    aged: tuple[AgedGauge, ...]


def plan(organization_id: UUID, plan_id: UUID, *, now: datetime) -> StoredPlan | None:
    """One plan, as it is now."""
    found = loading.plan(organization_id, plan_id)
    return None if found is None else found.judged(now)


def plans(
    organization_id: UUID,
    *,
    now: datetime,
    is_open: bool | None = None,
    accounts: Collection[UUID] | None = None,
    pool_ids: Collection[UUID] | None = None,
    before: UUID | None = None,
    limit: int = LIST_MAX,
) -> list[StoredPlan]:
    """Plans, the newest first.

    Args:
        is_open: open now, or over now; None: all.
        accounts: asked by one of these or taking from one; None: of all.
        pool_ids: in one of these; None: in all.
        before: the last plan of the page before.
    """
    where, values = ["true"], []
    if is_open is not None:
        where.append(f"{'' if is_open else 'NOT'} (state = 'open' AND until > %b)")
        values.append(now)
    if accounts is not None:
        where.append(
            "(account_id = ANY(%b::uuid[]) OR EXISTS (SELECT 1 FROM preemption_action a "
            "WHERE a.organization_id = preemption_plan.organization_id "
            "AND a.plan_id = preemption_plan.id AND a.account_id = ANY(%b::uuid[])))"
        )
        values += [list(accounts)] * 2
    if pool_ids is not None:
        where.append("pool_id = ANY(%b::uuid[])")
        values.append(list(pool_ids))
    if before is not None:
        where.append("id < %b")
        values.append(before)
    values.append(min(limit, LIST_MAX))
    condition = f"{' AND '.join(where)} ORDER BY id DESC LIMIT %b"
    found = loading.plans(organization_id, condition, tuple(values))
    return [one.judged(now) for one in found]


def gauges(organization_id: UUID, *, now: datetime) -> Gauges:
    """Every budget as a plan made now would find it, in a constant number of questions."""
    policy = loading.policy(organization_id).budgets
    with server_cursor() as cursor:
        counts = dict(
            cursor.execute(
                "SELECT pool_id, count(*) FROM preemption_plan WHERE organization_id = %b "
                "AND state = 'open' AND until > %b GROUP BY pool_id",
                (organization_id, now),
            ).fetchall()
        )
    drawn = loading.drawn(organization_id, now=now, budgets=policy)
    by_pool: dict[UUID, list[Drawn]] = {}
    for one in drawn:
        by_pool.setdefault(one.pool_id, []).append(one)
    pools = tuple(
        _gauge(pool, by_pool.get(pool.id, ()), policy, now=now, open_plans=counts.get(pool.id, 0))
        for pool in pools_with_weights(organization_id)
    )
    aged = Counter(
        one.taken.by_account
        for one in drawn
        if one.taken.by_aged and one.taken.at > now - timedelta(days=1)
    )
    found = [(account, used) for account, used in aged.items() if isinstance(account, UUID)]
    names = account_names(organization_id, [account for account, _ in found])
    return Gauges(
        pools=pools,
        aged=tuple(
            AgedGauge(
                account_id=account, account=names[account], used=used, limit=policy.aged_per_day
            )
            for account, used in sorted(found, key=lambda one: (-one[1], names[one[0]]))
        ),
    )


def _gauge(
    pool: PoolRow, drawn: Sequence[Drawn], policy: BudgetPolicy, *, now: datetime, open_plans: int
) -> PoolGauge:
    window = timedelta(seconds=policy.pool_window_seconds)
    inside = [one for one in drawn if one.taken.at > now - window]
    reported = [one.taken for one in inside if not one.is_open]
    return PoolGauge(
        pool_id=pool.id,
        pool=pool.name,
        capacity=pool.capacity,
        taken=sum(one.units for one in reported),
        planned=sum(one.taken.units for one in inside if one.is_open),
        limit=policy.pool_units(pool.capacity),
        window_seconds=policy.pool_window_seconds,
        open_plans=open_plans,
        frees_at=min((one.at + window for one in reported), default=None),
    )
