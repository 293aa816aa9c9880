"""Accounts right below one, with what they are promised and use. Pure."""

from dataclasses import dataclass

import numpy as np

from quota.levels import borrows, lends
from quota.queries.standing import Ground


@dataclass(frozen=True, slots=True)
class Below:
    """An account right below in a pool."""

    account: str
    pool: str | None
    guaranteed: int = 0
    used: int = 0
    lends: int = 0
    borrows: int = 0
    available: int = 0


def below(base: Ground, rows: np.ndarray) -> list[Below]:
    """Accounts with what they are promised and use, in each pool where there is any."""
    found = []
    columns = range(len(base.pool_ids))
    names = [base.pools[pool_id].name for pool_id in base.pool_ids]
    for row in rows.tolist():
        account = base.nodes[row][1]
        busy = (base.tree.subtree[row] != 0) | (base.standing.used[row] != 0)
        said = [column for column in columns if busy[column]]
        if not said:
            found.append(Below(account, None))
        found += [
            Below(
                account=account,
                pool=names[column],
                guaranteed=int(base.tree.subtree[row, column]),
                used=int(base.standing.used[row, column]),
                lends=int(lends(base, row, column)),
                borrows=int(borrows(base, row, column)),
                available=int(base.standing.available[row, column]),
            )
            for column in said
        ]
    return found
