"""Tasks of preemption: thin, one organization each, harmless when late, doubled or lost.

A plan whose time is over is judged so by every question about its pool, and settled by the next
command there if no task came first. What a run of use-it-or-lose-it does depends on what is known
when it comes, not on how often it came.
"""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from celery import shared_task

from ledger import scope
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from preemption import detection_loading, loading, reclaim_loading
from preemption.commands.detections import FindDetections
from preemption.commands.reclaim import RunReclaim
from preemption.commands.settling import LapsePlans

LAPSE_SECONDS: Final = 30
RECLAIM_SECONDS: Final = 900
DETECTION_SECONDS: Final = 120
CONSUMPTION_SECONDS: Final = 3_600


@shared_task
def lapse_plans() -> None:
    """Hand every organization's plans out on their own: one that fails stops no other."""
    for organization_id in scope.organization_ids():
        lapse_plans_of.apply_async(
            (str(organization_id),), queue="deadlines", expires=LAPSE_SECONDS
        )


@shared_task
def lapse_plans_of(organization_id: str) -> None:
    """Settle what is over, one pool at a time, so that none waits for all."""
    now = datetime.now(UTC)
    place = UUID(organization_id)
    with scope.reading(place):
        pools = loading.pools_with_lapses(place, now=now)
    context = Context(organization_id=place, actor=SYSTEM, now=now, reason="lapsed")
    for pool_id in pools:
        execute(LapsePlans(pool_id=pool_id), context)


@shared_task
def run_reclaim() -> None:
    """Hand every organization's rules out on their own: one that fails stops no other."""
    for organization_id in scope.organization_ids():
        run_reclaim_of.apply_async((str(organization_id),), expires=RECLAIM_SECONDS)


@shared_task
def run_reclaim_of(organization_id: str) -> None:
    """Run each rule that is on, and settle what reviews decided where it is off by now; one pool
    at a time, so that none waits for all."""
    now = datetime.now(UTC)
    place = UUID(organization_id)
    with scope.reading(place):
        rules = reclaim_loading.rules(place)
        pools = {pool for pool, rule in rules.items() if rule.enabled}
        pools |= reclaim_loading.pools_to_settle(place)
    context = Context(organization_id=place, actor=SYSTEM, now=now, reason="use it or lose it")
    for pool_id in sorted(pools):
        execute(RunReclaim(pool_id=pool_id), context)


@shared_task
def find_detections() -> None:
    """Look for idle allocations of every organization, each on its own."""
    for organization_id in scope.organization_ids():
        find_detections_of.apply_async(
            (str(organization_id), False), queue="deadlines", expires=DETECTION_SECONDS
        )


@shared_task
def find_consumption() -> None:
    """Look for accounts that use a multiple of their usual day, organization by organization."""
    for organization_id in scope.organization_ids():
        find_detections_of.apply_async((str(organization_id), True), expires=CONSUMPTION_SECONDS)


@shared_task
def find_detections_of(organization_id: str, consumption: bool) -> None:
    """Look at one pool after the other, so that none waits for all."""
    now = datetime.now(UTC)
    place = UUID(organization_id)
    with scope.reading(place):
        pools = detection_loading.pools(place, consumption=consumption)
    context = Context(organization_id=place, actor=SYSTEM, now=now, reason="detection")
    for pool_id in pools:
        execute(FindDetections(pool_id=pool_id, consumption=consumption), context)
