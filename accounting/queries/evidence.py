"""How promised units were used, beside every request and in every review cycle.

A place is an account with everything below it, in one pool: use below counts for a quota, so
guarantees below do as well. All is exact over time, not sampled: each amount counts for as long as
it was in use. Runs inside `scope.reading` or a command; five statements for any number of places.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np

from accounting.domain import evidence as figures
from accounting.domain import money, rating, splitting, steps
from accounting.domain.rate_cards import RateCard
from accounting.domain.steps import Measured, Spans, Window
from accounting.queries import evidence_sql as sql
from accounting.queries import rates
from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.ports import UNKNOWN_USE, Place, Price, UtilizationFacts

PLACES_MAX = 100_000
MONTH_HOURS = 730
DAYS_MAX = 3_660
HOUR = 3_600_000_000
ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
GUARANTEED = "guaranteed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Use of a place over a window.

    Attributes:
        coverage: share of the window in which use is known; the rest counts for nothing here.
        mean: units in use, averaged over the known time.
        p50, p95, peak: units in use at these quantiles of the known time, and at most.
        guaranteed, own: promised at the end of the window to the place, and to the account alone.
        pinned: units that jobs of P0 and P1 hold at the end of the window.
        used_hours, promised_hours, idle_hours: unit-hours of the known time; idle is what was
            promised and not in use, at each instant.
        needed: units that it could do with; see `accounting.domain.evidence`.
        hoarding: share of the promised unit-hours that went unused, 0 to 1.
        weight: economic weight of the flavor.
        idle_by_period: idle unit-seconds by stretch between changes of the rates.
    """

    account_id: UUID
    pool_id: UUID
    flavor_id: UUID
    weight: Decimal
    coverage: Fraction
    mean: Fraction | None
    p50: int | None
    p95: int | None
    peak: int | None
    guaranteed: int
    own: int
    pinned: int
    used_hours: Fraction
    promised_hours: Fraction
    idle_hours: Fraction
    needed: int | None
    hoarding: Fraction | None
    idle_by_period: tuple[tuple[int, Decimal], ...]

    @property
    def known(self) -> bool:
        """Whether anything is."""
        return self.coverage > 0

    @property
    def idle_units(self) -> int | None:
        """Units of the guarantee that p95 use does not need."""
        if self.p95 is None:
            return None
        return figures.idle_units(guaranteed=self.guaranteed, p95=self.p95)

    @property
    def utilization(self) -> Fraction | None:
        """Share of what was promised that was in use, over the known time; None: unknown, or
        nothing was promised."""
        return self.used_hours / self.promised_hours if self.promised_hours else None


def evidence(
    organization_id: UUID, places: Collection[Place], *, start: datetime, end: datetime
) -> dict[Place, Evidence]:
    """Evidence of each place, in the order given; a pool that is not found is left out.

    Use is known from the first to the last day on which anybody used the pool at all; where
    something runs in it, or units of it are handed out here, up to `end`.

    Args:
        end: not in the future; at most ten years after `start`.

    Raises:
        Invalid: `period_out_of_range`, `too_many_places`.
    """
    return _evidence(organization_id, places, start=start, end=end, changes=())


