"""Who lends to whom: accounts side by side in a pool, with what each lends and borrows. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

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


def lends(base: Ground, rows: Sequence[int], column: int) -> list[int]:
    """Units that each account, with all below it, leaves to others now."""
    tree, used = base.tree, base.standing.used
    found = []
    for row in rows:
        local = int(tree.local[row, column])
        offered = int(tree.subtree[row, column]) - local
        found.append(max(0, offered - max(0, int(used[row, column]) - local)))
    return found


def borrows(base: Ground, rows: Sequence[int], column: int) -> list[int]:
    """Units that each account, with all below it, uses above its guarantees."""
    tree, used = base.tree, base.standing.used
    return [max(0, int(used[row, column]) - int(tree.subtree[row, column])) for row in rows]


def level(
    base: Ground, rows: Sequence[int], column: int, *, seen: Callable[[UUID], bool]
) -> Level | None:
    """Accounts side by side; None where nobody of them lends or borrows."""
    found = Level(
        lenders=_named(base, rows, lends(base, rows, column), seen),
        borrowers=_named(base, rows, borrows(base, rows, column), seen),
    )
    return found if found.lenders or found.borrowers else None


def below(base: Ground, rows: Iterable[int]) -> list[Below]:
    """Accounts with what they are promised and use, in each pool where there is any."""
    found = []
    columns = range(len(base.pool_ids))
    names = [base.pools[pool_id].name for pool_id in base.pool_ids]
    for row in rows:
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
                lends=lends(base, (row,), column)[0],
                borrows=borrows(base, (row,), column)[0],
                available=int(base.standing.available[row, column]),
            )
            for column in said
        ]
    return found


def _named(
    base: Ground, rows: Sequence[int], units: Sequence[int], seen: Callable[[UUID], bool]
) -> tuple[Part, ...]:
    """The largest that may be named, then the others together."""
    ranked = sorted(
        ((amount, row) for amount, row in zip(units, rows, strict=True) if amount),
        key=lambda one: (-one[0], base.nodes[one[1]][1]),
    )
    named = [one for one in ranked if seen(base.nodes[one[1]][0])][:NAMED_MAX]
    parts = [Part(base.nodes[row][1], amount) for amount, row in named]
    rest = sum(amount for amount, _ in ranked) - sum(part.units for part in parts)
    return (*parts, *([Part(None, rest)] if rest else []))
