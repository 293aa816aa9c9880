"""What measured use says of a quota: idle units, hoarding, a recommended figure. Pure.

All are of a place: an account with everything below it, in one pool, over a window. What is not
known is None, never zero (docs/design.md parts 4 and 6).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

HEADROOM = Fraction(1, 10)
COVERAGE_MIN = Fraction(1, 2)
"""With less of the window known, nothing is recommended."""


def idle_units(*, guaranteed: int, p95: int) -> int:
    """Units of the guarantee that p95 use does not need."""
    return max(0, guaranteed - p95)


def needed(*, p95: int, pinned: int) -> int:
    """What a place needs: its p95 with a tenth of headroom, rounded up; at least what P0 and P1
    jobs hold now, which nobody takes from them."""
    return max(ceil(p95 * (1 + HEADROOM)), pinned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """An account with a guarantee of its own in a pool.

    Attributes:
        parent: the nearest account above that is a holder too; None: there is none.
        own: units promised to the account itself.
        needed: units that it needs with everything below it; None: too little is known.
    """

    parent: Hashable | None
    own: int
    needed: int | None


def need_known(*, p95: int | None, pinned: int, coverage: Fraction) -> int | None:
    """`needed`, or None where less than COVERAGE_MIN of the window is known."""
    if p95 is None or coverage < COVERAGE_MIN:
        return None
    return needed(p95=p95, pinned=pinned)


def recommended(holders: Mapping[Key, Holder]) -> dict[Key, int | None]:
    """The own guarantee that each account could do with, if all of them are taken:

        own - max(0, own + what is recommended below - needed), at least 0

    From the bottom up, so that the same idle units are not taken at two levels. Where an account
    uses more than its own because those below leave theirs idle, they keep as much of it as
    it needs, in proportion to what could be taken from them. So for every account the figures at
    and below it add up to at least min(needed, promised there). Never more than an account has: a
    raise is asked for, not recommended. None where too little is known; such an account keeps what
    it has in the sums of others.

    Args:
        holders: of one pool, in an order that is always the same: units that cannot be shared
            out evenly go by it.
    """
    below: dict[Key, list[Key]] = {key: [] for key in holders}
    tops: list[Key] = []
    for key, one in holders.items():
        (tops if one.parent is None else below[one.parent]).append(key)  # type: ignore[index]
    downwards = list(tops)
    for key in downwards:
        downwards.extend(below[key])
    promised: dict[Key, int] = {}
    least: dict[Key, int] = {}  # that the account and all below it keep, as far as they need it
    for key in reversed(downwards):
        one = holders[key]
        promised[key] = one.own + sum(promised[each] for each in below[key])
        kept = sum(least[each] for each in below[key])
        known = one.needed is not None
        least[key] = max(kept, min(one.needed, promised[key])) if known else one.own + kept
    found: dict[Key, int | None] = {}
    keeps = {key: least[key] for key in tops}
    for key in downwards:
        one = holders[key]
        left = keeps[key] - sum(least[each] for each in below[key])
        own = min(one.own, left)
        found[key] = None if one.needed is None else own
        spare = [promised[each] - least[each] for each in below[key]]
        for each, more in zip(below[key], _shared(left - own, spare), strict=True):
            keeps[each] = least[each] + more
    return {key: found[key] for key in holders}


def _shared(units: int, by: Sequence[int]) -> list[int]:
    """Whole units in proportion; no part is more than what it goes by where `units` is not more
    than their sum."""
    whole, before = sum(by), 0
    parts = []
    for one in by:
        after = before + one
        parts.append(units * after // whole - units * before // whole if whole else 0)
        before = after
    return parts


def hoarding_score(
    parts: Iterable[tuple[Fraction | Decimal, Fraction | Decimal, Decimal]],
) -> Fraction | None:
    """Share of the promised unit-hours that went unused, 0 to 1, over any number of places:

        sum(weight x idle unit-hours) / sum(weight x promised unit-hours)

    Args:
        parts: (idle, promised, economic weight of the flavor) of each place, over the time in
            which its use is known.

    Returns:
        None where nothing was promised, or nothing is known.
    """
    idle_sum = promised_sum = Fraction(0)
    for idle, promised, weight in parts:
        idle_sum += Fraction(idle) * Fraction(weight)
        promised_sum += Fraction(promised) * Fraction(weight)
    return idle_sum / promised_sum if promised_sum else None
