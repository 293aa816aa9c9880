"""Exact, continuous half-life decay, and the forward-decayed sums that keep it.

One law (docs/design.md part 5). A record of rate r (units x economic weight) over [a, b] counts
at instant T, for half-life h, as the integral of r 2^-((T-t)/h) over [a, min(b, T)]:

    value(T) = r (h / ln 2) (2^-((T-b)/h) - 2^-((T-a)/h))        [unit-seconds]

Every value shrinks by the same factor as time passes, so it can be kept *forward*: measured from
a fixed landmark L it is one number that never changes, the weight

    w = r (h / ln 2) 2^((b-L)/h) (1 - 2^-((b-a)/h)),   value(T) = w 2^-((T-L)/h)

A new record is one addition, nothing is swept, and ratios between accounts do not move between
records. The weight grows without bound as b leaves L, so landmarks are spaced 64 half-lives apart:
the *epoch* of a record is j = floor((b - L0) / (64 h)), its landmark L_j = L0 + 64 h j.

Sums are exact. A weight is a float rounded *once* per record, half-even, to whole quanta of 1e-6
unit-seconds; from then on only integers are added (Python `int`, PostgreSQL `numeric`), so
arrival order cannot matter. Between epochs a power of two is exact too: 64 half-lives are 2^64.

Instants are seconds since 1970-01-01T00:00:00Z; durations are seconds. No clock is read here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from ledger.errors import Invalid

LANDMARK_SECONDS = 1_577_836_800
"""L0 = 2020-01-01T00:00:00Z, the landmark of epoch 0, for every organization and half-life."""

EPOCH_HALF_LIVES = 64
QUANTA_PER_UNIT_SECOND = 1_000_000
QUANTUM_DECIMALS = 6

HALF_LIFE_DAYS_DEFAULT = 7
HALF_LIFE_DAYS_MIN = 1
HALF_LIFE_DAYS_MAX = 365
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class HalfLife:
    """The time in which a past use loses half its weight, in whole seconds (1 to 365 days).

    Raises:
        Invalid: `half_life_out_of_bounds`. There is no "no decay": 0 and absence are refused.
    """

    seconds: int

    def __post_init__(self) -> None:
        low, high = HALF_LIFE_DAYS_MIN * DAY_SECONDS, HALF_LIFE_DAYS_MAX * DAY_SECONDS
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int):
            raise _half_life_refused(self.seconds)
        if not low <= self.seconds <= high:
            raise _half_life_refused(self.seconds)

    @classmethod
    def from_days(cls, days: int | float | Decimal | None) -> "HalfLife":
        """From days, fractions allowed as long as they are whole seconds.

        Raises:
            Invalid: absent, not a finite number, not whole seconds, or out of bounds.
        """
        if days is None or isinstance(days, bool) or not math.isfinite(days):
            raise _half_life_refused(days)
        seconds = Decimal(str(days)) * DAY_SECONDS
        if seconds != seconds.to_integral_value():
            raise Invalid(
                "half_life_not_whole_seconds",
                f"A half-life of {days} days is not a whole number of seconds; give fewer digits.",
                field="half_life_days",
            )
        return cls(int(seconds))

    @property
    def days(self) -> float:
        return self.seconds / DAY_SECONDS

    @property
    def rate(self) -> float:
        """k = ln 2 / h, the decay constant, per second."""
        return math.log(2) / self.seconds

    @property
    def epoch_seconds(self) -> int:
        """Length of an epoch, 64 h."""
        return EPOCH_HALF_LIVES * self.seconds


def _half_life_refused(given: object) -> Invalid:
    return Invalid(
        "half_life_out_of_bounds",
        f"The half-life must be {HALF_LIFE_DAYS_MIN} to {HALF_LIFE_DAYS_MAX} days; "
        f"usage that never decays, or at once, is not offered (3 to 14 days are usual).",
        field="half_life_days",
        facts={"given": str(given), "min": HALF_LIFE_DAYS_MIN, "max": HALF_LIFE_DAYS_MAX},
    )


def decayed(
    *, rate: float, start: float, end: float | None, at: float, half_life: HalfLife
) -> float:
    """What one record counts at the instant `at`, in unit-seconds.

        r (h / ln 2) 2^-((T-b)/h) (1 - 2^-((b-a)/h)),  b = min(end, T)

    written with `expm1` so that short records keep all their digits. `end` None means still
    running; a record that ends later counts up to `at`; before its start it counts 0.
    """
    stop = at if end is None else min(end, at)
    if stop <= start:
        return 0.0
    k = half_life.rate
    return (rate / k) * math.exp((stop - at) * k) * -math.expm1((start - stop) * k)


def decay_factor(*, elapsed: float, half_life: HalfLife) -> float:
    """2^-(elapsed/h): what is left of a value after `elapsed` seconds without new use."""
    return math.exp2(-elapsed / half_life.seconds)


def epoch_of(*, end: float, half_life: HalfLife) -> int:
    """Epoch of a record that ends at `end`: floor((end - L0) / (64 h)); negative before 2020."""
    return math.floor((end - LANDMARK_SECONDS) / half_life.epoch_seconds)


def landmark_of(*, epoch: int, half_life: HalfLife) -> int:
    """L_j = L0 + 64 h j, in seconds since 1970."""
    return LANDMARK_SECONDS + half_life.epoch_seconds * epoch


@dataclass(frozen=True, slots=True)
class ForwardWeight:
    """One record on the landmark of its epoch: `quanta` x 1e-6 unit-seconds."""

    epoch: int
    quanta: int


def forward_weight(*, rate: float, start: float, end: float, half_life: HalfLife) -> ForwardWeight:
    """The weight that a closed record adds to the sum of its epoch, for ever.

        w = r (h / ln 2) exp((b - L_j) k) (1 - exp(-(b - a) k)),  rounded half-even to quanta

    b lies within epoch j, so the first exponential stays below 2^64 and, unlike the sinh form of
    the same number, nothing overflows however long the record is. A running record is passed
    with `end` = the instant of the question, a later end likewise.

    Raises:
        Invalid: `end_before_start`, or a rate that is negative or not finite.
    """
    if not (math.isfinite(rate) and rate >= 0):
        raise Invalid("rate_out_of_bounds", "A rate is a number from 0 up.", field="rate")
    if end < start:
        raise Invalid("end_before_start", "A record ends at or after its start.", field="end")
    k = half_life.rate
    epoch = epoch_of(end=end, half_life=half_life)
    landmark = landmark_of(epoch=epoch, half_life=half_life)
    weight = (rate / k) * math.exp((end - landmark) * k) * -math.expm1((start - end) * k)
    return ForwardWeight(epoch, round(weight * QUANTA_PER_UNIT_SECOND))


def forward_weights_at(
    *, rates: Sequence[float], starts: Sequence[float], at: float, half_life: HalfLife
) -> tuple[int, list[int]]:
    """`forward_weight` of many records still running at `at`: their epoch, and quanta for each.

    Records that start after `at` weigh 0. Vectorised; agrees with `forward_weight` to the last
    digits of a float (1e-14 relative).
    """
    k = half_life.rate
    epoch = epoch_of(end=at, half_life=half_life)
    scale = math.exp((at - landmark_of(epoch=epoch, half_life=half_life)) * k)
    held = np.maximum(at - np.asarray(starts, dtype=np.float64), 0.0)
    weights = (np.asarray(rates, dtype=np.float64) / k) * scale * -np.expm1(-held * k)
    return epoch, [int(quanta) for quanta in np.rint(weights * QUANTA_PER_UNIT_SECOND).tolist()]


EpochSums = Mapping[int, int]
"""Epoch -> sum of quanta: all that is kept of a person's closed records under an account."""


