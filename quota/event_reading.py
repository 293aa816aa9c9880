"""Who may read an event of the ledger, over REST and in the browser alike.

With the right to read the ledger on the root everything is seen. With it on an account, the events
about that account and what is below, those of its allocations among them, and the facts of the
whole organization that everybody's numbers rest on. Runs inside `scope.reading`.
"""

from uuid import UUID

from ledger.errors import Denied, NotFound
from ledger.queries import EventRow
from ledger.types import Actor
from quota.queries.allocations import jobs_of
from tenancy import policy, queries
from tenancy.domain.roles import LEDGER_READ

COMMON = frozenset(
    {
        "organization.created",
        "flavor.defined",
        "flavor.weight_set",
        "pool.opened",
        "admission.policy_set",
        "fairshare.policy_set",
        "fairshare.reset",
        "usage.source_registered",
        "usage.batch_recorded",
        "usage.settled",
    }
)
"""Facts that everybody's numbers rest on; they name no account and no person."""


def mentioned(event: EventRow) -> frozenset[UUID]:
    """Ids of everything an event names: its subjects, and what it carries without being part of
    its history (allocations are told of by the million, and have a history of their own)."""
    found = set(event.subjects)
    for field, value in event.payload.items():
        if field.endswith("_id") and isinstance(value, str):
            found.add(UUID(value))
    return frozenset(found)


def accounts_of(organization_id: UUID, event: EventRow) -> frozenset[UUID]:
    """Ids that may be accounts the event is about, the account of its allocation among them."""
    found = mentioned(event)
    if not of_allocation(event):
        return found
    jobs = jobs_of(organization_id, [UUID(event.payload["allocation_id"])])
    return found | {job.account_id for job in jobs.values()}


def of_allocation(event: EventRow) -> bool:
    """Whether one allocation is what it tells of."""
    return event.payload.get("allocation_id") is not None


def may_read(actor: Actor, organization_id: UUID, event: EventRow) -> bool:
    """Whether a person may read the event."""
    held = policy.accounts_with(actor, LEDGER_READ, organization_id)
    if not held:
        return False
    root = queries.organization(organization_id).root_account_id
    if root in held or event.type in COMMON:
        return True
    known = queries.names_of(organization_id, accounts=accounts_of(organization_id, event))
    return any(_may_read_of(actor, organization_id, account_id) for account_id in known)


def _may_read_of(actor: Actor, organization_id: UUID, account_id: UUID) -> bool:
    try:
        policy.authorize(actor, LEDGER_READ, account_id, organization_id)
    except (Denied, NotFound):
        return False
    return True
