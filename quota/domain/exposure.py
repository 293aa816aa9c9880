"""What runs above a lowered guarantee. Pure and deterministic.

The mirror of promotion: in the order in which they were admitted, each guaranteed allocation keeps
its place while all of it fits into what is guaranteed now; one that does not fit leaves the room to
those after it. Whether those above lose their tier is what a change of quota says (`expose`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Guaranteed:
    """A live allocation in tier guaranteed, of one account in one pool."""

    account: UUID
    key: str
    attempt: int
    units: int
    held_at: datetime


def above(guaranteed: int, allocations: Iterable[Guaranteed]) -> tuple[Guaranteed, ...]:
    """Those of one account that its guarantee does not hold, the first admitted first.

    Args:
        guaranteed: the account's own guarantee, in units.
        allocations: of the account, in any order.
    """
    room, found = guaranteed, []
    for one in sorted(allocations, key=lambda a: (a.held_at, a.key, a.attempt)):
        if one.units <= room:
            room -= one.units
        else:
            found.append(one)
    return tuple(found)
