"""Publish prices, withdraw those that do not hold yet, and say which grade an account has."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting import rate_events as events
from accounting.domain import rate_cards
from accounting.domain.rate_cards import WAY_OUT, RateLine, RateVersion
from accounting.locking import take_lock
from accounting.queries import rates, statements
from ledger.errors import NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota.recording import check_reason
from tenancy.domain.roles import RATE_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceWish:
    """A price per unit-hour; see `accounting.domain.rate_cards.RateLine`. `flavor` is a name."""

    flavor: str
    list_price: Decimal
    tier: str | None = None
    grade: str | None = None
    contracted_price: Decimal | None = None

    def line(self, flavor: UUID) -> RateLine:
        """The same of a flavor by its id."""
        return RateLine(
            flavor=flavor,
            tier=self.tier,
            grade=self.grade,
            list_price=self.list_price,
            contracted_price=self.contracted_price,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRateCard:
    """Prices that hold from an instant on. The reason goes with the command.

    Attributes:
        effective_from: None: now. Earlier only where no prices held.
        effective_until: None: until the next prices begin.
        memory_flavor: name of the flavor by whose price the memory of records is charged, too.
        currency: to be safe: refused unless it is the organization's.
    """

    lines: tuple[PriceWish, ...]
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    memory_flavor: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateVersionRef:
    """The version that a command made, and since when it holds."""

    version_id: UUID
    effective_from: datetime


@handles(PublishRateCard, permission=RATE_WRITE)
def publish_rate_card(command: PublishRateCard, unit: Unit) -> RateVersionRef:
    """Check the prices and that they change nothing that was priced; record them."""
    check_reason(unit)
    currency = _lock(unit)
    rate_cards.check_currency(command.currency, currency)
    flavors = _flavors(unit)
    lines = tuple(
        wish.line(flavor_named(wish.flavor, flavors, f"lines[{at}].flavor"))
        for at, wish in enumerate(command.lines)
    )
    rate_cards.check_lines(lines)
    memory = command.memory_flavor
    version = RateVersion(
        id=unit.new_id(),
        effective_from=command.effective_from or unit.now,
        effective_until=command.effective_until,
        lines=lines,
        memory_flavor=None if memory is None else flavor_named(memory, flavors, "memory_flavor"),
    )
    rate_cards.check_publish(
        rates.rate_card(unit.organization_id),
        version,
        now=unit.now,
        closed_until=statements.closed_until(unit.organization_id),
    )
    unit.record(_published(version, currency))
    return RateVersionRef(version_id=version.id, effective_from=version.effective_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawRateCard:
    """Take back prices that do not hold yet. The reason goes with the command."""

    version_id: UUID


@handles(WithdrawRateCard, permission=RATE_WRITE)
def withdraw_rate_card(command: WithdrawRateCard, unit: Unit) -> RateVersionRef:
    """Record that the version never will hold."""
    check_reason(unit)
    _lock(unit)
    card = rates.rate_card(unit.organization_id)
    version = next((one for one in card.versions if one.id == command.version_id), None)
    if version is None:
        raise NotFound("rates_unknown", "There are no such rates.", field="version")
    if version.effective_from <= unit.now:
        raise Refused(
            "rates_in_the_past",
            f"These rates have held since {version.effective_from.isoformat()}. {WAY_OUT}",
            field="version",
        )
    unit.record(events.RatesWithdrawn(version_id=command.version_id))
    return RateVersionRef(version_id=command.version_id, effective_from=version.effective_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRateGrade:
    """Which grade's prices hold for an account and those below it that have none of their own.

    Attributes:
        grade: None: that of the account above.
        effective_from: None: now. Earlier only while no prices have held.
    """

    account_id: UUID
    grade: str | None
    effective_from: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateGradeRef:
    """What was set."""

    account_id: UUID
    effective_from: datetime


@handles(SetRateGrade, permission=RATE_WRITE)
def set_rate_grade(command: SetRateGrade, unit: Unit) -> RateGradeRef:
    """Record the grade; it never changes what was priced."""
    check_reason(unit)
    if command.grade is not None:
        rate_cards.check_grade(command.grade, "grade")
    _lock(unit)
    check_account(command.account_id, unit)
    start = command.effective_from or unit.now
    card = rates.rate_card(unit.organization_id)
    if start < unit.now and card.versions and card.versions[0].effective_from < unit.now:
        raise Refused(
            "rates_in_the_past",
            f"A grade cannot change the prices of past use. {WAY_OUT}",
            field="effective_from",
            facts={"earliest": unit.now.isoformat()},
        )
    closed_until = statements.closed_until(unit.organization_id)
    if closed_until is not None and start < closed_until:
        raise Refused(
            "month_closed",
            f"The months before {closed_until.isoformat()} are closed. {WAY_OUT}",
            field="effective_from",
            facts={"earliest": closed_until.isoformat()},
        )
    unit.record(
        events.RateGradeSet(
            account_id=command.account_id, grade=command.grade, effective_from=start
        )
    )
    return RateGradeRef(account_id=command.account_id, effective_from=start)


def _lock(unit: Unit) -> str:
    """One change of rates at a time. Returns the organization's currency."""
    take_lock(unit, "rates")
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT currency FROM tenancy_organization WHERE id = %b", (unit.organization_id,)
        ).fetchone()[0]


def _flavors(unit: Unit) -> dict[str, UUID]:
    with server_cursor() as cursor:
        return dict(
            cursor.execute(
                "SELECT name, id FROM quota_flavor WHERE organization_id = %b",
                (unit.organization_id,),
            ).fetchall()
        )


def flavor_named(name: str, flavors: dict[str, UUID], place: str) -> UUID:
    """The id of a flavor.

    Raises:
        NotFound: `flavor_unknown`, at `place`.
    """
    if name not in flavors:
        raise NotFound(
            "flavor_unknown", f"No flavor is named {name[:80]!r}; define it first.", field=place
        )
    return flavors[name]


def check_account(account_id: UUID, unit: Unit) -> None:
    """What is granted or agreed is for an account of the organization.

    Raises:
        NotFound: `account_unknown`.
    """
    with server_cursor() as cursor:
        found = cursor.execute(
            "SELECT 1 FROM tenancy_account WHERE organization_id = %b AND id = %b",
            (unit.organization_id, account_id),
        ).fetchone()
    if found is None:
        raise NotFound("account_unknown", "There is no such account.", field="account")


def _published(version: RateVersion, currency: str) -> events.RatesPublished:
    return events.RatesPublished(
        version_id=version.id,
        effective_from=version.effective_from,
        effective_until=version.effective_until,
        currency=currency,
        memory_flavor_id=version.memory_flavor,
        lines=tuple(
            events.PriceFacts(
                flavor_id=line.flavor,
                tier=line.tier,
                grade=line.grade,
                list_price=line.list_price,
                contracted_price=line.contracted_price,
            )
            for line in version.lines
        ),
    )
