"""The forecast by hand: weekdays, what lies idle, new accounts, and how sure it is."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.domain.budgets import Span
from accounting.domain.forecast import Cost, forecast, spent_in

NOVEMBER = Span(date(2026, 11, 1), date(2026, 12, 1))
TODAY = date(2026, 11, 16)  # a Monday
LONG_AGO = date(2026, 1, 1)


def costs(of_day, *, days: int = 60) -> dict[date, Cost]:
    """The whole days before today."""
    return {day: of_day(day) for day in (TODAY - timedelta(days=n) for n in range(1, days + 1))}


def told(found, *, today=TODAY, rest="1", since=LONG_AGO, span=NOVEMBER):
    return forecast(found, span, today=today, rest_of_today=Fraction(rest), since=since, places=2)


def test_steady_use_goes_on():
    found = told(costs(lambda day: Cost(use=Decimal(10))))
    assert (found.amount, found.low, found.high) == (300, 300, 300)
    assert len(found.days) == 15


def test_weekends_stay_weekends():
    found = told(costs(lambda day: Cost(use=Decimal(0 if day.weekday() >= 5 else 10))))
    # 10 working days of November are over, 11 are left.
    assert found.amount == 210
    assert dict(found.days)[date(2026, 11, 21)] == 0


def test_one_odd_day_moves_nothing():
    odd = costs(lambda day: Cost(use=Decimal(10)))
    odd[date(2026, 11, 10)] = Cost(use=Decimal(5000))
    assert told(odd).amount == 300 + 4990  # it was spent, and is not expected again


def test_of_today_what_is_left_counts():
    found = costs(lambda day: Cost(use=Decimal(10)))
    found[TODAY] = Cost(use=Decimal("2.5"))
    assert told(found, rest="3/4").amount == 300


def test_what_lies_idle_goes_on_as_in_the_last_week():
    raised = TODAY - timedelta(days=7)
    found = told(costs(lambda day: Cost(idle=Decimal(4 if day >= raised else 1))))
    assert found.amount == 8 * 1 + 7 * 4 + 15 * 4


def test_what_is_of_the_whole_month_is_spent_and_not_expected_again():
    found = costs(lambda day: Cost(use=Decimal(10)))
    found[TODAY - timedelta(days=1)] = Cost(use=Decimal(10), other=Decimal(-50))
    assert told(found).amount == 250


@pytest.mark.parametrize(
    ("days", "why"), [(0, "little_history"), (13, "little_history"), (14, ""), (28, "")]
)
def test_a_new_account_has_none(days, why):
    found = told(costs(lambda day: Cost(use=Decimal(10))), since=TODAY - timedelta(days=days))
    assert found.why_not == why
    assert (found.amount is None) == bool(why)


def test_an_account_that_never_cost_anything_has_none():
    assert told({}, since=None).why_not == "little_history"


@pytest.mark.parametrize(
    ("today", "why"), [(date(2026, 12, 1), "over"), (date(2026, 10, 31), "not_begun")]
)
def test_only_a_period_that_goes_on_is_forecast(today, why):
    assert told({}, today=today).why_not == why


def test_the_interval_is_that_of_the_formula():
    """Every second week costs 2 more: each weekday has 9, 11, 9, 11, its median 10; all are off by
    1, so s = 1.4826, and 15 days are left: 1.2816 x 1.4826 x sqrt(15 + 225 / 28) = 9.12."""
    found = told(costs(lambda day: Cost(use=Decimal(9 + 2 * (day.isocalendar().week % 2)))))
    assert found.high - found.amount == Decimal("9.12")
    assert found.amount - found.low == Decimal("9.12")
    widths = [round(width, 2) for width in found.cone]
    assert widths == sorted(widths)
    assert widths[0] == Decimal("1.93")


def test_it_never_ends_below_what_is_spent():
    wild = costs(lambda day: Cost(use=Decimal(0 if day.day % 2 else 500)))
    found = told(wild, today=date(2026, 11, 16), span=Span(date(2026, 11, 1), date(2026, 11, 17)))
    assert found.low >= spent_in(wild, NOVEMBER)
