"""A month of the whole organization, for finance: departments, whose costs moved most, and what of
the capacity was charged. Runs inside `scope.reading`, in as many questions for ten accounts as for
ten thousand. Of a large month it is read from figures, of a small one from its lines.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any
from uuid import UUID

from accounting.domain import lines, money, rating, splitting
from accounting.domain.lines import Kind
from accounting.domain.rating import Unrated
from accounting.month_figures import OF_USE, untagged
from accounting.queries import month_figures, showback
from accounting.queries.month_figures import Below, Figures
from accounting.queries.showback import Showback
from accounting.statement_rating import Ground
from ledger.sql import server_cursor

MOVERS = 10
GUARANTEED = "guaranteed"


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


Month = Showback | Figures


def month_of(organization_id: UUID, root: UUID, first: date, *, now: datetime, tell: bool) -> Month:
    """A month of the root account: its figures where it is large and drawn, else computed.

    Args:
        tell: whether use without a project is asked for.

    Raises:
        Invalid: `month_malformed`.
    """
    drawn = month_figures.figures(organization_id, root, first, now=now)
    if drawn is not None:
        return drawn
    details = ("project",) if tell else ()
    return showback.showback(organization_id, root, first, now=now, details=details)


def organization_month(found: Month, before: Month) -> OrganizationMonth:
    """The month `found` of the root account, told apart by project, against the one before."""
    old = {one.account: one.amount for one in _below(before)}
    new = {one.account: one for one in _below(found)}
    nothing = Decimal(0)
    rows = []
    for account in {**new, **old}:
        one = new.get(account) or Below(account, nothing, nothing, nothing)
        was = old.get(account, nothing)
        rows.append(Department(account, one.amount, was, one.idle, one.untagged))
    return OrganizationMonth(
        departments=tuple(sorted(rows, key=lambda one: (-one.amount, one.account))),
        movers=tuple(_movers(found, before)),
        pools=tuple(_recovery(found)),
        untagged=money.total([one.untagged for one in rows]),
    )


def most_unrated(found: Month) -> list[Unrated]:
    """Use without a price, the most first; of a large month not all of it."""
    if isinstance(found, Figures):
        return month_figures.unrated(found)
    return sorted(found.unrated, key=lambda one: -one.unit_seconds)


def _below(found: Month) -> Iterable[Below]:
    """What the departments are charged."""
    if isinstance(found, Figures):
        return month_figures.below(found)
    sums: dict[Any, list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 3)
    for line in found.lines:
        have = sums[_department(line.key.above)]
        _add(have, 0, line.amount)
        if line.kind == Kind.IDLE:
            _add(have, 1, line.amount)
        if "project" in found.details:
            _add(have, 2, _untagged(found, line))
    return [Below(account, *amounts) for account, amounts in sums.items()]


def _movers(found: Month, before: Month) -> list[Mover]:
    if isinstance(found, Figures) and isinstance(before, Figures):
        return [Mover(*row) for row in month_figures.moved_most(found, before, limit=MOVERS)]
    now, was = _own(found), _own(before)
    nothing = Decimal(0)
    movers = [Mover(one, now.get(one, nothing), was.get(one, nothing)) for one in {**now, **was}]
    movers = [one for one in movers if one.difference]
    return sorted(movers, key=lambda one: (-abs(one.difference), one.account))[:MOVERS]


def _own(found: Month) -> Mapping[Any, Decimal]:
    if isinstance(found, Figures):
        return month_figures.own_amounts(found)
    sums: dict[Any, Decimal] = {}
    for line in found.lines:
        account = line.key.account
        sums[account] = money.EXACT.add(sums.get(account, Decimal(0)), line.amount)
    return sums


def _department(above: Sequence[Any]) -> Any:
    return above[1] if len(above) > 1 else above[0]


def _add(sums: list[Decimal], place: int, amount: Decimal) -> None:
    sums[place] = money.EXACT.add(sums[place], amount)


def _untagged(found: Showback, line: lines.Line) -> Decimal:
    weights = found.parts.get(line.key, {})
    at = found.details.index("project")
    return untagged(line, weights, at=at, places=found.ground.places)


_SIZES = """
SELECT h.pool_id, p.flavor_id, greatest(h.valid_from, %(start)b),
    least(coalesce(h.valid_to, %(end)b), %(end)b), greatest(0, h.capacity - h.unavailable)
FROM quota_poolhistory h
JOIN quota_pool p ON p.organization_id = h.organization_id AND p.id = h.pool_id
WHERE h.organization_id = %(organization)b AND h.valid_from < %(end)b
    AND (h.valid_to > %(start)b OR h.valid_to IS NULL)
"""


def _recovery(found: Month) -> list[PoolRecovery]:
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
    found: Month, flavors: Mapping[UUID, UUID]
) -> tuple[dict[UUID, Decimal], dict[UUID, Decimal]]:
    """Unit-seconds of use, and amounts, by pool."""
    used: dict[UUID, Decimal] = defaultdict(Decimal)
    charged: dict[UUID, Decimal] = defaultdict(Decimal)
    for one in found.lumps:
        pool: Any = one.pool
        if one.kind not in OF_USE or pool is None:
            continue
        charged[pool] = money.EXACT.add(charged[pool], one.amount)
        if one.kind == Kind.USAGE and one.flavor == flavors.get(pool):
            used[pool] = money.EXACT.add(used[pool], one.unit_seconds)
    return used, charged
