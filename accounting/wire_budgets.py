"""What budgets look like on the wire. Amounts are exact decimals as text, in the organization's
currency; days are of its time zone."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from accounting.commands.budgets import NAME_LENGTH_MAX
from accounting.domain.budgets import THRESHOLDS_MAX
from accounting.wire_money import Reason
from quota.wire import Name

PeriodName = Literal["month", "quarter", "year", "range"]
Percents = Annotated[list[int], Meta(max_length=THRESHOLDS_MAX)]


class BurnRuleFacts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Alert when both windows, in whole days, burn `factor` times as fast as the budget allows."""

    long_days: int
    short_days: int
    factor: Decimal


BurnRules = Annotated[list[BurnRuleFacts], Meta(max_length=THRESHOLDS_MAX)]


class NewBudget(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A budget of an account with all below it. `starts_on`: first day of its first period; null:
    of this one. `ends_on`, of a `range` only: the day after its last. `spent` and `forecast`:
    percents of the amount that alert; what is absent is the default. `dry_run` checks and stores
    nothing."""

    account: Name
    period: PeriodName
    amount: Decimal
    name: Annotated[str, Meta(max_length=NAME_LENGTH_MAX)] = ""
    starts_on: date | None = None
    ends_on: date | None = None
    spent: Percents | None = None
    forecast: Percents | None = None
    burn: BurnRules | None = None
    reason: Reason
    dry_run: bool = False


class BudgetChange(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What shall hold for the periods that begin on `effective_from` (null: this one) or later;
    what is absent stays."""

    effective_from: date | None = None
    amount: Decimal | None = None
    spent: Percents | None = None
    forecast: Percents | None = None
    burn: BurnRules | None = None
    reason: Reason
    dry_run: bool = False


class BudgetEnd(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """From which day on the budget counts no more; null: today."""

    ended_on: date | None = None
    reason: Reason
    dry_run: bool = False


class BudgetMade(msgspec.Struct, kw_only=True):
    """The budget, since when it holds, and what finance should know; `id` is null in a dry run that
    would make one."""

    id: UUID | None
    effective_from: date
    warning: str


class BudgetFacts(msgspec.Struct, kw_only=True):
    """A budget in one period, `first_day` included and `end_day` not. `state`: `over` (spent beyond
    it), `at_risk` (the forecast is beyond it), `ok`, `ended`, `planned`, `unknown` (no costs are
    drawn yet). `burn_day` and `burn_week`: how fast it was spent on the last whole day and in the
    last 7, 1 using it up exactly; null where they do not lie in the period. `no_forecast` says why
    there is none."""

    id: UUID
    account: str
    name: str
    period: PeriodName
    ended_on: date | None
    first_day: date
    end_day: date
    amount: Decimal
    spent: Decimal
    remaining: Decimal
    forecast: Decimal | None
    forecast_low: Decimal | None
    forecast_high: Decimal | None
    no_forecast: Literal["not_begun", "little_history", "over"] | None
    burn_day: Decimal | None
    burn_week: Decimal | None
    state: Literal["over", "at_risk", "ok", "ended", "planned", "unknown"]


class Budgets(msgspec.Struct, kw_only=True):
    """Budgets, the newest first. `costs_until`: up to when costs are drawn."""

    currency: str
    costs_until: datetime | None
    budgets: list[BudgetFacts]
    next: str | None


class BudgetAlertFacts(msgspec.Struct, kw_only=True):
    """An alert. `rule`: percent, or days, fewer days and factor; `figure`: what it came to, in
    percent or times; `over_at` null: it still holds."""

    period_start: date
    kind: Literal["spent", "forecast", "burn"]
    rule: str
    figure: Decimal
    amount: Decimal
    spent: Decimal
    forecast: Decimal | None
    fired_at: datetime
    over_at: datetime | None


class BudgetVersionFacts(msgspec.Struct, kw_only=True):
    """What holds for the periods that begin on `effective_from` or later."""

    effective_from: date
    amount: Decimal
    spent: list[int]
    forecast: list[int]
    burn: list[BurnRuleFacts]
    set_at: datetime
    set_by: str
    reason: str


class BudgetDay(msgspec.Struct, kw_only=True):
    """A day of the period: use; idle guarantees less what lending gave back; what is of the whole
    month. `unusual`: dear or cheap against the same weekdays before."""

    day: date
    use: Decimal
    idle: Decimal
    other: Decimal
    unusual: Literal["high", "low"] | None


class BudgetDetail(msgspec.Struct, kw_only=True):
    """A budget with the days of a period, its latest alerts and everything that held."""

    currency: str
    costs_until: datetime | None
    budget: BudgetFacts
    days: list[BudgetDay]
    alerts: list[BudgetAlertFacts]
    versions: list[BudgetVersionFacts]
