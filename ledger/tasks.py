"""Celery tasks of the ledger: thin, idempotent, one organization each."""

from datetime import UTC, datetime
from uuid import UUID

from celery import shared_task

from ledger import receipts, scope
from ledger.commands import RecordLaneHeads
from ledger.execution import Context, execute
from ledger.types import SYSTEM


@shared_task
def record_lane_heads() -> None:
    """Have the lane heads of every organization recorded."""
    for organization_id in scope.organization_ids():
        record_lane_heads_of.delay(str(organization_id))


@shared_task
def record_lane_heads_of(organization_id: str) -> None:
    """Record one organization's lane heads if any has moved; doing it twice records nothing."""
    execute(RecordLaneHeads(), Context(organization_id=UUID(organization_id), actor=SYSTEM))


@shared_task
def forget_receipts() -> None:
    """Have old receipts of every organization deleted."""
    for organization_id in scope.organization_ids():
        forget_receipts_of.delay(str(organization_id))


@shared_task
def forget_receipts_of(organization_id: str) -> None:
    """Delete one organization's old receipts."""
    receipts.forget_old(UUID(organization_id), now=datetime.now(UTC))
