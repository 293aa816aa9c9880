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
from quota.commands.quotas import SettleQuotas

SETTLE_SECONDS: Final = 60


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
