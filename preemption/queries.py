"""Typed reads of plans, bounded and paged. All run inside `scope.reading`, judged at `now`."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor
from preemption import loading
from preemption.domain.budgets import Budgets
from preemption.plans import StoredPlan
from quota.queries.pools import pools_with_weights

LIST_MAX = 200
ACTIONS_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGauge:
    """A pool's budget now: units used in the window that ends now, of the limit."""

    pool_id: UUID
    pool: str
    capacity: int
    used: int
    limit: int
    window_seconds: int
    open_plans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """Units that were taken."""

    at: datetime
    plan_id: UUID
    pool: str
    account_id: UUID
    account: str
    job: str
    by_account_id: UUID
    by_account: str
    by_job: str
    step: str
    mode: str
    units: int
    tax: Decimal
    tax_reported: Decimal | None
    override: bool


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


def gauges(organization_id: UUID, *, now: datetime) -> list[PoolGauge]:
    """Every pool's budget as a plan made now would find it."""
    policy = loading.policy(organization_id).budgets
    with server_cursor() as cursor:
        counts = dict(
            cursor.execute(
                "SELECT pool_id, count(*) FROM preemption_plan WHERE organization_id = %b "
                "AND state = 'open' AND until > %b GROUP BY pool_id",
                (organization_id, now),
            ).fetchall()
        )
    found = []
    for pool in pools_with_weights(organization_id):
        history = loading.history(organization_id, pool.id, now=now, budgets=policy)
        budgets = Budgets(policy, capacity=pool.capacity, history=history)
        found.append(
            PoolGauge(
                pool_id=pool.id,
                pool=pool.name,
                capacity=pool.capacity,
                used=budgets.pool.used(now),
                limit=budgets.pool.limit,
                window_seconds=policy.pool_window_seconds,
                open_plans=counts.get(pool.id, 0),
            )
        )
    return found


_ACTIONS = """
SELECT a.at, a.plan_id, q.name, v.id, v.name, a.key, b.id, b.name, p.key, a.step, a.mode, a.given,
    a.tax, a.tax_reported, p.override
FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
JOIN quota_pool q ON q.organization_id = a.organization_id AND q.id = a.pool_id
JOIN tenancy_account v ON v.organization_id = a.organization_id AND v.id = a.account_id
JOIN tenancy_account b ON b.organization_id = a.organization_id AND b.id = p.account_id
WHERE a.organization_id = %b AND a.state = 'done' AND a.at > %b
    AND (%b::uuid[] IS NULL OR a.account_id = ANY(%b::uuid[])
        OR (%b::boolean AND p.account_id = ANY(%b::uuid[])))
ORDER BY a.at DESC, a.plan_id, a.ordinal LIMIT %b
"""


def recent_actions(
    organization_id: UUID,
    *,
    now: datetime,
    days: int = 30,
    accounts: Collection[UUID] | None = None,
    either_side: bool = True,
    limit: int = ACTIONS_MAX,
) -> list[ActionRow]:
    """What was taken, the latest first.

    Args:
        accounts: from one of these or for one of them; None: all.
        either_side: False: only what was taken from them.
    """
    among = None if accounts is None else list(accounts)
    since = now - timedelta(days=days)
    values = (organization_id, since, among, among, either_side, among, limit)
    with server_cursor() as cursor:
        rows = cursor.execute(_ACTIONS, values).fetchall()
    names = tuple(ActionRow.__dataclass_fields__)
    return [ActionRow(**dict(zip(names, row, strict=True))) for row in rows]
