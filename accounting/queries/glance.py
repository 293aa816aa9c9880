"""A month at a glance: how well what was held was used, and what good and bad use were worth.

Three utilizations are kept apart everywhere: how much of what was promised was allocated, in how
much of what was allocated kernels ran, and how much of it advanced the work. Units of unlike
flavors never add up, so all pools together count by the flavors' economic weights. Runs
inside `scope.reading`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from accounting import statement_month
from accounting.domain import money, rating, statements
from accounting.domain.lines import Kind
from accounting.ports import PreemptionTax, preemption_tax
from accounting.queries import showback, usage
from accounting.queries.month_figures import EndedUse, Figures
from accounting.queries.showback import Showback
from accounting.queries.usage import Measured, UsageFilter
from quota.queries import pools_with_weights

NOTHING = Measured(Decimal(0), Decimal(0))
SHARE_PLACES = 6


@dataclass(frozen=True, slots=True)
class PoolUse:
    """How well a pool was used, or all of them together where `pool` is None.

    Attributes:
        promised: unit-seconds of guarantees in the time in which use is known; None: nothing was.
        used: of those, by the account that was promised them and those below it.
        ended: unit-seconds of use that ended, which measurements are of.
    """

    pool: str | None
    promised: Decimal | None
    used: Decimal | None
    compute: Measured
    productive: Measured
    ended: Decimal

    @property
    def allocated(self) -> Decimal | None:
        """The used share of what was promised; None: nothing was, or its use is not known."""
        if not self.promised or self.used is None:
            return None
        return self.used / self.promised


@dataclass(frozen=True, slots=True)
class SpotPrice:
    """What spot cost in a pool.

    Attributes:
        price: per unit-hour, the mean of what was charged.
        per_productive_hour: price x total time / productive time; None: not measured.
    """

    pool: str
    unit_seconds: Decimal
    price: Decimal
    per_productive_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class Glance:
    """A month in few figures. `tax` is None where nobody can say; it is in no statement, since what
    was lost was charged as use."""

    pools: tuple[PoolUse, ...]
    together: PoolUse | None
    idle_cost: Decimal
    lending: Decimal
    discount: Decimal
    spot: tuple[SpotPrice, ...]
    tax: PreemptionTax | None


def last_day(found: Showback | Figures, now: datetime) -> date:
    """The last day of a month that has begun."""
    today = now.astimezone(found.ground.zone).date()
    return min(statements.month_after(found.month.first) - timedelta(days=1), today)


def glance(
    organization_id: UUID, found: Showback | Figures, names: Mapping[Any, str], *, now: datetime
) -> Glance:
    """The figures of a month."""
    if isinstance(found, Figures):
        rows: _Ended = {(names[pool], tier): row for (pool, tier), row in found.ended.items()}
    else:
        rows = _ended(organization_id, found, now)
    pools = _pools(found, rows, names)
    sums = {kind: Decimal(0) for kind in Kind} | showback.by_kind(found)
    return Glance(
        pools=tuple(pools),
        together=_together(organization_id, pools),
        idle_cost=sums[Kind.IDLE],
        lending=-sums[Kind.LENDING],
        discount=-sums[Kind.DISCOUNT],
        spot=tuple(_spot(found, rows, names)),
        tax=_tax(organization_id, found),
    )


_Ended = Mapping[tuple[str, str], usage.UsageRow | EndedUse]


def _ended(organization_id: UUID, found: Showback, now: datetime) -> _Ended:
    """Use that ended, by pool and tier."""
    last = last_day(found, now)
    if last < found.month.first:
        return {}
    chosen = UsageFilter(account_id=found.account, since=found.month.first, until=last)
    rows = usage.usage_rows(organization_id, chosen, by=("pool", "tier"), limit=usage.PAGE_MAX).rows
    return {(row.pool or "", row.tier or ""): row for row in rows}


def _pools(found: Showback | Figures, rows: _Ended, names: Mapping[Any, str]) -> list[PoolUse]:
    promised = {names[pool]: amounts for pool, amounts in found.used.items()}
    result = []
    for pool in sorted({*(pool for pool, _ in rows), *promised}):
        of_pool = [row for (name, _), row in rows.items() if name == pool]
        amounts = promised.get(pool)
        result.append(
            PoolUse(
                pool,
                amounts[0] if amounts else None,
                amounts[1] if amounts else None,
                _measured([row.compute for row in of_pool]),
                _measured([row.productive for row in of_pool]),
                money.total([row.all_seconds for row in of_pool]),
            )
        )
    return result


def _measured(parts: list[Measured]) -> Measured:
    return Measured(
        money.total([one.known for one in parts]), money.total([one.busy for one in parts])
    )


def _together(organization_id: UUID, pools: list[PoolUse]) -> PoolUse | None:
    """All pools, each unit by its economic weight."""
    if not pools:
        return None
    weights = {row.name: row.weight for row in pools_with_weights(organization_id)}

    def weighted(values: list[tuple[str | None, Decimal | None]]) -> Decimal:
        return money.total(
            [
                money.EXACT.multiply(value, weights.get(pool or "", Decimal(1)))
                for pool, value in values
                if value is not None
            ]
        )

    def measured(kind: str) -> Measured:
        return Measured(
            weighted([(one.pool, getattr(one, kind).known) for one in pools]),
            weighted([(one.pool, getattr(one, kind).busy) for one in pools]),
        )

    return PoolUse(
        None,
        weighted([(one.pool, one.promised) for one in pools]) or None,
        weighted([(one.pool, one.used) for one in pools]),
        measured("compute"),
        measured("productive"),
        weighted([(one.pool, one.ended) for one in pools]),
    )


def _spot(found: Showback | Figures, rows: _Ended, names: Mapping[Any, str]) -> list[SpotPrice]:
    sums: dict[str, list[Decimal]] = {}
    for one in found.lumps:
        if one.kind == Kind.USAGE and one.tier == "spot":
            have = sums.setdefault(names[one.pool], [Decimal(0), Decimal(0)])
            have[0] = money.EXACT.add(have[0], one.unit_seconds)
            have[1] = money.EXACT.add(have[1], one.amount)
    result = []
    for pool, (unit_seconds, amount) in sorted(sums.items()):
        if not unit_seconds:
            continue
        row = rows.get((pool, "spot"))
        share = None if row is None else row.productive.utilisation
        price = Fraction(amount) * rating.HOUR_SECONDS / Fraction(unit_seconds)
        result.append(
            SpotPrice(
                pool,
                unit_seconds,
                money.rounded(price, SHARE_PLACES),
                money.rounded(rating.per_productive_hour(price, share), SHARE_PLACES)
                if share
                else None,
            )
        )
    return result


def _tax(organization_id: UUID, found: Showback | Figures) -> PreemptionTax | None:
    here = found.ground
    everybody = found.account == here.root
    accounts = None if everybody else statement_month.accounts_under(here, found.account)
    return preemption_tax(organization_id, accounts, found.month.start, here.until)
