"""What a preemption plan is decided on, and what it answers. Values only. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from ledger.errors import Invalid
from preemption.domain.budgets import DEFAULT_POLICY, BudgetPolicy, Preempted
from quota.domain.batch import Block
from quota.domain.values import AccountKey, Pool, PriorityClass, Quota, Tier, check_amount

GRACE_SECONDS_MIN = 60
GRACE_SECONDS_MAX = 300
SECONDS_MAX = 366 * 86_400

Mode = Literal["shrink", "checkpoint", "stop"]
"""Give units back and go on; save itself and wait anew; end."""

Outcome = Literal["plan", "wait", "refused"]
"""All of it may begin now; some of it later; not as things stand."""

ObstacleCode = Literal[
    "cooling_down",
    "fresh",
    "job_budget",
    "pool_budget",
    "aged_budget",
    "share",
    "class",
    "slow",
    "spot_never_preempts",
    "quota",
    "not_enough",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An allocation that holds units of the pool.

    Attributes:
        key: the job's key, the same for all its attempts.
        min_units: what it can be shrunk to; equal to `units` is a gang, taken whole.
        since: when it began to hold them.
        saved_at: last checkpoint; None: none yet, all work since `since` would be lost.
        saves: it can checkpoint, so it is asked to and waits anew; else it is stopped.
        reload_seconds, warm_up_seconds: until it works again where it was.
        reclaim_seconds: grace + checkpoint time until it has given its units back.
        ending_units: units that are being given back already: they count as freed.
    """

    key: str
    attempt: int = 1
    account: AccountKey
    units: int
    min_units: int
    tier: Tier
    priority_class: PriorityClass
    since: datetime
    saved_at: datetime | None = None
    saves: bool = True
    reload_seconds: int = 0
    warm_up_seconds: int = 0
    reclaim_seconds: int = GRACE_SECONDS_MIN
    ending_units: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.min_units <= self.units or not 0 <= self.ending_units <= self.units:
            raise Invalid("units_out_of_range", "min_units and ending_units are 0 to units.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlan:
    """Units that another plan was promised, for its account and tier, until it is settled."""

    key: str
    account: AccountKey
    units: int
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What an account borrows in other pools; counts in its share (Kueue's dominant share).

    Attributes:
        borrowed, lendable: of the same resource, in its other pools; `lendable` is the parent's.
        share: the largest borrowed / lendable of its other resources, not weighted.
    """

    borrowed: int = 0
    lendable: int = 0
    share: Fraction = Fraction(0)


NOTHING_ELSEWHERE = Elsewhere()


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowing:
    """What is borrowed in other pools, by account; who is missing borrows nothing there.

    Attributes:
        accounts: by accounts with all that is below them.
        own: by accounts that have others below them, for the jobs of their own.
    """

    accounts: Mapping[AccountKey, Elsewhere] = field(default_factory=dict)
    own: Mapping[AccountKey, Elsewhere] = field(default_factory=dict)


NO_BORROWING = Borrowing()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """A pool as it stands when a plan is asked for.

    Attributes:
        accounts: account to parent, None on top; weights missing are 1.
        running: what lives; of each job one attempt.
        history: preemptions that budgets still see, open plans' scheduled actions included.
        price: per unit-hour, for the tax.
    """

    pool: Pool
    accounts: Mapping[AccountKey, AccountKey | None]
    quotas: Mapping[AccountKey, Quota]
    running: Sequence[Running]
    weights: Mapping[AccountKey, Fraction] = field(default_factory=dict)
    elsewhere: Borrowing = NO_BORROWING
    open_plans: Sequence[OpenPlan] = ()
    history: Sequence[Preempted] = ()
    policy: BudgetPolicy = DEFAULT_POLICY
    price: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Units that a waiting job needs.

    Attributes:
        job: its key, which must not have been preempted lately.
        tier: exactly this tier; None: guaranteed where the account's own guarantee has room (and
            for P0, which may not borrow), else borrowed.
        deadline: when the units are needed at the latest; slower allocations are not taken.
        min_units: fewer would do, but not less than these; None: all of them or nothing.
        aged: the class given was reached by waiting.
        reclaim_seconds: until the asking job would give units back itself.
        override: an operator passes the budgets; class rules and shares hold all the same.
    """

    account: AccountKey
    units: int
    priority_class: PriorityClass
    min_units: int | None = None
    job: str | None = None
    tier: Tier | None = None
    deadline: datetime | None = None
    aged: bool = False
    reclaim_seconds: int = GRACE_SECONDS_MIN
    override: bool = False

    def __post_init__(self) -> None:
        check_amount(self.units, field="units")
        if self.min_units is not None and not 0 <= self.min_units <= self.units:
            raise Invalid(
                "min_units_too_large",
                f"min_units must be at most units ({self.units}), not {self.min_units}.",
                field="min_units",
            )
        if self.aged and self.priority_class == "P0":
            raise Invalid("aged_to_p0", "P0 is never reached by waiting.", field="aged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One allocation gives units back.

    Attributes:
        step: place in the order of what is taken first, as a phrase ("spot", "borrowed P3").
        units: given back; `left` is what it goes on with, 0 unless it shrinks.
        grace_seconds: from the notice to the force, 60 to 300.
        starts_at: when the budgets let it begin; the instant of the plan is at once.
        returns_at: when the units are back at the latest.
        tax: what it costs, in the currency of the price, not rounded.
    """

    key: str
    attempt: int
    account: AccountKey
    step: str
    mode: Mode
    units: int
    left: int
    grace_seconds: int
    starts_at: datetime
    returns_at: datetime
    tax: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why allocations were passed over, or why the plan waits or returns a guarantee late.

    Attributes:
        allocations, units: that it stood in front of; 0 where it is about the request.
        until: when it is gone, of the first allocation; None: not by waiting.
    """

    code: ObstacleCode
    allocations: int = 0
    units: int = 0
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDraw:
    """The pool's budget: what the window held before, what the plan takes, and the limit."""

    used: int
    units: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """A plan, or what it waits for.

    Attributes:
        for_units: how many it is about: those asked for, or of an elastic request as many as can
            be had.
        tier: in which the request would be admitted.
        actions: in the order in which they are taken; with `wait` those that would be.
        wait_until: the instant from which all of it is allowed, by what is known now; None with
            `plan` and where waiting does not help.
        ready_at: when all units are back; None where refused.
        meets_deadline: None where none was given.
        returns_guarantee: with the request entered, its path stays within its guarantees.
        within_target: a claim on a guarantee is met within the pool's reclaim target.
        free_units: of what was asked, units that are free already and that no action gives.
        blocks: where refused, every bound of pool and quotas that stops the request now.
    """

    outcome: Outcome
    for_units: int
    tier: Tier
    actions: tuple[Action, ...] = ()
    wait_until: datetime | None = None
    ready_at: datetime | None = None
    meets_deadline: bool | None = None
    returns_guarantee: bool = False
    within_target: bool | None = None
    free_units: int = 0
    obstacles: tuple[Obstacle, ...] = ()
    blocks: tuple[Block, ...] = ()
    pool_draw: PoolDraw
    override: bool = False

    @property
    def units(self) -> int:
        return sum(action.units for action in self.actions)

    @property
    def tax(self) -> Fraction:
        return sum((action.tax for action in self.actions), Fraction(0))
