"""Who lends to whom: accounts side by side in a pool, with what each lends and borrows. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from quota.queries.standing import Ground

NAMED_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Part:
    """Units of an account; `name` None: of those that are not named, together."""

    name: str | None
    units: int


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the tree in a pool.

    Attributes:
        lenders: what others may use now of the guarantees of each and of all below it.
        borrowers: what each uses, with all below it, above its guarantees.
    """

    lenders: tuple[Part, ...]
    borrowers: tuple[Part, ...]


def lends(base: Ground, rows: np.ndarray, column: int) -> np.ndarray:
    """Units that each account, with all below it, leaves to others now."""
    local, used = base.tree.local[rows, column], base.standing.used[rows, column]
    offered = base.tree.subtree[rows, column] - local
    return np.maximum(0, offered - np.maximum(0, used - local))


def borrows(base: Ground, rows: np.ndarray, column: int) -> np.ndarray:
    """Units that each account, with all below it, uses above its guarantees."""
    return np.maximum(0, base.standing.used[rows, column] - base.tree.subtree[rows, column])


def level(
    base: Ground, rows: np.ndarray, column: int, *, seen: Callable[[UUID], bool]
) -> Level | None:
    """Accounts side by side; None where nobody of them lends or borrows."""
    found = Level(
        lenders=_named(base, rows, lends(base, rows, column), seen),
        borrowers=_named(base, rows, borrows(base, rows, column), seen),
    )
    return found if found.lenders or found.borrowers else None


def _named(
    base: Ground, rows: np.ndarray, units: np.ndarray, seen: Callable[[UUID], bool]
) -> tuple[Part, ...]:
    """The largest that may be named, then the others together."""
    some = np.flatnonzero(units)
    ranked = sorted(
        zip(units[some].tolist(), rows[some].tolist(), strict=True),
        key=lambda one: (-one[0], base.nodes[one[1]][1]),
    )
    parts: list[Part] = []
    for amount, row in ranked:
        account, name = base.nodes[row][:2]
        if len(parts) < NAMED_MAX and seen(account):
            parts.append(Part(name, amount))
    rest = sum(amount for amount, _ in ranked) - sum(part.units for part in parts)
    return (*parts, *([Part(None, rest)] if rest else []))
