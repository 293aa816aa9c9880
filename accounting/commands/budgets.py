"""Set, change and end budgets."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from accounting import budget_events as events
from accounting import budget_rooms
from accounting.domain import budgets
from accounting.domain.budgets import Alerts, BurnRule, Period, Span
from accounting.locking import take_lock
from accounting.queries import budgets as queries
from accounting.queries.budgets import BudgetRow, Ground
from ledger.errors import Conflict, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota.recording import check_reason
from tenancy import policy
from tenancy.domain.roles import BUDGET_DIVIDE, BUDGET_WRITE, TAKE_PART

NAME_LENGTH_MAX = 100
OF_AN_ACCOUNT_MAX = 50
DEFAULTS = Alerts()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBudget:
    """A budget for an account, with all below it. The reason goes with the command.

    Attributes:
        amount: in the organization's currency.
        starts_on: first day of the first period it is for; None: of the one that it is now.
        ends_on: of a range, the day after its last; None for all other periods.
    """

    account_id: UUID
    period: str
    amount: Decimal
    name: str = ""
    starts_on: date | None = None
    ends_on: date | None = None
    spent: tuple[int, ...] = DEFAULTS.spent
    forecast: tuple[int, ...] = DEFAULTS.forecast
    burn: tuple[BurnRule, ...] = DEFAULTS.burn


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRef:
    """What was set, and since when it holds. `warning`: what finance should know, or empty."""

    budget_id: UUID
    effective_from: date
    warning: str = ""


@handles(SetBudget, permission=TAKE_PART)
def set_budget(command: SetBudget, unit: Unit) -> BudgetRef:
    """Check amount, period and place among the other budgets; record it.

    Whoever may write budgets sets any. The lead of an account above sets one within the budget that
    an account of theirs has for the same period.
    """
    check_reason(unit)
    alerts = Alerts(spent=command.spent, forecast=command.forecast, burn=command.burn)
    if len(command.name) > NAME_LENGTH_MAX:
        raise Invalid(
            "name_too_long",
            f"A name has at most {NAME_LENGTH_MAX} characters.",
            field="name",
            facts={"limit": NAME_LENGTH_MAX},
        )
    divides = _check_may(unit, command.account_id)
    here = _lock(unit)
    budgets.check_amount(command.amount, places=here.places, currency=here.currency)
    period, span = _first_span(command, here)
    _check_free(unit, command.account_id, period, span, here)
    warning = _check_room(
        unit, command.account_id, period, span, command.amount, here, divides=divides
    )
    budget_id = unit.new_id()
    unit.record(
        events.BudgetSet(
            budget_id=budget_id,
            account_id=command.account_id,
            name=command.name.strip(),
            period=str(period),
            starts_on=span.first,
            ends_on=span.end if period == Period.RANGE else None,
            amount=command.amount,
            currency=here.currency,
            **_facts(alerts),
        )
    )
    return BudgetRef(budget_id=budget_id, effective_from=span.first, warning=warning)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBudget:
    """Another amount or other alerts, for the periods that begin on a day or later; what is None
    stays. The reason goes with the command.

    Attributes:
        effective_from: first day of this period or a later one; None: of this.
    """

    budget_id: UUID
    amount: Decimal | None = None
    effective_from: date | None = None
    spent: tuple[int, ...] | None = None
    forecast: tuple[int, ...] | None = None
    burn: tuple[BurnRule, ...] | None = None


@handles(ChangeBudget, permission=TAKE_PART)
def change_budget(command: ChangeBudget, unit: Unit) -> BudgetRef:
    """Record what holds from then on; periods that are over keep what they had."""
    check_reason(unit)
    here = _lock(unit)
    row, divides = _own(unit, command.budget_id)
    _check_stands(row, here)
    span = _later_span(row, command.effective_from, here)
    before = queries.version_for(
        queries.versions(unit.organization_id, [row.id], places=here.places)[row.id], span
    )
    given = {name: getattr(command, name) for name in ("spent", "forecast", "burn")}
    alerts = Alerts(**{n: getattr(before.alerts, n) if v is None else v for n, v in given.items()})
    amount = before.amount if command.amount is None else command.amount
    budgets.check_amount(amount, places=here.places, currency=here.currency)
    warning = ""
    if amount != before.amount:
        warning = _check_room(unit, row.account_id, row.period, span, amount, here, divides=divides)
    unit.record(
        events.BudgetChanged(
            budget_id=row.id,
            account_id=row.account_id,
            effective_from=span.first,
            amount=amount,
            **_facts(alerts),
        )
    )
    return BudgetRef(budget_id=row.id, effective_from=span.first, warning=warning)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndBudget:
    """Let a budget count for nothing any more. The reason goes with the command.

    Attributes:
        ended_on: from this day on; None: from today on.
    """

    budget_id: UUID
    ended_on: date | None = None


@handles(EndBudget, permission=TAKE_PART)
def end_budget(command: EndBudget, unit: Unit) -> BudgetRef:
    """Record the end."""
    check_reason(unit)
    here = _lock(unit)
    row, _ = _own(unit, command.budget_id)
    _check_stands(row, here)
    ended_on = command.ended_on or here.today
    if ended_on < here.today:
        raise Refused(
            "budget_in_the_past",
            "A budget ends today or later; what was stays.",
            field="ended_on",
            facts={"earliest": here.today.isoformat()},
        )
    unit.record(events.BudgetEnded(budget_id=row.id, account_id=row.account_id, ended_on=ended_on))
    return BudgetRef(budget_id=row.id, effective_from=ended_on)


def _facts(alerts: Alerts) -> dict:
    return {
        "spent": tuple(sorted(alerts.spent)),
        "forecast": tuple(sorted(alerts.forecast)),
        "burn": tuple(
            events.BurnFacts(
                long_days=rule.long_days, short_days=rule.short_days, factor=rule.factor
            )
            for rule in alerts.burn
        ),
    }


def _check_may(unit: Unit, account_id: UUID) -> bool:
    """Whether the actor only divides a budget of an account above.

    Raises:
        Denied, NotFound: may neither write budgets nor divide one; no such account.
    """
    with server_cursor() as cursor:
        found = cursor.execute(
            "SELECT parent_id FROM tenancy_account WHERE organization_id = %b AND id = %b",
            (unit.organization_id, account_id),
        ).fetchone()
    if found is None:
        raise NotFound("account_unknown", "There is no such account.", field="account")
    place = (unit.actor, BUDGET_WRITE, account_id, unit.organization_id)
    if policy.may(*place):
        return False
    if found[0] is not None and policy.may(
        unit.actor, BUDGET_DIVIDE, found[0], unit.organization_id
    ):
        return True
    policy.authorize(*place)
    return False


def _own(unit: Unit, budget_id: UUID) -> tuple[BudgetRow, bool]:
    row = queries.budget_row(unit.organization_id, budget_id)
    return row, _check_may(unit, row.account_id)


def _first_span(command: SetBudget, here: Ground) -> tuple[Period, Span]:
    if command.period not in list(Period):
        raise Invalid("period_unknown", f"Choose one of {', '.join(Period)}.", field="period")
    period = Period(command.period)
    start = command.starts_on
    if period == Period.RANGE:
        if start is None or command.ends_on is None:
            raise Invalid("range_malformed", "A range has a first day and an end.", field="ends_on")
        span = Span(start, command.ends_on)
        budgets.check_range(span)
        if span.end <= here.today:
            raise _past_period("starts_on", here.today)
        return period, span
    if command.ends_on is not None:
        raise Invalid("range_malformed", "Only a range has an end; others repeat.", field="ends_on")
    now = budgets.span_of(period, here.today)
    return period, _aligned(period, start or now.first, now, field="starts_on")


def _later_span(row: BudgetRow, effective_from: date | None, here: Ground) -> Span:
    now = row.span(here.today)
    if effective_from is None or (row.period == Period.RANGE and effective_from == now.first):
        return now
    if row.period == Period.RANGE:
        raise _off_period("effective_from", now.first)
    return _aligned(row.period, effective_from, now, field="effective_from")


def _aligned(period: Period, first: date, now: Span, *, field: str) -> Span:
    span = budgets.span_of(period, first)
    if span.first != first:
        raise _off_period(field, span.first)
    if first < now.first:
        raise _past_period(field, now.first)
    return span


def _off_period(field: str, first: date) -> Invalid:
    return Invalid(
        "period_start",
        f"Amounts are for whole periods: give the first day of one, such as {first}.",
        field=field,
        facts={"nearest": first.isoformat()},
    )


def _past_period(field: str, earliest: date) -> Refused:
    return Refused(
        "budget_in_the_past",
        f"A budget never changes what was: give {earliest} or later.",
        field=field,
        facts={"earliest": earliest.isoformat()},
    )


def _check_free(unit: Unit, account_id: UUID, period: Period, span: Span, here: Ground) -> None:
    rows = queries.budgets_of(unit.organization_id, [account_id], today=here.today)
    if len(rows) >= OF_AN_ACCOUNT_MAX:
        raise Refused(
            "too_many_budgets",
            f"An account has at most {OF_AN_ACCOUNT_MAX} budgets; end one that is not needed.",
            field="account",
            facts={"limit": OF_AN_ACCOUNT_MAX},
        )
    for row in rows:
        same = row.period == period and (period != Period.RANGE or row.range == span)
        if same and (row.ended_on is None or row.ended_on > span.first):
            raise Conflict(
                "budget_exists",
                f"{row.account} has a budget for this period; change that one.",
                field="period",
                facts={"budget": str(row.id)},
            )


def _check_room(
    unit: Unit,
    account_id: UUID,
    period: Period,
    span: Span,
    amount: Decimal,
    here: Ground,
    *,
    divides: bool,
) -> str:
    """Whether parts fit into their whole. Managers are refused, finance is told."""
    found = budget_rooms.family(unit.organization_id, account_id, period, span, places=here.places)
    if divides:
        _check_divided(unit, found, period)
    problems = []
    if found.room is not None and found.above is not None and amount > found.room.left:
        others, whole, left = (
            f"{value:,.{here.places}f}"
            for value in (found.room.others, found.room.amount, found.room.left)
        )
        problems.append(
            f"With the {others} {here.currency} of the others below {found.above.account} it is "
            f"more than its {whole}: {left} are left."
        )
    if found.parts > amount:
        problems.append(
            f"The budgets below it come to {found.parts:,.{here.places}f} {here.currency}, more "
            "than it is."
        )
    if problems and divides:
        raise Refused(
            "budget_over_parent",
            f"{problems[0]} Ask finance for more, or give another less.",
            field="amount",
            facts={"left": f"{found.room.left:.{here.places}f}" if found.room else "0"},
        )
    return " ".join(problems)


def _check_divided(unit: Unit, found: budget_rooms.Family, period: Period) -> None:
    mine = found.above is not None and policy.may(
        unit.actor, BUDGET_DIVIDE, found.above.account_id, unit.organization_id
    )
    if not mine:
        raise Refused(
            "budget_needs_parent",
            f"You can divide a budget per {period} of an account that you lead, and it has none. "
            "Ask finance to set one.",
            field="account",
        )


def _check_stands(row: BudgetRow, here: Ground) -> None:
    if not row.stands(here.today):
        raise Conflict(
            "budget_ended", f"This budget ended on {row.ended_on}; set a new one.", field="budget"
        )


def _lock(unit: Unit) -> Ground:
    """One change of budgets at a time; periods are those of the clock, not of the costs."""
    take_lock(unit, "budgets")
    return queries.at_clock(queries.ground(unit.organization_id, now=unit.now), unit.now)
