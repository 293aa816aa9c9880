"""How much of the use of a month was measured to be productive, for what a productive hour cost.

Of the records that the file's lines come from, as of its month's close: what is known later changes
no file. Runs inside `scope.snapshot`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from accounting.domain import money, rating
from accounting.domain.lines import Kind, Line
from accounting.exports import records
from accounting.exports.extent import Extent
from accounting.staging import TIER_NAMES
from ledger.sql import server_cursor

PLACES: Final = 12
Place = tuple[Any, Any, str | None]
"""Account, pool, tier."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Mean utilizations of the measured part of some use, weighted by unit-seconds, from 0 to 1;
    None: none of it was measured."""

    compute: Fraction | None
    productive: Fraction | None

    def columns(self, price: Decimal | None) -> dict[str, Decimal | None]:
        """As the columns of the same names; a price of an hour of which no part was productive is
        no number."""
        per_hour = None
        if price is not None and self.productive:
            per_hour = money.rounded(rating.per_productive_hour(price, self.productive), PLACES)
        return {
            "x_CostPerProductiveHour": per_hour,
            "x_ProductiveUtilization": _rounded(self.productive),
            "x_ComputeUtilization": _rounded(self.compute),
        }


NOTHING: Final = Measured(None, None)


def measured(extent: Extent) -> dict[Place, Measured]:
    """The use of each account in each pool and tier, in the whole month."""
    return dict(_measured(extent))


def of_line(found: Mapping[Place, Measured], line: Line) -> Measured:
    """What was measured of a line of use; nothing of any other."""
    key = line.key
    if key.kind != Kind.USAGE or line.adjusts:
        return NOTHING
    return found.get((key.account, key.pool, key.tier), NOTHING)


def _measured(extent: Extent) -> Iterator[tuple[Place, Measured]]:
    sql, values = records.measured_in_sql(extent)
    with server_cursor() as cursor:
        for account, pool, tier, *sums in cursor.execute(sql, values):
            compute_known, compute_busy, productive_known, productive_busy = sums
            yield (
                (account, pool, TIER_NAMES[tier]),
                Measured(_share(compute_busy, compute_known),
                         _share(productive_busy, productive_known)),
            )  # fmt: skip


def _share(busy: Decimal | None, known: Decimal | None) -> Fraction | None:
    return Fraction(busy) / Fraction(known) if busy is not None and known else None


def _rounded(share: Fraction | None) -> Decimal | None:
    return None if share is None else money.rounded(share, PLACES)
