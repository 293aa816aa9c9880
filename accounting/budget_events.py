"""Events of budgets. Pure; names are fixed."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnFacts:
    """A burn rule: both windows, in days, at least `factor` times as fast as the budget allows."""

    long_days: int
    short_days: int
    factor: Decimal


@event("budget.set")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSet(Event):
    """An account, with all below it, has a budget for each `period`, from the one that begins on
    `starts_on`; of the period `range` for the days until before `ends_on`. `spent` and `forecast`
    are thresholds of alerts in percent of the amount."""

    budget_id: UUID
    account_id: UUID
    name: str
    period: str
    starts_on: date
    ends_on: date | None
    amount: Decimal
    currency: str
    spent: tuple[int, ...]
    forecast: tuple[int, ...]
    burn: tuple[BurnFacts, ...]

    @property
    def stream(self) -> str:
        return f"budget:{self.budget_id}"


@event("budget.changed")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChanged(Event):
    """Amount and alerts of the periods that begin on `effective_from` or later."""

    budget_id: UUID
    account_id: UUID
    effective_from: date
    amount: Decimal
    spent: tuple[int, ...]
    forecast: tuple[int, ...]
    burn: tuple[BurnFacts, ...]

    @property
    def stream(self) -> str:
        return f"budget:{self.budget_id}"


@event("budget.ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetEnded(Event):
    """From `ended_on` on the budget counts for nothing; what it was stays."""

    budget_id: UUID
    account_id: UUID
    ended_on: date

    @property
    def stream(self) -> str:
        return f"budget:{self.budget_id}"


@event("budget.alerted")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAlerted(Event):
    """A threshold of a budget was reached in the period that begins on `period_start`. `kind` is
    spent, forecast or burn; `rule` the threshold in percent, or days, days and factor; `figure`
    what it came to, in percent or times."""

    budget_id: UUID
    account_id: UUID
    period_start: date
    period_end: date
    kind: str
    rule: str
    figure: Decimal
    amount: Decimal
    spent: Decimal
    forecast: Decimal | None
    currency: str

    @property
    def stream(self) -> str:
        return f"budget:{self.budget_id}"


@event("budget.alert_ended")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAlertEnded(Event):
    """The figure of an alert fell well below its threshold again."""

    budget_id: UUID
    account_id: UUID
    period_start: date
    kind: str
    rule: str
    figure: Decimal

    @property
    def stream(self) -> str:
        return f"budget:{self.budget_id}"