def add_weight(sums: dict[int, int], weight: ForwardWeight) -> None:
    """Add one record to `sums` in place. Integer addition: any order gives the same sums."""
    sums[weight.epoch] = sums.get(weight.epoch, 0) + weight.quanta


@dataclass(frozen=True, slots=True)
class Scale:
    """What makes the exact totals of different nodes comparable: one epoch all are told against.

    A total is sum over epochs j of quanta_j 2^(64 (j - reference)). The reference is the oldest
    epoch in play, so every term is an integer, and the ratio of two totals on one scale is the
    exact ratio of the decayed values at *any* instant.
    """

    reference_epoch: int
    half_life: HalfLife

    @classmethod
    def covering(cls, epochs: Iterable[int], half_life: HalfLife) -> "Scale":
        """The scale for sums in these epochs; epoch 0 if there are none."""
        return cls(min(epochs, default=0), half_life)

    def total(self, sums: EpochSums) -> int:
        """Exact total of one node, an integer on this scale. See `exact_total`."""
        return exact_total(sums, reference_epoch=self.reference_epoch)

    def unit_log2(self, at: float) -> float:
        """log2 of the unit-seconds that the integer 1 of this scale is worth at `at`.

        log2(1e-6) - (T - L_reference) / h; a logarithm, because the worth itself may be smaller
        than any float.
        """
        landmark = landmark_of(epoch=self.reference_epoch, half_life=self.half_life)
        return -math.log2(QUANTA_PER_UNIT_SECOND) - (at - landmark) / self.half_life.seconds

    def value(self, total: int, *, at: float) -> float:
        """Decayed unit-seconds at `at` of an exact total on this scale."""
        mantissa, exponent = _frexp(total)
        power = exponent + self.unit_log2(at)
        return math.ldexp(mantissa * math.exp2(power - math.floor(power)), math.floor(power))