def recommendations(
    organization_id: UUID, found: Mapping[Place, Evidence], *, start: datetime, end: datetime
) -> dict[Place, int | None]:
    """The recommended own guarantee of each place, as `accounting.domain.evidence` says it; None:
    too little is known.

    It depends on guarantees above and below: all below the topmost account with one, above each
    place, are looked at. Six statements; the work is at most that of the whole pools.

    Args:
        found: evidence of the places over the same window; it is not asked for again.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(
            sql.HOLDERS,
            {
                "organization": organization_id,
                "accounts": [account for account, _ in found],
                "pools": [pool for _, pool in found],
                "among": list({pool for _, pool in found}),
                "end": end,
            },
        ).fetchall()
    holding = {(account, pool): (own, above) for account, pool, own, above in rows}
    more = [place for place in holding if place not in found]
    known = dict(found)
    for at in range(0, len(more), PLACES_MAX):
        part = more[at : at + PLACES_MAX]
        known |= _evidence(organization_id, part, start=start, end=end, changes=())
    by_pool: dict[UUID, dict[Place, figures.Holder]] = defaultdict(dict)
    for (account, pool), (own, path) in holding.items():
        above = ((each, pool) for each in reversed(path) if each != account)
        by_pool[pool][account, pool] = figures.Holder(
            parent=next((each for each in above if each in holding), None),
            own=own,
            needed=known[account, pool].needed,
        )
    told: dict[Place, int | None] = {}
    for holders in by_pool.values():
        told |= figures.recommended(holders)
    # Without a guarantee of its own there is nothing to take.
    nothing = {place: None if one.needed is None else 0 for place, one in found.items()}
    return {place: told.get(place, none) for place, none in nothing.items()}


def hoarding_scores(found: Mapping[Place, Evidence]) -> dict[UUID, Fraction | None]:
    """The hoarding score of each account over all its pools, flavors by their economic weight."""
    parts: dict[UUID, list] = {}
    for (account_id, _), one in found.items():
        parts.setdefault(account_id, []).append((one.idle_hours, one.promised_hours, one.weight))
    return {account_id: figures.hoarding_score(each) for account_id, each in parts.items()}


def evidence_with_cost(
    organization_id: UUID, places: Collection[Place], *, start: datetime, end: datetime
) -> dict[Place, tuple[Evidence, Price | None]]:
    """Evidence and what the idle part of the guarantee cost, at the prices that held at each
    instant; None: unrated or use unknown. A bounded number of statements."""
    card = rates.rate_card(organization_id)
    accounts = {account_id for account_id, _ in places}
    grades = rates.grades(organization_id, accounts)
    changes = sorted({*card.changes, *(at for each in grades.values() for at, _ in each)})
    changes = [at for at in changes if start < at < end]
    found = _evidence(organization_id, places, start=start, end=end, changes=changes)
    currency = _currency(organization_id)
    instants = [start, *changes]
    return {
        place: (one, _idle_cost(one, card, grades, instants, currency))
        for place, one in found.items()
    }


Month = tuple[UUID, int, str]
"""A pool, units of it, and the tier that they are held in, for a month."""


def month_prices(
    organization_id: UUID, wanted: Collection[Month], *, at: datetime
) -> dict[Month, Price]:
    """Prices of units held for 730 hours, at the rates and the root account's grade at `at`; what
    is unrated is left out. Three statements, however many are asked for."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, p.flavor_id, o.root_account_id, o.currency FROM quota_pool p "
            "JOIN tenancy_organization o ON o.id = p.organization_id "
            "WHERE p.organization_id = %b AND p.id = ANY(%b)",
            (organization_id, list({pool for pool, _, _ in wanted})),
        ).fetchall()
    if not rows:
        return {}
    root, currency = rows[0][2:]
    flavors = {pool: flavor for pool, flavor, _, _ in rows}
    grade = rating.grade_at(rates.grades(organization_id, [root]), root, at)
    card = rates.rate_card(organization_id)
    found: dict[Month, Price] = {}
    for pool, units, tier in wanted:
        if pool not in flavors:
            continue
        line = card.price(at, flavor=flavors[pool], tier=tier, grade=grade)
        if line is not None:
            amount = units * MONTH_HOURS * Fraction(line.price)
            found[pool, units, tier] = _price(amount, currency)
    return found


