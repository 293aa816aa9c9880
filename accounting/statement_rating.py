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
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting.domain import lines, money, rating, splitting, statements
from accounting.domain.rate_cards import RateCard
from accounting.domain.rating import Group, Rating
from accounting.domain.statements import Month
from accounting.queries import rates
from accounting.queries.evidence_sql import RECENT, REPORTED
from accounting.staging import TIER_NAMES, TIERS
from ledger.sql import server_cursor

Place = tuple[UUID, tuple[UUID, ...]]
"""An account, and the accounts from the root down to it as they were."""
Tree = dict[UUID, tuple[UUID, ...]]
Weights = dict[tuple[Any, ...], Decimal]

DETAILS = ("day", "person", "project", "model", "workload")
LABELS = ("project", "model", "workload")


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

    def segments(self, *, days: bool) -> list[Segment]:
        """The month, cut; by days as well where asked. None for a month that has not begun."""
        cuts = {*self.card.changes, *self.tree_starts}
        cuts.update(since for each in self.said.values() for since, _ in each)
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


# As `accounting.queries.evidence_sql.USED`: records, those that have run since long before, and
# what runs in allocations that no record tells of yet. Two statements: of the first, which may read
# millions of records, PostgreSQL can let several processes add up parts.
_SUMS = """
SELECT u.account_id, u.pool_id, u.tier, g.n,
    sum(u.units * extract(epoch FROM
        least(u.ended_at, g.until) - greatest(u.started_at, g.since))),
    sum(CASE WHEN u.memory_gb IS NOT NULL THEN u.memory_gb * extract(epoch FROM
        least(u.ended_at, g.until) - greatest(u.started_at, g.since)) END) {details}
FROM used u
JOIN unnest(%(bounds)b::timestamptz[], %(ends)b::timestamptz[])
    WITH ORDINALITY AS g(since, until, n)
    ON g.since < coalesce(u.ended_at, 'infinity') AND g.until > u.started_at
    AND (u.ended_at > u.started_at OR u.ended_at IS NULL)
{only} GROUP BY 1, 2, 3, 4 {numbers}
"""
_RECORDS = f"""
WITH used AS (
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, u.labels, u.sign * u.units AS units,
        u.sign * u.memory_gb AS memory_gb, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b
        AND u.started_at >= %(start)b::timestamptz - {RECENT} AND u.started_at < %(until)b
        AND (u.ended_at > %(start)b OR u.ended_at IS NULL) {{among}}
    UNION ALL
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, u.labels, u.sign * u.units,
        u.sign * u.memory_gb, u.started_at, u.ended_at
    FROM accounting_usagerecord u
    WHERE u.organization_id = %(organization)b AND u.ended_at - u.started_at > {RECENT}
        AND u.ended_at > %(start)b AND u.started_at < %(start)b::timestamptz - {RECENT} {{among}}
    UNION ALL
    SELECT u.account_id, u.person_id, u.pool_id, u.tier, r.labels, u.units, r.memory_gb,
        u.started_at, NULL
    FROM accounting_openusage u
    JOIN accounting_usagekey k ON k.organization_id = u.organization_id
        AND k.source_id = u.source_id AND k.key = u.key
    JOIN accounting_usagerecord r ON r.organization_id = k.organization_id
        AND r.batch_id = k.batch_id AND r.row_no = k.row_no AND r.started_at = k.started_at
    WHERE u.organization_id = %(organization)b AND u.ended_at IS NULL
        AND u.started_at < %(start)b::timestamptz - {RECENT} {{among}}
) {_SUMS}
"""
_LIVE = f"""
WITH live AS MATERIALIZED (
    SELECT a.* FROM quota_allocation a
    WHERE a.organization_id = %(organization)b AND a.lapses_at IS NOT NULL
), {REPORTED}, used AS (
    SELECT u.account_id, u.person_id, u.pool_id, s.tier, u.labels, s.units,
        NULL::numeric AS memory_gb, s.at AS started_at,
        least(u.lapses_at, lead(s.at) OVER (PARTITION BY u.id ORDER BY s.step)) AS ended_at
    FROM live u
    CROSS JOIN LATERAL (SELECT (e.value->>0)::timestamptz AS at, (e.value->>1)::bigint AS units,
        (array_position(%(tiers)b::text[], e.value->>2) - 1)::smallint AS tier,
        e.ordinality AS step FROM jsonb_array_elements(u.steps) WITH ORDINALITY AS e) s
    WHERE NOT EXISTS (SELECT FROM reported r WHERE r.pool_id = u.pool_id AND r.job = u.key)
        {{among}}
) {_SUMS}
"""
_FIRST_DETAIL = 7
_SUBTREE = "AND u.account_id = ANY (%(accounts)b::uuid[])"


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
    columns = [_column(name) for name in details if name != "day"]
    with server_cursor() as cursor:
        flavors = dict(
            cursor.execute(
                "SELECT id, flavor_id FROM quota_pool WHERE organization_id = %b",
                (here.organization_id,),
            ).fetchall()
        )
    rows = _grouped(here, segments, columns=columns, accounts=accounts)
    return _rated(here, segments, details, flavors, rows)


