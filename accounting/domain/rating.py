"""From use to amounts: records cut where prices, grades, days or months change, and charged. Pure.

Use is added up exactly per group (bucket, account, pool, flavor, tier, grade, version of the rates,
labels) and each group is one line, rounded once: half to even, to the currency's minor unit. So the
order of records, and how a stretch of use is cut into records, change nothing (docs/design.md
part 9).

    exact amount = unit-seconds x price per unit-hour / 3600
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from zoneinfo import ZoneInfo

from accounting.domain import money, splitting
from accounting.domain.rate_cards import Gap, RateCard, RateLine, RateVersion
from accounting.domain.splitting import Bucket

HOUR_SECONDS = 3600

Grades = Mapping[Hashable, Sequence[tuple[datetime, str | None]]]
"""Which grade each account has from when, ascending; before the first, and where there is no entry,
none. What an account inherits from those above it is worked out by whoever makes this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Use as metered: `units` of a flavor from `start` to `end`, half-open.

    Attributes:
        units: negative where a record is taken back.
        memory_gb: GB held by all the units together; charged where the rates say so.
    """

    account: Hashable
    flavor: Hashable
    tier: str
    units: int | Decimal
    start: datetime
    end: datetime
    pool: Hashable = None
    memory_gb: Decimal | None = None
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What a line is for.

    Attributes:
        bucket: first date of the day or month.
        version: id of the rates that held; None where none did.
        labels: values of the labels that were asked for, in that order; None: untagged.
    """

    bucket: date
    account: Hashable
    pool: Hashable
    flavor: Hashable
    tier: str
    grade: str | None
    version: Hashable
    labels: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A group's use and what it costs.

    Attributes:
        unit_seconds: exact.
        price, list_price: per unit-hour.
        amount, list_amount: each rounded once, to the minor unit.
    """

    group: Group
    unit_seconds: Decimal
    price: Decimal
    list_price: Decimal
    amount: Decimal
    list_amount: Decimal

    @property
    def exact(self) -> Fraction:
        """The amount before it was rounded."""
        return charge(self.unit_seconds, self.price)


@dataclass(frozen=True, slots=True)
class Unrated:
    """Use without a price: no version of the rates held, or it has none for the flavor."""

    group: Group
    unit_seconds: Decimal
    why: Gap


@dataclass(frozen=True, slots=True)
class Rating:
    """Lines and unrated use, each in the order of time, account, pool, flavor, tier and so on."""

    lines: tuple[Line, ...]
    unrated: tuple[Unrated, ...]

    @property
    def total(self) -> Decimal:
        """Sum of the lines: what is unrated is not in it."""
        return money.total([line.amount for line in self.lines])

    @property
    def exact(self) -> Fraction:
        """Sum of the amounts before rounding."""
        return sum((line.exact for line in self.lines), Fraction(0))


def charge(unit_seconds: Decimal, price: Decimal) -> Fraction:
    """What use costs at a price per unit-hour, exactly."""
    return Fraction(unit_seconds) * Fraction(price) / HOUR_SECONDS


def per_productive_hour(price: Decimal | Fraction, productive: Decimal | Fraction) -> Fraction:
    """Price x total time / productive time.

    Args:
        price: per unit-hour.
        productive: share of the total time that advanced the work, above 0 and at most 1.
    """
    return Fraction(price) / Fraction(productive)


def rate(
    records: Iterable[Record],
    card: RateCard,
    *,
    zone: ZoneInfo,
    currency: str,
    bucket: Bucket = "month",
    grades: Grades | None = None,
    labels: Sequence[str] = (),
) -> Rating:
    """Charge records.

    Args:
        zone: whose days and months the lines are of.
        labels: names of labels whose values have lines of their own.

    Raises:
        Invalid: `currency_malformed`.
    """
    places = money.minor_places(currency)
    return rate_groups(
        add_up(records, card, zone=zone, bucket=bucket, grades=grades or {}, labels=labels),
        card,
        places=places,
    )


def add_up(
    records: Iterable[Record],
    card: RateCard,
    *,
    zone: ZoneInfo,
    bucket: Bucket,
    grades: Grades,
    labels: Sequence[str] = (),
) -> dict[Group, Decimal]:
    """Exact unit-seconds by group."""
    sums: dict[Group, int | Decimal] = defaultdict(int)
    changes = card.changes
    cuts_of: dict[Hashable, list[datetime]] = {}
    for record in records:
        account = record.account
        if account not in cuts_of:
            own = (since for since, _ in grades.get(account, ()))
            cuts_of[account] = sorted({*changes, *own})
        values = tuple((record.labels or {}).get(name) for name in labels)
        for piece in splitting.pieces(
            record.start, record.end, zone=zone, bucket=bucket, cuts=cuts_of[account]
        ):
            version = card.at(piece.start)
            length = splitting.microseconds(piece.start, piece.end)
            group = Group(
                bucket=piece.bucket,
                account=account,
                pool=record.pool,
                flavor=record.flavor,
                tier=record.tier,
                grade=grade_at(grades, account, piece.start),
                version=None if version is None else version.id,
                labels=values,
            )
            _add(sums, group, record.units, length)
            memory = None if version is None else version.memory_flavor
            if memory is not None and record.memory_gb is not None:
                _add(sums, _of_flavor(group, memory), record.memory_gb, length)
    return {group: _seconds(amount) for group, amount in sums.items()}


def rate_groups(unit_seconds: Mapping[Group, Decimal], card: RateCard, *, places: int) -> Rating:
    """Charge use that is added up already, by SQL say. Groups that cancelled out have no line."""
    versions = {version.id: version for version in card.versions}
    lines, unrated = [], []
    for group in sorted(unit_seconds, key=_order):
        amount = unit_seconds[group]
        if not amount:
            continue
        version = versions.get(group.version)
        price = None if version is None else version.line(group.flavor, group.tier, group.grade)
        if price is None:
            unrated.append(Unrated(group, amount, _why(version)))
        else:
            lines.append(_line(group, amount, price, places))
    return Rating(tuple(lines), tuple(unrated))


def totals(lines: Iterable[Line], *, by: str) -> dict[Hashable, Decimal]:
    """Amounts by a field of the lines' groups, in its order."""
    ordered = sorted(lines, key=lambda line: str(getattr(line.group, by)))
    return {
        value: money.total([line.amount for line in part])
        for value, part in groupby(ordered, key=lambda line: getattr(line.group, by))
    }


