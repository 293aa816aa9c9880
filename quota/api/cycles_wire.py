"""What review cycles look like on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from quota.api.requests_wire import NO_NUL, Note, RequestUnits, Version
from quota.api.reviews_wire import Reason
from quota.commands.cycle_decisions import CHOICES_MAX
from quota.cycle_events import CycleFigures
from quota.domain.cycles import (
    DECIDE_DAYS_MAX,
    NAME_LENGTH_MAX,
    TEXT_LENGTH_MAX,
    WINDOW_DAYS,
    WINDOW_DAYS_MAX,
)
from quota.wire import Instant, Name

CycleName = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX, pattern=NO_NUL)]
Text = Annotated[str, Meta(min_length=1, max_length=TEXT_LENGTH_MAX, pattern=NO_NUL)]
Word = Literal["keep", "recommended", "set"]


class CycleSummary(msgspec.Struct, kw_only=True):
    """A review of every quota at and below an account.

    Attributes:
        window_days: over so many days before the reading, use is told.
        opened_by: null: it opened by itself.
        decided, asked, answered: quotas by state; the rest of `quota_count` is undecided.
        changed, kept, undecided, impossible: what became of them at the close.
        may_close: whether the caller may close it or give it up.
    """

    id: UUID
    account: str
    name: str
    state: Literal["open", "closed", "cancelled"]
    deadline: datetime
    window_days: int
    quota_count: int
    decided: int
    asked: int
    answered: int
    reason: str
    opened_by: str | None
    opened_at: datetime
    ended_by: str | None
    ended_at: datetime | None
    end_reason: str
    changed: int
    kept: int
    undecided: int
    impossible: int
    may_close: bool


class Cycles(msgspec.Struct, kw_only=True):
    """Reviews that the caller sees something of, newest first. `waiting`: questions to the caller
    as a lead, without an answer yet."""

    at: datetime
    waiting: int
    cycles: list[CycleSummary]
    next: str | None


class NewCycle(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A review to open. `dry_run`: only say how many quotas it would be."""

    account: Name
    name: CycleName
    deadline: Instant
    window_days: Annotated[int, Meta(ge=1, le=WINDOW_DAYS_MAX)] = WINDOW_DAYS
    reason: Note = ""
    dry_run: bool = False


class CycleOpening(msgspec.Struct, kw_only=True):
    """`id` null: it was a dry run."""

    id: UUID | None
    quota_count: int


class CycleReviewer(msgspec.Struct, kw_only=True):
    """How many of the decisions that stand are whose."""

    person: str
    decided: int


class CyclePool(msgspec.Struct, kw_only=True):
    """What the decisions so far would make of a pool: units cut and added, the promise now and
    after, and what can be promised."""

    pool: str
    cuts: int
    rises: int
    promised: int
    after: int
    promisable: int


class CycleDetail(msgspec.Struct, kw_only=True):
    """A review with its progress: reviewers, the busiest first, and pools by name."""

    at: datetime
    cycle: CycleSummary
    reviewers: list[CycleReviewer]
    pools: list[CyclePool]


class CycleQuota(msgspec.Struct, kw_only=True):
    """A quota under review.

    Attributes:
        listed, guaranteed: its guarantee at the opening, and now; `ends_at` where it is temporary.
        version: what a careful decision sends as `expected_version`.
        stale: it changed since it was decided to change it: decide again.
        outcome: what the close made of it, with `before` and `after`; `detail`: why it could not
            be.
        use: over the window up to now; once the review has ended, as known at the decision, null
            where there was none. Its members are null where nothing is known, never 0.
    """

    account: str
    pool: str
    listed: int
    guaranteed: int
    ends_at: datetime | None
    state: Literal["undecided", "asked", "answered", "decided"]
    version: int
    decision: Word | None
    units: int | None
    stale: bool
    reviewer: str | None
    reason: str
    moved_at: datetime | None
    question: str
    answer: str
    answer_units: int | None
    answered_by: str | None
    outcome: Literal["changed", "kept", "undecided", "impossible"] | None
    before: int | None
    after: int | None
    detail: str | None
    may_decide: bool
    may_answer: bool
    use: CycleFigures | None


class CycleQuotas(msgspec.Struct, kw_only=True):
    """Quotas of a review."""

    at: datetime
    quotas: list[CycleQuota]
    next: str | None


class CycleDecision(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`units`: of `set`, the guarantee; of `recommended`, the figure that was seen, and if it is
    another one by now, that is a conflict."""

    decision: Word
    units: RequestUnits | None = None
    expected_version: Version | None = None
    reason: Note = ""


class CycleChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One decision of many; see CycleDecision."""

    account: Name
    pool: Name
    decision: Word
    units: RequestUnits | None = None
    expected_version: Version | None = None


class CycleChoices(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Decisions, each its own, of different quotas; the reason is kept with each."""

    decisions: Annotated[list[CycleChoice], Meta(min_length=1, max_length=CHOICES_MAX)]
    reason: Note = ""


class CycleResult(msgspec.Struct, kw_only=True):
    """What became of one: `decided` with the guarantee it means and the quota's new version, or
    `refused` with the code, the sentence and what else the refusal knows."""

    account: str
    pool: str
    status: Literal["decided", "refused"]
    units: int | None = None
    version: int | None = None
    code: str | None = None
    detail: str | None = None
    field: str | None = None
    facts: dict[str, Any] = {}


class CycleResults(msgspec.Struct, kw_only=True):
    """Results in the order of the decisions."""

    decided: int
    refused: int
    results: list[CycleResult]


class CycleQuestion(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A question to the leads nearest to the account."""

    question: Text
    expected_version: Version | None = None


class CycleReply(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A lead's answer; `units`: the guarantee that they say they need."""

    text: Text
    units: RequestUnits | None = None
    expected_version: Version | None = None


class CycleClosing(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`undecided_keep`: quotas without a decision stay as they are. `without_impossible`:
    decisions that cannot be applied are left out. Without them either refuses the close."""

    undecided_keep: bool = False
    without_impossible: bool = False
    reason: Note = ""
    dry_run: bool = False


class CycleImpossible(msgspec.Struct, kw_only=True):
    """A decision that cannot be applied, and why."""

    account: str
    pool: str
    units: int
    code: str
    detail: str


class CycleOutcome(msgspec.Struct, kw_only=True):
    """What the close did, or in a dry run would do. `impossible` names at most 200."""

    dry_run: bool
    changed: int
    kept: int
    undecided: int
    impossible_count: int
    impossible: list[CycleImpossible]


class CycleEnd(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Why the review is given up."""

    reason: Reason


class CycleEnded(msgspec.Struct, kw_only=True):
    """The review that was given up."""

    id: UUID


class CyclePolicyFacts(msgspec.Struct, kw_only=True):
    """How review cycles open: `automatic`, one over the whole organization each quarter, over
    `window_days` of use, with `decide_days` until its deadline.

    `version` is what a careful change sends as `expected_version`."""

    automatic: bool
    window_days: int
    decide_days: int
    version: int


class NewCyclePolicy(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All of it at once, and why. `expected_version`: of the policy that its author saw; another
    one is a conflict."""

    automatic: bool
    window_days: Annotated[int, Meta(ge=1, le=WINDOW_DAYS_MAX)]
    decide_days: Annotated[int, Meta(ge=1, le=DECIDE_DAYS_MAX)]
    reason: Reason
    expected_version: Version | None = None


class CyclePolicyOutcome(msgspec.Struct, kw_only=True):
    """`changed` false: it was so already."""

    changed: bool
    policy: CyclePolicyFacts
