"""A round over an organization's budgets: draw the costs that may have changed, then judge."""

from datetime import datetime
from uuid import UUID

from accounting import cost_days
from accounting.commands.budget_watch import DrawCosts, WatchBudgets
from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM


def look(organization_id: UUID, *, now: datetime) -> int:
    """Draw what is due and record the alerts that fire; returns how many. Two at once, twice, or
    late: the same alerts."""
    context = Context(organization_id=organization_id, actor=SYSTEM, now=now)
    with scope.reading(organization_id):
        months = cost_days.due_months(organization_id, now=now)
    for month in months:
        execute(DrawCosts(month=month), context)
    alerted, command = 0, WatchBudgets()
    while True:
        done = execute(command, context).result
        alerted += done.alerted
        if done.before is None:
            return alerted
        command = WatchBudgets(before=done.before)
