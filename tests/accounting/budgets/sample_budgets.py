"""Steady spending of a team, and budgets of it."""

from datetime import UTC, datetime
from decimal import Decimal

from accounting import budget_rounds
from accounting.commands.budgets import SetBudget
from tests.accounting.statements.test_rating import DAY, publish
from tests.world import NOW, Tenant, record

SINCE = datetime(2026, 9, 30, 22, tzinfo=UTC)
"""The first of October in Berlin."""


def spend(tenant: Tenant, *, units: int = 8, price: str = "2", days: int = 59, **values) -> None:
    """nlp holds units all day, every day since October: units x 24 x price a day."""
    publish(tenant, price, at=SINCE - 10 * DAY)
    rows = [
        record(f"{values.get('account', 'nlp')}-{n}", start=SINCE + n * DAY, hours=24,
               units=units, **values)
        for n in range(days)
    ]  # fmt: skip
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


def alerted(tenant: Tenant) -> None:
    """A row in every table of budgets: nlp spends more than its budget of November."""
    budget(tenant, amount="100")
    look(tenant)