class Utilization:
    """`quota.ports.UtilizationPort` by the records of use."""

    def utilization(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> UtilizationFacts:
        """Facts of one place, without a recommended figure."""
        place = (account_id, pool_id)
        found = evidence(organization_id, [place], start=start, end=end)
        return _facts(found[place]) if place in found else UNKNOWN_USE

    def utilizations(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, UtilizationFacts]:
        """Facts of many places, in a dozen statements at most, with the recommended figures."""
        found = evidence(organization_id, places, start=start, end=end)
        said = recommendations(organization_id, found, start=start, end=end)
        return {place: _facts(one, recommended=said[place]) for place, one in found.items()}


class Prices:
    """`quota.ports.PricePort` by the rates."""

    def price_per_month(
        self, organization_id: UUID, pool_id: UUID, units: int, tier: str, at: datetime
    ) -> Price | None:
        """Units held for 730 hours, at the rates and the root account's grade at `at`."""
        wanted = (pool_id, units, tier)
        return month_prices(organization_id, [wanted], at=at).get(wanted)

    def idle_cost(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> Price | None:
        """Cost of one place's idle guarantee."""
        place = (account_id, pool_id)
        return self.idle_costs(organization_id, [place], start, end).get(place)

    def idle_costs(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, Price]:
        """Costs of many; what is unknown or unrated is left out."""
        found = evidence_with_cost(organization_id, places, start=start, end=end)
        return {place: cost for place, (_, cost) in found.items() if cost is not None}


def _evidence(
    organization_id: UUID,
    places: Collection[Place],
    *,
    start: datetime,
    end: datetime,
    changes: Collection[datetime],
) -> dict[Place, Evidence]:
    if end <= start or (end - start).days > DAYS_MAX:
        raise Invalid("period_out_of_range", "Choose a period of up to ten years.", field="start")
    asked = list(dict.fromkeys(places))
    if len(asked) > PLACES_MAX:
        raise Invalid("too_many_places", f"At most {PLACES_MAX} places at once.", field="places")
    if not asked:
        return {}
    values = {
        "organization": organization_id,
        "accounts": [account for account, _ in asked],
        "pools": [pool for _, pool in asked],
        "tops": list({account for account, _ in asked}),
        **sql.window(start, end),
    }
    with server_cursor() as cursor:
        found = sql.MEMBERS if len(asked) < sql.MANY else sql.MEMBERS_OF_MANY
        members = cursor.execute(found, values).fetchall()
        keys: dict[Place, int] = {}
        pairs = [(n, keys.setdefault((account, pool), len(keys))) for n, account, pool in members]
        values |= _counted(keys)
        used = _spans(sql.used(cursor, values))
        promised = _spans(
            cursor.execute(sql.PROMISED, values, binary=True, prepare=False).fetchone()
        )
        pinned = dict(cursor.execute(sql.PINNED, values, prepare=False).fetchall())
        rows = cursor.execute(sql.PLACES, values, prepare=False).fetchall()
    known = np.full((2, len(asked)), _microseconds(start), np.int64)
    for n, _, _, since, until, _ in rows:
        known[:, n] = _microseconds(since), max(_microseconds(since), _microseconds(until))
    window = Window(
        start=_microseconds(start),
        end=_microseconds(end),
        since=known[0],
        until=known[1],
        changes=[_microseconds(at) for at in changes],
    )
    measured = steps.measure(used, promised, np.array(pairs, np.int64).reshape(-1, 2), window)
    held: dict[int, int] = defaultdict(int)
    for n, key in pairs:
        held[n] += pinned.get(key, 0)
    return {
        asked[n]: _read(
            measured[n], asked[n], (flavor, weight, own, held[n]), window.end - window.start
        )
        for n, flavor, weight, _, _, own in rows
    }


def _counted(keys: dict[Place, int]) -> dict[str, list]:
    return {
        "counted_account": [account for account, _ in keys],
        "counted_pool": [pool for _, pool in keys],
        "members": list({account for account, _ in keys}),
    }


def _spans(columns: tuple[bytes, ...]) -> Spans:
    key, start, end, units = (np.frombuffer(each, ">i8").astype(np.int64) for each in columns)
    return Spans(key=key, start=start, end=end, units=units)


def _read(found: Measured, place: Place, facts: tuple, window: int) -> Evidence:
    flavor_id, weight, own, pinned = facts
    coverage = Fraction(found.known, window)
    promised_hours = Fraction(found.promised, HOUR)
    idle_hours = Fraction(sum(found.idle.values()), HOUR)
    amounts = {"guaranteed": found.promised_at_end, "own": own, "pinned": pinned}
    return Evidence(
        account_id=place[0],
        pool_id=place[1],
        flavor_id=flavor_id,
        weight=weight,
        coverage=coverage,
        mean=Fraction(found.used, found.known) if found.known else None,
        p50=found.p50,
        p95=found.p95,
        peak=found.peak,
        **amounts,
        used_hours=Fraction(found.used, HOUR),
        promised_hours=promised_hours,
        idle_hours=idle_hours,
        needed=figures.need_known(p95=found.p95, pinned=pinned, coverage=coverage),
        hoarding=idle_hours / promised_hours if promised_hours else None,
        idle_by_period=tuple(
            (period, Decimal(amount).scaleb(-6, money.EXACT))
            for period, amount in sorted(found.idle.items())
        ),
    )


def _idle_cost(
    one: Evidence,
    card: RateCard,
    grades: rating.Grades,
    instants: list[datetime],
    currency: str,
) -> Price | None:
    if not one.known:
        return None
    cost = Fraction(0)
    for period, unit_seconds in one.idle_by_period:
        at = instants[period]
        grade = rating.grade_at(grades, one.account_id, at)
        line = card.price(at, flavor=one.flavor_id, tier=GUARANTEED, grade=grade)
        if line is None:
            return None
        cost += rating.charge(unit_seconds, line.price)
    return _price(cost, currency)


def _price(amount: Fraction, currency: str) -> Price:
    return Price(amount=money.rounded(amount, money.minor_places(currency)), currency=currency)


def _facts(one: Evidence, *, recommended: int | None = None) -> UtilizationFacts:
    return UtilizationFacts(
        mean=None if one.utilization is None else float(one.utilization),
        p50=one.p50,
        p95=one.p95,
        peak=one.peak,
        guaranteed=one.guaranteed,
        idle_units=one.idle_units,
        recommended=recommended,
        coverage=float(one.coverage),
    )


def _microseconds(at: datetime) -> int:
    """As PostgreSQL sends instants."""
    return splitting.microseconds(ORIGIN, at)


def _currency(organization_id: UUID) -> str:
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT currency FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()[0]
