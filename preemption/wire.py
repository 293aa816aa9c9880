"""What preemption looks like on the wire and in commands: exact types, nothing unknown, zones
required. The same types give the OpenAPI document its schemas."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quota import wire as quota_wire
from quota.domain.batch import GRACE_SECONDS_DEFAULT
from quota.domain.values import PriorityClass, Tier
from quota.wire import Attempt, Grace, Instant, Key, Name, Units

REPORTS_MAX = 10_000
TEXT_LENGTH_MAX = 1_000

Text = Annotated[str, Meta(max_length=TEXT_LENGTH_MAX)]
Reason = Annotated[str, Meta(min_length=1, max_length=TEXT_LENGTH_MAX)]
Left = Annotated[int, Meta(ge=0, le=quota_wire.UNITS_MAX)]

PlanState = Literal["open", "confirmed", "cancelled", "lapsed", "replaced"]
ActionState = Literal["open", "done", "gone", "refused", "failed", "void"]


class PreemptionAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A waiting job that needs units which others hold. `key` is the scheduler's own name of it.
    `min_units`: an elastic job would do with fewer, so as many as can be had now are planned for.
    `tier` absent: guaranteed where the account's own guarantee has room, else borrowed.
    `deadline`: when the units are needed at the latest. `aged`: the class was reached by waiting.
    `reclaim_seconds`: how long the job itself would take to give units back. `override`: why the
    budgets shall not count this time; for operators."""

    account: Name
    pool: Name
    units: Units
    job_class: PriorityClass = msgspec.field(name="class")
    key: Key
    min_units: Units | None = None
    tier: Tier | None = None
    deadline: Instant | None = None
    aged: bool = False
    reclaim_seconds: Grace = GRACE_SECONDS_DEFAULT
    override: Reason | None = None
    dry_run: bool = False


class PreemptionAction(msgspec.Struct, kw_only=True):
    """One allocation gives units back. `mode`: `shrink` it to `left` units and let it go on;
    `checkpoint`: let it save itself, stop it and let it wait anew; `stop`. It has `grace_seconds`
    from now on. `step`: its place in the order of what is taken first. `tax`: what it costs, as a
    decimal. `state`: what became of it, with `given` units at `reported_at` and `tax_reported`."""

    key: str
    attempt: int
    account: str
    step: str
    mode: Literal["shrink", "checkpoint", "stop"]
    units: int
    left: int
    grace_seconds: int
    returns_at: datetime
    tax: Decimal
    state: ActionState = "open"
    given: int | None = None
    reported_at: datetime | None = None
    tax_reported: Decimal | None = None
    detail: str = ""


class PreemptionPlan(msgspec.Struct, kw_only=True):
    """A plan. Not confirmed by `until`, it lapses. `ready_at`: when all units are back at the
    latest. `free_units` were free when it was made, `missing_units` it will not get back: actions
    were refused or failed. `used_at`: its job was admitted. `tax` is the sum over its actions.
    `id` is null in a dry run. `units` are those that it is for; `wanted` were asked for by an
    elastic job, for which `min_units` would do (both null: no fewer would)."""

    id: str | None
    state: PlanState
    pool: str
    account: str
    key: str
    units: int
    job_class: PriorityClass = msgspec.field(name="class")
    tier: Tier
    made_at: datetime
    made_by: str
    until: datetime
    ready_at: datetime
    deadline: datetime | None
    meets_deadline: bool | None
    returns_guarantee: bool
    within_target: bool | None
    free_units: int
    missing_units: int
    aged: bool
    override: bool
    reason: str
    tax: Decimal
    wanted: int | None
    min_units: int | None
    settled_at: datetime | None
    used_at: datetime | None
    actions: list[PreemptionAction]


class PreemptionObstacle(msgspec.Struct, kw_only=True, gc=False):
    """Why allocations were passed over, or why the plan waits: so many allocations and units (0
    where it is about the request), until when (null: not by waiting)."""

    code: str
    allocations: int
    units: int
    until: datetime | None
    detail: str


class PreemptionBudget(msgspec.Struct, kw_only=True, gc=False):
    """The pool's budget: units used in the window before the plan, units the plan takes, and the
    limit."""

    used: int
    units: int
    limit: int
    window_seconds: int


