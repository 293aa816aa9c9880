"""Draw costs by day, and let budgets speak up. For the tasks that do so by the hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from accounting import budget_events as events
from accounting import cost_days
from accounting.domain import budgets, money
from accounting.domain.budgets import Alarm, Past, Reading, Span
from accounting.locking import take_lock
from accounting.queries import budgets as queries
from accounting.queries.budgets import BudgetRow, Ground, Standing
from ledger.execution import Unit, handles
from tenancy.domain.roles import SYSTEM_ONLY

CHUNK = 200
LATE_DAYS = 5
"""So long a period that is over is still watched: what came in its last hours counts, too."""
FIGURE_PLACES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawCosts:
    """Draw what each day of a month cost each account; see `accounting.cost_days`."""

    month: date


@handles(DrawCosts, permission=SYSTEM_ONLY)
def draw_costs(command: DrawCosts, unit: Unit) -> int:
    """Draw it, one at a time; who waited for another that drew the same has nothing left to do.
    Returns the number of rows that the month has, 0 if there was nothing to do."""
    take_lock(unit, "costs")
    done = cost_days.drawn(unit.organization_id).get(command.month)
    if done is not None and done.drawn_at >= unit.now:
        return 0
    return cost_days.draw(unit.organization_id, command.month, now=unit.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchBudgets:
    """Judge the next budgets and record which alerts fire and which are over.

    Attributes:
        before: from the newest on if None, else those older than this one.
    """

    before: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """How many budgets were looked at and what they said; `before`: where to go on, None: done."""

    budgets: int
    alerted: int
    ended: int
    before: UUID | None


@handles(WatchBudgets, permission=SYSTEM_ONLY)
def watch_budgets(command: WatchBudgets, unit: Unit) -> Watched:
    """An alert that is recorded is not recorded again, whoever looks, and however often."""
    take_lock(unit, "budgets")
    here = queries.ground(unit.organization_id, now=unit.now)
    if here.at is None:
        return Watched(budgets=0, alerted=0, ended=0, before=None)
    rows = queries.budget_rows(
        unit.organization_id,
        today=here.today - timedelta(days=LATE_DAYS),
        before=command.before,
        limit=CHUNK,
    )
    places = [(row, span) for row in rows for span in _watched_spans(row, here)]
    found = queries.standings(
        unit.organization_id,
        [row for row, _ in places],
        here,
        spans=[span for _, span in places],
    )
    past = _past(unit, found)
    counts = [_speak(unit, one, past.get((one.row.id, one.span.first), []), here) for one in found]
    return Watched(
        budgets=len(rows),
        alerted=sum(fired for fired, _ in counts),
        ended=sum(over for _, over in counts),
        before=rows[-1].id if len(rows) == CHUNK else None,
    )


def _watched_spans(row: BudgetRow, here: Ground) -> list[Span]:
    """This period, where it has begun and the budget stands, and one that is over since lately."""
    span = row.span(here.today)
    found = [span, budgets.span_before(row.period, span)]
    return [
        one
        for one in found
        if one is not None
        and row.starts_on <= one.first <= here.today
        and (here.today - one.end).days < LATE_DAYS
        and row.stands(min(here.today, one.last))
    ]


def _past(unit: Unit, found: Sequence[Standing]) -> dict[tuple[UUID, date], list[Past]]:
    if not found:
        return {}
    rows = queries.alerts_of(
        unit.organization_id,
        [one.row.id for one in found],
        since=min(one.span.first for one in found),
        limit=None,
    )
    past: dict[tuple[UUID, date], list[Past]] = {}
    for row in rows:
        one = Past(Alarm(row.kind, row.rule), row.amount, row.over_at is not None)
        past.setdefault((row.budget_id, row.period_start), []).append(one)
    return past


def _speak(unit: Unit, one: Standing, past: Sequence[Past], here: Ground) -> tuple[int, int]:
    fire, over = budgets.due(one.figures, one.version.alerts, past)
    for reading in fire:
        unit.record(
            events.BudgetAlerted(
                budget_id=one.row.id,
                account_id=one.row.account_id,
                period_start=one.span.first,
                period_end=one.span.end,
                kind=reading.alarm.kind,
                rule=reading.alarm.rule,
                figure=_figure(reading),
                amount=one.figures.amount,
                spent=one.figures.spent,
                forecast=one.figures.forecast,
                currency=here.currency,
            )
        )
    for reading in over:
        unit.record(
            events.BudgetAlertEnded(
                budget_id=one.row.id,
                account_id=one.row.account_id,
                period_start=one.span.first,
                kind=reading.alarm.kind,
                rule=reading.alarm.rule,
                figure=_figure(reading),
            )
        )
    return len(fire), len(over)


def _figure(reading: Reading) -> Decimal:
    return money.rounded(reading.figure, FIGURE_PLACES)
