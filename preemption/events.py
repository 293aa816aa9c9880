"""Events of preemption plans, in the hash-chain lane of their pool. Pure; names and versions are
fixed. What becomes of allocations and of units that are set aside are quota's own events beside
them, in the same transaction."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """One allocation is to give units back and go on with `left`. `step`: its place in the order
    of what is taken first. `tax`: what that costs, as far as is known."""

    allocation_id: UUID
    key: str
    attempt: int
    account_id: UUID
    step: str
    mode: str
    units: int
    left: int
    grace_seconds: int
    returns_at: datetime
    tax: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPlan(Event):
    """Something about one plan. `account_id` is who asked."""

    plan_id: UUID
    pool_id: UUID
    account_id: UUID

    @property
    def stream(self) -> str:
        return f"preemption:{self.plan_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id


@event("preemption.plan_made")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMade(_OfPlan):
    """Units are taken back for the job `key`: by `actions`, beside `free_units` that were free.
    All of it counts against the pool's budget, of which `pool_used` of `pool_limit` units were
    used before; `override`: an operator passed the budgets. Not confirmed by `until`, it lapses.
    `wanted`: of an elastic job that would do with `min_units`, how many it asked for; `units` are
    as many as could be had. Both None: `units` were asked for, and no fewer would do."""

    key: str
    units: int
    priority_class: str
    tier: str
    deadline: datetime | None
    aged: bool
    reclaim_seconds: int
    override: bool
    until: datetime
    ready_at: datetime
    meets_deadline: bool | None
    returns_guarantee: bool
    within_target: bool | None
    free_units: int
    pool_used: int
    pool_limit: int
    price: Decimal
    tax: Decimal
    actions: tuple[PlannedAction, ...]
    wanted: int | None = None
    min_units: int | None = None

    @property
    def subjects(self) -> frozenset[UUID]:
        victims = (action.account_id for action in self.actions)
        return frozenset({self.plan_id, self.pool_id, self.account_id, *victims})


@event("preemption.action_reported")
@dataclass(frozen=True, slots=True, kw_only=True)
class ActionReported(_OfPlan):
    """What became of an action. `outcome`: `done`: `units` were given back at `at`; `gone`: the
    job had ended by itself; `refused`, `failed`: it keeps its units. `victim_id`: the account it
    is of. `late`: the plan was over. `tax`: what it cost, as reported; None: nobody knows."""

    allocation_id: UUID
    victim_id: UUID
    key: str
    attempt: int
    outcome: str
    units: int
    left: int
    at: datetime
    late: bool
    tax: Decimal | None
    detail: str

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.plan_id, self.pool_id, self.account_id, self.victim_id})


@event("preemption.plan_settled")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettled(_OfPlan):
    """The plan is over. `how`: `confirmed`, `cancelled`, `lapsed`, or `replaced` by another for
    the same job. `called_off`: actions that nobody reported; their budgets are given back."""

    how: str
    called_off: int


@event("preemption.policy_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionPolicySet(Event):
    """The organization's budgets of preemption, for every plan from now on; see
    `preemption.domain.budgets.BudgetPolicy`. `pool_share` is a part of the capacity, 0 to 1.
    `plan_seconds`: after which a plan that is not confirmed lapses."""

    organization_id: UUID
    pool_share: Decimal
    pool_window_seconds: int
    job_window_seconds: int
    aged_per_day: int
    cooldown_seconds: int
    min_run_seconds: int
    plan_seconds: int

    @property
    def stream(self) -> str:
        return f"preemption_policy:{self.organization_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A job saved itself at `saved_at`. It would work again `reload_seconds` and
    `warm_up_seconds` after its next start. `seconds`: how long saving took; None: nobody told."""

    allocation_id: UUID
    saved_at: datetime
    reload_seconds: int
    warm_up_seconds: int
    seconds: int | None


@event("preemption.checkpoints_recorded")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsRecorded(Event):
    """Jobs of a pool saved themselves. One event for all that were told at once."""

    pool_id: UUID
    checkpoints: tuple[Saved, ...]

    @property
    def stream(self) -> str:
        return f"checkpoints:{self.pool_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset()
