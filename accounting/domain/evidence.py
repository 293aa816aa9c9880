"""What measured use says of a quota: idle units, hoarding, a recommended figure. Pure.

All are of a place: an account with everything below it, in one pool, over a window. What is not
known is None, never zero (docs/design.md parts 4 and 6).
"""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import ceil

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


def recommended(
    *, guaranteed: int, own: int, p95: int | None, pinned: int, coverage: Fraction
) -> int | None:
    """The own guarantee that an account could do with:

        own - max(0, guaranteed - needed), at least 0

    `guaranteed` is promised to the account and all below it; what they do not need together is
    taken from the account's own part. Never more than it has: a raise is asked for, not given.
    None where too little is known.
    """
    if p95 is None or coverage < COVERAGE_MIN:
        return None
    return max(0, own - max(0, guaranteed - needed(p95=p95, pinned=pinned)))


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
