"""What requests look like on the wire: exact types, nothing unknown, zones required. Accounts,
pools and people go by name, requests by id."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from quota.commands.requests import COMMENT_LENGTH_MAX, MENTIONS_MAX
from quota.domain.requests import PURPOSE_LENGTH_MAX, UNITS_MAX, Kind, State, Workload
from quota.domain.values import Tier
from quota.queries.request_decisions import DecisionRow
from quota.queries.requests import AttachmentRow
from quota.request_events import RequestFacts
from quota.wire import Instant, Name

RequestKind = Literal[tuple(str(one) for one in Kind)]
RequestState = Literal[tuple(str(one) for one in State)]
WorkloadKind = Literal[tuple(str(one) for one in Workload)]

RequestUnits = Annotated[int, Meta(ge=0, le=UNITS_MAX)]
NO_NUL = r"^[^\x00]*$"
"""PostgreSQL keeps no text with NUL."""
Purpose = Annotated[str, Meta(max_length=PURPOSE_LENGTH_MAX, pattern=NO_NUL)]
Version = Annotated[int, Meta(ge=0, le=2**53)]
Note = Annotated[str, Meta(max_length=500, pattern=NO_NUL)]


class _RequestTerms(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    account: Name
    pool: Name
    kind: RequestKind
    units: RequestUnits | None = None
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    workload: WorkloadKind = "other"
    tier: Tier = "guaranteed"
    purpose: Purpose = ""
    budget: Decimal | None = None
    to_account: Name | None = None


class NewRequest(_RequestTerms, forbid_unknown_fields=True, kw_only=True):
    """What is asked. `units` by kind: `new` the guarantee, `raise` and `boost` so many more,
    `lower` so many fewer, `ceiling` how far to borrow, `transfer` so many to `to_account`;
    `extension` and `justification` have none. `budget`: the most the whole period may cost, in the
    organization's currency. `draft` keeps it as its author's own and asks nobody."""

    draft: bool = False


class RequestTrial(_RequestTerms, forbid_unknown_fields=True, kw_only=True):
    """What would be asked, as in `NewRequest`. `request`: of one that is handed in again."""

    request: UUID | None = None


class RequestChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Members that shall be otherwise; what is left out stays, null takes a value away."""

    account: Name | UnsetType = UNSET
    pool: Name | UnsetType = UNSET
    kind: RequestKind | UnsetType = UNSET
    units: RequestUnits | UnsetType | None = UNSET
    starts_at: Instant | UnsetType | None = UNSET
    ends_at: Instant | UnsetType | None = UNSET
    workload: WorkloadKind | UnsetType = UNSET
    tier: Tier | UnsetType = UNSET
    purpose: Purpose | UnsetType = UNSET
    budget: Decimal | UnsetType | None = UNSET
    to_account: Name | UnsetType | None = UNSET
    expected_version: Version | None = None


