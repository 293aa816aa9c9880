"""What a preemption costs: the work that is lost and has to be done again. Pure, exact.

    tax = (work since the last checkpoint + reload + warm-up) x units x price

(docs/design.md part 8). Amounts are not rounded here: whoever shows or books one rounds it once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isqrt

from ledger.errors import Invalid

HOUR_SECONDS = 3600
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one preemption throws away.

    Attributes:
        lost: time the job falls back by: work since its last checkpoint, reload, warm-up.
        units: units for which that time is lost.
    """

    lost: timedelta
    units: int

    @property
    def unit_seconds(self) -> Fraction:
        return Fraction(self.lost // _MICROSECOND, 1_000_000) * self.units

    def tax(self, price: Decimal) -> Fraction:
        """In the currency of `price`, which is per unit-hour."""
        return self.unit_seconds * Fraction(price) / HOUR_SECONDS


def time_lost(
    *, at: datetime, saved_at: datetime, reload_seconds: int = 0, warm_up_seconds: int = 0
) -> timedelta:
    """How far a job falls back when it is stopped at an instant.

    Args:
        saved_at: its last checkpoint; the start of the run where there is none. One in the
            future (clocks differ) loses no work.

    Raises:
        Invalid: `seconds_out_of_range`: a negative reload or warm-up.
    """
    if reload_seconds < 0 or warm_up_seconds < 0:
        raise Invalid("seconds_out_of_range", "Reload and warm-up are never negative.")
    work = max(timedelta(0), at - saved_at)
    return work + timedelta(seconds=reload_seconds + warm_up_seconds)


def checkpoint_interval_seconds(*, checkpoint_seconds: int, mean_between_seconds: int) -> int:
    """How often a job should save itself: sqrt(2 C M), in whole seconds, at least 1.

    C is what one checkpoint takes, M the mean time between interruptions. First order: J. W. Young,
    "A first order approximation to the optimum checkpoint interval", Communications of the ACM
    17(9), 1974; refined by J. T. Daly, "A higher order estimate of the optimum checkpoint interval
    for restart dumps", Future Generation Computer Systems 22(3), 2006, who saves once per M where
    a checkpoint takes as long as that. The formula leaves its range for C > M/2, where it would
    exceed M; the answer is never longer than M.

    Raises:
        Invalid: `seconds_out_of_range`: one of them is not positive.
    """
    if checkpoint_seconds <= 0 or mean_between_seconds <= 0:
        raise Invalid(
            "seconds_out_of_range", "A checkpoint and the time between interruptions take time."
        )
    return max(1, min(isqrt(2 * checkpoint_seconds * mean_between_seconds), mean_between_seconds))
