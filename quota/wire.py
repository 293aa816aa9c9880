"""What admissions and allocations look like on the wire and in commands: exact types, nothing
unknown, zones required. The same types give the OpenAPI document its schemas."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quota.domain.batch import (
    DURATION_SECONDS_MAX,
    GRACE_SECONDS_DEFAULT,
    HEARTBEAT_SECONDS_DEFAULT,
    KEY_LENGTH_MAX,
    NEEDS_MAX,
)
from quota.domain.lifecycle import State
from quota.domain.values import PriorityClass, Tier

UNITS_MAX = 10_000_000
NAME_LENGTH_MAX = 128
ATTEMPT_MAX = 1_000_000
MESSAGES_MAX = 10_000
LABELS_MAX = 32
LABEL_LENGTH_MAX = 255

Key = Annotated[str, Meta(min_length=1, max_length=KEY_LENGTH_MAX, pattern=r"^[^\x00-\x1f\x7f]+$")]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX)]
Units = Annotated[int, Meta(ge=1, le=UNITS_MAX)]
Seconds = Annotated[int, Meta(ge=1, le=DURATION_SECONDS_MAX)]
Grace = Annotated[int, Meta(ge=0, le=DURATION_SECONDS_MAX)]
Attempt = Annotated[int, Meta(ge=1, le=ATTEMPT_MAX)]
Instant = Annotated[datetime, Meta(tz=True)]
Label = Annotated[str, Meta(max_length=LABEL_LENGTH_MAX)]
LabelName = Annotated[str, Meta(min_length=1, max_length=LABEL_LENGTH_MAX)]
Labels = Annotated[dict[LabelName, Label], Meta(max_length=LABELS_MAX)]


class PoolNeed(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """Units of one pool. `min_units` absent: all of them or none (a gang); less: elastic. 0 units
    of a pool are no need of it and stop nothing."""

    pool: Name
    units: Annotated[int, Meta(ge=0, le=UNITS_MAX)]
    min_units: Units | None = None


class Ask(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A waiting job. `pool` and `units`, or `needs` for a job over several pools that gets all of
    them or nothing. `class` is P0 to P3. `tier`: exactly this one; absent: the best of guaranteed
    and borrowed, and spot too with `spot_allowed`. `reclaim_seconds` is how long the job takes to
    give its units back, grace and checkpoint together. `attempt` counts the job's requeues."""

    key: Key
    attempt: Attempt = 1
    account: Name
    person: Name
    pool: Name | None = None
    units: Units | None = None
    min_units: Units | None = None
    needs: Annotated[list[PoolNeed], Meta(min_length=1, max_length=NEEDS_MAX)] | None = None
    job_class: PriorityClass = msgspec.field(name="class", default="P3")
    tier: Tier | None = None
    spot_allowed: bool = False
    duration_seconds: Seconds | None = None
    reclaim_seconds: Grace = GRACE_SECONDS_DEFAULT
    labels: Labels | None = None


class AskBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 jobs, decided in this order."""

    requests: list[Ask]
    dry_run: bool = False


class LooseAskBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The envelope alone, to name every request at fault."""

    requests: list[msgspec.Raw]
    dry_run: bool = False


class AllocationView(msgspec.Struct, kw_only=True, gc=False):
    """Units of one pool for one attempt of a job. `id` is null in a dry run."""

    id: str | None
    key: str
    attempt: int
    pool: str
    account: str
    units: int
    tier: Tier
    state: State
    hold_until: datetime
    lease_seconds: int
    duration_seconds: int | None
    started_at: datetime | None = None
    lease_until: datetime | None = None
    ended_at: datetime | None = None


class BlockView(msgspec.Struct, kw_only=True, gc=False):
    """One thing that stopped a job: whose limit, which, how many units it lets through, and how
    many are short. `account` is null where the pool itself is the limit."""

    pool: str
    account: str | None
    limit: str
    available: int
    short_by: int
    detail: str


class OccupantView(msgspec.Struct, kw_only=True, gc=False):
    """A job that may make room."""

    key: str
    account: str
    tier: Tier
    job_class: PriorityClass = msgspec.field(name="class")
    units: int
    ends_at: datetime | None


class ReliefView(msgspec.Struct, kw_only=True):
    """What would help: opportunistic jobs of others whose units would count, and jobs whose known
    ends make room."""

    pool: str
    reclaim: list[OccupantView]
    reclaim_enough: bool
    ends: list[OccupantView]
    ends_enough_at: datetime | None


class Fault(msgspec.Struct, kw_only=True, gc=False):
    """Why an item means nothing."""

    code: str
    field: str | None
    detail: str


class AdmissionResult(msgspec.Struct, kw_only=True):
    """One job's answer.

    `admitted`: `allocations`, one per pool; `repeated` says that they were made by an earlier
    request. `denied`: every reason in `blocks`. `ended`: this attempt was admitted before and is
    over; ask with the next attempt. `invalid`: `errors`, nothing was decided.
    """

    key: str | None
    attempt: int | None
    status: Literal["admitted", "denied", "ended", "invalid"]
    repeated: bool = False
    allocations: list[AllocationView] = []
    blocks: list[BlockView] = []
    relief: list[ReliefView] = []
    errors: list[Fault] = []


class Admissions(msgspec.Struct, kw_only=True):
    """`results` in the order of the requests. `heartbeat_seconds`: how often to tell that a job
    lives."""

    at: datetime
    dry_run: bool
    admitted: int
    denied: int
    heartbeat_seconds: int = HEARTBEAT_SECONDS_DEFAULT
    results: list[AdmissionResult]


