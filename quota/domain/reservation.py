"""Units of a pool that are set aside for a job until it is admitted. Pure.

What is set aside grows as allocations that owe units to it give them back, whoever tells of it and
in whichever way: a job that ends by itself frees its units for the reservation as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from quota.domain.batch import Holding
from quota.domain.values import AccountKey, Tier


@dataclass(slots=True, kw_only=True)
class Reservation:
    """Open to what a command changes.

    Attributes:
        most: units that it can come to, at most what its job needs.
        owed: units by allocation that has not given them back yet.
    """

    id: AccountKey
    pool: AccountKey
    account: AccountKey
    key: str
    tier: Tier
    slow: bool
    most: int
    owed: dict[AccountKey, int] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """Set aside now; never negative."""
        return max(0, self.most - sum(self.owed.values()))


def with_reserved(
    holdings: Mapping[AccountKey, Holding], reservations: Iterable[Reservation]
) -> dict[AccountKey, Holding]:
    """Holdings of a pool in which what is set aside counts as held by whom it is for."""
    found = dict(holdings)
    for one in reservations:
        held = found.get(one.account, Holding())
        amounts = {name: getattr(held, name) for name in Holding.__dataclass_fields__}
        amounts[one.tier] += one.units
        if one.slow and one.tier != "guaranteed":
            amounts[f"slow_{one.tier}"] += one.units
        found[one.account] = Holding(**amounts)
    return found
