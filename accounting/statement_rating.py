"""A month's use, added up in SQL, to rated lines.

PostgreSQL groups the records by segment: a stretch of the month between two instants at which a
price, a grade or the tree changes (or a day does, where days are asked for). What comes back is as
many rows as there are groups, and those are rated (docs/design.md part 9). Runs inside
`scope.reading` or a command.
"""

import itertools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting.domain import lines, money, rating, splitting, statements
from accounting.domain.rate_cards import RateCard
from accounting.domain.rating import Group, Rating
from accounting.domain.statements import Month
from accounting.domain.tagging import LABELS, Tagging
from accounting.queries import rates, taggings
from accounting.staging import TIER_NAMES
from accounting.statement_tags import Details
from accounting.usage_sums import Wanted
from accounting.use_by_days import added_up_by_days
from ledger.sql import server_cursor

Place = tuple[UUID, tuple[UUID, ...]]
"""An account, and the accounts from the root down to it as they were."""
Tree = dict[UUID, tuple[UUID, ...]]
Weights = dict[tuple[Any, ...], Decimal]

DETAILS = ("day", "person", *LABELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of the month in which prices, grades and the tree stay as they are."""

    start: datetime
    end: datetime
    day: date | None
    tree: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What rating a month stands on.

    Attributes:
        until: the end of the month, or now where it is not over.
        trees: by epoch: the accounts from the root down to each.
        said: what was said of grades: account to (from when, grade), ascending.
        taggings: of use in the month, the earlier first.
    """

    organization_id: UUID
    month: Month
    until: datetime
    zone: ZoneInfo
    currency: str
    places: int
    root: UUID
    card: RateCard
    trees: tuple[Tree, ...]
    tree_starts: tuple[datetime, ...]
    said: Mapping[UUID, Sequence[tuple[datetime, str | None]]]
    taggings: tuple[Tagging, ...] = ()

    def segments(self, *, days: bool) -> list[Segment]:
        """The month, cut; by days as well where asked. None for a month that has not begun."""
        cuts = {*self.card.changes, *self.tree_starts}
        cuts.update(since for each in self.said.values() for since, _ in each)
        cuts.update(at for one in self.taggings for at in (one.start, one.end))
        if days:
            pieces = splitting.pieces(
                self.month.start, self.until, zone=self.zone, bucket="day", cuts=sorted(cuts)
            )
            found = [(one.start, one.end, one.bucket) for one in pieces]
        else:
            inner = sorted(at for at in cuts if self.month.start < at < self.until)
            bounds = [self.month.start, *inner, self.until]
            found = [(start, end, None) for start, end in itertools.pairwise(bounds) if start < end]
        return [
            Segment(start=start, end=end, day=day, tree=self._tree(start))
            for start, end, day in found
        ]

    def _tree(self, at: datetime) -> int:
        return max(0, sum(1 for start in self.tree_starts if start <= at) - 1)

    def place(self, account: UUID, segment: Segment) -> Place:
        """An account where it hung then."""
        return account, self.trees[segment.tree].get(account, (account,))

    def grade(self, place: Place, at: datetime) -> str | None:
        """The grade of the account, or the nearest above it that had one."""
        for account in reversed(place[1]):
            found = rating.grade_at(self.said, account, at) if account in self.said else None
            if found is not None:
                return found
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthUse:
    """A month's use, rated.

    Attributes:
        parts: by group, its unit-seconds by the details that were asked for, in their order.
    """

    rating: Rating
    parts: dict[Group, Weights]

    @property
    def lines(self) -> list[lines.Line]:
        """One line of usage per group."""
        return [
            lines.usage(one, account=one.group.account[0], above=one.group.account[1])
            for one in self.rating.lines
        ]


def ground(organization_id: UUID, first: date, *, now: datetime) -> Ground:
    """Load what holds for a month.

    Raises:
        Invalid: `month_malformed`.
    """
    with server_cursor() as cursor:
        currency, zone_name, root = cursor.execute(
            "SELECT currency, time_zone, root_account_id FROM tenancy_organization WHERE id = %b",
            (organization_id,),
        ).fetchone()
        said: dict[UUID, list] = defaultdict(list)
        for account, since, grade in cursor.execute(
            "SELECT account_id, effective_from, grade FROM accounting_rategrade "
            "WHERE organization_id = %b ORDER BY effective_from",
            (organization_id,),
        ):
            said[account].append((since, grade))
    zone = ZoneInfo(zone_name)
    month = statements.month_of(first, zone)
    until = max(month.start, min(now, month.end))
    starts, trees = _trees(organization_id, month.start, until)
    last = statements.month_after(first) - timedelta(days=1)
    return Ground(
        organization_id=organization_id,
        month=month,
        until=until,
        zone=zone,
        currency=currency,
        places=money.minor_places(currency),
        root=root,
        card=rates.rate_card(organization_id),
        trees=trees,
        tree_starts=starts,
        said=said,
        taggings=tuple(row.in_zone(zone) for row in taggings.holding(organization_id, first, last)),
    )


_MOVES = """
SELECT occurred_at, (payload->>'account_id')::uuid, (payload->>'from_parent_id')::uuid
FROM ledger_event
WHERE organization_id = %b AND type = 'account.moved' AND occurred_at > %b
ORDER BY occurred_at, position
"""


def _trees(
    organization_id: UUID, start: datetime, until: datetime
) -> tuple[tuple[datetime, ...], tuple[Tree, ...]]:
    """When the tree took which form: today's, with the moves since then undone. An account that
    was opened later than it was used hangs where it was opened."""
    with server_cursor() as cursor:
        moves = cursor.execute(_MOVES, (organization_id, start)).fetchall()
        parents = dict(
            cursor.execute(
                "SELECT id, parent_id FROM tenancy_account WHERE organization_id = %b",
                (organization_id,),
            ).fetchall()
        )
    starts = [start, *sorted({at for at, _, _ in moves if at < until})]
    trees: list[Tree] = []
    for begin in reversed(starts):
        while moves and moves[-1][0] > begin:
            _, account, parent = moves.pop()
            parents[account] = parent
        trees.insert(0, _paths(parents))
    return tuple(starts), tuple(trees)


def _paths(parents: Mapping[UUID, UUID | None]) -> Tree:
    """The accounts from the root down to each."""
    found: Tree = {}
    for account in parents:
        path = []
        here: UUID | None = account
        while here is not None and here not in found:
            path.append(here)
            here = parents[here]
        above = () if here is None else found[here]
        for one in reversed(path):
            above = (*above, one)
            found[one] = above
    return found


def month_use(
    here: Ground, *, accounts: Collection[UUID] | None = None, details: Sequence[str] = ()
) -> MonthUse:
    """Rate the month's use: one line per account, place in the tree, pool, flavor, tier, grade and
    version of the rates.

    Args:
        accounts: whose own use; None: everybody's.
        details: some of DETAILS: what the use behind each line is told apart by.
    """
    segments = here.segments(days="day" in details)
    if not segments:
        return MonthUse(rating=Rating((), ()), parts={})
    told = Details(here.taggings, details, here.organization_id)
    with server_cursor() as cursor:
        flavors = dict(
            cursor.execute(
                "SELECT id, flavor_id FROM quota_pool WHERE organization_id = %b",
                (here.organization_id,),
            ).fetchall()
        )
    wanted = Wanted(
        organization_id=here.organization_id,
        bounds=_bounds(segments),
        accounts=None if accounts is None else _with_sources(here, accounts, told),
        columns=told.columns,
        values=told.values,
        memory=any(one.memory_flavor is not None for one in here.card.versions),
    )
    rows = added_up_by_days(wanted, zone=here.zone)
    among = None if accounts is None or not told.moves else frozenset(accounts)
    return _rated(here, segments, told, flavors, rows, among)


def _with_sources(here: Ground, accounts: Collection[UUID], told: Details) -> Collection[UUID]:
    """Accounts, and those whose use was assigned to one of them."""
    sources = [source for source, target in told.moves if target in accounts]
    if not sources:
        return accounts
    below = {
        one
        for tree in here.trees
        for one, above in tree.items()
        if any(source in above for source in sources)
    }
    return [*{*accounts, *below}]


def borrowed_by_segment(here: Ground, segments: Sequence[Segment]) -> dict[tuple[UUID, int], int]:
    """Borrowed use of each pool in each segment, counted from 0, in unit-microseconds."""
    found: dict[tuple[UUID, int], Decimal] = defaultdict(Decimal)
    wanted = Wanted(
        organization_id=here.organization_id,
        bounds=_bounds(segments),
        tier="borrowed",
        by_account=False,
    )
    for _, pool, _, number, unit_seconds, _ in added_up_by_days(wanted, zone=here.zone):
        place = (pool, number - 1)
        found[place] = money.EXACT.add(found[place], unit_seconds)
    return {place: int(amount.scaleb(6, money.EXACT)) for place, amount in found.items()}


def _bounds(segments: Sequence[Segment]) -> list[datetime]:
    return [*(one.start for one in segments), segments[-1].end]


def _rated(
    here: Ground,
    segments: Sequence[Segment],
    told: Details,
    flavors: Mapping[UUID, UUID],
    rows: Sequence[tuple],
    among: Collection[UUID] | None,
) -> MonthUse:
    """`among`: who may be charged; None: whoever used it or was assigned it."""
    sums: dict[Group, Decimal] = {}
    found: dict[Group, Weights] = defaultdict(dict)
    groups: dict[tuple, tuple[Group, Group | None]] = {}
    for account, pool, tier, number, unit_seconds, memory, *rest in rows:
        segment = segments[number - 1]
        above = here.place(account, segment)[1]
        charged, detail = told.of(above, segment.start, segment.day, rest)
        if among is not None and charged not in among:
            continue
        place = (charged, pool, tier, number)
        if place not in groups:
            groups[place] = _groups(here, segment, charged, pool, tier, flavors[pool])
        for group, amount in zip(groups[place], (unit_seconds, memory), strict=True):
            if group is None or not amount:
                continue
            sums[group] = money.EXACT.add(sums.get(group, Decimal(0)), amount)
            if told.details:
                weights = found[group]
                weights[detail] = money.EXACT.add(weights.get(detail, Decimal(0)), amount)
    return MonthUse(
        rating=rating.rate_groups(sums, here.card, places=here.places),
        parts={
            group: {detail: amount for detail, amount in weights.items() if amount}
            for group, weights in found.items()
        },
    )


def _groups(
    here: Ground, segment: Segment, account: UUID, pool: UUID, tier: int, flavor: UUID
) -> tuple[Group, Group | None]:
    """What the use of a segment is for, and what its memory is for, where that has a price."""
    place = here.place(account, segment)
    version = here.card.at(segment.start)
    shared = {
        "bucket": here.month.first,
        "account": place,
        "pool": pool,
        "tier": TIER_NAMES[tier],
        "grade": here.grade(place, segment.start),
        "version": None if version is None else version.id,
    }
    memory = None if version is None else version.memory_flavor
    return (
        Group(flavor=flavor, **shared),
        None if memory is None else Group(flavor=memory, **shared),
    )
