"""Tasks of quota: thin, one organization each, harmless when late, doubled or lost.

What has fallen due is judged by every reader at its own instant, and recorded by the next command
on the pool if no task came first.
"""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from celery import shared_task

from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from quota.commands.cycles import OpenQuarterlyCycle
from quota.commands.quotas import SettleQuotas
from quota.commands.reviews import FollowUpRequests
from quota.commands.settling import SettlePools
from quota.loading import allocations

SETTLE_SECONDS: Final = 60
FOLLOW_UP_SECONDS: Final = 300
OPEN_CYCLES_SECONDS: Final = 3_600


@shared_task
def settle_quotas() -> None:
    """Hand every organization's due changes out on its own: one that fails stops no other."""
    for organization_id in scope.organization_ids():
        settle_quotas_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=SETTLE_SECONDS
        )


@shared_task
def settle_quotas_of(organization_id: str) -> None:
    """Let an organization's scheduled and temporary quotas begin and end."""
    context = Context(
        organization_id=UUID(organization_id),
        actor=SYSTEM,
        now=datetime.now(UTC),
        reason="fell due",
    )
    execute(SettleQuotas(), context)


@shared_task
def settle_allocations() -> None:
    """Hand every organization's lapsed holds and leases out on their own."""
    for organization_id in scope.organization_ids():
        settle_allocations_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=SETTLE_SECONDS
        )


@shared_task
def settle_allocations_of(organization_id: str) -> None:
    """End what has lapsed and let others rise, one pool at a time, so that none waits for all."""
    now = datetime.now(UTC)
    place = UUID(organization_id)
    with scope.reading(place):
        lapsed = allocations.pools_with_lapses(place, now=now)
        crowded = allocations.pools_with_opportunists(place)
    context = Context(organization_id=place, actor=SYSTEM, now=now, reason="lapsed")
    for pool_id in sorted({*lapsed, *crowded}):
        execute(SettlePools(pool_ids=(pool_id,)), context)


@shared_task
def follow_up_requests() -> None:
    """Hand every organization's reminders and missed deadlines out on their own."""
    for organization_id in scope.organization_ids():
        follow_up_requests_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=FOLLOW_UP_SECONDS
        )


@shared_task
def follow_up_requests_of(organization_id: str) -> None:
    """Remind, escalate and end until nothing is due: each step is a command of bounded size."""
    context = Context(
        organization_id=UUID(organization_id),
        actor=SYSTEM,
        now=datetime.now(UTC),
        reason="deadline",
    )
    while execute(FollowUpRequests(), context).result.more:
        pass


@shared_task
def open_review_cycles() -> None:
    """Hand every organization's review of the quarter out on its own."""
    for organization_id in scope.organization_ids():
        open_review_cycle_of.apply_async((str(organization_id),), expires=OPEN_CYCLES_SECONDS)


@shared_task
def open_review_cycle_of(organization_id: str) -> None:
    """Open the review of the quarter that has begun where the organization is, once."""
    context = Context(
        organization_id=UUID(organization_id),
        actor=SYSTEM,
        now=datetime.now(UTC),
        reason="a quarter began",
    )
    execute(OpenQuarterlyCycle(), context)
