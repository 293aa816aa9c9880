"""The life of an allocation, as values: held -> running -> (resized)* -> ended. Pure.

    held -> running -> (resized)* -> released | preempted | expired

Every message of a scheduler is answered with an `Outcome`: what changed, or why nothing did.
Repeated, late and contradictory messages never raise and never corrupt: the first end stands.

*Time.* A hold lapses at `hold_until`, a lease at `lease_until`, a bounded run at `ends_at`; an
allocation lives while `now` is *before* that instant. Who has lapsed is judged at any instant, so
answers do not depend on when a sweeper comes by: capacity that was shown as free is not taken back
by a message that arrives afterwards. A message's own instant `at` decides how long it counts (a
heartbeat of ten minutes ago extends the lease from ten minutes ago), and is taken to lie between
the last thing known and now; one from further in the future than clocks differ is not believed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from ledger.errors import Invalid
from quota.domain.batch import AdmissionRequest, Grant
from quota.domain.values import CLASSES, TIERS, AccountKey, PriorityClass, Tier, check_amount

CLOCK_SKEW_MAX = timedelta(seconds=60)
STEPS_MAX = 1_000

State = Literal["held", "running", "released", "preempted", "expired"]
LIVE: tuple[State, ...] = ("held", "running")
"""States that hold capacity."""

Code = Literal[
    "started",
    "renewed",
    "resized",
    "released",
    "preempted",
    "expired",
    "promoted",
    "demoted",
    "already_running",
    "already_ended",
    "ended_otherwise",
    "not_started",
    "nothing_newer",
    "no_change",
    "not_elastic",
    "no_room",
    "too_many_steps",
    "from_the_future",
]


@dataclass(frozen=True, slots=True)
class Step:
    """From `at` on, the allocation runs with these units in this tier."""

    at: datetime
    units: int
    tier: Tier


@dataclass(frozen=True, slots=True)
class Span:
    """Units in one tier over [start, end): what was held and becomes usage. `end` None: runs."""

    start: datetime
    end: datetime | None
    units: int
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Units of one pool for one attempt of one job.

    Attributes:
        units, tier: now, or at the end. `min_units` to `wanted_units` is what it may be resized to.
        tier_wish: the job asked for exactly this tier and is not promoted; None: for any.
        reclaim_seconds: grace + checkpoint time until units are given back.
        duration_seconds: bound of the run from its start; None: none.
        steps: while running, every change of units or tier, the start first.
        heard_at: instant of the newest sign of life.
        ended_at: when the end was, whatever the kind of end.
    """

    key: str
    attempt: int = 1
    account: AccountKey
    person: AccountKey | None = None
    pool: AccountKey
    units: int
    min_units: int
    wanted_units: int
    priority_class: PriorityClass
    tier: Tier
    tier_wish: Tier | None = None
    reclaim_seconds: int
    lease_seconds: int
    duration_seconds: int | None = None
    state: State = "held"
    held_at: datetime
    hold_until: datetime
    started_at: datetime | None = None
    heard_at: datetime | None = None
    lease_until: datetime | None = None
    ended_at: datetime | None = None
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        for name in ("units", "min_units", "wanted_units"):
            check_amount(getattr(self, name), field=name)
        if not self.min_units <= self.units <= self.wanted_units:
            raise Invalid("units_out_of_range", "Units lie between the least and the wanted.")
        if self.tier not in TIERS or self.priority_class not in CLASSES:
            raise Invalid("tier_unknown", "An allocation has one tier and one class.")
        if (self.state == "running") != (self.started_at is not None and self.ended_at is None):
            raise Invalid("state_malformed", "Running is started and not ended.")
        if (self.state in LIVE) != (self.ended_at is None):
            raise Invalid("state_malformed", "What has ended has an end, what lives has none.")
        if self.held_at.tzinfo is None:
            raise Invalid("instant_without_zone", "An instant names its zone.", field="held_at")

    @property
    def ends_at(self) -> datetime | None:
        """When the bounded run is over; None before the start and where there is no bound."""
        if self.started_at is None or self.duration_seconds is None:
            return None
        return self.started_at + timedelta(seconds=self.duration_seconds)

    @property
    def lapses_at(self) -> datetime | None:
        """When it expires unless something is heard; None once it has ended."""
        if self.state == "held":
            return self.hold_until
        if self.state != "running" or self.lease_until is None:
            return None
        return min(self.lease_until, self.ends_at) if self.ends_at else self.lease_until


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one message.

    Attributes:
        allocation: as it is now.
        changed: it differs from what was handed in, and is to be recorded; this may be a lapse
            that the message found, whatever became of the message itself.
        code: what happened to the message.
        contradiction: the message says something that cannot be true beside what is recorded.
    """

    allocation: Allocation
    changed: bool
    code: Code
    contradiction: bool = False


def hold(request: AdmissionRequest, grant: Grant, *, now: datetime) -> Allocation:
    """The allocation that an admission makes."""
    (need,) = (need for need in request.needs if need.pool == grant.pool)
    return Allocation(
        key=request.key,
        attempt=request.attempt,
        account=request.account,
        person=request.person,
        pool=grant.pool,
        units=grant.units,
        min_units=need.least,
        wanted_units=need.units,
        priority_class=request.priority_class,
        tier=grant.tier,
        tier_wish=request.tier,
        reclaim_seconds=request.reclaim_seconds,
        lease_seconds=grant.lease_seconds,
        duration_seconds=grant.duration_seconds,
        held_at=now,
        hold_until=grant.hold_until,
    )


def judge(allocation: Allocation, *, now: datetime) -> Allocation:
    """The allocation as it is at an instant: expired where its hold, lease or run has lapsed."""
    lapses_at = allocation.lapses_at
    if lapses_at is None or now < lapses_at:
        return allocation
    return replace(allocation, state="expired", ended_at=lapses_at)


def expire(allocation: Allocation, *, now: datetime) -> Outcome:
    """What a sweeper does: record a lapse, if there is one."""
    judged = judge(allocation, now=now)
    if judged is not allocation:
        return Outcome(judged, True, "expired")
    return Outcome(judged, False, "no_change" if judged.state in LIVE else "already_ended")


def start(allocation: Allocation, *, at: datetime | None, now: datetime) -> Outcome:
    """The job runs since `at`; None: since now, or since whenever it is known to run."""
    here = judge(allocation, now=now)
    told = now if at is None else at
    refused = _not_believed(allocation, here, told, now) or _ended(allocation, here)
    if refused:
        return refused
    if here.state == "running":
        other = at is not None and _since(here, at, now) != here.started_at
        return Outcome(here, here is not allocation, "already_running", contradiction=other)
    return Outcome(_started(here, told, now), True, "started")


def heartbeat(allocation: Allocation, *, at: datetime, now: datetime) -> Outcome:
    """The job was alive at `at`: its lease is extended from then."""
    here = judge(allocation, now=now)
    refused = _not_believed(allocation, here, at, now) or _not_running(allocation, here)
    if refused:
        return refused
    if here.heard_at is not None and at <= here.heard_at:
        return Outcome(here, False, "nothing_newer")
    return Outcome(_heard(here, min(at, now)), True, "renewed")


def resize(
    allocation: Allocation, *, units: int, at: datetime, now: datetime, room: int
) -> Outcome:
    """The job runs with other units since `at`.

    Args:
        room: units that its tier would let through on top (`Book.most`); growth beyond is refused.
    """
    here = judge(allocation, now=now)
    refused = _not_believed(allocation, here, at, now) or _not_running(allocation, here)
    if refused:
        return refused
    if units == here.units:
        return Outcome(here, False, "no_change")
    if at < here.steps[-1].at:
        return Outcome(here, False, "nothing_newer")
    if not here.min_units <= units <= here.wanted_units:
        return Outcome(here, False, "not_elastic", contradiction=True)
    if units - here.units > room:
        return Outcome(here, False, "no_room")
    if len(here.steps) >= STEPS_MAX:
        return Outcome(here, False, "too_many_steps")
    at = min(at, now)
    resized = replace(
        here, units=units, steps=(*here.steps, Step(at=at, units=units, tier=here.tier))
    )
    return Outcome(_heard(resized, at), True, "resized")


def release(
    allocation: Allocation, *, at: datetime, now: datetime, started_at: datetime | None = None
) -> Outcome:
    """The job has ended at `at`. `started_at` says that it ran, where its start was never heard."""
    return _end(allocation, "released", at=at, now=now, started_at=started_at)


def preempt(allocation: Allocation, *, at: datetime, now: datetime) -> Outcome:
    """The job was stopped for somebody else at `at`."""
    return _end(allocation, "preempted", at=at, now=now)


def promote(allocation: Allocation, tier: Tier, *, now: datetime) -> Outcome:
    """The allocation rises to a better tier; a worse one is refused, tiers only rise."""
    here = judge(allocation, now=now)
    if here.state not in LIVE:
        return Outcome(here, here is not allocation, "already_ended")
    if TIERS.index(tier) >= TIERS.index(here.tier) or len(here.steps) >= STEPS_MAX:
        return Outcome(here, False, "no_change")
    return Outcome(_in_tier(here, tier, now), True, "promoted")


def demote(allocation: Allocation, *, now: datetime) -> Outcome:
    """A guaranteed allocation becomes borrowed: its account's guarantee was lowered by a change
    that exposes (`quota.domain.exposure`). The steps of a run may pass `STEPS_MAX` by this one."""
    here = judge(allocation, now=now)
    if here.state not in LIVE:
        return Outcome(here, here is not allocation, "already_ended")
    if here.tier != "guaranteed":
        return Outcome(here, False, "no_change")
    return Outcome(_in_tier(here, "borrowed", now), True, "demoted")


def _in_tier(here: Allocation, tier: Tier, now: datetime) -> Allocation:
    steps = here.steps
    if here.state == "running":
        steps = (*steps, Step(at=max(now, steps[-1].at), units=here.units, tier=tier))
    return replace(here, tier=tier, steps=steps)


def spans(allocation: Allocation) -> tuple[Span, ...]:
    """What becomes usage: the run cut at every change of units or tier. A mere hold is none."""
    found = []
    ended_at = allocation.ended_at
    following = [step.at for step in allocation.steps[1:]]
    for at, step in enumerate(allocation.steps):
        end = following[at] if at < len(following) else ended_at
        if end is not None and ended_at is not None:
            end = min(end, ended_at)  # an end may be told that was before the last change
        if step.units and (end is None or end > step.at):
            found.append(Span(step.at, end, step.units, step.tier))
    return tuple(found)


def _end(
    allocation: Allocation,
    state: State,
    *,
    at: datetime,
    now: datetime,
    started_at: datetime | None = None,
) -> Outcome:
    here = judge(allocation, now=now)
    refused = _not_believed(allocation, here, at, now)
    if refused:
        return refused
    if here.state not in LIVE:
        same = here.state == state and here is allocation
        code: Code = "already_ended" if same else "ended_otherwise"
        return Outcome(here, here is not allocation, code, contradiction=not same)
    if here.state == "held" and started_at is not None:
        here = _started(here, min(started_at, at), now)
    known = here.started_at or here.held_at
    ended = replace(here, state=state, ended_at=max(known, min(at, now)))
    return Outcome(ended, True, "released" if state == "released" else "preempted")


def _since(here: Allocation, at: datetime, now: datetime) -> datetime:
    """The start that is recorded for one told: not before the hold, not after now."""
    return max(here.held_at, min(at, now))


def _started(here: Allocation, at: datetime, now: datetime) -> Allocation:
    at = _since(here, at, now)
    running = replace(
        here,
        state="running",
        started_at=at,
        steps=(Step(at=at, units=here.units, tier=here.tier),),
    )
    return _heard(running, at)


def _heard(here: Allocation, at: datetime) -> Allocation:
    """A sign of life: never shortens a lease, never passes the end of a bounded run."""
    if here.heard_at is not None and at <= here.heard_at:
        return here
    lease_until = at + timedelta(seconds=here.lease_seconds)
    if here.lease_until is not None:
        lease_until = max(lease_until, here.lease_until)
    if here.ends_at is not None:
        lease_until = min(lease_until, here.ends_at)
    return replace(here, heard_at=at, lease_until=lease_until)


def _not_believed(
    allocation: Allocation, here: Allocation, at: datetime, now: datetime
) -> Outcome | None:
    if at.tzinfo is None or now.tzinfo is None:
        raise Invalid("instant_without_zone", "An instant names its zone.", field="at")
    if at <= now + CLOCK_SKEW_MAX:
        return None
    return Outcome(here, here is not allocation, "from_the_future", contradiction=True)


def _ended(allocation: Allocation, here: Allocation) -> Outcome | None:
    """For messages of a job that is said to live. Ours has ended: that contradicts."""
    if here.state in LIVE:
        return None
    lapsed = here.state == "expired"
    code: Code = "ended_otherwise" if lapsed else "already_ended"
    return Outcome(here, here is not allocation, code, contradiction=lapsed)


def _not_running(allocation: Allocation, here: Allocation) -> Outcome | None:
    if here.state == "held":
        return Outcome(here, False, "not_started")
    return _ended(allocation, here)
