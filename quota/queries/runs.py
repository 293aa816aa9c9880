"""What ended allocations were used for: the part that becomes usage."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from quota.domain.lifecycle import LIVE, Span, spans
from quota.loading import allocations as loading


@dataclass(frozen=True, slots=True)
class EndedRun:
    """An allocation that ran and has ended. `spans` follow each other, units and tier in each."""

    id: UUID
    key: str
    attempt: int
    pool_id: UUID
    pool: str
    account: str
    person: str
    labels: dict[str, str]
    spans: tuple[Span, ...]


def ended_runs(organization_id: UUID, ids: Collection[UUID]) -> list[EndedRun]:
    """Those of the allocations that have ended and ran for a while."""
    found = [
        (stored, parts)
        for stored in loading.of_ids(organization_id, ids)
        if stored.value.state not in LIVE and (parts := spans(stored.value))
    ]
    accounts = loading.account_names(organization_id, {one.value.account for one, _ in found})
    people = loading.person_names(organization_id, {one.value.person for one, _ in found})
    pools = loading.pool_names(organization_id, {stored.value.pool for stored, _ in found})
    return [
        EndedRun(
            id=stored.id,
            key=stored.value.key,
            attempt=stored.value.attempt,
            pool_id=stored.value.pool,
            pool=pools[stored.value.pool],
            account=accounts[stored.value.account],
            person=people[stored.value.person],
            labels=stored.labels,
            spans=parts,
        )
        for stored, parts in found
    ]
