"""The kinds of lines that a statement has, and the formula of each. Pure.

Every amount is exact until it is rounded once, half to even, to the currency's minor unit. The
formulas are those of docs/user/showback.md; `hours` are unit-hours, prices are per unit-hour:

    usage        hours used x price of the tier
    idle         hours promised and not used x price of the guaranteed tier x idle share
    lending      -(hours lent x price of the guaranteed tier x lending share)
    discount     -(usage lines of the guaranteed tier x rate of the ladder at the utilization)
    commitment   what was committed - what was charged, at least 0
    credit       -(what finance gave back)
    adjustment   what a closed month would cost with all that is known now - what it was charged
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from accounting.domain import money, rating
from ledger.errors import Invalid

LADDER_LENGTH_MAX = 20
SHARE_PLACES = 6
QUANTITY_PLACES = 6


class Kind(StrEnum):
    """What a line is."""

    USAGE = "usage"
    IDLE = "idle"
    LENDING = "lending"
    DISCOUNT = "discount"
    COMMITMENT = "commitment"
    CREDIT = "credit"
    ADJUSTMENT = "adjustment"


FORMULAS = {
    Kind.USAGE: "unit-seconds × price ÷ 3600, rounded once, half to even",
    Kind.IDLE: "unit-seconds promised and not in use × price of the guaranteed tier × idle share "
    "÷ 3600",
    Kind.LENDING: "−(unit-seconds lent × price of the guaranteed tier × lending share ÷ 3600)",
    Kind.DISCOUNT: "−(lines of guaranteed use × rate of the ladder at the utilization)",
    Kind.COMMITMENT: "what was committed − what was charged for use, idle guarantees, lending and "
    "discounts, at least 0, + what ending early costs",
    Kind.CREDIT: "−(what finance gave back)",
    Kind.ADJUSTMENT: "what the month would be charged with all that is known now − what it was "
    "charged so far",
}
"""In words, for whoever asks why."""
RATED = (Kind.USAGE, Kind.IDLE, Kind.LENDING, Kind.DISCOUNT)
"""Follow from use, promises and prices, so they are worked out anew when use comes late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a line is for. A statement has one line per key, and month that it is about.

    Attributes:
        above: the accounts from the root down to `account`, as they were then.
        ref: the credit or the commitment.
    """

    kind: Kind
    account: Hashable
    above: tuple[Hashable, ...]
    pool: Hashable = None
    flavor: Hashable = None
    tier: str | None = None
    grade: str | None = None
    version: Hashable = None
    ref: Hashable = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a statement.

    Attributes:
        unit_seconds: 0 where a line is not for units.
        price: per unit-hour; None where there is none.
        list_amount: what it would be at list prices.
        about: the closed month that an adjustment is about, or that a credit names.
        adjusts: whether it is an adjustment; then `key.kind` says of what.
        facts: what else went into the formula, as text.
    """

    key: Key
    amount: Decimal
    list_amount: Decimal
    unit_seconds: Decimal = Decimal(0)
    price: Decimal | None = None
    list_price: Decimal | None = None
    about: date | None = None
    adjusts: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """As what it is listed."""
        return Kind.ADJUSTMENT if self.adjusts else self.key.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an organization has chosen of the formulas.

    Attributes:
        idle_share: of the guaranteed price, charged for what is promised and not used; 0: nothing.
        lending_share: of the guaranteed price, given back for what others borrowed; 0: nothing.
        ladder: (utilization, rate) in any order: above the utilization the guaranteed use is
            cheaper by the rate; the highest step that is passed counts.
    """

    idle_share: Decimal = Decimal(1)
    lending_share: Decimal = Decimal("0.5")
    ladder: tuple[tuple[Decimal, Decimal], ...] = ((Decimal("0.8"), Decimal("0.05")),)

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            Invalid: `share_out_of_range`, `ladder_malformed`.
        """
        for name in ("idle_share", "lending_share"):
            _check_share(getattr(self, name), name)
        if self.lending_share > self.idle_share:
            raise Invalid(
                "share_out_of_range",
                "Lending cannot give back more than idle time costs.",
                field="lending_share",
            )
        if len(self.ladder) > LADDER_LENGTH_MAX:
            raise _ladder(f"has at most {LADDER_LENGTH_MAX} steps", "ladder")
        for at, (above, rate) in enumerate(self.ladder):
            _check_share(above, f"ladder[{at}].above")
            _check_share(rate, f"ladder[{at}].rate")
        steps = sorted(self.ladder)
        if len({above for above, _ in steps}) < len(steps):
            raise _ladder("has one rate for each utilization", "ladder")
        if [rate for _, rate in steps] != sorted(rate for _, rate in steps):
            raise _ladder("never gives less for more use", "ladder")

    def rate(self, utilization: Fraction | None) -> Decimal:
        """The rate of the highest step below a utilization; 0 for none, or an unknown one."""
        passed = [
            rate
            for above, rate in sorted(self.ladder)
            if utilization is not None and utilization > Fraction(above)
        ]
        return passed[-1] if passed else Decimal(0)


