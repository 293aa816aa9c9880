"""What an admission is decided on, and what it answers. Values only. Pure.

`admission.decide` turns `AdmissionRequest`s into `Verdict`s over `PoolState`s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ledger.errors import Invalid
from quota.domain.values import (
    CLASSES,
    NO_QUOTA,
    TIERS,
    AccountKey,
    Pool,
    PriorityClass,
    Quota,
    Tier,
    check_amount,
)

REQUESTS_MAX = 10_000
NEEDS_MAX = 16
DURATION_SECONDS_MAX = 366 * 86_400
GRACE_SECONDS_DEFAULT = 60
HEARTBEAT_SECONDS_DEFAULT = 300
KEY_LENGTH_MAX = 255

LimitName = Literal[
    "guarantee",
    "borrowing_limit",
    "guarantees",
    "capacity",
    "reclaim_target",
    "class_may_not_borrow",
    "duration",
    "unknown_account",
    "unknown_pool",
    "key_conflict",
]
"""What can stop a request; docs/user/quota.md says each in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """An organization's times, in seconds.

    Attributes:
        hold_seconds: a hold that is not started within this lapses.
        lease_seconds: a running allocation not heard of for this expires.
        heartbeat_seconds: how often schedulers are asked to say that a job lives.
        interactive_seconds_max: P2 runs at most this long (default 8 h).
    """

    hold_seconds: int = 300
    lease_seconds: int = 900
    heartbeat_seconds: int = HEARTBEAT_SECONDS_DEFAULT
    interactive_seconds_max: int = 8 * 3600

    def __post_init__(self) -> None:
        for name in POLICY_BOUNDS:
            if not 1 <= getattr(self, name) <= DURATION_SECONDS_MAX:
                raise Invalid(
                    "duration_out_of_range",
                    f"{name} must be 1 to {DURATION_SECONDS_MAX} seconds.",
                    field=name,
                )


