"""What stops an account from getting more of a pool, as a name and in words. Pure."""

from dataclasses import dataclass
from typing import Literal

from quota.queries.standing import AccountStanding, Ground

StopName = Literal[
    "overshoot", "capacity", "guarantee", "borrowing_limit", "pool_guarantees", "accounts_above"
]


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit behind what an account could still get, and who can do what about it."""

    limit: StopName
    detail: str
    way_out: str = ""


@dataclass(frozen=True, slots=True)
class Above:
    """The account above whose limit decides, in units.

    Attributes:
        borrowing_limit: of it; None: it is the root, all guarantees of the pool decide.
        subtree: its guarantee and what accounts below lend it.
        lets_through: what is left of it, for everybody below.
        kept: where it is the root, guarantees that lending limits keep out of `subtree`.
    """

    account: str
    borrowing_limit: int | None
    subtree: int
    used: int
    lets_through: int
    kept: int = 0


def above_of(base: Ground, place: int, column: int) -> Above | None:
    """The account whose limit decides, where it is not its own."""
    found = base.binding(place, column)
    if found.row == place:
        return None
    one = base.at(found.row, column)
    limited = found.limit == "borrowing_limit"
    return Above(
        account=one.account,
        borrowing_limit=one.quota.borrowing_limit if limited else None,
        subtree=one.subtree,
        used=one.used,
        lets_through=found.lets_through,
        kept=0 if limited else int(base.tree.local[:, column].sum()),
    )


def stop_of(one: AccountStanding, *, free: int, above: Above | None = None) -> Stop:
    """The nearest limit.

    Args:
        free: units of the pool on which nothing runs.
        above: whose limit decides, where it is not its own and is to be named.
    """
    limit = one.quota.borrowing_limit
    if one.overshoot:
        return Stop(
            "overshoot",
            "It uses more than its guarantees and all it may borrow; it gets nothing more.",
            f"Once {one.overshoot:,} units are given back or the guarantee rises, it counts again.",
        )
    if free < one.available:
        # Only who has some of its guarantee left may call it in.
        claim = " A job within the guarantee makes borrowers give way."
        return Stop(
            "capacity",
            f"Its quota would allow {one.available:,}, but only {free:,} units are free: the "
            f"rest is in use or set aside.{claim if one.used < one.subtree else ''}",
            "More becomes free as jobs end.",
        )
    if limit is not None and one.used + one.available >= one.subtree + limit:
        if not limit:
            return Stop(
                "guarantee",
                "Its guarantee is the bound: the borrowing limit is 0.",
                "An operator can raise the guarantee, or let it borrow.",
            )
        return Stop(
            "borrowing_limit",
            f"Its borrowing limit: {limit:,} beyond the guarantee.",
            "An operator can raise the guarantee or the limit; jobs below it that end make room.",
        )
    if one.parent_id is None:
        return Stop("pool_guarantees", "All guarantees of the pool together.")
    if above is not None:
        return _stop_above(above)
    return Stop(
        "accounts_above",
        "What accounts above may borrow, and what others leave of their guarantees.",
    )


def _stop_above(above: Above) -> Stop:
    left = max(0, above.lets_through)
    if above.borrowing_limit is None:
        kept = f" (but for {above.kept:,} that lending limits keep)" if above.kept else ""
        return Stop(
            "pool_guarantees",
            f"All guarantees of the pool together{kept}: {above.subtree:,}, of which "
            f"{above.used:,} are in use by right and {left:,} are left.",
            "Jobs anywhere in the pool that end make room; beyond that there is only spot, or more "
            "guarantee where the pool has units to promise.",
        )
    if not above.borrowing_limit:
        may = f"{above.account} above it may not borrow"
    else:
        may = f"{above.account} above it may borrow {above.borrowing_limit:,}"
    return Stop(
        "accounts_above",
        f"{may}: with what accounts below lend it, {above.account} is promised "
        f"{above.subtree:,}, uses {above.used:,} and lets {left:,} more through.",
        f"Jobs below {above.account} that end make room; an operator can raise its guarantee or "
        "its borrowing limit.",
    )