class PreemptionAnswer(msgspec.Struct, kw_only=True):
    """What comes of asking.

    `plan`: `plan` says who gives back what; start now. `repeated`: it was made for this job
    before and still stands. `fits`: nothing needs to be taken, ask for admission. `wait`: the
    budgets, or the time that jobs may run undisturbed, allow it from `wait_until` on, by what is
    known now; `actions` are those that would be. `refused`: not as things stand; `obstacles` and
    `blocks` say why. `units`: how many it is about, of an elastic job maybe fewer than it asked
    for.
    """

    at: datetime
    status: Literal["plan", "fits", "wait", "refused"]
    dry_run: bool
    repeated: bool
    units: int
    tier: Tier
    free_units: int
    plan: PreemptionPlan | None
    wait_until: datetime | None
    actions: list[PreemptionAction]
    obstacles: list[PreemptionObstacle]
    blocks: list[quota_wire.BlockView]
    pool_budget: PreemptionBudget


class PreemptionReport(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False
):
    """What became of one action, `attempt` absent: the plan's. `done`: as planned. `shrunk`: the
    job went on with `left` units. `refused`: it would not, `failed`: it could not; both keep their
    units. `at` absent: now. `lost_seconds`: how far the job falls back, if that was measured: work
    since its last checkpoint, reload and warm-up."""

    key: Key
    outcome: Literal["done", "shrunk", "refused", "failed"]
    attempt: Attempt | None = None
    left: Left | None = None
    at: Instant | None = None
    lost_seconds: Grace | None = None
    detail: Text = ""


class PreemptionReports(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 reports, which count in this order."""

    reports: Annotated[list[PreemptionReport], Meta(min_length=1, max_length=REPORTS_MAX)]


class PreemptionReportResult(msgspec.Struct, kw_only=True, gc=False):
    """What became of a report. `contradiction`: it cannot be true beside what is recorded, which
    stands. `unknown`: the plan has no such action. `invalid`: see `code`."""

    key: str
    attempt: int | None
    status: Literal["changed", "unchanged", "contradiction", "unknown", "invalid"]
    code: str
    detail: str


class PreemptionTold(msgspec.Struct, kw_only=True):
    """`results` in the order of the reports, and the plan as it stands now."""

    at: datetime
    changed: int
    results: list[PreemptionReportResult]
    plan: PreemptionPlan


class PreemptionSettle(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Nothing more to say, or why."""

    reason: Text = ""


class PreemptionSettled(msgspec.Struct, kw_only=True):
    """The plan as it stands. `changed` false: it was so already."""

    at: datetime
    changed: bool
    plan: PreemptionPlan


class PreemptionPlans(msgspec.Struct, kw_only=True):
    """Plans, the newest first. `next` is the address of the following page."""

    at: datetime
    plans: list[PreemptionPlan]
    next: str | None


Seconds = Annotated[int, Meta(ge=0, le=366 * 86_400)]


class Checkpoint(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, gc=False):
    """A job saved itself at `at` (absent: now), `attempt` absent: the newest. It works again
    `reload_seconds` and `warm_up_seconds` after its next start. `seconds`: how long saving took."""

    key: Key
    attempt: Attempt | None = None
    at: Instant | None = None
    reload_seconds: Grace = 0
    warm_up_seconds: Grace = 0
    seconds: Grace | None = None


class Checkpoints(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 10,000 checkpoints of jobs of one pool."""

    checkpoints: Annotated[list[Checkpoint], Meta(min_length=1, max_length=REPORTS_MAX)]


class CheckpointResult(msgspec.Struct, kw_only=True, gc=False):
    """What became of one: `recorded`, or why nothing changed."""

    key: str
    attempt: int | None
    code: Literal[
        "recorded", "nothing_newer", "allocation_unknown", "already_ended", "from_the_future"
    ]
    detail: str


class CheckpointsTold(msgspec.Struct, kw_only=True):
    """`results` in the order of the checkpoints."""

    at: datetime
    changed: int
    results: list[CheckpointResult]


class PreemptionBudgets(msgspec.Struct, kw_only=True):
    """An organization's budgets. `pool_share` of a pool's capacity may be taken in any
    `pool_window_seconds`; a job is preempted once in any `job_window_seconds`; `aged_per_day`
    allocations are taken in any 24 hours for jobs of one account that rose by waiting; a job that
    was preempted does not preempt for `cooldown_seconds`; one that runs for less than
    `min_run_seconds` is left alone; a plan lapses after `plan_seconds`."""

    pool_share: Decimal
    pool_window_seconds: int
    job_window_seconds: int
    aged_per_day: int
    cooldown_seconds: int
    min_run_seconds: int
    plan_seconds: int


class NewPreemptionBudgets(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """All budgets at once, and why."""

    pool_share: Decimal
    pool_window_seconds: Seconds
    job_window_seconds: Seconds
    aged_per_day: Annotated[int, Meta(ge=0, le=1_000_000)]
    cooldown_seconds: Seconds
    min_run_seconds: Seconds
    plan_seconds: Annotated[int, Meta(ge=60, le=86_400)]
    reason: Reason