POLICY_BOUNDS = {
    "hold_seconds": (10, 86_400),
    "lease_seconds": (60, 7 * 86_400),
    "heartbeat_seconds": (5, 7 * 86_400 // 2),
    "interactive_seconds_max": (60, 30 * 86_400),
}
"""Least and most of each time that an organization may set."""


def check_policy(policy: AdmissionPolicy) -> None:
    """Refuse times that no cluster can work with.

    Raises:
        Invalid: `out_of_range` with the bounds; `heartbeat_too_rare` where one lost heartbeat
            would already end a job.
    """
    for name, (low, high) in POLICY_BOUNDS.items():
        if not low <= getattr(policy, name) <= high:
            raise Invalid(
                "out_of_range",
                f"{name} must be {low} to {high} seconds.",
                field=name,
                facts={"minimum": low, "maximum": high},
            )
    if policy.heartbeat_seconds * 2 > policy.lease_seconds:
        raise Invalid(
            "heartbeat_too_rare",
            "A lease lasts at least two heartbeats: one that is lost must not end a job.",
            field="heartbeat_seconds",
            facts={"maximum": policy.lease_seconds // 2},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Units of one pool. `min_units` None or equal to `units` is a gang: whole or not at all."""

    pool: AccountKey
    units: int
    min_units: int | None = None

    def __post_init__(self) -> None:
        check_amount(self.units, field="units")
        if self.min_units is not None:
            check_amount(self.min_units, field="min_units")
            if self.min_units > self.units:
                raise Invalid(
                    "min_units_out_of_range",
                    f"min_units must be at most units ({self.units}), not {self.min_units}.",
                    field="min_units",
                )

    @property
    def least(self) -> int:
        """The units without which the job cannot run."""
        return self.units if self.min_units is None else self.min_units


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """A waiting job, as its scheduler asks.

    Attributes:
        key: the scheduler's own name of the job; `attempt` counts its requeues.
        needs: one per pool; several are a companion set, admitted whole or not at all.
        tier: exactly this tier; None: the best of guaranteed and borrowed that gives most.
        spot_allowed: with `tier` None, spot will do as well.
        duration_seconds: how long it runs at most; None: no bound of its own.
        reclaim_seconds: grace + checkpoint time until it has given its units back.
    """

    key: str
    attempt: int = 1
    account: AccountKey
    person: AccountKey | None = None
    needs: tuple[Need, ...]
    priority_class: PriorityClass = "P3"
    tier: Tier | None = None
    spot_allowed: bool = False
    duration_seconds: int | None = None
    reclaim_seconds: int = GRACE_SECONDS_DEFAULT

    def __post_init__(self) -> None:
        if not 1 <= len(self.key) <= KEY_LENGTH_MAX:
            raise Invalid("key_malformed", f"key must be 1 to {KEY_LENGTH_MAX} long.", field="key")
        if self.priority_class not in CLASSES:
            raise Invalid(
                "class_unknown", f"class must be one of {', '.join(CLASSES)}.", field="class"
            )
        if self.tier is not None and self.tier not in TIERS:
            raise Invalid("tier_unknown", f"tier must be one of {', '.join(TIERS)}.", field="tier")
        pools = [need.pool for need in self.needs]
        if not 1 <= len(pools) <= NEEDS_MAX or len(set(pools)) != len(pools):
            raise Invalid(
                "needs_malformed", f"A job needs 1 to {NEEDS_MAX} pools, each once.", field="needs"
            )
        _check_range("attempt", self.attempt, 1, 1_000_000)
        _check_range("reclaim_seconds", self.reclaim_seconds, 0, DURATION_SECONDS_MAX)
        if self.duration_seconds is not None:
            _check_range("duration_seconds", self.duration_seconds, 1, DURATION_SECONDS_MAX)


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Invalid("out_of_range", f"{name} must be {low} to {high}.", field=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What an account holds of a pool, held and running, in units by tier.

    Attributes:
        slow_borrowed, slow_spot: of these, units whose grace + checkpoint time exceeds the
            pool's reclaim target.
    """

    guaranteed: int = 0
    borrowed: int = 0
    spot: int = 0
    slow_borrowed: int = 0
    slow_spot: int = 0

    def __post_init__(self) -> None:
        for name in ("guaranteed", "borrowed", "spot"):
            check_amount(getattr(self, name), field=name)
        if not 0 <= self.slow_borrowed <= self.borrowed or not 0 <= self.slow_spot <= self.spot:
            raise Invalid("holding_malformed", "Slow units are part of their tier's units.")

    @property
    def total(self) -> int:
        return self.guaranteed + self.borrowed + self.spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupant:
    """An allocation that may make room: by being taken back, or by its end.

    `ends_at`: when its bounded duration or its lease ends; None: nobody knows.
    """

    key: str
    account: AccountKey
    tier: Tier
    priority_class: PriorityClass
    units: int
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """A pool as it stands at the instant of the decision.

    Attributes:
        quotas, holdings: by account; missing is none. Archived accounts that hold anything or
            still have a guarantee are listed too.
        occupants: who could make room, for the explanation of denials only.
    """

    pool: Pool
    quotas: Mapping[AccountKey, Quota]
    holdings: Mapping[AccountKey, Holding] = field(default_factory=dict)
    occupants: Sequence[Occupant] = ()

    def quota(self, account: AccountKey) -> Quota:
        return self.quotas.get(account, NO_QUOTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Units of one pool for one job. The hold lapses unless started before `hold_until`.

    `duration_seconds` bounds the run from its start; None: as long as its heartbeats go on.
    """

    pool: AccountKey
    units: int
    tier: Tier
    hold_until: datetime
    lease_seconds: int
    duration_seconds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One thing that stopped a request.

    Attributes:
        account: whose limit; None where it is the pool's.
        limit: which.
        available: units it would have let through, at least 0.
        short_by: units that are missing for the least the job needs, deficits included.
    """

    pool: AccountKey
    account: AccountKey | None
    limit: LimitName
    available: int
    short_by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """What would help in one pool, soonest or first to give back first.

    Attributes:
        reclaim: opportunistic allocations of others whose units would count. Whether a plan may
            take them is decided when it is asked for.
        reclaim_enough: they cover what is short.
        ends: allocations whose known ends would make room, and `ends_enough_at`, when.
    """

    pool: AccountKey
    reclaim: tuple[Occupant, ...]
    reclaim_enough: bool
    ends: tuple[Occupant, ...]
    ends_enough_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Admitted with grants, or denied with every reason. A denial leaves no trace in capacity."""

    key: str
    attempt: int
    admitted: bool
    grants: tuple[Grant, ...] = ()
    blocks: tuple[Block, ...] = ()
    relief: tuple[Relief, ...] = ()
