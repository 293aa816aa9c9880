"""Plans that are over: confirmed, cancelled, or not settled by anybody in their time."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from ledger.errors import Denied, NotFound, Refused
from ledger.execution import Unit, handles
from preemption import loading, wire
from preemption import plans as stored_plans
from preemption.events import PlanSettled
from preemption.plans import StoredPlan
from quota.commands.taking_back import PoolInHand
from tenancy.domain.roles import SYSTEM_ONLY, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmPlan:
    """The units are there. What is set aside waits for the job's admission as long as a hold."""

    plan_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelPlan:
    """Nobody needs the units any more: what was not taken is not, what was is everybody's."""

    plan_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LapsePlans:
    """Settle what is over in a pool: for those that nobody asks about."""

    pool_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansLapsed:
    """How many there were."""

    plans: int


@handles(ConfirmPlan, permission=Scope.PREEMPTION_WRITE)
def confirm_plan(command: ConfirmPlan, unit: Unit) -> wire.PreemptionSettled:
    """Refused while actions are open: nobody knows then what the scheduler will still take."""
    pool, plan = open_plan(unit, command.plan_id)
    if plan.state != "open":
        return _already(unit, pool, plan, "confirmed")
    if plan.open_actions:
        raise Refused(
            "plan_actions_open",
            "Report what became of every action first, or cancel the plan.",
            facts={"open": len(plan.open_actions)},
        )
    if pool.is_set_aside(plan.id):
        hold = timedelta(seconds=pool.standing.policy.hold_seconds)
        set_aside(pool, plan, until=unit.now + hold)
    return _settle(unit, pool, plan, "confirmed")


@handles(CancelPlan, permission=Scope.PREEMPTION_WRITE)
def cancel_plan(command: CancelPlan, unit: Unit) -> wire.PreemptionSettled:
    """What was not reported as done gives its budgets back."""
    pool, plan = open_plan(unit, command.plan_id)
    if plan.state != "open":
        return _already(unit, pool, plan, "cancelled")
    if pool.is_set_aside(plan.id):
        pool.release(plan.id, why="released")
    return _settle(unit, pool, plan, "cancelled")


@handles(LapsePlans, permission=SYSTEM_ONLY)
def lapse_plans(command: LapsePlans, unit: Unit) -> PlansLapsed:
    """Lock, settle what is over; units that were set aside and not fetched are free as well."""
    pool = PoolInHand(unit, pool_id=command.pool_id)
    over, _ = settle_lapsed(unit, pool)
    pool.record()
    return PlansLapsed(plans=len(over))


def open_plan(unit: Unit, plan_id: UUID) -> tuple[PoolInHand, StoredPlan]:
    """The plan under the lock of its pool, judged now; what lapsed in the pool is settled.

    Raises:
        NotFound: there is none. Denied: the token is bound to other pools.
    """
    here = unit.organization_id
    found = loading.plan(here, plan_id)
    if found is None:
        raise NotFound("plan_unknown", "There is no such plan.", field="plan")
    allowed = unit.actor.pool_ids
    if allowed is not None and found.pool_id not in allowed:
        raise Denied("pool_denied", "This token may not take units of the plan's pool.")
    ids = [action.allocation_id for action in found.actions]
    pool = PoolInHand(unit, pool_id=found.pool_id, allocation_ids=ids)
    over, _ = settle_lapsed(unit, pool)
    plan = loading.plan(here, plan_id)  # as it is under the lock
    if plan is None:
        raise AssertionError("plans are never removed")
    return pool, plan.judged(unit.now) if plan_id in over else plan


def settle_lapsed(unit: Unit, pool: PoolInHand) -> tuple[list[UUID], list[StoredPlan]]:
    """Settle the plans of a locked pool whose time is over. Returns their ids, and the plans that
    are open still. Units set aside for them have lapsed with them."""
    over, still = [], []
    for plan in loading.open_plans(unit.organization_id, pool.pool_id):
        judged = plan.judged(unit.now)
        if judged.state == "open":
            still.append(plan)
            continue
        over.append(plan.id)
        record_end(unit, plan, judged.state)
    return over, still


def end(unit: Unit, pool: PoolInHand, plan: StoredPlan, how: str) -> None:
    """Settle an open plan, and keep nothing for it."""
    if pool.is_set_aside(plan.id):
        pool.release(plan.id, why="released")
    record_end(unit, plan, how)


def record_end(unit: Unit, plan: StoredPlan, how: str) -> None:
    """Say that the plan is over, as of now or of the end of its time."""
    at = min(unit.now, plan.until)
    unit.record(
        PlanSettled(
            plan_id=plan.id,
            pool_id=plan.pool_id,
            account_id=plan.account_id,
            how=how,
            called_off=len(plan.open_actions),
        ),
        occurred_at=at,
    )


def set_aside(pool: PoolInHand, plan: StoredPlan, *, until) -> None:
    """What the plan's actions give, or have given, is kept for its job."""
    pool.set_aside(
        plan.id,
        account_id=plan.account_id,
        key=plan.key,
        tier=plan.tier,
        reclaim_seconds=plan.reclaim_seconds,
        units=plan.units,
        free_units=plan.free_units,
        until=until,
        claims=plan.claims,
    )


def _settle(unit: Unit, pool: PoolInHand, plan: StoredPlan, how: str) -> wire.PreemptionSettled:
    record_end(unit, plan, how)
    pool.record()
    return _answer(unit, plan.settled(how, at=unit.now), changed=True)


def _already(unit: Unit, pool: PoolInHand, plan: StoredPlan, wanted: str) -> wire.PreemptionSettled:
    """The same again changes nothing; anything else comes too late.

    Raises:
        Refused: `plan_settled`. What had lapsed is recorded by whoever asks next, or the task.
    """
    if plan.state != wanted:
        raise Refused(
            "plan_settled",
            f"The plan is over: {plan.state}.",
            facts={"state": plan.state},
        )
    pool.record()
    return _answer(unit, plan, changed=False)


def _answer(unit: Unit, plan: StoredPlan, *, changed: bool) -> wire.PreemptionSettled:
    pools, accounts = loading.names(unit.organization_id, [plan])
    return wire.PreemptionSettled(
        at=unit.now,
        changed=changed,
        plan=stored_plans.view(plan, pools=pools, accounts=accounts),
    )
