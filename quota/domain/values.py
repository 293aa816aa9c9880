"""The values that quota is decided on: amounts, pools, quotas. Pure.

An amount is a whole number of units of one flavor. "No limit" is None, never a number; amounts
beyond `AMOUNT_MAX` are refused where they enter, so that no sum can ever leave 64 bits.
"""

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from ledger.errors import Invalid

AMOUNT_MAX = 2**53
"""Largest amount, 2^53: exact in every language and format that reads one of our numbers."""

RECLAIM_SECONDS_MAX = 7 * 86_400

AccountKey = UUID | str
"""What tells accounts apart: their id, or in a what-if document their name."""

Tier = Literal["guaranteed", "borrowed", "spot"]
PriorityClass = Literal["P0", "P1", "P2", "P3"]

TIERS: tuple[Tier, ...] = get_args(Tier)
"""The best first. Borrowed and spot together are *opportunistic*: first to give back."""

CLASSES: tuple[PriorityClass, ...] = get_args(PriorityClass)
"""The most urgent first."""


def check_amount(value: int, *, field: str) -> int:
    """Return the amount when it is a whole number from 0 to `AMOUNT_MAX`.

    Raises:
        Invalid: `amount_malformed` or `amount_out_of_range`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid("amount_malformed", f"{field} must be a whole number.", field=field)
    if not 0 <= value <= AMOUNT_MAX:
        raise Invalid(
            "amount_out_of_range",
            f"{field} must be 0 to {AMOUNT_MAX}, not {value}.",
            field=field,
            facts={"minimum": 0, "maximum": AMOUNT_MAX},
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What an account is promised in a pool (docs/design.md part 2).

    Attributes:
        guaranteed: the account's own addition to the guarantees of the accounts below it.
        borrowing_limit: how far beyond its subtree's guarantee it may go; None: no bound of its
            own. A *hard* quota has 0.
        lending_limit: how much of its subtree's guarantee others may use; None: all.
    """

    guaranteed: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None

    def __post_init__(self) -> None:
        check_amount(self.guaranteed, field="guaranteed")
        for field in ("borrowing_limit", "lending_limit"):
            if getattr(self, field) is not None:
                check_amount(getattr(self, field), field=field)


NO_QUOTA = Quota()
"""What an account has that nothing was said about: no guarantee, no limits of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The physical side of a pool: one flavor in one cluster.

    Attributes:
        capacity: all units; `unavailable` of them are failed or drained.
        safety_margin: units that are never promised.
        reclaim_target_seconds: within which a guarantee must be honoured.
    """

    name: str
    capacity: int
    unavailable: int = 0
    safety_margin: int = 0
    reclaim_target_seconds: int = 300

    def __post_init__(self) -> None:
        for field in ("capacity", "unavailable", "safety_margin"):
            check_amount(getattr(self, field), field=field)
        if not 0 <= self.reclaim_target_seconds <= RECLAIM_SECONDS_MAX:
            raise Invalid(
                "reclaim_target_out_of_range",
                f"reclaim_target_seconds must be 0 to {RECLAIM_SECONDS_MAX}.",
                field="reclaim_target_seconds",
                facts={"minimum": 0, "maximum": RECLAIM_SECONDS_MAX},
            )

    @property
    def usable(self) -> int:
        """Units that jobs can run on: capacity - unavailable, at least 0."""
        return max(0, self.capacity - self.unavailable)

    @property
    def promisable(self) -> int:
        """Units that guarantees may add up to: capacity - unavailable - safety_margin, >= 0."""
        return max(0, self.usable - self.safety_margin)