def exact_total(sums: EpochSums, *, reference_epoch: int) -> int:
    """sum over j of quanta_j 2^(64 (j - reference)): the epochs of one node as one integer.

    Raises:
        Invalid: `epoch_before_reference`, for the total would not be an integer.
    """
    total = 0
    for epoch, quanta in sums.items():
        if epoch < reference_epoch:
            raise Invalid(
                "epoch_before_reference",
                f"Epoch {epoch} is older than the reference {reference_epoch} of the scale.",
            )
        total += quanta << (EPOCH_HALF_LIVES * (epoch - reference_epoch))
    return total


def decayed_total(sums: EpochSums, *, at: float, half_life: HalfLife) -> float:
    """Decayed unit-seconds at `at`: sum over j of w_j 2^-((T - L_j) / h).

    Every record in `sums` must end by `at`; those that do not are weighed one by one, cut at `at`.
    """
    scale = Scale.covering(sums, half_life)
    return scale.value(scale.total(sums), at=at)


def _frexp(number: int) -> tuple[float, int]:
    """`math.frexp` for an integer of any size: number = mantissa 2^exponent, |mantissa| < 1."""
    excess = max(0, number.bit_length() - 64)
    mantissa, exponent = math.frexp(number >> excess)
    return mantissa, exponent + excess


# PostgreSQL ---------------------------------------------------------------------------------


def sql_epoch(*, end: str, half_life_seconds: str) -> str:
    """SQL text of `epoch_of`. Arguments are SQL expressions of type float8 (unix seconds)."""
    return (
        f"floor((({end}) - {LANDMARK_SECONDS}.0::float8)"
        f" / ({EPOCH_HALF_LIVES}.0::float8 * ({half_life_seconds})))::int"
    )


def sql_forward_weight(*, rate: str, start: str, end: str, half_life_seconds: str) -> str:
    """SQL text of `forward_weight`: `numeric` unit-seconds with 6 decimals (so 1e-6 is a quantum).

    Arguments are SQL expressions of type float8: rate, start and end in unix seconds
    (`extract(epoch from t)::float8`), h in seconds. PostgreSQL has no `expm1`, so with
    y = (b-a) k: 1 - exp(-y) = 2 sinh(y/2) exp(-y/2) for y < 1, where the difference would lose
    digits, and 1 - exp(-y) above, cut at y = 700 because PostgreSQL raises on underflow. The cast
    float8 -> numeric keeps 15 digits: the same weight as Python's to 1e-14 relative, and the same
    in every row, which is what exactness needs. Nothing here is a value: pass no user input.
    """
    h = f"({half_life_seconds})"
    k = f"(ln(2.0::float8) / {h})"
    y = f"((({end}) - ({start})) * {k})"
    landmark = (
        f"({LANDMARK_SECONDS}.0::float8 + {EPOCH_HALF_LIVES}.0::float8 * {h}"
        f" * {sql_epoch(end=end, half_life_seconds=half_life_seconds)})"
    )
    lost = (
        f"case when {y} < 1.0::float8"
        f" then 2.0::float8 * sinh(least({y}, 1.0::float8) / 2.0::float8)"
        f" * exp(-least({y}, 1.0::float8) / 2.0::float8)"
        f" else 1.0::float8 - exp(-least({y}, 700.0::float8)) end"
    )
    return (
        f"round(((({rate}) / {k}) * exp((({end}) - {landmark}) * {k}) * ({lost}))::numeric,"
        f" {QUANTUM_DECIMALS})"
    )


def quanta_of(weight: Decimal) -> int:
    """Quanta of a stored `numeric` weight (unit-seconds, 6 decimals), exactly.

    Raises:
        Invalid: `weight_not_in_quanta`, when it has more than 6 decimals.
    """
    numerator, denominator = weight.as_integer_ratio()
    quanta, rest = divmod(numerator * QUANTA_PER_UNIT_SECOND, denominator)
    if rest:
        raise Invalid("weight_not_in_quanta", f"{weight} is not a whole number of quanta.")
    return quanta
