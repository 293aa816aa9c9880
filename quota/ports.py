"""What quota must ask of apps above it: how units are used, and what they cost.

Protocols only. `accounting` implements them and `config/wiring.py` hands the implementation over
with `use_ports`; until then every answer is "unknown" and nothing here invents a number. Missing
telemetry is unknown, never zero.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID

Place = tuple[UUID, UUID]
"""An account and a pool, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationFacts:
    """How an account and the accounts below it used what they were promised in a pool, over a
    window. None everywhere: unknown.

    Attributes:
        mean: share of the guarantee in use, averaged over time, 0 to 1 and above where more was
            used than was promised.
        p50, p95, peak: units in use at these quantiles of time, and at most.
        guaranteed: units promised at the end of the window.
        idle_units: units of the guarantee that p95 use does not need.
        recommended: the own guarantee that the account could do with, by
            `accounting.domain.evidence`, whatever else of its tree is taken as recommended too;
            None: too little is known. Told by `utilizations` only.
        coverage: share of the window in which use is known, 0 to 1. A reader that decides on
            `mean` asks for enough of it first.
    """

    mean: float | None = None
    p50: int | None = None
    p95: int | None = None
    peak: int | None = None
    guaranteed: int | None = None
    idle_units: int | None = None
    recommended: int | None = None
    coverage: float = 0.0


UNKNOWN_USE = UtilizationFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """An amount of money, exact; `currency` as ISO 4217 writes it."""

    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetEffect:
    """The nearest monthly budget at or above an account, and what more money a month makes of it.

    Attributes:
        expected: what the running month is forecast to cost; without a forecast what is spent.
        forecast: whether `expected` is a forecast.
        more: what would be added to a whole month.
    """

    account: str
    currency: str
    amount: Decimal
    expected: Decimal
    forecast: bool
    more: Decimal

    @property
    def together(self) -> Decimal:
        """What a month would come to."""
        return self.expected + self.more

    @property
    def beyond(self) -> bool:
        """Whether that is more than the budget."""
        return self.together > self.amount


class UtilizationPort(Protocol):
    """How much of what it holds an account uses. `start` included, `end` not."""

    def utilization(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> UtilizationFacts: ...

    def utilizations(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, UtilizationFacts]:
        """The same of many, with recommended figures, in a bounded number of queries. A place left
        out is unknown."""
        ...


class PricePort(Protocol):
    """What units cost."""

    def price_per_month(
        self, organization_id: UUID, pool_id: UUID, units: int, tier: str, at: datetime
    ) -> Price | None:
        """`units` held for one month (730 hours) at the rates in force at `at`; None: unrated."""
        ...

    def idle_cost(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> Price | None:
        """What the guarantee cost while it was not used; None: unrated or use unknown."""
        ...

    def idle_costs(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, Price]:
        """The same of many. A place left out is unknown or unrated."""
        ...


class BudgetPort(Protocol):
    """What money makes of budgets."""

    def effect(
        self,
        organization_id: UUID,
        account_id: UUID,
        more: Decimal,
        *,
        now: datetime,
        readable: Callable[[UUID], bool],
    ) -> BudgetEffect | None:
        """Of the nearest monthly budget that may be read; None: there is none, or it is not known
        what the month costs."""
        ...


class _Unknown:
    """Nobody to ask."""

    def utilization(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> UtilizationFacts:
        return UNKNOWN_USE

    def utilizations(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, UtilizationFacts]:
        return {}

    def price_per_month(
        self, organization_id: UUID, pool_id: UUID, units: int, tier: str, at: datetime
    ) -> Price | None:
        return None

    def idle_cost(
        self, organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime, end: datetime
    ) -> Price | None:
        return None

    def idle_costs(
        self, organization_id: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> Mapping[Place, Price]:
        return {}

    def effect(
        self,
        organization_id: UUID,
        account_id: UUID,
        more: Decimal,
        *,
        now: datetime,
        readable: Callable[[UUID], bool],
    ) -> BudgetEffect | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Who answers. Every field has the harmless answer "unknown" until it is wired."""

    utilization: UtilizationPort
    price: PricePort
    budget: BudgetPort


UNKNOWN = Ports(utilization=_Unknown(), price=_Unknown(), budget=_Unknown())

_current = UNKNOWN


def use_ports(
    *,
    utilization: UtilizationPort | None = None,
    price: PricePort | None = None,
    budget: BudgetPort | None = None,
) -> Ports:
    """Say who answers from now on; what is left out stays. Returns what stood before, so that a
    test can put it back with `restore_ports`."""
    global _current
    before = _current
    _current = Ports(
        utilization=utilization or before.utilization,
        price=price or before.price,
        budget=budget or before.budget,
    )
    return before


def restore_ports(ports_before: Ports) -> None:
    """Put back what `use_ports` returned."""
    global _current
    _current = ports_before


def ports() -> Ports:
    """Who answers now."""
    return _current
