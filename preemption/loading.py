"""What plans are decided on, read into values of the domain. Inside a command the pool is locked,
and the organization's budgets are (`lock_budgets`)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from uuid import UUID

from accounting.domain import rating
from accounting.queries import rates
from ledger.sql import server_cursor
from preemption.domain import elsewhere
from preemption.domain.budgets import DEFAULT_POLICY, BudgetPolicy, Preempted
from preemption.domain.values import NO_BORROWING, Borrowing
from preemption.plans import StoredAction, StoredPlan
from quota.loading.allocations import account_names, pool_names
from quota.queries import standing, taking

PLAN_SECONDS_DEFAULT = 900
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What an organization has set. `plan_seconds`: after which an unconfirmed plan lapses."""

    budgets: BudgetPolicy = DEFAULT_POLICY
    plan_seconds: int = PLAN_SECONDS_DEFAULT


def lock_budgets(organization_id: UUID) -> None:
    """Let one plan of an organization be decided at a time: some budgets count over all its pools.
    Comes after the lock of the pool; nobody who holds this one waits for a pool."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"preemption:{organization_id}",),
        )


def policy(organization_id: UUID) -> Policy:
    """The organization's budgets, the defaults where it has set none."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT pool_share, pool_window_seconds, job_window_seconds, aged_per_day, "
            "cooldown_seconds, min_run_seconds, plan_seconds FROM preemption_policy "
            "WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    if row is None:
        return Policy()
    share, window, job, aged, cooldown, min_run, plan_seconds = row
    return Policy(
        budgets=BudgetPolicy(
            pool_share=Fraction(share),
            pool_window_seconds=window,
            job_window_seconds=job,
            aged_per_day=aged,
            cooldown_seconds=cooldown,
            min_run_seconds=min_run,
        ),
        plan_seconds=plan_seconds,
    )


_PLAN = (
    *("id", "pool_id", "account_id", "key", "units", "priority_class", "tier", "deadline", "aged"),
    *("reclaim_seconds", "override", "reason", "made_by", "made_at", "until", "ready_at"),
    *("meets_deadline", "returns_guarantee", "within_target", "free_units", "pool_used"),
    *("pool_limit", "price", "tax", "wanted", "min_units", "state", "settled_at", "used_at"),
)
_ACTION = (
    *("allocation_id", "account_id", "key", "attempt", "step", "mode", "units", "left"),
    *("grace_seconds", "returns_at", "tax", "state", "given", "at", "late", "tax_reported"),
    "detail",
)
_ACTION_NAMES = ", ".join("remains" if name == "left" else name for name in _ACTION)


def plans(organization_id: UUID, where: str, values: tuple) -> list[StoredPlan]:
    """Plans by a condition that may also order and limit them, with their actions."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {', '.join(_PLAN)} FROM preemption_plan "
            f"WHERE organization_id = %b AND {where}",
            (organization_id, *values),
        ).fetchall()
        found = [dict(zip(_PLAN, row, strict=True)) for row in rows]
        actions: dict[UUID, list[StoredAction]] = {}
        for plan_id, *action in cursor.execute(
            f"SELECT plan_id, {_ACTION_NAMES} FROM preemption_action "
            "WHERE organization_id = %b AND plan_id = ANY(%b::uuid[]) ORDER BY plan_id, ordinal",
            (organization_id, [one["id"] for one in found]),
        ):
            one = StoredAction(**dict(zip(_ACTION, action, strict=True)))
            actions.setdefault(plan_id, []).append(one)
    return [StoredPlan(**one, actions=tuple(actions.get(one["id"], ()))) for one in found]


def plan(organization_id: UUID, plan_id: UUID) -> StoredPlan | None:
    """One plan, as recorded."""
    found = plans(organization_id, "id = %b", (plan_id,))
    return found[0] if found else None


def open_plans(organization_id: UUID, pool_id: UUID) -> list[StoredPlan]:
    """Plans of a pool that nobody has settled, lapsed ones included."""
    return plans(
        organization_id, "pool_id = %b AND state = 'open' ORDER BY made_at, id", (pool_id,)
    )


_TAKEN = """
SELECT a.allocation_id, a.pool_id, a.key, a.state, coalesce(a.given, a.units), a.at,
    p.account_id, p.key, p.aged
FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
WHERE a.organization_id = %b AND (
    (a.state = 'open' AND p.until > %b) OR (a.state = 'done' AND a.at > %b))
"""


class Drawn(NamedTuple):
    """What budgets still see, with its pool; `is_open`: planned, and nobody has reported it."""

    pool_id: UUID
    is_open: bool
    taken: Preempted


def drawn(organization_id: UUID, *, now: datetime, budgets: BudgetPolicy) -> list[Drawn]:
    """Everything that budgets still see, in all pools.

    What is reported counts from when it happened. What is not reported yet may happen at any
    moment, so it counts as of now, up to its report or the end of its plan: so the budget holds in
    every window, both of notices and of actual ends. What schedulers preempted without any plan
    counts as well.
    """
    longest = max(budgets.pool_window_seconds, budgets.job_window_seconds, budgets.cooldown_seconds)
    since = now - max(_DAY, timedelta(seconds=longest))
    found: list[Drawn] = []
    known: set[UUID] = set()
    with server_cursor() as cursor:
        rows = cursor.execute(_TAKEN, (organization_id, now, since)).fetchall()
    for allocation_id, pool, job, state, units, at, account, by_job, aged in rows:
        known.add(allocation_id)
        is_open = state == "open"
        taken = Preempted(
            at=now if is_open else at,
            job=job,
            units=units,
            by_account=account,
            by_job=by_job,
            by_aged=aged,
        )
        found.append(Drawn(pool, is_open, taken))
    found += [
        Drawn(lost.pool_id, False, Preempted(at=lost.at, job=lost.key, units=lost.units))
        for lost in taking.lost_since(organization_id, since=since)
        if lost.id not in known
    ]
    return found


def history(
    organization_id: UUID, pool_id: UUID, *, now: datetime, budgets: BudgetPolicy
) -> list[Preempted]:
    """What the budgets of a plan see: of other pools only job and account count, not units."""
    return [
        one.taken if one.pool_id == pool_id else replace(one.taken, units=0)
        for one in drawn(organization_id, now=now, budgets=budgets)
    ]


class Checkpoint(NamedTuple):
    """When a job last saved itself, and how long it takes until it works again."""

    saved_at: datetime
    reload_seconds: int
    warm_up_seconds: int


_CHECKPOINTS = "SELECT allocation_id, saved_at, reload_seconds, warm_up_seconds "


def checkpoints(organization_id: UUID, allocation_ids: Collection[UUID]) -> dict[UUID, Checkpoint]:
    """Last checkpoints by allocation; those that never told of one are missing."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_CHECKPOINTS} FROM preemption_checkpoint "
            "WHERE organization_id = %b AND allocation_id = ANY(%b::uuid[])",
            (organization_id, list(allocation_ids)),
        ).fetchall()
    return {row[0]: Checkpoint(*row[1:]) for row in rows}


def checkpoints_in(
    organization_id: UUID, pool_id: UUID, *, now: datetime
) -> dict[UUID, Checkpoint]:
    """The same of everything that holds units of a pool at an instant."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT c.allocation_id, c.saved_at, c.reload_seconds, c.warm_up_seconds "
            "FROM preemption_checkpoint c JOIN quota_allocation a "
            "ON a.organization_id = c.organization_id AND a.id = c.allocation_id "
            "WHERE a.organization_id = %b AND a.pool_id = %b AND a.lapses_at > %b",
            (organization_id, pool_id, now),
        ).fetchall()
    return {row[0]: Checkpoint(*row[1:]) for row in rows}


def weights(organization_id: UUID, accounts: Iterable[UUID]) -> dict[UUID, Fraction]:
    """Shares of accounts as weights; one that is transparent to fair-share weighs 1."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, shares FROM tenancy_account "
            "WHERE organization_id = %b AND id = ANY(%b::uuid[]) AND shares IS NOT NULL",
            (organization_id, list(accounts)),
        ).fetchall()
    return {id_: Fraction(shares) for id_, shares in rows}


