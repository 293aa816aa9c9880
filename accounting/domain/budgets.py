"""Budgets: their periods, how fast they are spent, and which alerts fire. Pure.

A budget is an amount for an account, with all below it, and a period: a month, a quarter, a year
of the organization's time zone, or an explicit range of days, half-open. Alerts are thresholds of
what is spent, of the forecast, and of the rate at which it is spent (docs/user/budgets.md).

The burn rate is that of the SRE Workbook, chapter 5 ("Alerting on SLOs"), with money for errors: 1
uses the budget up exactly at the end of the period. As there, a burn alert needs two windows: the
long one says that it matters, the short one that it still goes on.

    burn(window) = (spent in the window / days of the window) / (amount / days of the period)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from ledger.errors import Invalid

AMOUNT_MAX = Decimal(10) ** 12
THRESHOLDS_MAX = 10
PERCENT_MAX = 1000
WINDOW_DAYS_MAX = 92
RANGE_DAYS_MAX = 1100
FACTOR_MAX = Decimal(100)
FACTOR_PLACES = 2
CALM = Fraction(9, 10)
"""An alert is over once its figure fell below this part of the threshold: hysteresis, so that a
figure that hovers about the threshold is one alert."""


class Period(StrEnum):
    """How long a budget's amount is for."""

    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    RANGE = "range"


_MONTHS = {Period.MONTH: 1, Period.QUARTER: 3, Period.YEAR: 12}


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `first` until before `end`, of the organization's time zone."""

    first: date
    end: date

    @property
    def days(self) -> int:
        """How many."""
        return (self.end - self.first).days

    @property
    def last(self) -> date:
        """The last day."""
        return self.end - timedelta(days=1)

    def holds(self, day: date) -> bool:
        """Whether a day is one of them."""
        return self.first <= day < self.end


def span_of(period: Period, day: date, *, range_: Span | None = None) -> Span:
    """The period that holds a day; of a range, the range.

    Quarters begin in January, April, July and October; years in January.
    """
    if period == Period.RANGE:
        if range_ is None:
            raise ValueError("a range has a first and a last day")
        return range_
    months = _MONTHS[period]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    return Span(first, _months_later(first, months))


def span_before(period: Period, span: Span) -> Span | None:
    """The period before; a range has none."""
    if period == Period.RANGE:
        return None
    return span_of(period, span.first - timedelta(days=1))


