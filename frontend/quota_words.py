"""What an account's quota means, in words: what it could still get and what stops it. Pure."""

from dataclasses import dataclass

from frontend.numbers import several
from quota.domain.values import Pool
from quota.queries.capacity import Held
from quota.queries.reserved import Reserved
from quota.queries.standing import AccountStanding
from quota.stops import Above, Stop, stop_of


@dataclass(frozen=True, slots=True)
class Explained:
    """One account in one pool.

    Attributes:
        ceiling: what its guarantees and borrowing limit add up to; None: no bound of its own.
        lendable: units of its own guarantees that others could use now.
        obtainable: what it could still get: what its entitlement leaves and the pool has free.
        stop: the limit behind `obtainable`, and what can be done about it.
        reserved: what is set aside for jobs of the account itself.
        aside: units set aside for jobs here and below, as far as they flow up in `standing.used`.
    """

    pool: Pool
    standing: AccountStanding
    held: Held
    ceiling: int | None
    lendable: int
    obtainable: int
    stop: Stop
    reserved: tuple[Reserved, ...] = ()
    aside: int = 0

    @property
    def kept(self) -> int:
        """Units set aside for jobs of the account."""
        return sum(one.units for one in self.reserved)

    @property
    def sentence(self) -> str:
        """The whole standing in one sentence."""
        one = self.standing
        below = one.subtree - one.quota.guaranteed
        promised = f"Promised {several(one.quota.guaranteed)}"
        if below > 0:
            promised += f" of its own and {below:,} that accounts below lend it"
        how = "in use or set aside for jobs" if self.aside else "in use"
        parts = [promised, f"{one.used:,} {how} here and below"]
        if one.borrowed:
            parts.append(f"{one.borrowed:,} of them borrowed")
        if one.overshoot:
            parts.append(f"{one.overshoot:,} of them above all it could get by right")
        return ", ".join(parts) + "."


def explain(
    pool: Pool,
    standing: AccountStanding,
    held: Held,
    *,
    free: int,
    above: Above | None = None,
    reserved: tuple[Reserved, ...] = (),
    aside: int = 0,
) -> Explained:
    """Put an account's standing in words.

    Args:
        held: of the account itself, by tier.
        free: units of the pool on which nothing runs and that are set aside for nobody.
        above: the account whose limit decides, where that is another.
        reserved: what is set aside for jobs of the account itself.
        aside: units set aside for jobs here and below.
    """
    limit = standing.quota.borrowing_limit
    idle = max(0, standing.subtree - standing.used)
    lending = standing.quota.lending_limit
    obtainable = max(0, min(standing.available, free))
    return Explained(
        pool=pool,
        standing=standing,
        held=held,
        ceiling=None if limit is None else standing.subtree + limit,
        lendable=idle if lending is None else min(idle, lending),
        obtainable=obtainable,
        stop=stop_of(standing, free=free, above=above),
        reserved=reserved,
        aside=aside,
    )
