"""What pages of the big month ask of the database: the organization's, the root's and the
comparison, on the month of `bench.statements`, open and closed."""

import statistics
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from accounting.commands.budget_watch import DrawCosts
from accounting.domain.comparison import EVERYTHING
from accounting.queries import comparison, glance, organization_month, showback, wide_months
from bench.measure import Report, seconds
from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM

ROUNDS = 3
AT_MOST = 100
"""Milliseconds in the database, for each page."""


def run(report: Report, organization_id: UUID, root: UUID, *, month: date, now: datetime) -> None:
    """Draw the month's figures and look at its pages."""
    context = Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=now)
    drawn = seconds(lambda: execute(DrawCosts(month=month), context))
    with scope.reading(organization_id):
        found = wide_months.month_of(organization_id, root, month, now=now)
    state = f"the {found.state} month"
    if found.as_of != now:
        raise RuntimeError("the month is too small: its pages would be computed")
    report.add(f"costs and figures of {state}, drawn", drawn, "s")
    report.add(f"lines of {state}", found.total.lines, "lines")
    later = now + timedelta(minutes=1)
    pages = {
        "organization": lambda: _organization(organization_id, root, month, later),
        "root": lambda: _root(organization_id, root, month, later),
        "comparison": lambda: _comparison(organization_id, root, month, later),
    }
    for name, look in pages.items():
        inside = [in_database(look) for _ in range(ROUNDS)]
        whole = [seconds(look) for _ in range(ROUNDS)]
        at = f"{name} page of {state}"
        middle = statistics.median(inside) * 1000
        report.add(f"{at}, in the database", middle, "ms", at_most=AT_MOST)
        report.add(f"{at}, all in all", statistics.median(whole) * 1000, "ms")


def in_database(work: Callable[[], object]) -> float:
    """How long statements take while some work is done, in seconds."""
    spent = 0.0
    execute_one = psycopg.Cursor.execute

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal spent
        start = time.perf_counter()
        try:
            return execute_one(*arguments, **options)
        finally:
            spent += time.perf_counter() - start

    psycopg.Cursor.execute = timed  # type: ignore[method-assign]
    try:
        work()
    finally:
        psycopg.Cursor.execute = execute_one  # type: ignore[method-assign]
    return spent


def _organization(organization_id: UUID, root: UUID, month: date, now: datetime) -> None:
    with scope.reading(organization_id):
        # Against itself: the month before has no lines.
        found = organization_month.month_of(organization_id, root, month, now=now, tell=True)
        organization_month.organization_month(found, found)
        showback.names_of(organization_id, people=False)


def _root(organization_id: UUID, root: UUID, month: date, now: datetime) -> None:
    with scope.reading(organization_id):
        names = showback.names_of(organization_id, people=False)
        found = wide_months.month_of(organization_id, root, month, now=now, details=("day",))
        showback.changes(found, found)
        wide_months.drill(found, ("team", "pool"), names, limit=100)
        wide_months.largest_lines(found, limit=60)
        glance.glance(organization_id, found, names, now=now)


def _comparison(organization_id: UUID, root: UUID, month: date, now: datetime) -> None:
    with scope.reading(organization_id):
        comparison.comparison(
            organization_id, root, month, allowed=EVERYTHING, accounts=(), by="utilization", now=now
        )
