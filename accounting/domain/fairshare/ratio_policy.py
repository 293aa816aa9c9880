"""The two numbers of the `ratio` algorithm."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ledger.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPolicy:
    """`base x F_target / (F_actual + eps)`, cut at 1.

    Attributes:
        base: factor of somebody who uses exactly the share (default 0.5, as in `classic`), so
            that twice the share used gives 0.25 and everybody below half the share gets 1.
        epsilon: keeps the quotient finite for the unused; small beside any share in use.

    Raises:
        Invalid: `ratio_policy_out_of_bounds`.
    """

    base: float = 0.5
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        for name, value in (("base", self.base), ("epsilon", self.epsilon)):
            if not (math.isfinite(value) and 0 < value <= 1):
                raise Invalid(
                    "ratio_policy_out_of_bounds", f"{name} must be above 0, at most 1.", field=name
                )

    @property
    def exact_epsilon(self) -> Fraction:
        return Fraction(self.epsilon)
