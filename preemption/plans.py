"""Plans as they are stored, and how they read on the wire. No database, no decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from uuid import UUID

from preemption import wire
from preemption.domain.values import ObstacleCode
from preemption.events import PlanMade, PlannedAction
from quota.reservation_events import Claim

MONEY_PLACES = Decimal("0.000001")

OBSTACLES: Mapping[ObstacleCode, str] = {
    "cooling_down": "The job was preempted itself a short while ago.",
    "fresh": "Jobs have not run for as long as they may run undisturbed.",
    "job_budget": "Jobs were preempted a short while ago.",
    "pool_budget": "As many units as the budget allows were taken in the pool lately.",
    "aged_budget": "The account's jobs that rose by waiting took what they may in 24 hours.",
    "share": "The asking side would be further above its share than whom it takes from.",
    "class": "Their class is not preempted for this one.",
    "slow": "They take longer to give back than there is time.",
    "spot_never_preempts": "Spot takes what is idle and nothing else.",
    "quota": "More than the account could ever have by its quotas.",
    "not_enough": "All that may be taken would not be enough.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAction:
    """What a plan takes, and what became of it: see `preemption.events`."""

    allocation_id: UUID
    account_id: UUID
    key: str
    attempt: int
    step: str
    mode: str
    units: int
    left: int
    grace_seconds: int
    returns_at: datetime
    tax: Decimal
    state: str = "open"
    given: int | None = None
    at: datetime | None = None
    late: bool = False
    tax_reported: Decimal | None = None
    detail: str = ""

    @property
    def claim(self) -> Claim | None:
        """What it gives, or has given, to the plan's units; None where nothing comes of it."""
        if self.state in ("refused", "failed", "void"):
            return None
        units = self.given if self.state == "done" and self.given is not None else self.units
        return Claim(allocation_id=self.allocation_id, units=units, left=self.left)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """A plan with its actions in their order."""

    id: UUID
    pool_id: UUID
    account_id: UUID
    key: str
    units: int
    priority_class: str
    tier: str
    deadline: datetime | None
    aged: bool
    reclaim_seconds: int
    override: bool
    reason: str
    made_by: str
    made_at: datetime
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
    wanted: int | None = None
    min_units: int | None = None
    state: str = "open"
    settled_at: datetime | None = None
    used_at: datetime | None = None
    actions: tuple[StoredAction, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What its actions give."""
        found = (action.claim for action in self.actions)
        return tuple(claim for claim in found if claim is not None)

    @property
    def missing_units(self) -> int:
        """Units that it will not get: what was to give them keeps them."""
        if self.state != "open":
            return 0
        return max(0, self.units - self.free_units - sum(claim.units for claim in self.claims))

    @property
    def open_actions(self) -> tuple[StoredAction, ...]:
        """Those that nobody reported yet."""
        return tuple(action for action in self.actions if action.state == "open")

    @property
    def done_actions(self) -> tuple[StoredAction, ...]:
        """Those that took units."""
        return tuple(action for action in self.actions if action.state == "done")

    @property
    def tax_taken(self) -> Decimal:
        """Reckoned, of what was taken."""
        return sum((action.tax for action in self.done_actions), Decimal(0))

    @property
    def tax_reported(self) -> Decimal | None:
        """Measured, of what was taken; None: nobody told of any."""
        told = [one.tax_reported for one in self.done_actions if one.tax_reported is not None]
        return sum(told, Decimal(0)) if told else None

    def judged(self, now: datetime) -> "StoredPlan":
        """As it is at an instant: lapsed where its time is over, whether a task came by or not.
        One whose job was admitted is confirmed by that."""
        if self.state != "open" or now < self.until:
            return self
        state = "lapsed" if self.used_at is None else "confirmed"
        return self.settled(state, at=self.until)

    def settled(self, state: str, *, at: datetime) -> "StoredPlan":
        """The plan when it is over: nobody does any more what was not done."""
        actions = tuple(
            replace(action, state="void") if action.state == "open" else action
            for action in self.actions
        )
        return replace(self, state=state, settled_at=at, actions=actions)

    def with_action(self, changed: StoredAction) -> "StoredPlan":
        """The plan with one of its actions as it is now."""
        actions = tuple(
            changed if action.allocation_id == changed.allocation_id else action
            for action in self.actions
        )
        return replace(self, actions=actions)


def stored(made: PlanMade, *, at: datetime, by: str, reason: str) -> StoredPlan:
    """The plan that was just made."""
    terms = {
        name: getattr(made, name)
        for name in (
            *("pool_id", "account_id", "key", "units", "priority_class", "tier", "deadline"),
            *("aged", "reclaim_seconds", "override", "until", "ready_at", "meets_deadline"),
            *("returns_guarantee", "within_target", "free_units", "pool_used", "pool_limit"),
            *("price", "tax", "wanted", "min_units"),
        )
    }
    actions = tuple(_action(action) for action in made.actions)
    return StoredPlan(
        id=made.plan_id, made_by=by, made_at=at, reason=reason, actions=actions, **terms
    )


def _action(planned: PlannedAction) -> StoredAction:
    names = StoredAction.__dataclass_fields__.keys() & PlannedAction.__dataclass_fields__.keys()
    return StoredAction(**{name: getattr(planned, name) for name in names})


def money(value: Fraction) -> Decimal:
    """At most six decimals, half-even."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(MONEY_PLACES, rounding=ROUND_HALF_EVEN)


def view(
    plan: StoredPlan, *, pools: Mapping[UUID, str], accounts: Mapping[UUID, str]
) -> wire.PreemptionPlan:
    """A plan with names."""
    same = {
        name: getattr(plan, name)
        for name in (
            *("state", "key", "units", "tier", "made_at", "made_by", "until", "ready_at"),
            *("deadline", "meets_deadline", "returns_guarantee", "within_target", "free_units"),
            *("missing_units", "aged", "override", "reason", "tax", "settled_at", "used_at"),
            *("wanted", "min_units"),
        )
    }
    return wire.PreemptionPlan(
        id=str(plan.id),
        pool=pools[plan.pool_id],
        account=accounts[plan.account_id],
        job_class=plan.priority_class,  # type: ignore[arg-type]
        actions=actions_view(plan.actions, accounts),
        **same,
    )


def actions_view(
    actions: Sequence[StoredAction], accounts: Mapping[UUID, str]
) -> list[wire.PreemptionAction]:
    """Actions with names."""
    return [
        wire.PreemptionAction(
            account=accounts[action.account_id],
            reported_at=action.at,
            **{
                name: getattr(action, name)
                for name in (
                    *("key", "attempt", "step", "mode", "units", "left", "grace_seconds"),
                    *("returns_at", "tax", "state", "given", "tax_reported", "detail"),
                )
            },
        )
        for action in actions
    ]