class RequestStep(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A step that needs nothing but the request. `expected_version`: the version its author saw;
    if somebody was quicker, 409. `reason` is kept with it."""

    expected_version: Version | None = None
    reason: Note = ""


class RequestExtension(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Until when the temporary quota shall last; the purpose is that of the request."""

    ends_at: Instant
    purpose: Purpose | None = None


class NewComment(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A word about the request; people mentioned by name are told."""

    text: Annotated[str, Meta(min_length=1, max_length=COMMENT_LENGTH_MAX, pattern=NO_NUL)]
    mentioned: Annotated[list[Name], Meta(max_length=MENTIONS_MAX)] = []


class NewAttachment(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A PDF, PNG, JPEG, text or CSV file of at most 1 MiB. `content` is Base64."""

    name: Annotated[str, Meta(min_length=1, max_length=255)]
    content: bytes


class UploadedFile(msgspec.Struct, kw_only=True):
    """The same as a form: one part `file` with its file name."""

    file: Annotated[str, Meta(extra_json_schema={"contentMediaType": "application/octet-stream"})]


class RequestOutcome(msgspec.Struct, kw_only=True):
    """What became of the request. `version`: name it in the next step. `asked` and `reasons`: who
    was asked and why, where that was decided now. `change_id`: of the change to come, while it is
    approved for later."""

    id: UUID
    state: RequestState
    version: int
    approvals_missing: int
    change_id: UUID | None
    asked: list[str]
    reasons: list[str]


class Spoken(msgspec.Struct, kw_only=True):
    """Where the word stands."""

    request: UUID
    comment: UUID


class AttachedFile(msgspec.Struct, kw_only=True):
    """Where the file stands; `digest` is its SHA-256."""

    request: UUID
    attachment: UUID
    media_type: str
    digest: str


class ApprovalGiven(msgspec.Struct, kw_only=True):
    """Whose word it was, and in whose place they spoke."""

    reviewer: str
    on_behalf_of: str | None


class Offer(msgspec.Struct, kw_only=True):
    """What a reviewer would approve instead."""

    reviewer: str
    on_behalf_of: str | None
    units: int | None
    ends_at: datetime | None


class RequestSummary(msgspec.Struct, kw_only=True):
    """A request. `state` is judged at the instant of reading. `levels`: accounts whose approvers
    are asked, the nearest first; `operators`: those, too. `facts`: what the route
    was decided on."""

    id: UUID
    state: RequestState
    version: int
    account: str
    pool: str
    kind: RequestKind
    units: int | None
    starts_at: datetime | None
    ends_at: datetime | None
    workload: str
    tier: str
    purpose: str
    budget: Decimal | None
    to_account: str | None
    requester: str
    authors: list[str]
    drafted_at: datetime | None
    submitted_at: datetime | None
    decided_at: datetime | None
    provisioned_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    due_at: datetime | None
    escalations: int
    approvals_needed: int | None
    approvals_missing: int
    approvals: list[ApprovalGiven]
    levels: list[str]
    operators: bool
    route_reasons: list[str]
    counter: Offer | None
    change_id: UUID | None
    facts: RequestFacts | None


class Requests(msgspec.Struct, kw_only=True):
    """Requests, newest first. `next` is the address of the following page."""

    at: datetime
    requests: list[RequestSummary]
    next: str | None


class RequestComment(msgspec.Struct, kw_only=True):
    """A word in the discussion."""

    id: UUID
    author: str
    text: str
    mentioned: list[str]
    said_at: datetime


class RequestEvent(msgspec.Struct, kw_only=True):
    """One event of the request; its fields are in the catalogue of events, by `type`."""

    id: UUID
    type: str
    version: int
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: str
    actor: str
    reason: str
    data: dict[str, Any]


class MayDecide(msgspec.Struct, kw_only=True):
    """Whether the caller may decide it now, in whose place, or why not."""

    allowed: bool
    on_behalf_of: str | None = None
    code: str | None = None
    detail: str | None = None


class RequestStory(msgspec.Struct, kw_only=True):
    """One request with all that was said and done. `asked`: who may decide it now. `names` are
    those of the ids in the timeline."""

    at: datetime
    request: RequestSummary
    asked: list[str]
    may_decide: MayDecide | None
    comments: list[RequestComment]
    attachments: list[AttachmentRow]
    decisions: list[DecisionRow]
    timeline: list[RequestEvent]
    names: dict[str, str]


class PrecheckProblem(msgspec.Struct, kw_only=True):
    """What is wrong, and with which member."""

    code: str
    field: str | None
    detail: str
    facts: dict[str, Any]


class PrecheckPoint(msgspec.Struct, kw_only=True):
    """The pool from an instant until the next: free without and with the request."""

    at: datetime
    promised: int
    promisable: int
    free: int


class PrecheckNearest(msgspec.Struct, kw_only=True):
    """What would pass: most units for the same period; the earliest period for the same units."""

    units: int | None
    starts_at: datetime | None
    ends_at: datetime | None


class PrecheckUse(msgspec.Struct, kw_only=True):
    """Use of what it holds, over four weeks; null: unknown. `mean` is a share of the guarantee,
    the others are units; `coverage` is the share of the time that is known."""

    mean: float | None
    p50: int | None
    p95: int | None
    peak: int | None
    guaranteed: int | None
    idle_units: int | None
    coverage: float


class Money(msgspec.Struct, kw_only=True):
    """An amount in its currency."""

    amount: Decimal
    currency: str


class PrecheckBudget(msgspec.Struct, kw_only=True):
    """The nearest monthly budget at or above the account: what the running month is `expected` to
    cost (`forecast`: by a forecast; else what is spent), and `together` with the price of a whole
    month. For information: it decides nothing."""

    account: str
    currency: str
    amount: Decimal
    expected: Decimal
    forecast: bool
    together: Decimal
    beyond: bool


class PrecheckAnswer(msgspec.Struct, kw_only=True):
    """What would happen. With `problems` it cannot be handed in, and nothing that depends on them
    is known. What does not fit can be handed in all the same: a person sees what can be done.
    `free_over_period` is without the request, `free_with_it` with it. `lender`: the account above
    whose guarantee pays. `budget`: null where there is none that the caller may read."""

    at: datetime
    can_submit: bool
    problems: list[PrecheckProblem]
    fits: bool | None
    shortage: PrecheckProblem | None
    rise: int | None
    guaranteed_before: int | None
    guaranteed_after: int | None
    lender: str | None
    free_over_period: list[PrecheckPoint]
    free_with_it: list[PrecheckPoint]
    nearest: PrecheckNearest | None
    automatic: bool
    approvals: int | None
    asked: list[str]
    reasons: list[str]
    use: PrecheckUse | None
    price_per_month: Money | None
    price_of_period: Money | None
    budget: PrecheckBudget | None
