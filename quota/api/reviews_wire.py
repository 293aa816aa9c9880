"""What reviews look like on the wire: decisions, the policy of routes, delegations."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from quota.api.requests_wire import NO_NUL, Note, RequestSummary, RequestUnits, Version
from quota.queries.request_decisions import DecisionRow
from quota.wire import Instant, Name

DECISIONS_MAX = 100
Reason = Annotated[str, Meta(min_length=1, max_length=500, pattern=NO_NUL)]
Decision = Literal["approve", "approve_less", "ask", "reject"]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Percent = Annotated[int, Meta(ge=0, le=100)]
Days = Annotated[int, Meta(ge=1, le=3_660)]
Hours = Annotated[int, Meta(ge=1, le=24 * 90)]


class ReviewItem(msgspec.Struct, kw_only=True):
    """A request to decide. `on_behalf_of`: the absent person whose place the reader takes."""

    request: RequestSummary
    on_behalf_of: str | None


class Inbox(msgspec.Struct, kw_only=True):
    """What the caller is asked to decide and may, the nearest deadline first."""

    at: datetime
    waiting: int
    requests: list[ReviewItem]
    next: str | None


class Approval(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`expected_version`: the version that the reviewer saw."""

    expected_version: Version | None = None
    reason: Note = ""


class LesserApproval(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Fewer units, an earlier end, or both; what is left out is as asked."""

    units: RequestUnits | None = None
    ends_at: Instant | None = None
    expected_version: Version | None = None
    reason: Note = ""


class Word(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A question to those who ask, or a no: `reason` is it, kept and shown."""

    expected_version: Version | None = None
    reason: Reason


class BatchDecision(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One decision of many. `units` and `ends_at` are of `approve_less`; `ask` and `reject` say
    why."""

    request: UUID
    decision: Decision
    units: RequestUnits | None = None
    ends_at: Instant | None = None
    expected_version: Version | None = None
    reason: Note = ""


class BatchDecisions(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Decisions, each its own: one that is refused does not sink the others."""

    decisions: Annotated[list[BatchDecision], Meta(min_length=1, max_length=DECISIONS_MAX)]


class BatchResult(msgspec.Struct, kw_only=True):
    """What became of one: `decided` with the request's state and version, or `refused` with the
    code, the sentence and what else the refusal knows."""

    request: UUID
    status: Literal["decided", "refused"]
    state: str | None = None
    version: int | None = None
    approvals_missing: int | None = None
    code: str | None = None
    detail: str | None = None
    field: str | None = None
    facts: dict[str, Any] = {}


class BatchOutcome(msgspec.Struct, kw_only=True):
    """Results in the order of the decisions."""

    decided: int
    refused: int
    results: list[BatchResult]


class Decisions(msgspec.Struct, kw_only=True):
    """Decisions of a period, `until` not included, oldest first."""

    since: datetime
    until: datetime
    decisions: list[DecisionRow]
    next: str | None


class RoutePolicy(msgspec.Struct, kw_only=True):
    """How requests are routed. Automatic, without a person: a rise of at most
    `automatic_units_max` (with the account's other automatic grants that still run), for at most
    `automatic_days_max` days, at most `automatic_price_max` a month, by who uses
    `use_percent_min` percent of what it has and was not rejected within `rejection_days`. From
    `two_approvals_units` on two people approve. After `decide_hours` the next ones up are asked;
    reminders come each `remind_hours`. null is no bound.

    `version` is what a careful change sends as `expected_version`."""

    automatic: bool
    automatic_units_max: int
    automatic_days_max: int | None
    automatic_price_max: Decimal | None
    use_percent_min: int
    unknown_use_passes: bool
    rejection_days: int
    two_approvals_units: int
    days_max: int | None
    justification_days_max: int
    decide_hours: int
    remind_hours: int
    version: int


class PolicyChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Rules that shall be otherwise; what is left out stays, null takes a bound away."""

    automatic: bool | UnsetType = UNSET
    automatic_units_max: Count | UnsetType = UNSET
    automatic_days_max: Days | UnsetType | None = UNSET
    automatic_price_max: Decimal | UnsetType | None = UNSET
    use_percent_min: Percent | UnsetType = UNSET
    unknown_use_passes: bool | UnsetType = UNSET
    rejection_days: Annotated[int, Meta(ge=0, le=366)] | UnsetType = UNSET
    two_approvals_units: Annotated[int, Meta(ge=1, le=10**9)] | UnsetType = UNSET
    days_max: Days | UnsetType | None = UNSET
    justification_days_max: Annotated[int, Meta(ge=1, le=366)] | UnsetType = UNSET
    decide_hours: Hours | UnsetType = UNSET
    remind_hours: Hours | UnsetType = UNSET


class NewRoutePolicy(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All rules at once, and why. `expected_version`: of the policy that its author saw; another
    one is a conflict."""

    automatic: bool
    automatic_units_max: Count
    automatic_days_max: Days | None
    automatic_price_max: Decimal | None
    use_percent_min: Percent
    unknown_use_passes: bool
    rejection_days: Annotated[int, Meta(ge=0, le=366)]
    two_approvals_units: Annotated[int, Meta(ge=1, le=10**9)]
    days_max: Days | None
    justification_days_max: Annotated[int, Meta(ge=1, le=366)]
    decide_hours: Hours
    remind_hours: Hours
    reason: Reason
    expected_version: Version | None = None


class PolicyOutcome(msgspec.Struct, kw_only=True):
    """`changed` false: it was so already."""

    changed: bool
    policy: RoutePolicy


class PolicyTrial(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Rules to try on the requests handed in since an instant (90 days if absent)."""

    rules: PolicyChange
    since: Instant | None = None


class PreviewedRequest(msgspec.Struct, kw_only=True):
    """How a request went, and how it would have gone: approvals needed, 0 is automatic."""

    request: UUID
    approvals_before: int
    approvals_after: int
    reasons: list[str]
    outcome: str


class PolicyPreview(msgspec.Struct, kw_only=True):
    """`tried` counts the requests, `changed` lists those that would have gone otherwise, newest
    first, at most 500; `changed_count` counts them all."""

    since: datetime
    tried: int
    automatic_before: int
    automatic_after: int
    changed_count: int
    changed: list[PreviewedRequest]


class DelegationFacts(msgspec.Struct, kw_only=True):
    """Who reviews in whose place, and when."""

    id: UUID
    person: str
    delegate: str
    starts_at: datetime
    ends_at: datetime


class Delegations(msgspec.Struct, kw_only=True):
    """Those that run or are to come, the next first."""

    at: datetime
    delegations: list[DelegationFacts]


class NewDelegation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`delegate` reviews in the place of `person` (the caller if absent) for a while, at most 92
    days."""

    delegate: Name
    person: Name | None = None
    starts_at: Instant
    ends_at: Instant


class DelegationEnd(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """End it before its time, or before it begins."""

    reason: Note = ""


class DelegationOutcome(msgspec.Struct, kw_only=True):
    """The delegation."""

    id: UUID
