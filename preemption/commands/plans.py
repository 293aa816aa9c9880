"""Ask for a plan: who gives units back so that a job fits, or what it must wait for."""

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from uuid import UUID

from ledger.errors import Conflict, Denied, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from preemption import loading, wire
from preemption import plans as stored_plans
from preemption.commands.settling import end, settle_lapsed
from preemption.domain import victims
from preemption.domain.values import (
    Action,
    OpenPlan,
    PlanAnswer,
    PlanRequest,
    PlanState,
    Running,
)
from preemption.events import PlanMade, PlannedAction
from preemption.plans import StoredPlan, money
from quota import allocation_words as words
from quota.commands.taking_back import PoolInHand
from quota.domain.reservation import Reservation
from quota.queries import taking
from quota.queries.taking import Holder
from quota.recording import check_reason
from quota.reservation_events import Claim
from quota.wire import BlockView
from tenancy.domain.roles import POOL_WRITE, Scope

SETTLE_SECONDS = 60
"""A plan stands at least this long after its last action is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPreemption:
    """A job needs units that others hold. Asked again for the same job, the plan that stands is
    given again; one that cannot give all its units any more is replaced."""

    ask: wire.PreemptionAsk


@dataclass(frozen=True, slots=True, kw_only=True)
class OverridePreemption:
    """The same past the budgets, with a reason. Class rules and shares hold all the same."""

    ask: wire.PreemptionAsk


@handles(PlanPreemption, permission=Scope.PREEMPTION_WRITE)
def plan_preemption(command: PlanPreemption, unit: Unit) -> wire.PreemptionAnswer:
    """Lock the pool and the budgets, settle what is over, decide, record."""
    return _Asked(unit, command.ask, override=False).answer()


@handles(OverridePreemption, permission=POOL_WRITE)
def override_preemption(command: OverridePreemption, unit: Unit) -> wire.PreemptionAnswer:
    """As `plan_preemption`, and who is asking is an operator and says why."""
    check_reason(unit)
    return _Asked(unit, command.ask, override=True).answer()


class _Asked:
    """Everything loaded for one question."""

    def __init__(self, unit: Unit, ask: wire.PreemptionAsk, *, override: bool) -> None:
        here = unit.organization_id
        self.unit, self.ask, self.override = unit, ask, override
        self.pool = PoolInHand(unit, pool=ask.pool, accounts={ask.account})
        standing = self.pool.standing
        allowed = unit.actor.pool_ids
        if allowed is not None and self.pool.pool_id not in allowed:
            raise Denied("pool_denied", f"This token may not take units of pool {ask.pool}.")
        by_name = {name: id_ for id_, name in standing.names.items()}
        account = by_name.get(ask.account)
        if account is None:
            raise NotFound(
                "account_unknown", f"There is no account {ask.account}.", field="account"
            )
        if account in standing.closed:
            raise Refused(
                "account_archived", f"The account {ask.account} is archived.", field="account"
            )
        if ask.job_class == "P0" and ask.tier in ("borrowed", "spot"):
            raise Invalid("p0_may_not_borrow", "P0 runs on its own guarantee only.", field="tier")
        self.account: UUID = account
        loading.lock_budgets(here)
        self.policy = loading.policy(here)
        _, self.open = settle_lapsed(unit, self.pool)
        self.price = loading.unit_price(here, self.pool.pool_id, at=unit.now)
        self.holders: list[Holder] = []

    def answer(self) -> wire.PreemptionAnswer:
        """The plan that stands for the job already, or what comes of asking now."""
        mine = next((one for one in self.open if one.key == self.ask.key), None)
        if mine is not None and not _is_same(mine, self.ask, self.account):
            raise Conflict(
                "plan_differs",
                "An open plan of this job asks for something else. Cancel it first.",
                field="key",
                facts={"plan": str(mine.id)},
            )
        if mine is not None and not (mine.missing_units and not mine.open_actions):
            self.pool.record()
            return self._wire(None, plan=mine, status="plan", repeated=True)
        found = victims.plan(self._state(mine), self._request(), at=self.unit.now)
        if found.outcome != "plan":
            self.pool.record()
            return self._wire(found, status=found.outcome)
        if mine is not None:
            end(self.unit, self.pool, mine, "replaced")
        if not found.actions:
            if mine is not None:
                hold = timedelta(seconds=self.pool.standing.policy.hold_seconds)
                self._keep(mine.id, found, (), until=self.unit.now + hold)
            self.pool.record()
            return self._wire(found, status="fits")
        made = self._made(found)
        self.unit.record(made)
        self._keep(made.plan_id, found, made.actions, until=made.until)
        self.pool.record()
        unit = self.unit
        plan = stored_plans.stored(made, at=unit.now, by=unit.actor.label, reason=unit.reason)
        return self._wire(found, plan=plan, status="plan")

    def _request(self) -> PlanRequest:
        ask = self.ask
        return PlanRequest(
            account=self.account,
            units=ask.units,
            priority_class=ask.job_class,
            min_units=ask.min_units,
            job=ask.key,
            tier=ask.tier,
            deadline=ask.deadline,
            aged=ask.aged,
            reclaim_seconds=ask.reclaim_seconds,
            override=self.override,
        )

    def _state(self, replaced: StoredPlan | None) -> PlanState:
        unit, pool_id = self.unit, self.pool.pool_id
        here, standing = unit.organization_id, self.pool.standing
        self.holders = taking.holders(here, pool_id, now=unit.now)
        saved = loading.checkpoints_in(here, pool_id, now=unit.now)
        ending = _ending([one for one in self.open if one is not replaced], standing.reservations)
        return PlanState(
            pool=standing.pools[pool_id].pool,
            accounts=dict(standing.accounts),
            quotas=dict(standing.quotas.get(pool_id, {})),
            running=[_running(one, ending.get(one.id), saved.get(one.id)) for one in self.holders],
            weights=dict(loading.weights(here, standing.accounts)),
            elsewhere=loading.borrowing_elsewhere(
                here, pool_id, now=unit.now, among=standing.accounts
            ),
            open_plans=[
                OpenPlan(key=str(one.id), account=one.account, units=one.most, tier=one.tier)
                for one in standing.reservations
                if replaced is None or one.id != replaced.id
            ],
            history=loading.history(here, pool_id, now=unit.now, budgets=self.policy.budgets),
            policy=self.policy.budgets,
            price=self.price,
        )

    def _made(self, found: PlanAnswer) -> PlanMade:
        unit, ask = self.unit, self.ask
        if found.ready_at is None:
            raise AssertionError("a plan knows when its units are back")
        stands = timedelta(seconds=self.policy.plan_seconds)
        settle = timedelta(seconds=SETTLE_SECONDS)
        taken = {action.key for action in found.actions}
        by_job = {(one.key, one.attempt): one.id for one in self.holders if one.key in taken}
        return PlanMade(
            plan_id=unit.new_id(),
            pool_id=self.pool.pool_id,
            account_id=self.account,
            key=ask.key,
            units=found.for_units,
            priority_class=ask.job_class,
            tier=found.tier,
            deadline=ask.deadline,
            aged=ask.aged,
            reclaim_seconds=ask.reclaim_seconds,
            override=self.override,
            until=max(unit.now + stands, found.ready_at + settle),
            ready_at=found.ready_at,
            meets_deadline=found.meets_deadline,
            returns_guarantee=found.returns_guarantee,
            within_target=found.within_target,
            free_units=found.free_units,
            pool_used=found.pool_draw.used,
            pool_limit=found.pool_draw.limit,
            price=self.price,
            tax=money(found.tax),
            wanted=ask.units if _fewest(ask) is not None else None,
            min_units=_fewest(ask),
            actions=tuple(
                _planned(action, by_job[action.key, action.attempt]) for action in found.actions
            ),
        )

    def _keep(
        self,
        plan_id: UUID,
        found: PlanAnswer,
        actions: tuple[PlannedAction, ...],
        *,
        until,
    ) -> None:
        """Set the units aside: what is free now, and what is given back as soon as it is."""
        self.pool.set_aside(
            plan_id,
            account_id=self.account,
            key=self.ask.key,
            tier=found.tier,
            reclaim_seconds=self.ask.reclaim_seconds,
            units=found.for_units,
            free_units=found.free_units,
            until=until,
            claims=[
                Claim(allocation_id=one.allocation_id, units=one.units, left=one.left)
                for one in actions
            ],
        )

    def _wire(
        self,
        found: PlanAnswer | None,
        *,
        status: str,
        plan: StoredPlan | None = None,
        repeated: bool = False,
    ) -> wire.PreemptionAnswer:
        here = self.unit.organization_id
        pools, accounts = loading.names(here, [plan] if plan else [])
        draw = found.pool_draw if found else None
        budget = self.policy.budgets
        return wire.PreemptionAnswer(
            at=self.unit.now,
            status=status,  # type: ignore[arg-type]
            dry_run=False,
            repeated=repeated,
            units=found.for_units if found else plan.units,  # type: ignore[union-attr]
            tier=found.tier if found else plan.tier,  # type: ignore[union-attr, arg-type]
            free_units=found.free_units if found else plan.free_units,  # type: ignore[union-attr]
            plan=stored_plans.view(plan, pools=pools, accounts=accounts) if plan else None,
            wait_until=found.wait_until if found else None,
            actions=self._would_be(found) if found and status == "wait" else [],
            obstacles=[
                wire.PreemptionObstacle(
                    code=one.code,
                    allocations=one.allocations,
                    units=one.units,
                    until=one.until,
                    detail=stored_plans.OBSTACLES[one.code],
                )
                for one in (found.obstacles if found else ())
            ],
            blocks=[self._block(one) for one in (found.blocks if found else ())],
            pool_budget=wire.PreemptionBudget(
                used=draw.used if draw else plan.pool_used,  # type: ignore[union-attr]
                units=draw.units if draw else sum(a.units for a in plan.actions),  # type: ignore[union-attr]
                limit=draw.limit if draw else plan.pool_limit,  # type: ignore[union-attr]
                window_seconds=budget.pool_window_seconds,
            ),
        )

    def _would_be(self, found: PlanAnswer) -> list[wire.PreemptionAction]:
        names = self.pool.standing.names
        return [
            wire.PreemptionAction(
                key=one.key,
                attempt=one.attempt,
                account=names[one.account],  # type: ignore[index]
                step=one.step,
                mode=one.mode,
                units=one.units,
                left=one.left,
                grace_seconds=one.grace_seconds,
                returns_at=one.returns_at,
                tax=money(one.tax),
            )
            for one in found.actions
        ]

    def _block(self, one) -> BlockView:
        account = None if one.account is None else self.pool.standing.names[one.account]
        return BlockView(
            pool=self.ask.pool,
            account=account,
            limit=one.limit,
            available=one.available,
            short_by=one.short_by,
            detail=words.block(one, pool=self.ask.pool, account=account),
        )


def _ending(open_plans: list[StoredPlan], reservations: list[Reservation]) -> dict[UUID, int]:
    """What is being given back, by allocation, as far as it is promised to the plan it is for.

    What a plan takes beyond its need (a gang goes whole) is free for others once it is back, and
    not before: a plan that counted on it would stand complete while nobody has given the units.
    """
    most = {one.id: one.most for one in reservations}
    found = {}
    for plan in open_plans:
        left = most.get(plan.id, 0)
        for action in plan.open_actions:
            found[action.allocation_id] = min(action.units, left)
            left -= found[action.allocation_id]
    return found


def _running(one: Holder, ending_units: int | None, saved: loading.Checkpoint | None) -> Running:
    """An allocation for the domain. `ending_units`: None where no plan takes from it.

    One that has not started yet cannot shrink. Of a job with several living attempts only the
    newest may be taken, for it is preempted once: the others are shielded as P0 is, and so is what
    another plan takes from.
    """
    may_be_taken = one.is_latest and ending_units is None
    return Running(
        key=one.key,
        attempt=one.attempt,
        account=one.account_id,
        units=one.units,
        min_units=one.units if one.is_held else min(one.min_units, one.units),
        tier=one.tier,
        priority_class=one.priority_class if may_be_taken else "P0",
        since=one.since,
        saved_at=saved.saved_at if saved else None,
        reload_seconds=saved.reload_seconds if saved else 0,
        warm_up_seconds=saved.warm_up_seconds if saved else 0,
        saves=one.saves and not one.is_held,
        reclaim_seconds=one.reclaim_seconds,
        ending_units=min(ending_units or 0, one.units),
    )


def _planned(action: Action, allocation_id: UUID) -> PlannedAction:
    if not isinstance(action.account, UUID):
        raise AssertionError("accounts of a database are known by their ids")
    return PlannedAction(
        allocation_id=allocation_id,
        key=action.key,
        attempt=action.attempt,
        account_id=action.account,
        step=action.step,
        mode=action.mode,
        units=action.units,
        left=action.left,
        grace_seconds=action.grace_seconds,
        returns_at=action.returns_at,
        tax=money(Fraction(action.tax)),
    )


def _fewest(ask: wire.PreemptionAsk) -> int | None:
    """Units with which an elastic job would do; None: it needs all."""
    return None if ask.min_units == ask.units else ask.min_units


def _is_same(plan: StoredPlan, ask: wire.PreemptionAsk, account: UUID) -> bool:
    units = plan.units if plan.wanted is None else plan.wanted
    asked = (plan.account_id, units, plan.min_units, plan.priority_class, plan.deadline, plan.aged)
    return asked == (
        account,
        ask.units,
        _fewest(ask),
        ask.job_class,
        ask.deadline,
        ask.aged,
    ) and ask.tier in (None, plan.tier)
