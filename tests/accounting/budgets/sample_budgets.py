"""Steady spending of a team, and budgets of it."""

import itertools
from datetime import UTC, date, datetime
from decimal import Decimal

from accounting import budget_rounds
from accounting.commands.budgets import SetBudget
from accounting.domain import splitting
from tests.accounting.statements.test_rating import BERLIN, DAY, publish
from tests.world import NOW, Tenant, record

SINCE = datetime(2026, 9, 30, 22, tzinfo=UTC)
"""The first of October in Berlin."""


def spend(tenant: Tenant, *, units: int = 8, price: str = "2", days: int = 59, **values) -> None:
    """nlp holds units all day, every day since October: units x 24 x price a day."""
    publish(tenant, price, at=SINCE - 10 * DAY)
    first = date(2026, 10, 1)
    starts = [splitting.start_of_day(first + n * DAY, BERLIN) for n in range(days + 1)]
    rows = [
        record(str(start), start=start, units=units, **{"end": end} | values)
        for start, end in itertools.pairwise(starts)
    ]
    tenant.use(*rows, now=NOW)


def budget(tenant: Tenant, account: str = "nlp", amount: str = "10000", **values):
    """Set a budget of an account; the month's if nothing else is said."""
    context = {name: values.pop(name) for name in ("by", "now") if name in values}
    command = SetBudget(
        account_id=tenant.accounts[account],
        amount=Decimal(amount),
        **{"period": "month"} | values,
    )
    return tenant.run(command, reason="planned", **context).result


def look(tenant: Tenant, *, now: datetime = NOW) -> int:
    return budget_rounds.look(tenant.id, now=now)


def spoken(tenant: Tenant) -> None:
    """A row in every table of budgets: nlp has spent more than its budget, since it never costs
    less than the use that `sample_statements` has of it in October."""
    budget(tenant, amount="0.01", now=NOW - 40 * DAY)
    look(tenant, now=SINCE + 33 * DAY)