# Where all use is within its account's own guarantee, nobody borrows: such pools need not be read,
# unless they are of the same flavor and so lend to the same parents.
_OTHER_POOLS = """
SELECT q.id, q.flavor_id::text, mine.flavor_id::text FROM quota_pool q
JOIN quota_pool mine ON mine.organization_id = q.organization_id AND mine.id = %b
WHERE q.organization_id = %b AND q.id <> mine.id AND (q.flavor_id = mine.flavor_id OR q.id IN (
    SELECT h.pool_id FROM quota_holding h
    LEFT JOIN quota_quota t ON t.organization_id = h.organization_id
        AND t.account_id = h.account_id AND t.pool_id = h.pool_id
    WHERE h.organization_id = %b AND (h.borrowed > 0 OR h.guaranteed > coalesce(t.guaranteed, 0))
    UNION SELECT r.pool_id FROM quota_reservation r
    WHERE r.organization_id = %b AND r.tier = 'borrowed'))
ORDER BY q.name
"""


def borrowing_elsewhere(
    organization_id: UUID, pool_id: UUID, *, now: datetime, among: Collection[UUID]
) -> Borrowing:
    """What accounts borrow in the organization's other pools, for shares over all of them.

    Those pools are not locked: what has committed when this reads is what counts. A constant number
    of questions, however many pools and accounts there are.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(_OTHER_POOLS, (pool_id, *[organization_id] * 3)).fetchall()
    if not rows:
        return NO_BORROWING
    flavor_of = {id_: flavor for id_, flavor, _ in rows}
    there = standing.ground(organization_id, flavor_of, now=now, kept=False)
    return elsewhere.borrowing_elsewhere(
        there.tree,
        used=there.standing.used,
        own_use=there.own_use,
        keys=[node[0] for node in there.nodes],
        resources=[flavor_of[id_] for id_ in there.pool_ids],
        mine=rows[0][2],
        among=among,
    )


def unit_price(organization_id: UUID, pool_id: UUID, *, at: datetime) -> Decimal:
    """What a unit-hour of the pool's guaranteed capacity is worth at an instant, at the root
    account's grade; 0 where it is unrated."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT p.flavor_id, o.root_account_id FROM quota_pool p "
            "JOIN tenancy_organization o ON o.id = p.organization_id "
            "WHERE p.organization_id = %b AND p.id = %b",
            (organization_id, pool_id),
        ).fetchone()
    if row is None:
        return Decimal(0)
    flavor, root = row
    grade = rating.grade_at(rates.grades(organization_id, [root]), root, at)
    line = rates.rate_card(organization_id).price(at, flavor=flavor, tier="guaranteed", grade=grade)
    return Decimal(0) if line is None else line.price


def names(
    organization_id: UUID, plans_: Iterable[StoredPlan]
) -> tuple[Mapping[UUID, str], Mapping[UUID, str]]:
    """Names of pools and accounts that plans are about."""
    pools: set[UUID] = set()
    accounts: set[UUID] = set()
    for one in plans_:
        pools.add(one.pool_id)
        accounts.add(one.account_id)
        accounts.update(action.account_id for action in one.actions)
    return pool_names(organization_id, pools), account_names(organization_id, accounts)


def pools_with_lapses(organization_id: UUID, *, now: datetime) -> list[UUID]:
    """Pools in which a plan, or the time of what is set aside for one, is over."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT pool_id FROM preemption_plan "
            "WHERE organization_id = %b AND state = 'open' AND until <= %b "
            "UNION SELECT pool_id FROM quota_reservation "
            "WHERE organization_id = %b AND until <= %b ORDER BY 1",
            (organization_id, now, organization_id, now),
        ).fetchall()
    return [row[0] for row in rows]