def _check_share(value: Decimal, place: str) -> None:
    exponent = value.as_tuple().exponent
    if not value.is_finite() or not 0 <= value <= 1 or -int(exponent) > SHARE_PLACES:
        raise Invalid(
            "share_out_of_range",
            f"A share is 0 to 1 with at most {SHARE_PLACES} decimals.",
            field=place,
            facts={"minimum": 0, "maximum": 1},
        )


def _ladder(why: str, place: str) -> Invalid:
    return Invalid("ladder_malformed", f"The ladder {why}.", field=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What became of a promise: exact unit-seconds of an account's own guarantee in a pool, while
    one version of the rates held.

    Attributes:
        promised: of the time in which use is known.
        idle: promised, and used neither by the account nor by what is below it.
        lent: the part of it that others used as borrowed.
        price: of the guaranteed tier; None: unrated.
    """

    account: Hashable
    above: tuple[Hashable, ...]
    pool: Hashable
    flavor: Hashable
    grade: str | None
    version: Hashable
    promised: Fraction
    idle: Fraction
    lent: Fraction
    price: Decimal | None
    list_price: Decimal | None


def usage(line: rating.Line, *, account: Hashable, above: tuple[Hashable, ...]) -> Line:
    """A line for use, from one that is rated."""
    group = line.group
    return Line(
        key=Key(
            kind=Kind.USAGE,
            account=account,
            above=above,
            pool=group.pool,
            flavor=group.flavor,
            tier=group.tier,
            grade=group.grade,
            version=group.version,
        ),
        unit_seconds=line.unit_seconds,
        price=line.price,
        list_price=line.list_price,
        amount=line.amount,
        list_amount=line.list_amount,
    )


def of_guarantee(one: Guarantee, terms: Terms, *, places: int) -> list[Line]:
    """What is charged for the idle part of a guarantee, and given back for the lent part."""
    if one.price is None or one.list_price is None:
        return []
    wanted = (
        (Kind.IDLE, one.idle, terms.idle_share, 1),
        (Kind.LENDING, one.lent, terms.lending_share, -1),
    )
    return [
        Line(
            key=key_of(one, kind),
            unit_seconds=money.rounded(unit_seconds, QUANTITY_PLACES),
            price=one.price,
            list_price=one.list_price,
            amount=_priced(unit_seconds, one.price, sign * share, places),
            list_amount=_priced(unit_seconds, one.list_price, sign * share, places),
            facts={
                "share": _text(share),
                "promised": _text(money.rounded(one.promised, QUANTITY_PLACES)),
            },
        )
        for kind, unit_seconds, share, sign in wanted
        if unit_seconds and share
    ]


def key_of(one: Guarantee, kind: Kind) -> Key:
    """What a line of this kind that follows from a guarantee is for."""
    return Key(
        kind=kind,
        account=one.account,
        above=one.above,
        pool=one.pool,
        flavor=one.flavor,
        tier="guaranteed",
        grade=one.grade,
        version=one.version,
    )


def discounts(
    charged: Iterable[Line], guarantees: Iterable[Guarantee], terms: Terms, *, places: int
) -> list[Line]:
    """What good use of guarantees earns, per account and pool over the whole month.

    utilization = 1 - idle / promised, over the time in which use is known.
    """
    promised: dict[tuple, Fraction] = {}
    idle: dict[tuple, Fraction] = {}
    for one in guarantees:
        place = (one.account, one.above, one.pool)
        promised[place] = promised.get(place, Fraction(0)) + one.promised
        idle[place] = idle.get(place, Fraction(0)) + one.idle
    bases: dict[tuple, list[Line]] = {}
    for line in charged:
        key = line.key
        if key.kind == Kind.USAGE and key.tier == "guaranteed" and not line.adjusts:
            bases.setdefault((key.account, key.above, key.pool), []).append(line)
    found = []
    for place, lines in bases.items():
        if not promised.get(place):
            continue
        utilization = 1 - idle[place] / promised[place]
        rate = terms.rate(utilization)
        base = money.total([line.amount for line in lines])
        listed = money.total([line.list_amount for line in lines])
        amount = money.rounded(-Fraction(base) * Fraction(rate), places)
        if amount:
            account, above, pool = place
            found.append(
                Line(
                    key=Key(kind=Kind.DISCOUNT, account=account, above=above, pool=pool),
                    amount=amount,
                    list_amount=money.rounded(-Fraction(listed) * Fraction(rate), places),
                    facts={
                        "utilization": _text(money.rounded(utilization, 6)),
                        "rate": _text(rate),
                        "base": _text(base),
                    },
                )
            )
    return found


def credit(
    amount: Decimal,
    *,
    ref: Hashable,
    account: Hashable,
    above: tuple[Hashable, ...],
    about: date | None,
    reason: str,
) -> Line:
    """What finance gives back; `amount` is above 0, the line is below it."""
    return Line(
        key=Key(kind=Kind.CREDIT, account=account, above=above, ref=ref),
        amount=-amount,
        list_amount=-amount,
        about=about,
        facts={"reason": reason},
    )


def commitment(
    amount: Decimal,
    charged: Iterable[Line],
    *,
    ref: Hashable,
    account: Hashable,
    above: tuple[Hashable, ...],
    ending: Decimal = Decimal(0),
) -> Line | None:
    """What is missing to the amount that an account, with all below it, has committed to. Counts
    the lines of use, idle guarantees, lending and discounts of the month; None: nothing is.

    Args:
        ending: what is charged besides, since the commitment ends early with this month.
    """
    spent = money.total(
        [
            line.amount
            for line in charged
            if account in line.key.above and line.key.kind in RATED and not line.adjusts
        ]
    )
    missing = money.EXACT.add(max(Decimal(0), money.EXACT.subtract(amount, spent)), ending)
    if missing <= 0:
        return None
    return Line(
        key=Key(kind=Kind.COMMITMENT, account=account, above=above, ref=ref),
        amount=missing,
        list_amount=missing,
        facts={"committed": _text(amount), "charged": _text(spent)}
        | ({"ending": _text(ending)} if ending else {}),
    )


def adjustments(charged: Iterable[Line], now: Iterable[Line], *, about: date) -> list[Line]:
    """What a closed month is corrected by: per key, what it would cost with all that is known now,
    less what was charged for it so far.

    So a month and its adjustments together are what the month would have been had everything
    come in time, to the smallest unit of the currency.

    Args:
        charged: the lines of the closed month and every adjustment about it since.
        now: its rated lines as they would be.
    """
    sums: dict[Key, list[Decimal]] = {}
    latest: dict[Key, Line] = {}
    for lines, sign in ((charged, -1), (now, 1)):
        for line in lines:
            if line.key.kind not in RATED:
                continue
            values = (line.unit_seconds, line.amount, line.list_amount)
            so_far = sums.setdefault(line.key, [Decimal(0)] * 3)
            sums[line.key] = [
                money.EXACT.add(have, value.copy_negate() if sign < 0 else value)
                for have, value in zip(so_far, values, strict=True)
            ]
            latest[line.key] = line
    return [
        Line(
            key=key,
            unit_seconds=unit_seconds,
            price=latest[key].price,
            list_price=latest[key].list_price,
            amount=amount,
            list_amount=list_amount,
            about=about,
            adjusts=True,
            facts=latest[key].facts,
        )
        for key, (unit_seconds, amount, list_amount) in sums.items()
        if unit_seconds or amount or list_amount
    ]


def parts(
    amount: Decimal, weights: Mapping[Hashable, Decimal], *, places: int
) -> dict[Hashable, Decimal]:
    """A line's amount over what it consists of, by unit-seconds: largest remainder, so the parts
    add up to it. Where use was taken back the weights cannot be shares, and all is the first's."""
    names = sorted(weights, key=str)
    values: Sequence[Decimal] = [weights[name] for name in names]
    if not values:
        return {}
    if min(values) < 0:
        values = [Decimal(0)] * len(names)
    return dict(zip(names, money.split(amount, values, places), strict=True))


def _priced(unit_seconds: Fraction, price: Decimal, share: Decimal, places: int) -> Decimal:
    exact = unit_seconds * Fraction(price) * Fraction(share) / rating.HOUR_SECONDS
    return money.rounded(exact, places)


def _text(value: Decimal) -> str:
    return f"{money.EXACT.normalize(value):f}"
