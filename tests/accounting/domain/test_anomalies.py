"""Odd days: found where they are, and no false alarm where there is too little to know."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.domain.anomalies import anomalies

DAY = timedelta(days=1)
FIRST, END = date(2026, 11, 1), date(2026, 11, 29)
LONG_AGO = date(2026, 1, 1)


def costs(of_day) -> dict[date, Decimal]:
    days = (FIRST - 70 * DAY + n * DAY for n in range(98))
    return {day: Decimal(of_day(day)) for day in days}


def odd(found, *, since=LONG_AGO, minimum="0") -> list[tuple[int, str]]:
    marked = anomalies(found, first=FIRST, end=END, since=since, minimum=Decimal(minimum))
    return [(one.day.day, one.direction) for one in marked]


def weekly(day: date) -> int:
    """100 on working days with a little noise, 20 on weekends."""
    return (20 if day.weekday() >= 5 else 100) + day.toordinal() * 7 % 5


def test_ordinary_days_are_none_of_them():
    assert odd(costs(weekly)) == []


@pytest.mark.parametrize(
    ("cost", "marked"), [(160, [(18, "high")]), (20, [(18, "low")]), (105, []), (119, [])]
)
def test_a_working_day_that_is_far_off(cost, marked):
    found = costs(weekly)
    found[date(2026, 11, 18)] = Decimal(cost)
    assert odd(found) == marked


def test_a_weekend_that_costs_like_a_working_day():
    found = costs(weekly)
    found[date(2026, 11, 15)] = Decimal(100)
    assert odd(found) == [(15, "high")]


def test_the_bar_is_not_raised_by_the_odd_ones():
    found = costs(weekly)
    for day in (4, 11, 18):  # three Wednesdays running
        found[date(2026, 11, day)] = Decimal(400)
    assert odd(found) == [(4, "high"), (11, "high"), (18, "high")]


def test_a_cent_is_no_alarm_where_every_day_costs_the_same():
    found = costs(lambda day: 100)
    found[date(2026, 11, 18)] = Decimal("100.01")
    found[date(2026, 11, 19)] = Decimal("119.99")
    assert odd(found) == []
    found[date(2026, 11, 20)] = Decimal(121)
    assert odd(found) == [(20, "high")]


def test_small_money_is_no_alarm():
    found = costs(weekly)
    found[date(2026, 11, 18)] = Decimal(160)
    assert odd(found, minimum="50") == [(18, "high")]
    assert odd(found, minimum="100") == []


def test_new_accounts_have_none():
    found = {day: cost for day, cost in costs(weekly).items() if day >= date(2026, 10, 20)}
    found[date(2026, 11, 10)] = found[date(2026, 11, 24)] = Decimal(900)
    # On the 10th three weeks are known, on the 24th five.
    assert odd(found, since=date(2026, 10, 20)) == [(24, "high")]
    assert odd(found, since=None) == []


def test_a_day_without_cost_is_a_day():
    found = costs(weekly)
    del found[date(2026, 11, 18)]
    assert odd(found) == [(18, "low")]
