"""What always holds of budgets, forecasts and costs by day, whatever the numbers."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from accounting.cost_days import by_account
from accounting.domain import budgets
from accounting.domain.anomalies import anomalies
from accounting.domain.budgets import Alerts, Figures, Past, Period, Span
from accounting.domain.forecast import Cost, forecast, spent_in
from accounting.domain.lines import Key, Kind, Line

TODAY = date(2026, 11, 16)
NOVEMBER = Span(date(2026, 11, 1), date(2026, 12, 1))
LONG_AGO = date(2026, 1, 1)

cents = st.integers(0, 10**9).map(lambda n: Decimal(n).scaleb(-2))
days = st.dates(date(2000, 1, 1), date(2098, 12, 31))
costs = st.lists(cents, min_size=57, max_size=57).map(
    lambda values: {TODAY - timedelta(days=n): cost for n, cost in enumerate(values)}
)


def told(found: dict[date, Decimal], rest=Fraction(1, 2)):
    return forecast(
        {day: Cost(use=cost) for day, cost in found.items()},
        NOVEMBER,
        today=TODAY,
        rest_of_today=rest,
        since=LONG_AGO,
        places=2,
    )


@given(costs)
def test_a_forecast_is_between_its_bounds_and_never_below_what_is_spent(found):
    spent = spent_in({day: Cost(use=cost) for day, cost in found.items()}, NOVEMBER)
    coming = told(found)
    assert spent <= coming.low <= coming.amount <= coming.high
    assert all(cost >= 0 for _, cost in coming.days)
    assert list(coming.cone) == sorted(coming.cone)


@given(costs, st.sampled_from(sorted(range(57))), cents)
def test_a_dearer_day_never_lowers_a_forecast(found, n, more):
    day = TODAY - timedelta(days=n)
    dearer = found | {day: found[day] + more}
    assert told(dearer).amount >= told(found).amount


@given(costs, st.fractions(0, 1), st.fractions(0, 1))
def test_the_later_the_hour_the_less_is_expected(found, one, other):
    early, late = max(one, other), min(one, other)
    assert told(found, early).amount >= told(found, late).amount


@given(costs, cents, st.integers(1, 5))
def test_ten_times_the_money_is_as_odd(found, minimum, times):
    window = {"first": TODAY - timedelta(days=14), "end": TODAY, "since": LONG_AGO}
    once = anomalies(found, minimum=minimum, **window)
    more = anomalies({d: c * times for d, c in found.items()}, minimum=minimum * times, **window)
    assert [(one.day, one.direction) for one in once] == [(o.day, o.direction) for o in more]


@given(st.sampled_from([Period.MONTH, Period.QUARTER, Period.YEAR]), days)
def test_periods_tile_the_calendar(period, day):
    span = budgets.span_of(period, day)
    assert span.holds(day)
    assert budgets.span_of(period, span.last) == span
    assert budgets.span_of(period, span.end).first == span.end
    assert budgets.span_before(period, budgets.span_of(period, span.end)) == span


@given(costs, st.integers(1, 10**9).map(lambda n: Decimal(n).scaleb(-2)), st.integers(1, 15))
def test_a_burn_rate_of_one_would_just_use_the_budget_up(found, amount, length):
    rate = budgets.window_burn(found, NOVEMBER, amount=amount, today=TODAY, days=length)
    spent = sum((found[TODAY - timedelta(days=n)] for n in range(1, length + 1)), Decimal(0))
    assert rate >= 0
    assert rate * Fraction(amount) / NOVEMBER.days * length == Fraction(spent)


figures = st.builds(
    Figures,
    amount=st.integers(1, 200).map(Decimal),
    spent=st.integers(-50, 400).map(Decimal),
    forecast=st.none() | st.integers(0, 400).map(Decimal),
    burns=st.dictionaries(st.sampled_from([1, 3, 7]), st.fractions(0, 5)),
)


@given(st.lists(figures, max_size=12))
def test_of_an_alarm_only_one_alert_is_ever_open(run):
    past: list[Past] = []
    for found in run:
        fire, over = budgets.due(found, Alerts(), past)
        assert not {one.alarm for one in fire} & {one.alarm for one in over}
        calmed = {one.alarm for one in over}
        past = [Past(one.alarm, one.amount, one.over or one.alarm in calmed) for one in past] + [
            Past(one.alarm, found.amount, False) for one in fire
        ]
        open_ = [one.alarm for one in past if not one.over]
        assert len(open_) == len(set(open_))
        assert budgets.due(found, Alerts(), past) == ([], [])
        money = [(one.alarm, one.amount) for one in past if one.alarm.kind != "burn"]
        assert len(money) == len(set(money))


@given(figures, st.integers(0, 300).map(Decimal))
def test_more_spending_never_silences_an_alert(found, more):
    dearer = Figures(
        amount=found.amount,
        spent=found.spent + more,
        forecast=None if found.forecast is None else found.forecast + more,
        burns={days: rate + 1 for days, rate in found.burns.items()},
    )
    fires = {one.alarm for one in budgets.due(found, Alerts(), [])[0]}
    assert fires <= {one.alarm for one in budgets.due(dearer, Alerts(), [])[0]}
    assert found.remaining >= dearer.remaining >= 0
    assert found.overspent >= 0


PATHS = {
    "root": ("root",),
    "a": ("root", "a"),
    "b": ("root", "b"),
    "aa": ("root", "a", "aa"),
    "ab": ("root", "a", "ab"),
}
lines = st.lists(
    st.tuples(
        st.sampled_from(sorted(PATHS)),
        st.sampled_from([Kind.USAGE, Kind.IDLE, Kind.LENDING, Kind.DISCOUNT, Kind.CREDIT]),
        st.integers(1, 28),
        st.integers(-(10**8), 10**8).map(lambda n: Decimal(n).scaleb(-2)),
    ),
    max_size=40,
)


@given(lines)
def test_a_subtree_costs_what_its_parts_cost_together(found):
    def amount_of(account: str, day: int) -> int:
        return sum(whole.get((account, date(2026, 11, day)), [0]))

    rows = [
        (
            Line(
                key=Key(kind=kind, account=account, above=PATHS[account]),
                amount=amount,
                list_amount=amount,
            ),
            {date(2026, 11, day): amount},
        )
        for account, kind, day, amount in found
    ]
    whole = by_account(rows)
    own = by_account([(line, parts) for line, parts in rows if line.key.account == "a"])
    for day in range(1, 29):
        mine = sum(own.get(("a", date(2026, 11, day)), [0]))
        assert amount_of("a", day) == mine + amount_of("aa", day) + amount_of("ab", day)
    everything = sum(sum(sums) for (account, _), sums in whole.items() if account == "root")
    assert Decimal(everything).scaleb(-4) == sum((row[3] for row in found), Decimal(0))
