"""What the pages ask of the warm fair-share tree beyond its rows: whose places, how far open."""

from collections.abc import Iterable
from uuid import UUID

from accounting import fairshare_state
from accounting.domain.fairshare import NO_PARENT
from accounting.fairshare_state import State


def associations_of(organization_id: UUID, people: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Names of the accounts that people work under."""
    wanted = set(people)
    if not wanted:
        return {}
    names = fairshare_state.current(organization_id).names
    found: dict[UUID, list[str]] = {}
    for index, person_id in enumerate(names.person_ids):
        if person_id in wanted:
            account = names.account_names[names.person_accounts[index]]
            found.setdefault(person_id, []).append(account)
    return found


def path_to(state: State, account: int) -> list[int]:
    """Indexes from the top account down to this one."""
    path = [account]
    while (above := state.names.account_parents[path[-1]]) != NO_PARENT:
        path.append(above)
    return path[::-1]
