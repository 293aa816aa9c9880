"""What pools, quotas and policies look like on the wire. Amounts are whole units; a limit of null
is no limit. Accounts, pools and flavors go by name."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from quota.domain.batch import POLICY_BOUNDS
from quota.domain.values import RECLAIM_SECONDS_MAX, Tier
from quota.stops import StopName
from quota.wire import UNITS_MAX, Instant, Name

Reason = Annotated[str, Meta(min_length=1, max_length=500)]
Amount = Annotated[int, Meta(ge=0, le=UNITS_MAX)]
Version = Annotated[int, Meta(ge=0, le=2**53)]
ReclaimTarget = Annotated[int, Meta(ge=0, le=RECLAIM_SECONDS_MAX)]


def _seconds(name: str):
    low, high = POLICY_BOUNDS[name]
    return Annotated[int, Meta(ge=low, le=high)]


HoldSeconds = _seconds("hold_seconds")
LeaseSeconds = _seconds("lease_seconds")
HeartbeatSeconds = _seconds("heartbeat_seconds")
InteractiveSeconds = _seconds("interactive_seconds_max")


class QuotaTerms(msgspec.Struct, kw_only=True):
    """What a quota says."""

    guaranteed: int
    borrowing_limit: int | None
    lending_limit: int | None


class QuotaFacts(msgspec.Struct, kw_only=True):
    """A quota in force. `returns_to` and `ends_at` of a temporary one; `lender` paid for it."""

    account: str
    pool: str
    guaranteed: int
    borrowing_limit: int | None
    lending_limit: int | None
    ends_at: datetime | None
    returns_to: QuotaTerms | None
    lender: str | None


class QuotasOfPool(msgspec.Struct, kw_only=True):
    """Quotas in a pool, by account. `next` is the address of the following page."""

    at: datetime
    pool: str
    quotas: list[QuotaFacts]
    next: str | None


class UnitsByTier(msgspec.Struct, kw_only=True):
    """Units held and running."""

    guaranteed: int
    borrowed: int
    spot: int


class StopFacts(msgspec.Struct, kw_only=True):
    """The limit behind `obtainable`; `account` is whose, where it is one above. `way_out`: who
    can do what about it."""

    limit: StopName
    account: str | None
    detail: str
    way_out: str


class LevelPart(msgspec.Struct, kw_only=True):
    """Units of an account, with all below it; `account` null: of those that are not named."""

    account: str | None
    units: int


class LevelFacts(msgspec.Struct, kw_only=True):
    """An account and those beside it, under the same account: what others may use of the
    guarantees of each now, and what each uses above its guarantees. The largest are named."""

    lenders: list[LevelPart]
    borrowers: list[LevelPart]


class SetAside(msgspec.Struct, kw_only=True, gc=False):
    """Units kept for a job of the account, in a tier, until it is admitted or `until` is over;
    `coming` more are being given back by others."""

    key: str
    tier: Tier
    units: int
    coming: int
    until: datetime


class QuotaStanding(msgspec.Struct, kw_only=True):
    """An account in a pool. `guaranteed` is its own, `subtree` adds what accounts below lend it.
    `used` counts here and below, without spot and with what is `set_aside` for jobs; `own` is held
    by the account itself. `lendable`:
    idle units of its own that others may use. `available`: what its entitlement leaves now;
    `potential`: with nothing used; `obtainable`: what is free of it. `overshoot`: use above all
    the tree could give it. `level`: who lends and borrows beside it. `version` is what a careful
    change sends as `expected_version`."""

    pool: str
    guaranteed: int
    borrowing_limit: int | None
    lending_limit: int | None
    ends_at: datetime | None
    returns_to: QuotaTerms | None
    lender: str | None
    subtree: int
    used: int
    own: UnitsByTier
    set_aside: list[SetAside]
    borrowed: int
    overshoot: int
    lendable: int
    available: int
    potential: int
    obtainable: int
    stopped_by: StopFacts
    level: LevelFacts
    version: int


class AccountQuotas(msgspec.Struct, kw_only=True):
    """An account in every pool, by name."""

    at: datetime
    account: str
    quotas: list[QuotaStanding]


class NewQuota(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A quota as a whole. `carve_from`: the account above whose own guarantee pays for a rise and
    takes back what a cut frees; absent: the pool's promise rises or falls. `effective_at`: a later
    instant. `ends_at`: when it returns to what stood before. `expose`: what runs above a lowered
    guarantee becomes borrowed."""

    guaranteed: Amount
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None
    carve_from: Name | None = None
    effective_at: Instant | None = None
    ends_at: Instant | None = None
    expose: bool = False
    expected_version: Version | None = None
    reason: Reason
    dry_run: bool = False


