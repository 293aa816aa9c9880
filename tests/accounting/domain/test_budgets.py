"""Periods, burn rates and which alerts fire."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.domain import budgets
from accounting.domain.budgets import Alarm, Alerts, BurnRule, Figures, Past, Period, Span
from ledger.errors import Invalid

NOVEMBER = Span(date(2026, 11, 1), date(2026, 12, 1))
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("period", "day", "first", "end"),
    [
        ("month", date(2026, 11, 29), date(2026, 11, 1), date(2026, 12, 1)),
        ("month", date(2026, 12, 31), date(2026, 12, 1), date(2027, 1, 1)),
        ("month", date(2028, 2, 29), date(2028, 2, 1), date(2028, 3, 1)),
        ("quarter", date(2026, 11, 29), date(2026, 10, 1), date(2027, 1, 1)),
        ("quarter", date(2026, 3, 31), date(2026, 1, 1), date(2026, 4, 1)),
        ("year", date(2026, 11, 29), date(2026, 1, 1), date(2027, 1, 1)),
    ],
)
def test_the_period_of_a_day(period, day, first, end):
    assert budgets.span_of(Period(period), day) == Span(first, end)


def test_the_period_before():
    quarter = budgets.span_of(Period.QUARTER, date(2026, 2, 1))
    assert budgets.span_before(Period.QUARTER, quarter) == Span(date(2025, 10, 1), date(2026, 1, 1))
    assert budgets.span_before(Period.RANGE, NOVEMBER) is None


def burn(costs: dict[int, str], *, today: int, days: int) -> Fraction | None:
    by_day = {date(2026, 11, day): Decimal(cost) for day, cost in costs.items()}
    return budgets.window_burn(
        by_day, NOVEMBER, amount=Decimal(3000), today=date(2026, 11, today), days=days
    )


@pytest.mark.parametrize(
    ("costs", "today", "days", "rate"),
    [
        # 3000 for 30 days are 100 a day.
        ({9: "100"}, 10, 1, Fraction(1)),
        ({9: "300"}, 10, 1, Fraction(3)),
        ({9: "300"}, 10, 3, Fraction(1)),
        ({10: "900"}, 10, 1, Fraction(0)),  # today is not over
        ({}, 2, 1, Fraction(0)),
        ({}, 1, 1, None),  # yesterday was another month
        ({}, 7, 7, None),
        ({1: "1400"}, 8, 7, Fraction(2)),
    ],
)
def test_the_burn_rate_is_of_whole_days_in_the_period(costs, today, days, rate):
    assert burn(costs, today=today, days=days) == rate


def figures(*, amount="100", spent="0", forecast=None, burns=None) -> Figures:
    return Figures(
        amount=Decimal(amount),
        spent=Decimal(spent),
        forecast=None if forecast is None else Decimal(forecast),
        burns={days: Fraction(rate) for days, rate in (burns or {}).items()},
    )


def fired(found: Figures, *past: Past, alerts=Alerts()) -> list[str]:  # noqa: B008  # frozen
    fire, _ = budgets.due(found, alerts, past)
    return [f"{one.alarm.kind} {one.alarm.rule}" for one in fire]


def test_thresholds_fire_when_they_are_reached():
    assert fired(figures(spent="49.99")) == []
    assert fired(figures(spent="50")) == ["spent 50"]
    assert fired(figures(spent="100", forecast="100")) == [
        "spent 50", "spent 80", "spent 100", "forecast 100",
    ]  # fmt: skip


def test_a_burn_alert_needs_both_windows():
    assert fired(figures(burns={1: 3, 3: "2.9", 7: 1})) == []
    assert fired(figures(burns={1: "2.9", 3: 3, 7: 1})) == []
    assert fired(figures(burns={1: 3, 3: 3, 7: 1})) == ["burn 3/1/3"]
    assert fired(figures(burns={1: 9, 7: 9})) == ["burn 7/1/1.5"]
    assert fired(figures(burns={1: 9})) == []


def past(kind: str, rule: str, *, amount="100", over=False) -> Past:
    return Past(Alarm(kind, rule), Decimal(amount), over)


def test_each_threshold_fires_once_for_an_amount():
    assert fired(figures(spent="60"), past("spent", "50")) == []
    assert fired(figures(spent="60"), past("spent", "50", over=True)) == []
    assert fired(figures(amount="110", spent="60"), past("spent", "50", over=True)) == ["spent 50"]


def test_a_rate_may_alarm_again_once_it_was_over():
    fast = figures(burns={1: 2, 7: 2})
    assert fired(fast, past("burn", "7/1/1.5")) == []
    assert fired(fast, past("burn", "7/1/1.5", over=True)) == ["burn 7/1/1.5"]


@pytest.mark.parametrize(
    ("rate", "calm"), [("2", False), ("1.49", False), ("1.36", False), ("1.34", True)]
)
def test_an_alert_is_over_only_well_below_its_threshold(rate, calm):
    _, over = budgets.due(figures(burns={1: rate, 7: rate}), Alerts(), [past("burn", "7/1/1.5")])
    assert [one.alarm.rule for one in over] == (["7/1/1.5"] if calm else [])


@pytest.mark.parametrize(
    ("spent", "forecast", "today", "state"),
    [
        ("101", None, NOVEMBER.first, "over"),
        ("100", "120", NOVEMBER.first, "at_risk"),
        ("100", "100", NOVEMBER.first, "ok"),
        ("10", None, NOVEMBER.end, "ended"),
        ("0", None, NOVEMBER.first - DAY, "planned"),
    ],
)
def test_the_state_in_one_word(spent, forecast, today, state):
    assert budgets.state(figures(spent=spent, forecast=forecast), NOVEMBER, today=today) == state


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({"spent": (0,)}, "spent", "threshold_out_of_range"),
        ({"spent": (1001,)}, "spent", "threshold_out_of_range"),
        ({"forecast": (80, 80)}, "forecast", "threshold_out_of_range"),
        ({"spent": tuple(range(1, 12))}, "spent", "threshold_out_of_range"),
        ({"burn": (BurnRule(long_days=1, short_days=1, factor=Decimal(2)),)}, "burn[0]",
         "burn_rule_out_of_range"),
        ({"burn": (BurnRule(long_days=93, short_days=1, factor=Decimal(2)),)}, "burn[0]",
         "burn_rule_out_of_range"),
        ({"burn": (BurnRule(long_days=7, short_days=1, factor=Decimal(0)),)}, "burn[0]",
         "burn_rule_out_of_range"),
        ({"burn": (BurnRule(long_days=7, short_days=1, factor=Decimal("1.001")),)}, "burn[0]",
         "burn_rule_out_of_range"),
    ],
)  # fmt: skip
def test_alerts_that_cannot_be(values, field, code):
    with pytest.raises(Invalid) as refused:
        Alerts(**values)
    assert (refused.value.code, refused.value.field) == (code, field)


@pytest.mark.parametrize("amount", ["0", "-1", "1.001", "NaN", "Infinity", "1000000000001"])
def test_amounts_that_cannot_be(amount):
    with pytest.raises(Invalid, match="above 0"):
        budgets.check_amount(Decimal(amount), places=2, currency="EUR")


def test_the_parts_of_a_budget_are_the_nearest_below():
    paths = {"root": ("root",), "a": ("root", "a"), "b": ("root", "a", "b"),
             "c": ("root", "x", "c"), "d": ("root", "a", "b", "d")}  # fmt: skip
    assert budgets.nearest_below("root", paths, ["root", "a", "b", "c", "d"]) == ["a", "c"]
    assert budgets.nearest_below("root", paths, ["root", "b", "c", "d"]) == ["b", "c"]
    assert budgets.nearest_below("a", paths, ["root", "d"]) == ["d"]
