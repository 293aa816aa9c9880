"""What rates, statements and showback look like on the wire. Amounts are exact decimals as text, in
the organization's currency; months are written as 2026-11."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from accounting.domain.rate_cards import GRADE_LENGTH_MAX, LINES_MAX
from quota.wire import Instant, Name

Reason = Annotated[str, Meta(min_length=1, max_length=500)]
Month = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}$")]
Tier = Literal["guaranteed", "borrowed", "spot"]
KindName = Literal["usage", "idle", "lending", "discount", "commitment", "credit", "adjustment"]
MonthState = Literal["open", "closing", "closed"]


class Price(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A price per unit-hour of a flavor. `tier` null: every tier without a line of its own; `grade`
    null: every account, likewise. `contracted_price` is what is charged; null: the list price."""

    flavor: Name
    list_price: Decimal
    tier: Tier | None = None
    grade: Annotated[str, Meta(max_length=GRADE_LENGTH_MAX)] | None = None
    contracted_price: Decimal | None = None


class _Prices(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    prices: Annotated[list[Price], Meta(max_length=LINES_MAX)]
    memory_flavor: Name | None = None


class NewRates(_Prices, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Prices from `effective_from` (null: now) until the next version, or `effective_until`.
    `memory_flavor`: by whose price the memory of records is charged; null: it costs nothing of its
    own. `currency`, if given, must be the organization's. `dry_run` checks and stores nothing."""

    effective_from: Instant | None = None
    effective_until: Instant | None = None
    currency: str | None = None
    reason: Reason
    dry_run: bool = False


class RatesTrial(_Prices, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Prices to try on a month; absent: the last one that is over."""

    month: Month | None = None


class RatesFacts(msgspec.Struct, kw_only=True):
    """A version of the rates. `holds_until`: its end, or the start of the next; null: for good."""

    id: UUID
    effective_from: datetime
    holds_until: datetime | None
    memory_flavor: str | None
    published_at: datetime
    published_by: str
    reason: str


class Rates(RatesFacts, kw_only=True):
    """A version with its prices, in the order in which they were given."""

    currency: str
    prices: list[Price]


class RatesPage(msgspec.Struct, kw_only=True):
    """Versions, the latest to begin first."""

    versions: list[RatesFacts]
    next: str | None


class RatesPublished(msgspec.Struct, kw_only=True):
    """The version that was made."""

    id: UUID
    effective_from: datetime


class RatesCompared(msgspec.Struct, kw_only=True):
    """A kind of line of a pool and tier, at the prices that held and at those tried."""

    kind: KindName
    pool: str | None
    tier: Tier | None
    was: Decimal
    would_be: Decimal
    difference: Decimal


class RatesTried(msgspec.Struct, kw_only=True):
    """What a month would have cost, the largest difference first. `unrated` pools have use that the
    prices tried leave without one. Credits, commitments and adjustments stay out."""

    month: str
    currency: str
    was: Decimal
    would_be: Decimal
    rows: list[RatesCompared]
    unrated: list[str]


class Why(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The reason, which is kept."""

    reason: Reason


class NewGrade(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The grade of an account and of those below it without one; null: as the account above."""

    grade: Annotated[str, Meta(max_length=GRADE_LENGTH_MAX)] | None
    effective_from: Instant | None = None
    reason: Reason


class GradeSet(msgspec.Struct, kw_only=True):
    """What was set."""

    account: str
    grade: str | None
    effective_from: datetime


class LadderStep(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Above this utilization, guaranteed use is cheaper by the rate; both are shares."""

    above: Decimal
    rate: Decimal


class StatementTerms(msgspec.Struct, kw_only=True):
    """What holds for a month's statements; `from_month` null: nothing was ever said. Shares are of
    the price of the guaranteed tier."""

    from_month: str | None
    idle_share: Decimal
    lending_share: Decimal
    ladder: list[LadderStep]
    two_persons: bool


class NewTerms(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Terms of `from_month`, which is not over, and later ones."""

    from_month: Month
    idle_share: Decimal
    lending_share: Decimal
    ladder: Annotated[list[LadderStep], Meta(max_length=20)] = []
    two_persons: bool = False
    reason: Reason


class NewCredit(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An amount given back in the statement of `month` (absent: this one); `about`: the month that
    it makes good, which may be closed."""

    account: Name
    amount: Decimal
    month: Month | None = None
    about: Month | None = None
    reason: Reason


class Credit(msgspec.Struct, kw_only=True):
    """A credit."""

    id: UUID
    account: str
    month: str
    about: str | None
    amount: Decimal
    reason: str


class Credits(msgspec.Struct, kw_only=True):
    """Credits, the latest first."""

    credits: list[Credit]
    next: str | None


class NewCommitment(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """At least `amount` a month, from `from_month` through `until_month` (absent: for good)."""

    account: Name
    amount: Decimal
    from_month: Month
    until_month: Month | None = None
    reason: Reason


class EndedCommitment(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The last month that is still charged, and what ending costs once, in that month."""

    last_month: Month
    charge: Decimal = Decimal(0)
    reason: Reason


class Commitment(msgspec.Struct, kw_only=True):
    """A commitment. `ending_charge`: charged once in `until_month` because it ended early."""

    id: UUID
    account: str
    from_month: str
    until_month: str | None
    amount: Decimal
    ending_charge: Decimal


class Commitments(msgspec.Struct, kw_only=True):
    """Commitments, the latest first."""

    commitments: list[Commitment]
    next: str | None


class Made(msgspec.Struct, kw_only=True):
    """What was made or changed, and the first month it is about."""

    id: UUID | None
    month: str


class MonthFacts(msgspec.Struct, kw_only=True):
    """How far the close of a month is. `progress`: share of the accounts whose use is drawn, 0 to
    1. `waits`: for a second person. `digest`: of the closed month, as in the ledger."""

    month: str
    state: MonthState
    started_at: datetime | None = None
    started_by: str | None = None
    confirmed_by: str | None = None
    waits: bool = False
    progress: float = 0.0
    drawn_accounts: int = 0
    accounts: int | None = None
    lines: int | None = None
    amount: Decimal | None = None
    list_amount: Decimal | None = None
    closed_at: datetime | None = None
    digest: str | None = None


class Months(msgspec.Struct, kw_only=True):
    """Months whose close began, the latest first. `turn`: the month that may close next; null while
    one is closing."""

    currency: str
    turn: str | None
    months: list[MonthFacts]
    next: str | None


class CheckFinding(msgspec.Struct, kw_only=True):
    """Something to repair, or to accept by its code, before the month closes."""

    code: str
    detail: str


class MonthChecked(MonthFacts, kw_only=True):
    """A month with what is odd about it; of one that is closed or closing: what was accepted."""

    currency: str
    over: bool
    findings: list[CheckFinding]


class NewClose(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Begin a close; `accept`: codes of the findings that were seen."""

    accept: Annotated[list[Name], Meta(max_length=50)] = []
    reason: Reason


class StatementFacts(msgspec.Struct, kw_only=True):
    """An account's statement: what its own lines add up to, and with all below it."""

    account: str
    lines: int
    amount: Decimal
    with_below: Decimal


class Statements(msgspec.Struct, kw_only=True):
    """Statements of an account and those below it, by name; those without lines are left out."""

    month: str
    state: MonthState
    currency: str
    statements: list[StatementFacts]
    next: str | None


class LineFacts(msgspec.Struct, kw_only=True):
    """A line. `of_kind`: what an adjustment is of, else as `kind`; `about`: the closed month that
    an adjustment or credit is about; `facts`: what else went into the formula."""

    id: str
    kind: KindName
    of_kind: KindName
    account: str
    pool: str | None
    flavor: str | None
    tier: Tier | None
    grade: str | None
    about: str | None
    unit_seconds: Decimal
    price: Decimal | None
    list_price: Decimal | None
    amount: Decimal
    list_amount: Decimal
    facts: dict[str, str]


class Unrated(msgspec.Struct, kw_only=True):
    """Use without a price, which is in no line. `gap`: whether no rates held, or none had one."""

    account: str
    pool: str
    tier: Tier
    unit_seconds: Decimal
    gap: str


class Statement(msgspec.Struct, kw_only=True):
    """A month of an account with everything below it. `digest` once it is closed; `expected`:
    adjustments it would get if it closed now, at most 500, in no sum. Of a large month only their
    `expected_amount` is told, as it was drawn at `expected_as_of`."""

    account: str
    month: str
    state: MonthState
    currency: str
    amount: Decimal
    list_amount: Decimal
    kinds: dict[KindName, Decimal]
    unrated: list[Unrated]
    expected: list[LineFacts]
    expected_amount: Decimal
    expected_as_of: datetime | None
    digest: str | None
    lines: list[LineFacts]
    next: str | None


class LineDay(msgspec.Struct, kw_only=True):
    """The part of a line that is of one day; the days add up to it."""

    day: date
    unit_seconds: Decimal
    amount: Decimal


class LineWhy(msgspec.Struct, kw_only=True):
    """A line with its formula, its place in the tree as it was (`path`), the rates it was priced by
    and, for use, its days. `records`: the address of the records behind it."""

    line: LineFacts
    formula: str
    path: list[str]
    rates: UUID | None
    days: list[LineDay]
    records: str | None


class LineRecord(msgspec.Struct, kw_only=True):
    """A record behind a line; `unit_seconds` is what it used in the time asked for."""

    source: str
    key: str
    account: str
    person: str
    pool: str
    tier: Tier
    units: int
    start: datetime
    end: datetime | None
    batch_id: UUID
    event_id: UUID
    unit_seconds: Decimal


class LineRecords(msgspec.Struct, kw_only=True):
    """Records, the latest start first."""

    records: list[LineRecord]
    next: str | None
