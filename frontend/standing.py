"""What the pages ask of the warm fair-share tree beyond its rows: whose places, how far open."""

import math
from collections.abc import Iterable
from uuid import UUID

from accounting import fairshare_state
from accounting.domain.fairshare import NO_PARENT, Fairshare
from accounting.fairshare_state import State
from accounting.queries import fairshare
from accounting.queries.fairshare import NodeRow


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


def is_below(state: State, name: str, tops: Iterable[UUID]) -> bool:
    """Whether an account is one of `tops` or lies below one."""
    index = state.names.account_by_name.get(name)
    if index is None:
        return False
    ids = {state.names.account_ids[one] for one in path_to(state, index)}
    return not ids.isdisjoint(tops)


def own_rows(
    state: State, result: Fairshare, person_id: UUID, accounts: Iterable[str]
) -> dict[str, NodeRow]:
    """The person's own line under each account they work under, by the account's name."""
    found = {}
    for name in accounts:
        account = state.names.account_by_name.get(name)
        if account is None or (state.names.account_ids[account], person_id) not in (
            state.names.person_by_id
        ):
            continue
        for row in fairshare.account_rows(state, result, account):
            if row.person_id == person_id:
                found[name] = row
    return found


def scale_of(rows: Iterable[NodeRow]) -> float:
    """The right end of the bars of siblings: the largest share or use among them, at most 1."""
    sizes = [
        value
        for row in rows
        for value in (row.norm_shares, row.effective_usage)
        if not math.isnan(value)
    ]
    return min(max(sizes, default=1.0), 1.0) or 1.0


def accounts_below(
    state: State, tops: Iterable[UUID], *, limit: int
) -> list[tuple[int, str]] | None:
    """(depth, name) of open accounts at or below some, depth first; None above `limit`."""
    names = state.names
    wanted = {names.account_by_id[one] for one in tops if one in names.account_by_id}
    inside: set[int] = set()
    below: dict[int, list[int]] = {}
    # Parents come before their children, so one pass finds whole subtrees.
    for index, above in enumerate(names.account_parents):
        if index in wanted or above in inside:
            inside.add(index)
            if len(inside) > limit:
                return None
            if above in inside:
                below.setdefault(above, []).append(index)
    starts = [index for index in inside if names.account_parents[index] not in inside]
    by_name = names.account_names.__getitem__
    found = []
    stack = [(0, index) for index in sorted(starts, key=by_name, reverse=True)]
    while stack:
        depth, index = stack.pop()
        found.append((depth, by_name(index)))
        inner = sorted(below.get(index, ()), key=by_name, reverse=True)
        stack += [(depth + 1, one) for one in inner]
    return found
