"""Budgets in the demo: one that is spent, one that will not last, some that are kept, a grant for a
range of days, and a department that is divided. Set with the prices and watched as the worker does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from accounting import budget_rounds
from accounting.commands.budgets import SetBudget
from demo.request_history import FINANCE
from demo.tenant import Tenant

WATCHED: Final = (12, 4)
"""Days ago: an alert is as old as the round that noticed it. The last round is of now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A budget. `days`: of a range that begins when it is set."""

    account: str
    period: str
    amount: int
    reason: str
    name: str = ""
    days: int | None = None


BUDGETS: Final = (
    Planned(account="root", period="month", amount=1_300_000, reason="The plan of the board"),
    Planned(account="foundation", period="month", amount=720_000, reason="The plan of the board"),
    Planned(account="foundation", period="quarter", amount=2_100_000, reason="Half a year's plan"),
    Planned(account="pretraining", period="month", amount=400_000, reason="Its part of foundation"),
    Planned(
        account="post-training", period="month", amount=170_000, reason="Its part of foundation"
    ),
    Planned(account="science", period="month", amount=295_000, reason="The plan of the board"),
    Planned(account="products", period="month", amount=360_000, reason="The plan of the board"),
    Planned(account="robotics", period="month", amount=98_000, reason="As last year"),
    Planned(
        account="protein-design",
        period="range",
        amount=330_000,
        reason="Half of the grant is for compute",
        name="Grant of the foundation for medicine",
        days=180,
    ),
)


def set_budgets(tenant: Tenant) -> None:
    """Every budget, from the organization's first period on."""
    by = tenant.person(FINANCE)
    first = tenant.at.date()
    for one in BUDGETS:
        command = SetBudget(
            account_id=tenant.accounts[one.account],
            period=one.period,
            amount=Decimal(one.amount),
            name=one.name,
            starts_on=None if one.days is None else first,
            ends_on=None if one.days is None else first + timedelta(days=one.days),
        )
        tenant.run(command, f"budget/{one.account}/{one.period}", by=by, reason=one.reason)


def rounds(tenant: Tenant, *, now: datetime) -> list[tuple[datetime, Callable[[], Any]]]:
    """The rounds of the worker that say something, with their times; the last is `watch`."""
    return [
        (at, partial(budget_rounds.look, tenant.id, now=at))
        for at in (now - timedelta(days=days) for days in WATCHED)
    ]


def watch(tenant: Tenant, *, now: datetime) -> None:
    """The round of now."""
    budget_rounds.look(tenant.id, now=now)
