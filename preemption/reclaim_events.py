"""Events of use-it-or-lose-it, in the hash-chain lane of their pool. Pure; names and versions are
fixed. What becomes of the guarantee itself is quota's own event beside them, in the same
transaction."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """Time that no guarantee is judged by, from `start` to before `end`."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule(Event):
    """What a rule says, whatever it is for."""

    enabled: bool
    threshold: Decimal
    window_seconds: int
    watch_seconds: int
    clear_margin: Decimal
    cooldown_seconds: int
    gap_seconds_max: int
    unknown_seconds_max: int
    exempt_ids: tuple[UUID, ...]
    maintenance: tuple[MaintenanceWindow, ...]


class _OfPool:
    """Something about the rule of one pool."""

    __slots__ = ()
    pool_id: UUID

    @property
    def stream(self) -> str:
        return f"reclaim_rule:{self.pool_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.pool_id})


@event("reclaim.rule_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimRuleSet(_OfPool, _Rule):
    """When idle guarantees of a pool are taken back from now on, whatever the organization's rule
    says; see `preemption.domain.reclaim.ReclaimRule`. Not `enabled`: never. Accounts of
    `exempt_ids`, and those below them, are left alone."""

    pool_id: UUID


@event("reclaim.rule_dropped")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimRuleDropped(_OfPool, Event):
    """The pool has no rule of its own any more: the organization's holds there."""

    pool_id: UUID


@event("reclaim.default_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimDefaultSet(_Rule):
    """When idle guarantees are taken back from now on in every pool without a rule of its own;
    fields as in `reclaim.rule_set`."""

    organization_id: UUID

    @property
    def stream(self) -> str:
        return f"reclaim_rule:{self.organization_id}"

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.organization_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfGuarantee(Event):
    """Something about one account's guarantee in a pool. `guarantee`: units after it."""

    account_id: UUID
    pool_id: UUID
    guarantee: int

    @property
    def stream(self) -> str:
        return f"reclaim:{self.account_id}:{self.pool_id}"

    @property
    def lane(self) -> UUID:
        return self.pool_id

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.account_id, self.pool_id})


@event("reclaim.watched")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeWatched(_OfGuarantee):
    """The guarantee lies idle: `utilisation` is the share of it in use, 0 to 1. If it stays so, the
    idle part leaves it at `due_at` at the earliest: as far as neither `p95` of use over the watch
    nor what is `in_use` needs it."""

    utilisation: Decimal
    due_at: datetime
    p95: int | None = None
    in_use: int | None = None


@event("reclaim.cleared")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeCleared(_OfGuarantee):
    """The guarantee that was watched is used again."""

    utilisation: Decimal


@event("reclaim.justified")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeJustified(_OfGuarantee):
    """The guarantee that was watched may lie idle until an instant, by an approved request."""

    request_id: UUID
    until: datetime


@event("reclaim.demoted")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeDemoted(_OfGuarantee):
    """Idle `units` left the guarantee. It keeps what `p95` of use over the window and what was
    `in_use` at that instant need. Until `until` nothing is taken again and restoring is open."""

    units: int
    utilisation: Decimal
    p95: int
    in_use: int
    until: datetime


@event("reclaim.restored")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeRestored(_OfGuarantee):
    """The units that had left the guarantee are in it again."""

    units: int


@event("reclaim.returned")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeReturned(_OfGuarantee):
    """The units that had left the guarantee do not come back. `parent_id`: the account above whose
    own guarantee they are now; None: nobody's, as the pool cannot promise them."""

    units: int
    parent_id: UUID | None