def borrowed_by_segment(here: Ground, segments: Sequence[Segment]) -> dict[tuple[UUID, int], int]:
    """Borrowed use of each pool in each segment, counted from 0, in unit-microseconds."""
    found: dict[tuple[UUID, int], Decimal] = defaultdict(Decimal)
    for _, pool, _, number, unit_seconds, _ in _grouped(here, segments, tier="borrowed"):
        place = (pool, number - 1)
        found[place] = money.EXACT.add(found[place], unit_seconds)
    return {place: int(amount.scaleb(6, money.EXACT)) for place, amount in found.items()}


def _grouped(
    here: Ground,
    segments: Sequence[Segment],
    *,
    columns: Sequence[str] = (),
    accounts: Collection[UUID] | None = None,
    tier: str | None = None,
) -> list[tuple]:
    """Account, pool, tier, segment (from 1), unit-seconds, GB-seconds and the columns."""
    parts = {
        "among": "" if accounts is None else _SUBTREE,
        "only": "" if tier is None else "WHERE u.tier = %(tier)b::smallint",
        "details": "".join(f", {column}" for column in columns),
        "numbers": "".join(f", {_FIRST_DETAIL + n}" for n in range(len(columns))),
    }
    values: dict[str, Any] = {
        "organization": here.organization_id,
        "bounds": [one.start for one in segments],
        "ends": [one.end for one in segments],
    }
    if accounts is not None:
        values["accounts"] = list(accounts)
    if tier is not None:
        values["tier"] = TIERS[tier]
    month = {"start": here.month.start, "until": here.until}
    with server_cursor() as cursor:
        rows = cursor.execute(_RECORDS.format(**parts), values | month).fetchall()
        live = cursor.execute(_LIVE.format(**parts), values | {"tiers": list(TIER_NAMES)})
        return [*rows, *live.fetchall()]


def _column(name: str) -> str:
    return "u.person_id" if name == "person" else f"u.labels->>'{name}'"


def _rated(
    here: Ground,
    segments: Sequence[Segment],
    details: Sequence[str],
    flavors: Mapping[UUID, UUID],
    rows: Sequence[tuple],
) -> MonthUse:
    sums: dict[Group, Decimal] = {}
    found: dict[Group, Weights] = defaultdict(dict)
    groups: dict[tuple, tuple[Group, Group | None]] = {}
    for account, pool, tier, number, unit_seconds, memory, *rest in rows:
        segment = segments[number - 1]
        place = (account, pool, tier, number)
        if place not in groups:
            groups[place] = _groups(here, segment, account, pool, tier, flavors[pool])
        known = iter(rest)
        detail = tuple(segment.day if name == "day" else next(known) for name in details)
        for group, amount in zip(groups[place], (unit_seconds, memory), strict=True):
            if group is None or not amount:
                continue
            sums[group] = money.EXACT.add(sums.get(group, Decimal(0)), amount)
            if details:
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
