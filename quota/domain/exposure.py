"""What runs above a lowered guarantee. Pure and deterministic.

A running allocation keeps its tier when a guarantee is lowered, unless the change itself says
`expose`: then the excess becomes borrowed (docs/design.md part 3). What is excess is the mirror of
promotion, so that the two never undo each other: in the order in which they were admitted, each
guaranteed allocation keeps its place while all of it fits into what is guaranteed now; one that
does not fit leaves the room to those after it. So usually the youngest go.

P0 may not borrow: it takes its room first and keeps its tier whatever is left. What it holds beyond
the guarantee is overshoot. The tree's arithmetic is the same before and after, guaranteed and
borrowed use weigh alike in it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from quota.domain.lifecycle import LIVE, Allocation
from quota.domain.values import AccountKey

KEEPING_CLASS = "P0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guaranteed:
    """A live allocation in tier guaranteed, of one account in one pool. `keeps`: it never loses
    the tier."""

    account: AccountKey
    key: str
    attempt: int
    units: int
    held_at: datetime
    keeps: bool = False


def above(guaranteed: int, allocations: Iterable[Guaranteed]) -> tuple[Guaranteed, ...]:
    """Those of one account that its guarantee does not hold, the first admitted first.

    Args:
        guaranteed: the account's own guarantee, in units.
        allocations: of the account, in any order.
    """
    room, found = guaranteed, []
    for one in sorted(allocations, key=lambda a: (not a.keeps, a.held_at, a.key, a.attempt)):
        if one.keeps or one.units <= room:
            room = max(0, room - one.units)
        else:
            found.append(one)
    return tuple(found)


def demotions(
    *, guarantees: Mapping[AccountKey, int], allocations: Iterable[Allocation]
) -> tuple[Allocation, ...]:
    """Allocations of one pool that become borrowed where a change exposes them.

    Args:
        guarantees: own guarantees, in units, of the accounts that are exposed; all others keep
            what they have.
        allocations: those of the pool; what has lapsed is not among them.
    """
    stored: dict[tuple[str, int], Allocation] = {}
    of: dict[AccountKey, list[Guaranteed]] = {}
    for one in allocations:
        if one.account in guarantees and one.tier == "guaranteed" and one.state in LIVE:
            stored[one.key, one.attempt] = one
            of.setdefault(one.account, []).append(_guaranteed(one))
    return tuple(
        stored[one.key, one.attempt]
        for account, mine in of.items()
        for one in above(guarantees[account], mine)
    )


def _guaranteed(one: Allocation) -> Guaranteed:
    return Guaranteed(
        account=one.account,
        key=one.key,
        attempt=one.attempt,
        units=one.units,
        held_at=one.held_at,
        keeps=one.priority_class == KEEPING_CLASS,
    )
