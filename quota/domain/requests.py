"""What a request for quota says, what is wrong with it, and the states it goes through. Pure.

    draft -> submitted -> (changes_requested)* -> approved | countered | rejected | withdrawn
          -> provisioned -> expired | reclaimed            (docs/design.md part 6)

`approved` lasts only where the quota begins later; otherwise approval provisions at once. A draft
that is thrown away is `discarded`; what nobody decides until its time is over is `expired`.
`units` are what the kind says:

    new            guarantee of so many, where the account has none in the pool
    raise, boost   so many more; a boost always ends
    lower          so many fewer: given back
    ceiling        may borrow so many beyond its guarantee; 0 is none
    transfer       so many of its guarantee go to `to_account_id` under the same parent, for good
    extension      no units: the temporary quota in force lasts until the new end
    justification  no units: why an idle guarantee must stay, until the end
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from ledger.errors import Conflict, DomainError, Invalid
from quota.domain.values import TIERS, Pool

UNITS_MAX = 10**9
PURPOSE_LENGTH_MAX = 4_000
BUDGET_MAX = Decimal(10) ** 12
AHEAD_MAX = timedelta(days=366 * 2)
"""How far in the future a period may start."""
STALE_START = timedelta(hours=1)
"""A start that lies back less than this is "now": the form was open for a while."""


CLOCK_BACK = timedelta(hours=1)
"""What the clocks of an organization may be put back by within a period."""


class Kind(StrEnum):
    """What is asked; see the module."""

    NEW = "new"
    RAISE = "raise"
    LOWER = "lower"
    CEILING = "ceiling"
    BOOST = "boost"
    TRANSFER = "transfer"
    EXTENSION = "extension"
    JUSTIFICATION = "justification"


class Workload(StrEnum):
    """What the units are for, for those who review and for later statistics."""

    TRAINING = "training"
    INFERENCE = "inference"
    INTERACTIVE = "interactive"
    BATCH = "batch"
    OTHER = "other"


class State(StrEnum):
    """Where a request stands."""

    DRAFT = "draft"
    DISCARDED = "discarded"
    SUBMITTED = "submitted"
    CHANGES_REQUESTED = "changes_requested"
    COUNTERED = "countered"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    PROVISIONED = "provisioned"
    EXPIRED = "expired"
    RECLAIMED = "reclaimed"


OPEN = frozenset({State.SUBMITTED, State.CHANGES_REQUESTED, State.COUNTERED})
"""Somebody's move is awaited."""
WITHDRAWABLE = OPEN | {State.APPROVED}
EDITABLE = frozenset({State.DRAFT, State.CHANGES_REQUESTED})
WITHOUT_UNITS = frozenset({Kind.EXTENSION, Kind.JUSTIFICATION})
WITH_END = frozenset({Kind.BOOST, Kind.EXTENSION, Kind.JUSTIFICATION})
FOR_GOOD = frozenset({Kind.LOWER, Kind.TRANSFER})
"""No end."""
AT_ONCE = FOR_GOOD | WITHOUT_UNITS
"""No start in the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is asked for.

    Attributes:
        units: as the kind says; None where it has none.
        starts_at: None: as soon as it is approved.
        ends_at: None: for good.
        tier: the service expected of the units, for the price.
        budget: the most it may cost, in the organization's currency; None: not said.
        to_account_id: of a transfer, who receives.
    """

    account_id: UUID
    pool_id: UUID
    kind: str
    units: int | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    workload: str = Workload.OTHER
    tier: str = "guaranteed"
    purpose: str = ""
    budget: Decimal | None = None
    to_account_id: UUID | None = None

    def begins(self, now: datetime) -> datetime:
        """When it would take effect if it were approved now."""
        return max(now, self.starts_at) if self.starts_at else now

    def days(self, now: datetime) -> int | None:
        """Length of the period in days, rounded up; None: open. The hour by which clocks are put
        back in autumn makes no day of its own: eight weeks are 56 days."""
        if self.ends_at is None:
            return None
        length = self.ends_at - self.begins(now)
        if length <= timedelta():
            return length // timedelta(days=1)
        return max(1, -((CLOCK_BACK - length) // timedelta(days=1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that an organization sets (`quota.domain.routing.Policy`); None: no bound."""

    days_max: int | None = None
    justification_days_max: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Whose word it was, and for whom they spoke."""

    reviewer_id: UUID
    on_behalf_of_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """What a reviewer would approve instead."""

    by: Approval
    units: int | None
    ends_at: datetime | None


def problems(
    terms: Terms, *, now: datetime, limits: Limits, pool: Pool | None = None
) -> list[DomainError]:
    """Everything wrong with the fields of a request, each once, in the order of the form."""
    return [*_words(terms), *_units(terms, pool), *_period(terms, now, limits)]


def check(terms: Terms, *, now: datetime, limits: Limits, pool: Pool | None = None) -> None:
    """Raise the first of `problems`.

    Raises:
        Invalid: with the field.
    """
    for problem in problems(terms, now=now, limits=limits, pool=pool):
        raise problem


def check_draft(terms: Terms) -> None:
    """Raise what even a draft may not hold: what could not be kept.

    Raises:
        Invalid: with the field.
    """
    unfinished = {"purpose_missing", "to_account_missing", "to_account_unused"}
    for problem in _words(terms):
        if problem.code not in unfinished:
            raise problem
    units = terms.units
    if units is not None and (isinstance(units, bool) or not 0 <= units <= UNITS_MAX):
        raise Invalid(
            "units_absurd",
            f"Units are a whole number from 0 to {UNITS_MAX:,}.",
            field="units",
            facts={"maximum": UNITS_MAX},
        )
    for field in ("starts_at", "ends_at"):
        instant = getattr(terms, field)
        if instant is not None and instant.tzinfo is None:
            raise Invalid("instant_without_zone", "An instant names its zone.", field=field)


def _words(terms: Terms) -> Iterator[Invalid]:
    for field, words in (("kind", tuple(Kind)), ("workload", tuple(Workload)), ("tier", TIERS)):
        if getattr(terms, field) not in words:
            yield Invalid(
                f"{field}_unknown",
                f"{field} is one of {', '.join(words)}.",
                field=field,
                facts={"known": [str(word) for word in words]},
            )
    if not terms.purpose.strip():
        yield Invalid("purpose_missing", "Say what the units are for.", field="purpose")
    elif len(terms.purpose) > PURPOSE_LENGTH_MAX:
        yield Invalid(
            "purpose_too_long",
            f"The purpose has at most {PURPOSE_LENGTH_MAX} characters; attach a file for more.",
            field="purpose",
            facts={"maximum": PURPOSE_LENGTH_MAX},
        )
    if terms.budget is not None and not (
        terms.budget.is_finite() and 0 <= terms.budget <= BUDGET_MAX
    ):
        yield Invalid("budget_out_of_range", "A budget is 0 or more.", field="budget")
    if terms.kind == Kind.TRANSFER:
        if terms.to_account_id is None:
            yield Invalid("to_account_missing", "Name who receives.", field="to_account")
        elif terms.to_account_id == terms.account_id:
            yield Invalid("transfer_to_itself", "Name another account.", field="to_account")
    elif terms.to_account_id is not None:
        yield Invalid("to_account_unused", "Only a transfer has a receiver.", field="to_account")


def _units(terms: Terms, pool: Pool | None) -> Iterator[Invalid]:
    if terms.kind in WITHOUT_UNITS:
        if terms.units is not None:
            yield Invalid("units_unused", "This kind of request has no units.", field="units")
        return
    least = 0 if terms.kind == Kind.CEILING else 1
    if terms.units is None:
        yield Invalid("units_missing", "Say how many units.", field="units")
    elif isinstance(terms.units, bool) or not isinstance(terms.units, int) or terms.units < least:
        yield Invalid(
            "units_not_positive",
            f"Units are a whole number, {least} or more.",
            field="units",
            facts={"minimum": least},
        )
    elif terms.units > UNITS_MAX:
        yield Invalid(
            "units_absurd",
            f"Nobody has more than {UNITS_MAX:,} units.",
            field="units",
            facts={"maximum": UNITS_MAX},
        )
    elif pool is not None and terms.units > pool.capacity:
        yield Invalid(
            "units_beyond_capacity",
            f"{pool.name} has {pool.capacity} units in all.",
            field="units",
            facts={"maximum": pool.capacity},
        )


def _period(terms: Terms, now: datetime, limits: Limits) -> Iterator[Invalid]:
    for field in ("starts_at", "ends_at"):
        instant = getattr(terms, field)
        if instant is not None and instant.tzinfo is None:
            yield Invalid("instant_without_zone", "An instant names its zone.", field=field)
            return
    start, end = terms.starts_at, terms.ends_at
    if start is not None and start < now - STALE_START:
        yield Invalid("start_in_past", "The period starts now or later.", field="starts_at")
    if start is not None and start > now + AHEAD_MAX:
        yield Invalid("start_too_far", "Ask at most two years ahead.", field="starts_at")
    elif start is not None and start > now and terms.kind in AT_ONCE:
        yield Invalid("start_unused", "This kind takes effect at once.", field="starts_at")
    if terms.kind in FOR_GOOD:
        if end is not None:
            yield Invalid("end_unused", "This kind of request is for good.", field="ends_at")
        return
    if end is None:
        if terms.kind in WITH_END:
            yield Invalid("end_missing", "Say until when.", field="ends_at")
        elif limits.days_max is not None:
            yield _too_long(limits.days_max)
        return
    if start is not None and end <= start:
        yield Invalid("end_not_later", "The period ends after it starts.", field="ends_at")
    elif end <= now:
        yield Invalid("end_in_past", "The period ends in the future.", field="ends_at")
    else:
        longest = limits.days_max
        if terms.kind == Kind.JUSTIFICATION:
            longest = limits.justification_days_max
        if longest is not None and terms.days(now) > longest:
            yield _too_long(longest)


def _too_long(days: int) -> Invalid:
    return Invalid(
        "period_too_long",
        f"A period lasts at most {days} days here. Ask for an extension when it ends.",
        field="ends_at",
        facts={"maximum_days": days},
    )


_SAID = {
    State.SUBMITTED: "waiting for approval",
    State.CHANGES_REQUESTED: "waiting for changes",
    State.COUNTERED: "waiting for an answer to an offer",
    State.APPROVED: "approved for later",
    State.DISCARDED: "thrown away",
    State.PROVISIONED: "granted",
    State.EXPIRED: "over",
    State.RECLAIMED: "taken back",
}


def moved_on(state: str, *, wanted: str) -> Conflict:
    """The request is no longer where the caller thought."""
    said = _SAID.get(state, state)
    return Conflict(
        "request_moved_on",
        f"This request is {said} by now, so it cannot be {wanted}. Reload it.",
        facts={"state": state},
    )
