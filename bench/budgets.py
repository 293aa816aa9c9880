"""A round over a budget for each account, on the month of `bench.statements` while it is open."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from accounting.commands.budget_watch import DrawCosts, WatchBudgets
from accounting.commands.budgets import SetBudget
from accounting.queries import budgets as queries
from bench.measure import Report, median_seconds, seconds
from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM

ROUNDS = 5
PAGE_ROWS = 50


def run(
    report: Report,
    organization_id: UUID,
    accounts: Sequence[UUID],
    *,
    month: date,
    begun: datetime,
    now: datetime,
) -> None:
    """Set, draw, watch, look. The bound on a page is that of a page of showback."""
    early = Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=begun)
    late = Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=now)
    for account in accounts:
        command = SetBudget(account_id=account, period="month", amount=Decimal(1_000_000))
        execute(command, early)
    drawn = seconds(lambda: execute(DrawCosts(month=month), late))
    report.add("costs of the month by day and account, drawn", drawn, "s")
    watched = seconds(lambda: _watch(late))
    report.add(f"a round over {len(accounts):,} budgets", watched, "s")
    page = median_seconds(lambda: _page(organization_id, now), rounds=ROUNDS)
    report.add(f"{PAGE_ROWS} budgets with figures and forecasts", page * 1000, "ms", at_most=100)


def _watch(context: Context) -> None:
    command = WatchBudgets()
    while (done := execute(command, context).result).before is not None:
        command = WatchBudgets(before=done.before)


def _page(organization_id: UUID, now: datetime) -> None:
    with scope.reading(organization_id):
        here = queries.ground(organization_id, now=now)
        rows = queries.budget_rows(organization_id, today=here.today, limit=PAGE_ROWS)
        queries.standings(organization_id, rows, here)
