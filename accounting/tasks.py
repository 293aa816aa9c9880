"""Tasks of usage: thin, one organization each, harmless when late, doubled or lost.

What they do is also true without them: records whose end has passed count from that instant on
when somebody asks, and a batch makes the partitions it needs.
"""

from datetime import UTC, date, datetime, timedelta
from time import monotonic
from typing import Final
from uuid import UUID

from celery import shared_task

from accounting import allocated_usage, budget_rounds, figure_rounds, partitions
from accounting.commands.statements import CloseMonth
from accounting.commands.usage import SettleUsage
from accounting.exports import files, making, scheduling
from accounting.queries import exports, statements
from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM

SETTLE_SECONDS: Final = 60
CLOSE_SECONDS: Final = 50
WATCH_SECONDS: Final = 3000
REFRESH_SECONDS: Final = 300
EXPORT_QUEUE: Final = "exports"
EXPORT_SECONDS: Final = 3_600
PARTITIONS_AHEAD: Final = timedelta(days=92)


@shared_task
def settle_usage() -> None:
    """Hand every organization's settlement out on its own: one that fails stops no other."""
    for organization_id in scope.organization_ids():
        settle_usage_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=SETTLE_SECONDS
        )


@shared_task
def settle_usage_of(organization_id: str) -> None:
    """Let an organization's records whose end has passed count as ended use."""
    now = datetime.now(UTC)
    context = Context(organization_id=UUID(organization_id), actor=SYSTEM, now=now)
    execute(SettleUsage(until=now), context)


@shared_task
def make_partitions() -> None:
    """Month partitions of the usage table, three months ahead."""
    today = datetime.now(UTC).date()
    partitions.ensure(today, today + PARTITIONS_AHEAD)


@shared_task
def meter_allocations() -> None:
    """Hand every organization's ended allocations out on their own."""
    for organization_id in scope.organization_ids():
        meter_allocations_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=SETTLE_SECONDS
        )


@shared_task
def meter_allocations_of(organization_id: str) -> None:
    """Let what an organization's ended allocations held become usage."""
    allocated_usage.meter(UUID(organization_id), now=datetime.now(UTC))


@shared_task
def watch_budgets() -> None:
    """Hand every organization's budgets out on their own."""
    for organization_id in scope.organization_ids():
        watch_budgets_of.apply_async((str(organization_id),), expires=WATCH_SECONDS)


@shared_task
def watch_budgets_of(organization_id: str) -> None:
    """Draw an organization's costs by day and record which of its budgets speak up."""
    budget_rounds.look(UUID(organization_id), now=datetime.now(UTC))


@shared_task
def refresh_figures() -> None:
    """Hand every organization's figures of large months out on their own."""
    for organization_id in scope.organization_ids():
        with scope.reading(organization_id):
            months = figure_rounds.stale_months(organization_id)
        if months:
            refresh_figures_of.apply_async(
                (str(organization_id),), queue="exports", expires=REFRESH_SECONDS
            )


@shared_task
def refresh_figures_of(organization_id: str) -> None:
    """Draw an organization's figures that an act has made old."""
    figure_rounds.refresh(UUID(organization_id), now=datetime.now(UTC))


@shared_task
def draw_month_of(organization_id: str, month: str) -> None:
    """Draw the costs and figures of a month that somebody asked for."""
    figure_rounds.draw(UUID(organization_id), date.fromisoformat(month), now=datetime.now(UTC))


@shared_task
def close_months() -> None:
    """Hand every organization's closing month out on its own, also where a close was cut off."""
    for organization_id in scope.organization_ids():
        with scope.reading(organization_id):
            rows = statements.closes(organization_id, limit=1)
        if rows and rows[0].state == "closing" and not rows[0].waits:
            close_month_of.apply_async(
                (str(organization_id), rows[0].month.isoformat()),
                queue="exports",
                expires=SETTLE_SECONDS,
            )


@shared_task
def close_month_of(organization_id: str, month: str) -> None:
    """Draw a month's statements, chunk by chunk, until it is closed or others should have a turn:
    the next beat goes on."""
    begun = monotonic()
    # What has ended is use by then, so that no statement waits for it.
    allocated_usage.meter(UUID(organization_id), now=datetime.now(UTC))
    command = CloseMonth(month=date.fromisoformat(month))
    closed = False
    while not closed and monotonic() - begun < CLOSE_SECONDS:
        context = Context(
            organization_id=UUID(organization_id), actor=SYSTEM, now=datetime.now(UTC)
        )
        closed = execute(command, context).result.closed


@shared_task
def make_exports() -> None:
    """Ask for what schedules want, and hand every export that waits to a worker: also those that a
    killed worker has left, whose lock is free again."""
    for organization_id in scope.organization_ids():
        scheduling.ask(organization_id, now=datetime.now(UTC))
        scheduling.deliver(organization_id)
        with scope.reading(organization_id):
            waiting = exports.pending(organization_id)
        for export_id in waiting:
            make_export.apply_async(
                (str(organization_id), str(export_id)),
                queue=EXPORT_QUEUE,
                expires=SETTLE_SECONDS,
            )


@shared_task(soft_time_limit=EXPORT_SECONDS - 60, time_limit=EXPORT_SECONDS)
def make_export(organization_id: str, export_id: str) -> None:
    """Make the file of an export, if nobody else does."""
    making.make(UUID(organization_id), UUID(export_id))


@shared_task
def sweep_exports() -> None:
    """Let files go whose time is over, and what killed workers have left."""
    now = datetime.now(UTC)
    for organization_id in scope.organization_ids():
        scheduling.sweep(organization_id, now=now)
    files.sweep_halves(now - scheduling.SETTLED)
