"""Events of flavors, pools and quotas. Pure; names and versions are fixed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@event("flavor.defined")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorDefined(Event):
    """A kind of resource exists; `weight` is what a unit-hour of it weighs in fair-share."""

    flavor_id: UUID
    name: str
    weight: Decimal

    @property
    def stream(self) -> str:
        return f"flavor:{self.flavor_id}"


@event("flavor.weight_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorWeightSet(Event):
    """All use of the flavor, past and future, weighs this much in fair-share from now on."""

    flavor_id: UUID
    weight: Decimal

    @property
    def stream(self) -> str:
        return f"flavor:{self.flavor_id}"


@event("pool.opened")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOpened(Event):
    """One flavor in one cluster, in whole units."""

    pool_id: UUID
    name: str
    flavor_id: UUID
    cluster: str
    capacity: int
    unavailable: int
    safety_margin: int
    reclaim_target_seconds: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"


@event("pool.resized")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolResized(Event):
    """The pool has another physical size. Promises above it are kept and shown as over-promised."""

    pool_id: UUID
    capacity: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"


@event("pool.unavailable_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUnavailableSet(Event):
    """So many of the pool's units are failed or drained."""

    pool_id: UUID
    unavailable: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"


@event("pool.margin_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMarginSet(Event):
    """So many of the pool's units are never promised."""

    pool_id: UUID
    safety_margin: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"


@event("pool.reclaim_target_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReclaimTargetSet(Event):
    """A guarantee in the pool is honoured within so many seconds."""

    pool_id: UUID
    reclaim_target_seconds: int

    @property
    def stream(self) -> str:
        return f"pool:{self.pool_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quota(Event):
    """An account in a pool. Amounts are whole units; a limit of None is no limit."""

    account_id: UUID
    pool_id: UUID

    @property
    def stream(self) -> str:
        return f"quota:{self.account_id}:{self.pool_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaValues:
    """What a quota says. See `quota.domain.values.Quota`."""

    guaranteed: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@event("quota.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSet(_Quota):
    """An account's quota in a pool, in force since the event occurred. `ends_at` and `returns_to`
    come together. `lender_id`: whose own guarantee pays for a rise and takes back what is freed;
    `borrower_id`: this account is the lender of that one's change. `change_id`: the scheduled
    change that fell due. `expose`: what runs above a lowered guarantee becomes borrowed;
    `end_exposes`: what runs above the guarantee that the end leaves will."""

    quota: QuotaValues
    ends_at: datetime | None = None
    returns_to: QuotaValues | None = None
    lender_id: UUID | None = None
    borrower_id: UUID | None = None
    change_id: UUID | None = None
    expose: bool = False
    end_exposes: bool = False


@event("quota.ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEnded(_Quota):
    """A temporary quota is over, by itself or early; `quota` stands again, and the lender has back
    what it lent. `expose`: what runs above a lowered guarantee becomes borrowed."""

    quota: QuotaValues
    early: bool
    lender_id: UUID | None = None
    expose: bool = False


@event("quota.scheduled")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaScheduled(_Quota):
    """A quota that is to be set at `starts_at`, if the promise rule lets it then."""

    change_id: UUID
    quota: QuotaValues
    starts_at: datetime
    ends_at: datetime | None = None
    lender_id: UUID | None = None
    expose: bool = False


@event("quota.schedule_cancelled")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaScheduleCancelled(_Quota):
    """A scheduled change will not take effect."""

    change_id: UUID


@event("quota.lapsed")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLapsed(_Quota):
    """What fell due was refused, for the reason in `code` and `detail`, and will not be tried
    again. `change_id` None: the end of a temporary quota; `quota` stays for good."""

    quota: QuotaValues
    code: str
    detail: str
    short_by: int | None = None
    change_id: UUID | None = None
