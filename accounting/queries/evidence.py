"""How promised units were used, beside every request and in every review cycle.

A place is an account with everything below it, in one pool: use below counts for a quota, so
guarantees below do as well. All is exact over time, not sampled: each amount counts for as long as
it was in use. Runs inside `scope.reading` or a command; two statements for any number of places.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from accounting.domain import evidence as figures
from accounting.domain import money, rating
from accounting.domain.rate_cards import RateCard
from accounting.queries import rates
from accounting.queries.evidence_sql import MEMBERS, STATEMENT
from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.ports import UNKNOWN_USE, Place, Price, UtilizationFacts

PLACES_MAX = 100_000
MONTH_HOURS = 730
MICROSECONDS = 1_000_000
FEW = 1_000
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
        recommended: see `accounting.domain.evidence`.
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
    recommended: int | None
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


def evidence_of_accounts(found: Mapping[Place, Evidence]) -> dict[UUID, Fraction | None]:
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


class Utilization:
    """`quota.ports.UtilizationPort` by the records of use."""

    def utilization(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> UtilizationFacts:
        """Facts of one place."""
        place = (account_id, pool_id)
        return self.utilizations(organization_id, [place], start, end).get(place, UNKNOWN_USE)

    def utilizations(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, UtilizationFacts]:
        """Facts of many places, in two statements."""
        found = evidence(organization_id, places, start=start, end=end)
        return {place: _facts(one) for place, one in found.items()}


class Prices:
    """`quota.ports.PricePort` by the rates."""

    def price_per_month(
        self, organization_id: UUID, pool_id: UUID, units: int, tier: str, at: datetime
    ) -> Price | None:
        """Units held for 730 hours, at the rates and the root account's grade at `at`."""
        with server_cursor() as cursor:
            row = cursor.execute(
                "SELECT p.flavor_id, o.root_account_id, o.currency FROM quota_pool p "
                "JOIN tenancy_organization o ON o.id = p.organization_id "
                "WHERE p.organization_id = %b AND p.id = %b",
                (organization_id, pool_id),
            ).fetchone()
        if row is None:
            return None
        flavor, root, currency = row
        grade = rating.grade_at(rates.grades(organization_id, [root]), root, at)
        line = rates.rate_card(organization_id).price(at, flavor=flavor, tier=tier, grade=grade)
        if line is None:
            return None
        return _price(units * MONTH_HOURS * Fraction(line.price), currency)

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
    if not 0 < (end - start).days + 1 <= 3_660 or end <= start:
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
        "start": start,
        "end": end,
        "changes": [_microseconds(at) for at in changes],
    }
    with server_cursor() as cursor:
        members = cursor.execute(MEMBERS, values).fetchall()
        if len(members) > FEW:
            # Sorting on disk would take most of the time.
            cursor.execute("SELECT set_config('work_mem', '96MB', true)")
        rows = cursor.execute(STATEMENT, values | _columns(members)).fetchall()
    window = _microseconds(end) - _microseconds(start)
    return {(row[0], row[1]): _read(row, window) for row in rows}


def _columns(members: list[tuple[int, UUID, UUID]]) -> dict[str, list]:
    counted = {(account, pool) for _, account, pool in members}
    return {
        "member_place": [n for n, _, _ in members],
        "member_account": [account for _, account, _ in members],
        "member_pool": [pool for _, _, pool in members],
        "counted_account": [account for account, _ in counted],
        "counted_pool": [pool for _, pool in counted],
        "members": list({account for account, _ in counted}),
    }


def _read(row: tuple, window: int) -> Evidence:
    account_id, pool_id, flavor_id, weight, known, p50, p95, peak, *sums = row
    used, promised, idle, guaranteed, own, pinned, periods, idle_of = sums
    hour = MICROSECONDS * rating.HOUR_SECONDS
    promised_hours, idle_hours = Fraction(promised or 0) / hour, Fraction(idle or 0) / hour
    coverage = Fraction(known) / window
    p50, p95, peak = (None if amount is None else int(amount) for amount in (p50, p95, peak))
    amounts = {"guaranteed": int(guaranteed or 0), "own": int(own or 0), "pinned": int(pinned)}
    return Evidence(
        account_id=account_id,
        pool_id=pool_id,
        flavor_id=flavor_id,
        weight=weight,
        coverage=coverage,
        mean=Fraction(used) / Fraction(known) if known else None,
        p50=p50,
        p95=p95,
        peak=peak,
        **amounts,
        used_hours=Fraction(used or 0) / hour,
        promised_hours=promised_hours,
        idle_hours=idle_hours,
        recommended=figures.recommended(**amounts, p95=p95, coverage=coverage),
        hoarding=figures.hoarding_score([(idle_hours, promised_hours, Decimal(1))]),
        idle_by_period=tuple(
            (period, Decimal(amount) / MICROSECONDS)
            for period, amount in zip(periods or (), idle_of or (), strict=True)
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


def _facts(one: Evidence) -> UtilizationFacts:
    return UtilizationFacts(
        mean=None if one.utilization is None else float(one.utilization),
        p50=one.p50,
        p95=one.p95,
        peak=one.peak,
        guaranteed=one.guaranteed,
        idle_units=one.idle_units,
        coverage=float(one.coverage),
    )


def _microseconds(at: datetime) -> int:
    return round(at.timestamp() * MICROSECONDS)


def _currency(organization_id: UUID) -> str:
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT currency FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()[0]