def _months_later(first: date, months: int) -> date:
    number = first.year * 12 + first.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnRule:
    """Alert when both windows burn at least `factor` times as fast as the budget allows."""

    long_days: int
    short_days: int
    factor: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """When a budget speaks up.

    Attributes:
        spent: percent of the amount that is spent.
        forecast: percent of the amount that the forecast comes to.
        burn: rates. The defaults use up 30 % of a month's budget in 3 days, or 35 % in 7.
    """

    spent: tuple[int, ...] = (50, 80, 100)
    forecast: tuple[int, ...] = (100,)
    burn: tuple[BurnRule, ...] = (
        BurnRule(long_days=3, short_days=1, factor=Decimal(3)),
        BurnRule(long_days=7, short_days=1, factor=Decimal("1.5")),
    )

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            Invalid: `threshold_out_of_range`, `burn_rule_out_of_range`.
        """
        for name in ("spent", "forecast"):
            values = getattr(self, name)
            if len(values) > THRESHOLDS_MAX or len(set(values)) < len(values):
                raise _thresholds(name)
            if any(not 1 <= value <= PERCENT_MAX for value in values):
                raise _thresholds(name)
        if len(self.burn) > THRESHOLDS_MAX or len(set(self.burn)) < len(self.burn):
            raise _burn("burn")
        for at, rule in enumerate(self.burn):
            fits = 1 <= rule.short_days < rule.long_days <= WINDOW_DAYS_MAX
            factor = rule.factor
            if not fits or not factor.is_finite() or not 0 < factor <= FACTOR_MAX:
                raise _burn(f"burn[{at}]")
            if factor != round(factor, FACTOR_PLACES):
                raise _burn(f"burn[{at}]")


def _thresholds(place: str) -> Invalid:
    return Invalid(
        "threshold_out_of_range",
        f"Thresholds are up to {THRESHOLDS_MAX} different whole percents, 1 to {PERCENT_MAX}.",
        field=place,
        facts={"minimum": 1, "maximum": PERCENT_MAX},
    )


def _burn(place: str) -> Invalid:
    return Invalid(
        "burn_rule_out_of_range",
        f"A burn rule has a long window of up to {WINDOW_DAYS_MAX} days, a shorter one, and a "
        f"factor above 0, at most {FACTOR_MAX}, with {FACTOR_PLACES} decimals; each rule once, up "
        f"to {THRESHOLDS_MAX}.",
        field=place,
        facts={"maximum": WINDOW_DAYS_MAX},
    )


def check_amount(amount: Decimal, *, places: int, currency: str) -> None:
    """Whether an amount can be a budget.

    Raises:
        Invalid: `amount_out_of_range`.
    """
    if not amount.is_finite() or not 0 < amount <= AMOUNT_MAX or amount != round(amount, places):
        raise Invalid(
            "amount_out_of_range",
            f"An amount is above 0, in {currency}, with at most {places} decimals.",
            field="amount",
            facts={"maximum": int(AMOUNT_MAX), "places": places},
        )


def check_range(span: Span) -> None:
    """Whether a range can be a budget's period.

    Raises:
        Invalid: `range_malformed`.
    """
    if not 1 <= span.days <= RANGE_DAYS_MAX:
        raise Invalid(
            "range_malformed",
            f"A range ends after it begins and has at most {RANGE_DAYS_MAX} days.",
            field="ends_on",
            facts={"maximum": RANGE_DAYS_MAX},
        )


@dataclass(frozen=True, slots=True)
class Alarm:
    """What can fire once a period. `kind`: spent, forecast or burn; `rule` names the threshold in
    one spelling (`80`, or `7/1/1.5` for days, days and factor)."""

    kind: str
    rule: str


@dataclass(frozen=True, slots=True)
class Past:
    """An alert of this period that has fired, for an amount; over: its figure has calmed since."""

    alarm: Alarm
    amount: Decimal
    over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Where a budget stands.

    Attributes:
        spent: in the period so far. Below 0 where credits are more than use.
        forecast: for the whole period; None: there is none.
        burns: by length of a window in days, the burn rate; windows that do not lie in the period
            are not in it.
    """

    amount: Decimal
    spent: Decimal
    forecast: Decimal | None
    burns: Mapping[int, Fraction]

    @property
    def remaining(self) -> Decimal:
        """What is left; never below 0."""
        return self.amount - min(self.amount, self.spent)

    @property
    def overspent(self) -> Decimal:
        """What was spent beyond it; never below 0."""
        return self.spent - min(self.amount, self.spent)

    @property
    def share(self) -> Fraction:
        """The spent part of the amount; 1 is all of it."""
        return Fraction(self.spent) / Fraction(self.amount)


def window_burn(
    costs: Mapping[date, Decimal], span: Span, *, amount: Decimal, today: date, days: int
) -> Fraction | None:
    """The burn rate of the last whole days before today; None where they begin before the period:
    what was spent of the last budget says nothing about this one.

    Args:
        costs: by day; a day that is not in it cost nothing.
    """
    first = today - timedelta(days=days)
    if first < span.first or today > span.end:
        return None
    spent = sum((costs.get(first + timedelta(days=n), Decimal(0)) for n in range(days)), Decimal(0))
    return Fraction(spent) * span.days / (Fraction(amount) * days)


def burns(
    costs: Mapping[date, Decimal], span: Span, *, amount: Decimal, today: date, alerts: Alerts
) -> dict[int, Fraction]:
    """The burn rates of every window of the rules, and of the last day and week."""
    lengths = {1, 7, *(n for rule in alerts.burn for n in (rule.long_days, rule.short_days))}
    found = {
        days: window_burn(costs, span, amount=amount, today=today, days=days)
        for days in sorted(lengths)
    }
    return {days: burn for days, burn in found.items() if burn is not None}


