"""Rate cards: what a unit-hour of each flavor costs, from when, for whom. Pure.

A card is a sequence of versions. Each holds from `effective_from` until its own `effective_until`
or until the next begins, whichever is first; where no version holds, or one has no price for a
flavor, use is *unrated*: listed, never free (docs/design.md part 9).
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from ledger.errors import Conflict, DomainError, Invalid, Refused

TIERS = ("guaranteed", "borrowed", "spot")
LINES_MAX = 1_000
PRICE_MAX = Decimal(1_000_000_000)
PRICE_PLACES = 12
GRADE_LENGTH_MAX = 64
WAY_OUT = "What was priced stays as it was: start it later, and correct the past with a credit."

Key = tuple[Hashable, str | None, str | None]
Gap = Literal["no_version", "no_price"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLine:
    """Price per unit and hour of a flavor. Companions (memory, CPU cores, RAM, storage) are flavors
    as well.

    Attributes:
        flavor: its id, or its name in a what-if document.
        tier: None is every tier that has no line of its own.
        grade: None is every account, whatever its grade, that has no line of its own.
        list_price: in the organization's currency.
        contracted_price: what is charged; None: the list price.
    """

    flavor: Hashable
    list_price: Decimal
    tier: str | None = None
    grade: str | None = None
    contracted_price: Decimal | None = None

    @property
    def price(self) -> Decimal:
        """What a unit-hour is charged at."""
        return self.list_price if self.contracted_price is None else self.contracted_price

    @property
    def key(self) -> Key:
        """What may have one line in a version."""
        return (self.flavor, self.tier, self.grade)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateVersion:
    """Prices that hold together for a while.

    Attributes:
        effective_until: None: until the next version begins.
        memory_flavor: the flavor by whose price a record's `memory_gb` is charged beside its
            units; None: memory costs nothing of its own.
    """

    id: Hashable
    effective_from: datetime
    lines: tuple[RateLine, ...]
    effective_until: datetime | None = None
    memory_flavor: Hashable | None = None
    _by_key: Mapping[Key, RateLine] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_key", {line.key: line for line in self.lines})

    def line(self, flavor: Hashable, tier: str, grade: str | None) -> RateLine | None:
        """The line that prices use. The tier decides first, then the grade:
        (tier, grade), (tier, any grade), (any tier, grade), (any tier, any grade)."""
        grades = (None,) if grade is None else (grade, None)
        for its_tier in (tier, None):
            for its_grade in grades:
                if (found := self._by_key.get((flavor, its_tier, its_grade))) is not None:
                    return found
        return None


@dataclass(frozen=True, slots=True)
class RateCard:
    """Versions in the order in which they begin; made by `rate_card`."""

    versions: tuple[RateVersion, ...]
    _starts: tuple[datetime, ...] = field(repr=False)

    @property
    def changes(self) -> list[datetime]:
        """Every instant at which prices begin or cease to hold, ascending."""
        found = set(self._starts)
        found.update(v.effective_until for v in self.versions if v.effective_until is not None)
        return sorted(found)

    def at(self, instant: datetime) -> RateVersion | None:
        """The version that holds at an instant."""
        place = bisect_right(self._starts, instant) - 1
        if place < 0:
            return None
        version = self.versions[place]
        until = version.effective_until
        return version if until is None or instant < until else None

    def price(
        self, instant: datetime, *, flavor: Hashable, tier: str, grade: str | None = None
    ) -> RateLine | None:
        """The line by which use is charged at an instant; None: unrated."""
        version = self.at(instant)
        return None if version is None else version.line(flavor, tier, grade)


def rate_card(versions: Sequence[RateVersion]) -> RateCard:
    """A card of versions in any order.

    Raises:
        Conflict: `rates_overlap`, the place of the later one in `field` as `versions[2]`.
        Invalid: `rates_backwards`: a version ends before it begins.
    """
    places = sorted(range(len(versions)), key=lambda at: (versions[at].effective_from, at))
    for at in places:
        check_period(versions[at].effective_from, versions[at].effective_until, f"versions[{at}]")
    for earlier, later in pairwise(places):
        _check_apart(versions[earlier], versions[later], f"versions[{later}]")
    ordered = tuple(versions[at] for at in places)
    return RateCard(ordered, tuple(version.effective_from for version in ordered))


def check_period(start: datetime, until: datetime | None, place: str = "") -> None:
    """A version holds for some time.

    Raises:
        Invalid: `rates_backwards`.
    """
    if until is not None and until <= start:
        raise Invalid(
            "rates_backwards",
            "The rates must end after they begin.",
            field=f"{place}.effective_until".lstrip("."),
        )


def _check_apart(earlier: RateVersion, later: RateVersion, place: str) -> None:
    end = earlier.effective_until
    if later.effective_from == earlier.effective_from or (
        end is not None and later.effective_from < end
    ):
        raise overlap(earlier, later.effective_from, f"{place}.effective_from")


def overlap(other: RateVersion, start: datetime, field_: str) -> Conflict:
    """Two versions would hold at once."""
    until = other.effective_until
    span = f"from {other.effective_from.isoformat()}"
    if until is not None:
        span += f" until {until.isoformat()}"
    return Conflict(
        "rates_overlap",
        f"Rates that hold {span} are there already, and these would begin at "
        f"{start.isoformat()}: choose another time, or withdraw the others first.",
        field=field_,
        facts={
            "other_from": other.effective_from.isoformat(),
            "other_until": None if until is None else until.isoformat(),
        },
    )


def check_publish(
    card: RateCard,
    new: RateVersion,
    *,
    now: datetime,
    closed_until: datetime | None,
) -> None:
    """Whether a version may join a card: it never changes what was priced before.

    It may begin at `now` or later. It may begin earlier only as far as no version held there, so
    that use which is unrated gets its price, and never in a month that is closed. Where another
    version begins later, the new one holds until then.

    Args:
        closed_until: the end of the last closed month; None: none is closed.

    Raises:
        Invalid: `rates_backwards`.
        Conflict: `rates_overlap`.
        Refused: `rates_in_the_past`, `month_closed`.
    """
    start = new.effective_from
    check_period(start, new.effective_until)
    for version in card.versions:
        begun_earlier = version.effective_from <= start
        ends = version.effective_until
        if version.effective_from == start or (begun_earlier and ends is not None and start < ends):
            raise overlap(version, start, "effective_from")
        until = new.effective_until
        if not begun_earlier and until is not None and version.effective_from < until:
            raise overlap(version, start, "effective_until")
    if closed_until is not None and start < closed_until:
        raise Refused(
            "month_closed",
            f"The months before {closed_until.isoformat()} are closed. {WAY_OUT}",
            field="effective_from",
            facts={"earliest": closed_until.isoformat()},
        )
    if start < now and _held_between(card, new, now):
        raise Refused(
            "rates_in_the_past",
            f"Rates that have held since cannot change. {WAY_OUT}",
            field="effective_from",
            facts={"earliest": now.isoformat()},
        )


def _held_between(card: RateCard, new: RateVersion, now: datetime) -> bool:
    """Whether an older version priced some of the past that the new one would take over."""
    older = card.at(new.effective_from)
    return older is not None and older.effective_from < now


def check_lines(lines: Sequence[RateLine]) -> None:
    """Every line can be charged, and no two say the same.

    Raises:
        Invalid: `lines_missing`, `out_of_range`, `tier_unknown`, `grade_malformed`,
            `line_duplicate`, with the line in `field` as `lines[3].list_price`.
    """
    if not lines:
        raise Invalid("lines_missing", "Rates need at least one price.", field="lines")
    if len(lines) > LINES_MAX:
        raise Invalid(
            "out_of_range",
            f"Rates hold at most {LINES_MAX} lines, not {len(lines)}.",
            field="lines",
            facts={"maximum": LINES_MAX},
        )
    seen: dict[Key, int] = {}
    for at, line in enumerate(lines):
        place = f"lines[{at}]"
        check_price(line.list_price, f"{place}.list_price")
        if line.contracted_price is not None:
            check_price(line.contracted_price, f"{place}.contracted_price")
        if line.tier is not None and line.tier not in TIERS:
            raise Invalid(
                "tier_unknown",
                f"A tier is one of {', '.join(TIERS)}, or none for all of them.",
                field=f"{place}.tier",
            )
        if line.grade is not None:
            check_grade(line.grade, f"{place}.grade")
        if line.key in seen:
            raise Invalid(
                "line_duplicate",
                f"lines[{seen[line.key]}] has a price for the same flavor, tier and grade.",
                field=place,
                facts={"other": seen[line.key]},
            )
        seen[line.key] = at


def check_price(price: Decimal, place: str) -> None:
    """A price is not negative, has at most PRICE_PLACES decimals and is no accident.

    Raises:
        Invalid: `out_of_range`.
    """
    if not price.is_finite() or not 0 <= price <= PRICE_MAX or _places(price) > PRICE_PLACES:
        raise Invalid(
            "out_of_range",
            f"A price is 0 to {PRICE_MAX} with at most {PRICE_PLACES} decimals; credits, not "
            "negative prices, give money back.",
            field=place,
            facts={"minimum": 0, "maximum": int(PRICE_MAX), "places": PRICE_PLACES},
        )


def _places(price: Decimal) -> int:
    exponent: Any = price.normalize().as_tuple().exponent
    return max(0, -exponent)


def check_grade(grade: str, place: str) -> None:
    """A grade is a short name that an organization chooses.

    Raises:
        Invalid: `grade_malformed`.
    """
    if not grade.strip() or len(grade) > GRADE_LENGTH_MAX or not grade.isprintable():
        raise Invalid(
            "grade_malformed",
            f"A grade has 1 to {GRADE_LENGTH_MAX} printable characters.",
            field=place,
        )


def check_currency(asked: str | None, currency: str) -> None:
    """Rates are in the organization's currency, which never changes: amounts of two could not be
    added.

    Raises:
        Refused: `currency_fixed`.
    """
    if asked is not None and asked != currency:
        error: DomainError = Refused(
            "currency_fixed",
            f"The organization's currency is {currency} for good; convert the prices to it.",
            field="currency",
            facts={"currency": currency},
        )
        raise error