class QuotaEnd(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """End a temporary quota before its time."""

    reason: Reason
    expected_version: Version | None = None
    dry_run: bool = False


class QuotaOutcome(msgspec.Struct, kw_only=True):
    """`changed` false: it was so already. `change_id`: of a change to come; `foreseen`: why that
    one would be refused as things stand. `promised` and `promisable` are the pool's."""

    account: str
    pool: str
    dry_run: bool
    changed: bool
    promised: int
    promisable: int
    change_id: UUID | None
    foreseen: str | None


class ScheduledQuotaFacts(msgspec.Struct, kw_only=True):
    """A change to come."""

    change_id: UUID
    account: str
    pool: str
    guaranteed: int
    borrowing_limit: int | None
    lending_limit: int | None
    starts_at: datetime
    ends_at: datetime | None
    lender: str | None


class ScheduledQuotas(msgspec.Struct, kw_only=True):
    """Changes to come, the next first."""

    at: datetime
    changes: list[ScheduledQuotaFacts]


class ScheduleCancel(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Why a change shall not come."""

    reason: Reason


class ScheduleGone(msgspec.Struct, kw_only=True):
    """The change that will not come."""

    change_id: UUID


class QuotaAsker(msgspec.Struct, kw_only=True):
    """Who asked for a change that fell due, and why."""

    at: datetime
    actor: str
    reason: str


class QuotaChangeFacts(msgspec.Struct, kw_only=True):
    """One event of a quota's history; its fields are in the catalogue of events, by `type`."""

    id: UUID
    type: str
    pool: str | None
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: str
    actor: str
    reason: str
    asked_by: QuotaAsker | None
    data: dict


class QuotaHistory(msgspec.Struct, kw_only=True):
    """Changes of an account's quotas, newest first."""

    account: str
    changes: list[QuotaChangeFacts]
    next: str | None


class PoolFacts(msgspec.Struct, kw_only=True):
    """A pool and what becomes of its units. `promisable` is capacity without what is unavailable
    and without the margin. `in_use` is held and running, by tier; `set_aside` is kept for jobs
    whose plans of preemption are open, by the tier in which they will run; `free` is neither. The
    three and `unavailable` add up to the capacity, unless more runs than there is. `version` is
    what a careful change sends as `expected_version`."""

    id: UUID
    name: str
    cluster: str
    flavor: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int
    promised: int
    promisable: int
    over_promised_by: int
    in_use: UnitsByTier
    set_aside: UnitsByTier
    free: int
    at: datetime
    version: int


class NewPool(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One flavor in one cluster."""

    name: Name
    flavor: Name
    cluster: Name
    capacity: Amount
    unavailable: Amount = 0
    safety_margin: Amount = 0
    reclaim_target_seconds: ReclaimTarget = 300
    reason: Reason


class PoolChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One of the four facts. `accept_over_promise`: the hardware is gone, save it even if promises
    no longer fit; nothing is cut, nothing is added until it fits again."""

    capacity: Amount | UnsetType = UNSET
    unavailable: Amount | UnsetType = UNSET
    safety_margin: Amount | UnsetType = UNSET
    reclaim_target_seconds: ReclaimTarget | UnsetType = UNSET
    accept_over_promise: bool = False
    expected_version: Version | None = None
    reason: Reason
    dry_run: bool = False


class PoolOutcome(msgspec.Struct, kw_only=True):
    """The pool's promise after the change."""

    pool: str
    dry_run: bool
    changed: bool
    promised: int
    promisable: int
    over_promised_by: int


class NewFlavor(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A kind of resource. `weight` is what a unit weighs in fair-share."""

    name: Name
    weight: Decimal = Decimal(1)
    reason: Reason


class FlavorChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Another weight, for past and future use alike."""

    weight: Decimal
    reason: Reason


class AdmissionTimes(msgspec.Struct, kw_only=True):
    """An organization's times, in seconds. A hold lapses after `hold_seconds` unless it starts, a
    lease `lease_seconds` after the last heartbeat; `heartbeat_seconds` is how often to send one;
    P2 runs at most `interactive_seconds_max`."""

    hold_seconds: int
    lease_seconds: int
    heartbeat_seconds: int
    interactive_seconds_max: int


class NewAdmissionTimes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All four times, in seconds. A lease lasts at least two heartbeats."""

    hold_seconds: HoldSeconds
    lease_seconds: LeaseSeconds
    heartbeat_seconds: HeartbeatSeconds
    interactive_seconds_max: InteractiveSeconds
    reason: Reason


class PlanLine(msgspec.Struct, kw_only=True):
    """One change of a plan."""

    kind: str
    name: str
    detail: str


class PlanAffected(msgspec.Struct, kw_only=True):
    """An account that could get more or less of a pool than before."""

    account: str
    pool: str
    available_before: int
    available_after: int
    potential_before: int
    potential_after: int


class PlanOutcome(msgspec.Struct, kw_only=True):
    """What changed, and for whom: the first 500 of each list, counts of all. `skipped`: what the
    file says that is not ours to keep."""

    dry_run: bool
    counts: dict[str, int]
    changes: list[PlanLine]
    affected: list[PlanAffected]
    affected_count: int
    skipped: list[str]
