"""A month of the whole organization, for finance: departments, whose costs moved most, and what of
the capacity was charged. Runs inside `scope.reading`, in as many questions for ten accounts as for
ten thousand.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any
from uuid import UUID

from accounting.domain import lines, money, rating, splitting
from accounting.domain.lines import Kind
from accounting.queries.showback import Showback
from accounting.statement_rating import Ground
from ledger.sql import server_cursor

MOVERS = 10
GUARANTEED = "guaranteed"
OF_CAPACITY = (Kind.USAGE, Kind.IDLE, Kind.LENDING, Kind.DISCOUNT)


@dataclass(frozen=True, slots=True)
class Department:
    """An account right below the root, with all that was below it; the root for its own lines.

    Attributes:
        untagged: what use without a project is charged.
    """

    account: UUID
    amount: Decimal
    before: Decimal
    idle: Decimal
    untagged: Decimal

    @property
    def difference(self) -> Decimal:
        """Now less the month before."""
        return self.amount - self.before


@dataclass(frozen=True, slots=True)
class Mover:
    """An account's own lines against the month before."""

    account: UUID
    amount: Decimal
    before: Decimal

    @property
    def difference(self) -> Decimal:
        """Now less the month before."""
        return self.amount - self.before


@dataclass(frozen=True, slots=True)
class PoolRecovery:
    """A pool's capacity in the month so far, and what of it was charged.

    Attributes:
        capacity: unit-seconds that were there: capacity less what was unavailable.
        used: unit-seconds of use.
        worth: of the capacity at the price of the guaranteed tier without a grade; None: unrated.
        charged: use, idle guarantees, lending and discounts.
    """

    pool: UUID
    capacity: Decimal
    used: Decimal
    worth: Decimal | None
    charged: Decimal

    @property
    def allocated(self) -> Decimal | None:
        """The used share of the capacity."""
        return self.used / self.capacity if self.capacity else None

    @property
    def recovered(self) -> Decimal | None:
        """The charged share of what the capacity is worth."""
        return self.charged / self.worth if self.worth else None


@dataclass(frozen=True, slots=True)
class OrganizationMonth:
    """The departments, dearest first; accounts whose own costs moved most; pools by id."""

    departments: tuple[Department, ...]
    movers: tuple[Mover, ...]
    pools: tuple[PoolRecovery, ...]
    untagged: Decimal


def organization_month(found: Showback, before: Showback) -> OrganizationMonth:
    """The month `found` of the root account, told apart by project, against the one before."""
    departments: dict[UUID, list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 4)
    own: dict[UUID, list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 2)
    for each, place in ((found, 0), (before, 1)):
        for line in each.lines:
            _add(departments[_department(line.key.above)], place, line.amount)
            _add(own[line.key.account], place, line.amount)
            if place == 0 and line.kind == Kind.IDLE:
                _add(departments[_department(line.key.above)], 2, line.amount)
    for line in found.lines:
        _add(departments[_department(line.key.above)], 3, _untagged(found, line))
    rows = [Department(account, *sums) for account, sums in departments.items()]
    movers = [Mover(account, *sums) for account, sums in own.items()]
    movers = [one for one in movers if one.difference]
    return OrganizationMonth(
        departments=tuple(sorted(rows, key=lambda one: (-one.amount, one.account))),
        movers=tuple(sorted(movers, key=lambda one: (-abs(one.difference), one.account))[:MOVERS]),
        pools=tuple(_recovery(found)),
        untagged=money.total([one.untagged for one in rows]),
    )


def _department(above: Sequence[Any]) -> Any:
    return above[1] if len(above) > 1 else above[0]


def _add(sums: list[Decimal], place: int, amount: Decimal) -> None:
    sums[place] = money.EXACT.add(sums[place], amount)


def _untagged(found: Showback, line: lines.Line) -> Decimal:
    """What the part of a line of use without a project is charged."""
    weights = found.parts.get(line.key, {})
    place = found.details.index("project")
    bare = {detail for detail in weights if detail[place] is None}
    if line.adjusts or not bare:
        return Decimal(0)
    if len(bare) == len(weights):
        return line.amount
    shares = lines.parts(line.amount, weights, places=found.ground.places)
    return money.total([shares[detail] for detail in bare])


_SIZES = """
SELECT h.pool_id, p.flavor_id, greatest(h.valid_from, %(start)b),
    least(coalesce(h.valid_to, %(end)b), %(end)b), greatest(0, h.capacity - h.unavailable)
FROM quota_poolhistory h
JOIN quota_pool p ON p.organization_id = h.organization_id AND p.id = h.pool_id
WHERE h.organization_id = %(organization)b AND h.valid_from < %(end)b
    AND (h.valid_to > %(start)b OR h.valid_to IS NULL)
"""


def _recovery(found: Showback) -> list[PoolRecovery]:
    here = found.ground
    values = {"organization": here.organization_id, "start": here.month.start, "end": here.until}
    with server_cursor() as cursor:
        sizes = cursor.execute(_SIZES, values).fetchall()
    capacity: dict[UUID, Fraction] = defaultdict(Fraction)
    worth: dict[UUID, Fraction | None] = {}
    flavors = {}
    for pool, flavor, start, end, units in sizes:
        flavors[pool] = flavor
        for begin, stop in _stretches(here, start, end):
            seconds = Fraction(splitting.microseconds(begin, stop) * units, 1_000_000)
            capacity[pool] += seconds
            line = here.card.price(begin, flavor=flavor, tier=GUARANTEED)
            so_far = worth.get(pool, Fraction(0))
            worth[pool] = (
                None
                if line is None or so_far is None
                else so_far + seconds * Fraction(line.price) / rating.HOUR_SECONDS
            )
    used, charged = _charged(found, flavors)
    return [
        PoolRecovery(
            pool,
            money.rounded(capacity[pool], lines.QUANTITY_PLACES),
            used.get(pool, Decimal(0)),
            None if (value := worth[pool]) is None else money.rounded(value, here.places),
            charged.get(pool, Decimal(0)),
        )
        for pool in sorted(capacity)
        if capacity[pool]
    ]


def _stretches(here: Ground, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """A time, cut where prices change."""
    cuts = [at for at in here.card.changes if start < at < end]
    bounds = [start, *cuts, end]
    return [(begin, stop) for begin, stop in pairwise(bounds) if begin < stop]


def _charged(
    found: Showback, flavors: Mapping[UUID, UUID]
) -> tuple[dict[UUID, Decimal], dict[UUID, Decimal]]:
    """Unit-seconds of use, and amounts, by pool."""
    used: dict[UUID, Decimal] = defaultdict(Decimal)
    charged: dict[UUID, Decimal] = defaultdict(Decimal)
    for line in found.lines:
        pool: Any = line.key.pool
        if line.kind not in OF_CAPACITY or pool is None:
            continue
        charged[pool] = money.EXACT.add(charged[pool], line.amount)
        if line.kind == Kind.USAGE and line.key.flavor == flavors.get(pool):
            used[pool] = money.EXACT.add(used[pool], line.unit_seconds)
    return used, charged
