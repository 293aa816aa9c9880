"""Events of statements: terms, credits, commitments, and how a month closes. Pure; fixed names."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStep:
    """Above this utilization, guaranteed use is cheaper by the rate."""

    above: Decimal
    rate: Decimal


@event("statement.terms_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTermsSet(Event):
    """Terms of the statements of `from_month` and later: what idle guarantees cost and lending
    gives back, as shares of the guaranteed price, the ladder of discounts, and whether a second
    person confirms each close."""

    from_month: date
    idle_share: Decimal
    lending_share: Decimal
    ladder: tuple[LadderStep, ...]
    two_persons: bool

    @property
    def stream(self) -> str:
        return "statement_terms:organization"


@event("statement.credit_granted")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreditGranted(Event):
    """An amount given back to an account in the statement of `month`; `about`: the month that it
    makes good, if any. Its reason is the event's."""

    credit_id: UUID
    account_id: UUID
    month: date
    amount: Decimal
    about: date | None

    @property
    def stream(self) -> str:
        return f"credit:{self.credit_id}"


@event("statement.commitment_agreed")
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentAgreed(Event):
    """From `from_month` through `until_month` (null: for good) the account with all below it is
    charged at least `amount` a month."""

    commitment_id: UUID
    account_id: UUID
    amount: Decimal
    from_month: date
    until_month: date | None

    @property
    def stream(self) -> str:
        return f"commitment:{self.commitment_id}"


@event("statement.commitment_ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentEnded(Event):
    """The commitment ends early: `until_month` is the last one charged, and `charge` is added to
    its statement once."""

    commitment_id: UUID
    until_month: date
    charge: Decimal

    @property
    def stream(self) -> str:
        return f"commitment:{self.commitment_id}"


class _OfMonth(Event):
    """An event in the history of one month's statements."""

    __slots__ = ()
    month: date

    @property
    def stream(self) -> str:
        return f"statement:{self.month:%Y-%m}"


@event("statement.closing")
@dataclass(frozen=True, slots=True, kw_only=True)
class StatementClosing(_OfMonth):
    """The month begins to close: prices up to its end are final. `accepted` are the findings that
    were seen and accepted; `confirmation` says that a second person must agree first."""

    month: date
    accounts: int
    accepted: tuple[str, ...]
    confirmation: bool


@event("statement.close_confirmed")
@dataclass(frozen=True, slots=True, kw_only=True)
class StatementCloseConfirmed(_OfMonth):
    """A second person agreed to the close of the month."""

    month: date


@event("statement.drawn")
@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDrawn(_OfMonth):
    """A chunk of the month's lines was stored. `digest` is the SHA-256 of its lines and of what
    they consist of; `through` is the last account of the chunk, null for the last chunk, which has
    what belongs to no use of its own: guarantees, discounts, commitments, credits, adjustments."""

    month: date
    chunk: int
    through: UUID | None
    accounts: int
    lines: int
    parts: int
    amount: Decimal
    list_amount: Decimal
    digest: str


@event("statement.closed")
@dataclass(frozen=True, slots=True, kw_only=True)
class StatementClosed(_OfMonth):
    """The month is closed for good. `digest` is the SHA-256 of the digests of its chunks."""

    month: date
    statements: int
    lines: int
    amount: Decimal
    list_amount: Decimal
    digest: str