class Message(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """What a scheduler tells of a job. `attempt` absent: the newest; `pool` absent: the job's
    units in all its pools; `at` absent: now."""

    key: Key
    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None


Share = Annotated[float, Meta(ge=0, le=1)]
Memory = Annotated[float, Meta(ge=0, lt=1e9)]
Progress = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class _Heartbeat(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None
    compute_util: Share | None = None
    memory_gb: Memory | None = None
    progress: Progress | None = None

    @property
    def tells_of_work(self) -> bool:
        """Whether it tells more than that the job is alive."""
        told = (self.compute_util, self.memory_gb, self.progress)
        return any(one is not None for one in told)


class HeartbeatMessage(_Heartbeat, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """The job is alive. `compute_util`: mean compute utilization since it was last told, 0 to 1;
    `memory_gb`: memory of its units that it holds; `progress`: a count that changes as the work
    gets on, such as steps done. Absent is unknown, never zero."""

    key: Key


class ResizeMessage(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False
):
    """The job runs with other units. `pool` is needed where the job has units of several."""

    key: Key
    units: Units
    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None


class ReleaseMessage(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False
):
    """The job has ended, or was stopped for another (`preempted`). `started_at` says that it ran,
    where its start was never told."""

    key: Key
    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None
    started_at: Instant | None = None
    preempted: bool = False


AnyMessage = Message | HeartbeatMessage | ResizeMessage | ReleaseMessage


class MessageResult(msgspec.Struct, kw_only=True, gc=False):
    """What became of a message for one allocation. `contradiction`: it cannot be true beside what
    is recorded, which stands. `unknown`: there is no such allocation. `invalid`: see `code`."""

    key: str | None
    attempt: int | None
    pool: str | None
    status: Literal["changed", "unchanged", "contradiction", "unknown", "invalid"]
    code: str
    detail: str
    allocation: AllocationView | None = None


class Told(msgspec.Struct, kw_only=True):
    """`results` in the order of the messages; several for a job with units of several pools, so
    `counts` says how many each message has."""

    at: datetime
    changed: int
    counts: list[int]
    results: list[MessageResult]


class MessageBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 messages, which count in this order."""

    messages: list[Message]


class HeartbeatBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 messages, which count in this order."""

    messages: list[HeartbeatMessage]


class ResizeBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 messages, which count in this order."""

    messages: list[ResizeMessage]


class ReleaseBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 messages, which count in this order."""

    messages: list[ReleaseMessage]


class LooseMessageBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The envelope alone, to name every message at fault."""

    messages: list[msgspec.Raw]


class OneMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is told of the job in the address. `attempt` absent: the newest; `pool` absent: the
    job's units in all its pools; `at` absent: now."""

    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None


class OneHeartbeat(_Heartbeat, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """The job in the address is alive; see `HeartbeatMessage`."""


class OneResize(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The job runs with other units. `pool` is needed where the job has units of several."""

    units: Units
    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None


class OneRelease(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The job has ended, or was stopped for another (`preempted`). `started_at` says that it ran,
    where its start was never told."""

    attempt: Attempt | None = None
    pool: Name | None = None
    at: Instant | None = None
    started_at: Instant | None = None
    preempted: bool = False


class StepView(msgspec.Struct, kw_only=True, gc=False):
    """From `at` on the job ran with these units in this tier."""

    at: datetime
    units: int
    tier: Tier


class AllocationFacts(msgspec.Struct, kw_only=True):
    """Everything about an allocation, judged now: `state` is `expired` as soon as its hold, lease
    or bounded run is over. `adopted`: it was found running without having been admitted."""

    id: str
    key: str
    attempt: int
    pool: str
    account: str
    person: str | None
    units: int
    min_units: int
    wanted_units: int
    job_class: PriorityClass = msgspec.field(name="class")
    tier: Tier
    state: State
    held_at: datetime
    hold_until: datetime
    started_at: datetime | None
    heard_at: datetime | None
    lease_until: datetime | None
    lease_seconds: int
    duration_seconds: int | None
    ended_at: datetime | None
    reclaim_seconds: int
    adopted: bool
    labels: dict[str, str]
    steps: list[StepView]


class AllocationPage(msgspec.Struct, kw_only=True):
    """Allocations, newest first. `next` is the address of the following page."""

    at: datetime
    allocations: list[AllocationFacts]
    next: str | None


class AllocationsOfJob(msgspec.Struct, kw_only=True):
    """All allocations of a job: of every attempt, newest first, one per pool."""

    at: datetime
    allocations: list[AllocationFacts]


class SnapshotJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """A job that runs in the pool, as its scheduler sees it. `attempt` absent: the newest known,
    or the first. The rest counts only where the job is not known here."""

    key: Key
    account: Name
    person: Name
    units: Units
    attempt: Attempt | None = None
    started_at: Instant | None = None
    job_class: PriorityClass = msgspec.field(name="class", default="P3")
    reclaim_seconds: Grace = GRACE_SECONDS_DEFAULT
    labels: Labels | None = None


class Snapshot(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Everything that ran in the pool at the instant `at` (absent: now); up to 100,000 jobs."""

    jobs: list[SnapshotJob]
    at: Instant | None = None
    dry_run: bool = False


class Difference(msgspec.Struct, kw_only=True, gc=False):
    """Where the scheduler and the records differed, and what was done about it.

    `started`, `resized`: a message had been lost. `adopted`: a job ran that had not been admitted;
    it counts now. `ended`: it runs no more. `disputed`: nothing was done; somebody must look.
    """

    key: str
    attempt: int | None
    done: Literal["started", "resized", "adopted", "ended", "disputed"]
    code: str
    detail: str
    allocation: AllocationView | None = None


class Reconciled(msgspec.Struct, kw_only=True):
    """`known` jobs were as recorded, and were heard of; `differences` lists all others."""

    at: datetime
    dry_run: bool
    pool: str
    known: int
    differences: list[Difference]