def grade_at(grades: Grades, account: Hashable, instant: datetime) -> str | None:
    """The grade of an account at an instant."""
    history = grades.get(account, ())
    place = bisect_right(history, instant, key=lambda entry: entry[0]) - 1
    return history[place][1] if place >= 0 else None


def _add(
    sums: dict[Group, int | Decimal], group: Group, units: int | Decimal, microseconds: int
) -> None:
    if isinstance(units, int) and isinstance(so_far := sums[group], int):
        sums[group] = so_far + units * microseconds
        return
    part = money.EXACT.multiply(Decimal(units), Decimal(microseconds))
    sums[group] = money.EXACT.add(Decimal(sums[group]), part)


def _seconds(unit_microseconds: int | Decimal) -> Decimal:
    return Decimal(unit_microseconds).scaleb(-6, money.EXACT)


def _of_flavor(group: Group, flavor: Hashable) -> Group:
    return Group(
        bucket=group.bucket,
        account=group.account,
        pool=group.pool,
        flavor=flavor,
        tier=group.tier,
        grade=group.grade,
        version=group.version,
        labels=group.labels,
    )


def _line(group: Group, unit_seconds: Decimal, line: RateLine, places: int) -> Line:
    amount = money.rounded(charge(unit_seconds, line.price), places)
    listed = amount
    if line.contracted_price is not None:
        listed = money.rounded(charge(unit_seconds, line.list_price), places)
    return Line(group, unit_seconds, line.price, line.list_price, amount, listed)


def _why(version: RateVersion | None) -> Gap:
    return "no_version" if version is None else "no_price"


def _order(group: Group) -> tuple:
    parts = (group.account, group.pool, group.flavor, group.tier, group.grade, group.version)
    return (
        group.bucket,
        *(str(part) for part in parts),
        tuple((value is not None, value or "") for value in group.labels),
    )
