"""Events of quota requests, of their policy and of delegations. Pure; names and versions are fixed.

All of a request are on its stream, `request:<id>`, in the organization's main lane. What the pool
makes of it (`quota.set`, `quota.scheduled`) is recorded beside them in the same command.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTerms:
    """What is asked for. See `quota.domain.requests.Terms`."""

    kind: str
    units: int | None
    starts_at: datetime | None
    ends_at: datetime | None
    workload: str
    tier: str
    purpose: str
    budget: Decimal | None = None
    to_account_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What the route was decided on, as it was known then; None: unknown. `use_percent`: mean use
    of what the account held; `price`: of the rise, per month; `over_budget`: the whole period costs
    more than the request says; the others as in `quota.domain.routing.Facts`."""

    rise: int
    held: int
    fits: bool
    days: int | None
    use_percent: int | None
    price: Decimal | None
    currency: str | None
    rejections: int
    automatic_units: int
    extensions: int
    over_budget: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRoute:
    """Who decides. `approvals` 0: granted automatically. `level_ids`: accounts whose approvers are
    asked, the nearest first; `operators`: operators are asked too, for want of approvers."""

    approvals: int
    level_ids: tuple[UUID, ...]
    operators: bool
    due_at: datetime | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfRequest(Event):
    """Something about one request."""

    request_id: UUID
    account_id: UUID
    pool_id: UUID

    @property
    def stream(self) -> str:
        return f"request:{self.request_id}"


@event("request.drafted")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDrafted(_OfRequest):
    """Somebody prepares a request, or changed what was prepared. Nobody is asked yet, and it is in
    nobody's history but its own: drafts are their authors' alone."""

    author_id: UUID
    terms: RequestTerms

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.request_id})


@event("request.discarded")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDiscarded(_OfRequest):
    """A draft was thrown away."""

    @property
    def subjects(self) -> frozenset[UUID]:
        return frozenset({self.request_id})


@event("request.submitted")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSubmitted(_OfRequest):
    """The request was handed in, first or after changes; its route is decided. Approvals given
    before are void."""

    author_id: UUID
    terms: RequestTerms
    route: RequestRoute
    facts: RequestFacts


@event("request.granted")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGranted(_OfRequest):
    """The policy approved it, for these reasons; nobody was asked."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided(_OfRequest):
    """A reviewer's word. `on_behalf_of_id`: the approver whose delegate the reviewer is."""

    reviewer_id: UUID
    on_behalf_of_id: UUID | None


@event("request.endorsed")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEndorsed(_Decided):
    """The first of two approvals; another person has to give the second."""


@event("request.approved")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestApproved(_Decided):
    """The last approval that was needed."""


@event("request.countered")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCountered(_Decided):
    """A reviewer would approve this instead; it waits for the requester's word."""

    units: int | None
    ends_at: datetime | None


@event("request.counter_accepted")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounterAccepted(_OfRequest):
    """The requester takes what was offered. `complete`: no other approval is needed; otherwise
    the next one is due at `due_at`."""

    author_id: UUID
    units: int | None
    ends_at: datetime | None
    complete: bool
    due_at: datetime | None = None


@event("request.changes_requested")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestChangesRequested(_Decided):
    """A reviewer asks, and the requester answers by handing it in again."""


@event("request.rejected")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRejected(_Decided):
    """No, for the event's reason."""


@event("request.withdrawn")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWithdrawn(_OfRequest):
    """The requesting side no longer asks."""

    author_id: UUID


@event("request.provisioned")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestProvisioned(_OfRequest):
    """The quota stands (or, for a justification, is on record) until `ends_at`."""

    units: int | None
    ends_at: datetime | None


@event("request.scheduled")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScheduled(_OfRequest):
    """Approved for later: `change_id` is the change to come of the quota."""

    change_id: UUID
    starts_at: datetime


@event("request.reopened")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReopened(_OfRequest):
    """What was approved for later was refused when it fell due, or was cancelled: it waits for a
    reviewer again."""

    code: str
    detail: str
    due_at: datetime | None


@event("request.expired")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestExpired(_OfRequest):
    """What was granted for a while is over. `early`: before its time."""

    early: bool


@event("request.reclaimed")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReclaimed(_OfRequest):
    """What was granted was taken back because it was not used."""


@event("request.commented")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCommented(_OfRequest):
    """Somebody said something; those mentioned are told."""

    comment_id: UUID
    author_id: UUID
    text: str
    mentioned_ids: tuple[UUID, ...]


@event("request.attached")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAttached(_OfRequest):
    """A file was added. `digest`: SHA-256 of its content in hex."""

    attachment_id: UUID
    author_id: UUID
    name: str
    media_type: str
    size: int
    digest: str


@event("request.reminded")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReminded(_OfRequest):
    """The reviewers were reminded of the deadline `due_at`."""

    due_at: datetime


@event("request.lapsed")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLapsed(_OfRequest):
    """The time it was asked for was over before it was decided."""


@event("request.passed_on")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPassedOn(_OfRequest):
    """Nobody who was asked may decide any more (the account moved, roles were taken away): those
    who may now are asked."""

    level_ids: tuple[UUID, ...]
    operators: bool
    due_at: datetime


@event("request.approval_voided")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestApprovalVoided(_Decided):
    """An approval given earlier no longer counts: who gave it may not review the account any more.
    Another person has to approve instead."""


@event("request.escalated")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEscalated(_OfRequest):
    """The deadline `missed_at` passed without a decision: more reviewers are asked."""

    missed_at: datetime
    level_ids: tuple[UUID, ...]
    operators: bool
    due_at: datetime


@event("request_policy.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicySet(Event):
    """How requests are routed from now on. See `quota.domain.routing.Policy`."""

    policy_id: UUID
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

    @property
    def stream(self) -> str:
        return f"request_policy:{self.policy_id}"


@event("delegation.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationSet(Event):
    """While `person_id` is away, `delegate_id` reviews in their place, from `starts_at` until
    `ends_at`."""

    delegation_id: UUID
    person_id: UUID
    delegate_id: UUID
    starts_at: datetime
    ends_at: datetime

    @property
    def stream(self) -> str:
        return f"delegation:{self.delegation_id}"


@event("delegation.ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationEnded(Event):
    """A delegation is over before its time."""

    delegation_id: UUID
    person_id: UUID
    delegate_id: UUID

    @property
    def stream(self) -> str:
        return f"delegation:{self.delegation_id}"
