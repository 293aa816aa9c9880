"""What stops an account from getting more of a pool, as a name and in words. Pure."""

from dataclasses import dataclass
from typing import Literal

from quota.queries.standing import AccountStanding

StopName = Literal[
    "overshoot", "capacity", "guarantee", "borrowing_limit", "pool_guarantees", "accounts_above"
]


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit behind what an account could still get."""

    limit: StopName
    detail: str


def stop_of(one: AccountStanding, *, free: int) -> Stop:
    """The nearest limit.

    Args:
        free: units of the pool on which nothing runs.
    """
    limit = one.quota.borrowing_limit
    if one.overshoot:
        return Stop(
            "overshoot",
            "It uses more than its guarantees and all it may borrow; it gets nothing more.",
        )
    if free < one.available:
        return Stop(
            "capacity",
            f"Its quota would allow {one.available:,}, but only {free:,} units are free: others "
            "use the rest. A job within the guarantee makes borrowers give way.",
        )
    if limit is not None and one.used + one.available >= one.subtree + limit:
        if not limit:
            return Stop("guarantee", "Its guarantee is the bound: the borrowing limit is 0.")
        return Stop("borrowing_limit", f"Its borrowing limit: {limit:,} beyond the guarantee.")
    if one.parent_id is None:
        return Stop("pool_guarantees", "All guarantees of the pool together.")
    return Stop(
        "accounts_above",
        "What accounts above may borrow, and what others leave of their guarantees.",
    )