@dataclass(frozen=True, slots=True)
class Reading:
    """An alarm with its figure and threshold in the same measure: percent, or times."""

    alarm: Alarm
    figure: Fraction
    threshold: Fraction


def readings(figures: Figures, alerts: Alerts) -> list[Reading]:
    """Every alarm of a budget that has a figure, in the order in which they are listed."""
    amount = Fraction(figures.amount)
    gone = Fraction(figures.spent) * 100 / amount
    found = [
        Reading(Alarm("spent", str(percent)), gone, Fraction(percent))
        for percent in sorted(alerts.spent)
    ]
    if figures.forecast is not None:
        coming = Fraction(figures.forecast) * 100 / amount
        found += [
            Reading(Alarm("forecast", str(percent)), coming, Fraction(percent))
            for percent in sorted(alerts.forecast)
        ]
    for rule in alerts.burn:
        windows = (figures.burns.get(rule.long_days), figures.burns.get(rule.short_days))
        if windows[0] is None or windows[1] is None:
            continue
        # Both must burn, so the slower one decides.
        alarm = Alarm("burn", rule_name(rule))
        found.append(Reading(alarm, min(windows[0], windows[1]), Fraction(rule.factor)))
    return found


def rule_name(rule: BurnRule) -> str:
    """The one spelling of a burn rule: `7/1/1.5`."""
    factor = f"{rule.factor.normalize():f}"
    return f"{rule.long_days}/{rule.short_days}/{factor}"


def due(
    figures: Figures, alerts: Alerts, past: Iterable[Past]
) -> tuple[list[Reading], list[Reading]]:
    """Which alarms fire now, and which are over.

    An alarm of spending or forecast fires once per period, threshold and amount: after the amount
    was changed it may fire again. One of a rate may fire again once it was over. It is over when
    its figure fell below CALM of the threshold.
    """
    known: dict[Alarm, list[Past]] = {}
    for one in past:
        known.setdefault(one.alarm, []).append(one)
    fire, over = [], []
    for reading in readings(figures, alerts):
        before = known.get(reading.alarm, [])
        open_ = [one for one in before if not one.over]
        calm = reading.figure < reading.threshold * CALM
        if open_ and calm:
            over.append(reading)
        repeats = reading.alarm.kind != "burn" and any(
            one.amount == figures.amount for one in before
        )
        if reading.figure >= reading.threshold and not open_ and not repeats:
            fire.append(reading)
    return fire, over


def state(figures: Figures, span: Span, *, today: date) -> str:
    """In one word: `over` (spent beyond it), `at_risk` (the forecast is beyond it), `ok`, `ended`
    (the period is over and it was kept), `planned` (the period has not begun)."""
    if figures.spent > figures.amount:
        return "over"
    if today < span.first:
        return "planned"
    if today >= span.end:
        return "ended"
    if figures.forecast is not None and figures.forecast > figures.amount:
        return "at_risk"
    return "ok"


@dataclass(frozen=True, slots=True)
class Room:
    """What a budget above leaves for one below it. `others`: the sum of the other budgets of the
    same period below it."""

    amount: Decimal
    others: Decimal

    @property
    def left(self) -> Decimal:
        """What the one below may have at most."""
        return max(Decimal(0), self.amount - self.others)


def nearest_below(
    account: object, paths: Mapping[object, Sequence[object]], budgeted: Iterable[object]
) -> list[object]:
    """The accounts with a budget below another with none between: those whose budgets are its
    parts.

    Args:
        paths: of each account with a budget, the accounts from the root down to it.
    """
    holders = set(budgeted)
    found = []
    for one in holders:
        path = list(paths[one])
        if one == account or account not in path:
            continue
        between = path[path.index(account) + 1 : -1]
        if not holders.intersection(between):
            found.append(one)
    return sorted(found, key=str)
