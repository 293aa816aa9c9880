"""What accounts borrow in other pools than the one a plan is for, for their dominant share. Pure.

    share = max over resources of (sum over pools of max(0, used - subtree)) / lendable

as in `quota/domain/shares.py`; `Levels` adds the pool of the plan, which is the one that changes.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from preemption.domain.values import NOTHING_ELSEWHERE, Borrowing, Elsewhere
from quota.domain.tree import NO_PARENT, QuotaTree
from quota.domain.values import AccountKey


def borrowing_elsewhere(
    tree: QuotaTree,
    *,
    used: np.ndarray,
    own_use: np.ndarray,
    keys: Sequence[AccountKey],
    resources: Sequence[str],
    mine: str,
    among: Collection[AccountKey] | None = None,
) -> Borrowing:
    """Of every account, and of the own use of those that have others below them.

    Args:
        tree: of the other pools, one column each; its rows are `keys`.
        used: units, rows x pools, with what flows up (`quota.domain.tree.evaluate`).
        own_use: units entered at the accounts themselves.
        resources: what each pool is of; those of the plan's, `mine`, add up with its own.
        among: accounts that matter; None: all.
    """
    names = list(dict.fromkeys(resources))
    parents = np.asarray(tree.shape.parent)
    below = np.flatnonzero(parents != NO_PARENT)
    inner = np.unique(parents[below])
    above = _by_resource(np.maximum(0, used - tree.subtree), resources, names)
    own_above = _by_resource(np.maximum(0, own_use - tree.guaranteed), resources, names)
    potential = _by_resource(tree.potential, resources, names)

    def at(row: int, parent: int, borrowed: np.ndarray) -> Elsewhere:
        shares, own = [], (0, 0)
        for place, name in enumerate(names):
            units, lendable = int(borrowed[row, place]), int(potential[parent, place])
            if name == mine:
                own = units, lendable
            elif units and lendable > 0:
                shares.append(Fraction(units, lendable))
        return Elsewhere(borrowed=own[0], lendable=own[1], share=max(shares, default=Fraction(0)))

    def matters(row: int) -> bool:
        return among is None or keys[row] in among

    found = {keys[row]: at(row, int(parents[row]), above) for row in below if matters(row)}
    own = {keys[row]: at(row, row, own_above) for row in inner if matters(row)}
    return Borrowing(
        accounts={key: one for key, one in found.items() if one != NOTHING_ELSEWHERE},
        own={key: one for key, one in own.items() if one != NOTHING_ELSEWHERE},
    )


def _by_resource(units: np.ndarray, resources: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Sums over the pools of each resource: rows x resources."""
    columns = [[at for at, one in enumerate(resources) if one == name] for name in names]
    return np.stack([units[:, each].sum(axis=1) for each in columns], axis=1)
