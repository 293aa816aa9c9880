"""What use-it-or-lose-it looks like on the wire: exact types, nothing unknown, zones required."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from preemption.wire import Reason, Seconds
from quota.api.quota_wire import Version
from quota.wire import Instant, Name

ReclaimState = Literal["watched", "cleared", "justified", "demoted", "restored", "returned"]
StageName = Literal["watch", "cleared", "demoted", "justified", "restored", "returned"]


class ReclaimMaintenance(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Time that no guarantee is judged by, from `start` to before `end`."""

    start: Instant
    end: Instant


class ReclaimRule(msgspec.Struct, kw_only=True):
    """A rule: of `pool`; null: of the organization. `set_for`: whose it is, the pool's own or the
    organization's, which a pool without its own follows; null: none was ever set. `version`: of the
    pool's or the organization's own, for `expected_version`.

    Below `threshold` of a guarantee in use over `watch_seconds` it is watched, over
    `window_seconds` it loses its idle part; `clear_margin` on top of the threshold ends a watch.
    After that nothing is taken for `cooldown_seconds`. Gaps of telemetry up to `gap_seconds_max`
    are bridged; with more than `unknown_seconds_max` nothing is judged. `exempt` names accounts
    that are left alone with all below them."""

    pool: str | None
    set_for: Literal["pool", "organization"] | None
    version: int
    enabled: bool
    threshold: Decimal
    window_seconds: int
    watch_seconds: int
    clear_margin: Decimal
    cooldown_seconds: int
    gap_seconds_max: int
    unknown_seconds_max: int
    exempt: list[str]
    maintenance: list[ReclaimMaintenance]


class _NewRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    threshold: Decimal = Decimal("0.2")
    window_seconds: Seconds = 72 * 3600
    watch_seconds: Seconds = 48 * 3600
    clear_margin: Decimal = Decimal("0.05")
    cooldown_seconds: Seconds = 14 * 86_400
    gap_seconds_max: Seconds = 2 * 3600
    unknown_seconds_max: Seconds = 24 * 3600
    exempt: Annotated[list[Name], Meta(max_length=1_000)] = []
    maintenance: Annotated[list[ReclaimMaintenance], Meta(max_length=100)] = []


class NewReclaimRule(_NewRule, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A rule as a whole, and why. What is absent is the default."""

    enabled: bool = True
    reason: Reason
    expected_version: Version | None = None


class ReclaimFollow(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Why a pool gives its own rule up."""

    reason: Reason
    expected_version: Version | None = None


class ReclaimTrial(_NewRule, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A rule to try on the use of so many days until now. What is absent is the default."""

    days: Annotated[int, Meta(ge=1, le=366)] = 90


class ReclaimStage(msgspec.Struct, kw_only=True, gc=False):
    """What would have happened: `units` that left the guarantee, which then was `guarantee`;
    `utilisation` over the time judged, 0 to 1; `until`: end of the cooldown or justification."""

    stage: StageName
    at: datetime
    units: int
    guarantee: int
    utilisation: float | None
    p95: int | None
    until: datetime | None


class ReclaimTried(msgspec.Struct, kw_only=True):
    """One guarantee in `pool`. `left_alone`: why it was not judged. `utilisation`, `p95`: over the
    whole period; `recommended`: the guarantee that would do. `idle_cost`: of what was not used;
    `worth_a_month`: of `units` that would have left, at today's price. Null: unknown or unrated."""

    pool: str
    account: str
    guarantee: int
    units: int
    left_alone: Literal["temporary", "exempt", "unknown"] | None
    stages: list[ReclaimStage]
    utilisation: float | None
    p95: int | None
    recommended: int | None
    idle_cost: Decimal | None
    worth_a_month: Decimal | None


class ReclaimTrialAnswer(msgspec.Struct, kw_only=True):
    """Every guarantee of the pool or pools, those first that would have lost most. Nothing was
    changed."""

    start: datetime
    end: datetime
    guarantees: list[ReclaimTried]


class ReclaimedGuarantee(msgspec.Struct, kw_only=True):
    """Where a guarantee stands since `at`. `units` left it last; `due_at`: earliest demotion of a
    watched one; `until`: end of the cooldown or justification. `demotions`, `justifications`: how
    often."""

    account: str
    state: ReclaimState
    at: datetime
    guarantee: int
    units: int
    due_at: datetime | None
    until: datetime | None
    demotions: int
    justifications: int


class ReclaimBoard(msgspec.Struct, kw_only=True):
    """Guarantees about which something was said, by account."""

    pool: str
    guarantees: list[ReclaimedGuarantee]


class ReclaimDecision(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Why."""

    reason: Reason


class ReclaimDecided(msgspec.Struct, kw_only=True):
    """`guarantee` of the account now. `changed` false: it was decided so before. `parent`: the
    account above that has the units now; null: nobody."""

    account: str
    pool: str
    changed: bool
    guarantee: int
    parent: str | None
