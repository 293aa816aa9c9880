"""The formula of each kind of line, and that late use makes a month what it would have been."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.domain import guarantees, lines, money, rating
from accounting.domain.lines import Guarantee, Key, Kind, Line, Terms
from accounting.domain.rate_cards import RateLine, RateVersion, rate_card
from accounting.domain.rating import Record
from accounting.domain.steps import Spans
from ledger.errors import DomainError

HOUR = 3600
PLACE = {"account": "nlp", "above": ("root", "nlp")}


def guarantee(promised, idle, lent=0, price="2", **values) -> Guarantee:
    """Amounts in unit-hours."""
    prices = {"price": Decimal(price), "list_price": Decimal(price)}
    found = {**PLACE, "pool": "h100", "flavor": "h100-80gb", "grade": None, "version": "v1"}
    amounts = {"promised": promised, "idle": idle, "lent": lent}
    return Guarantee(
        **found, **prices, **{name: Fraction(value) * HOUR for name, value in amounts.items()}
    )


def used(amount, *, tier="guaranteed", account="nlp", above=("root", "nlp"), pool="h100") -> Line:
    key = Key(kind=Kind.USAGE, account=account, above=above, pool=pool, tier=tier)
    return Line(key=key, amount=Decimal(amount), list_amount=Decimal(amount))


def test_500_gpus_idle_for_three_weeks_at_2_cost_504000():
    one = guarantee(500 * 504, 500 * 504)
    (idle,) = lines.of_guarantee(one, Terms(), places=2)
    assert (idle.kind, idle.amount) == (Kind.IDLE, Decimal("504000.00"))
    assert idle.unit_seconds == 500 * 504 * HOUR


def test_what_others_borrowed_is_given_back_by_half():
    idle, lending = lines.of_guarantee(guarantee(100, 60, 40), Terms(), places=2)
    assert (idle.amount, lending.amount) == (Decimal("120.00"), Decimal("-40.00"))
    assert lending.facts["share"] == "0.5"


def test_idle_time_costs_nothing_where_it_has_no_price_or_no_share():
    assert lines.of_guarantee(guarantee(9, 9, 9), _terms(idle="0", lending="0"), places=2) == []
    unrated = Guarantee(
        **PLACE,
        pool="h100",
        flavor="f",
        grade=None,
        version=None,
        promised=Fraction(9),
        idle=Fraction(9),
        lent=Fraction(0),
        price=None,
        list_price=None,
    )
    assert lines.of_guarantee(unrated, Terms(), places=2) == []


def _terms(*, idle="1", lending="0.5", ladder=(("0.8", "0.05"), ("0.9", "0.1"))) -> Terms:
    return Terms(
        idle_share=Decimal(idle),
        lending_share=Decimal(lending),
        ladder=tuple((Decimal(above), Decimal(rate)) for above, rate in ladder),
    )


@pytest.mark.parametrize(
    ("idle", "amount"),
    [(20, None), (19, "-50.00"), (10, "-50.00"), (9, "-100.00"), (0, "-100.00")],
)
def test_the_discount_is_earned_above_its_step(idle, amount):
    charged = [used("1000"), used("500", tier="borrowed"), used("9", account="b", above=("b",))]
    found = lines.discounts(charged, [guarantee(100, idle)], _terms(), places=2)
    assert [str(one.amount) for one in found] == ([] if amount is None else [amount])


def test_the_discount_counts_the_month_across_prices():
    halves = [guarantee(50, 9), guarantee(50, 10, price="3")]
    (found,) = lines.discounts([used("100"), used("0.50")], halves, _terms(), places=2)
    assert found.amount == Decimal("-5.02")  # 5.025, half to even
    assert found.facts == {"utilization": "0.81", "rate": "0.05", "base": "100.5"}


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"idle": "1.1"}, "share_out_of_range"),
        ({"idle": "-1"}, "share_out_of_range"),
        ({"idle": "NaN"}, "share_out_of_range"),
        ({"idle": "0.4"}, "share_out_of_range"),
        ({"ladder": (("0.8", "0.0000001"),)}, "share_out_of_range"),
        ({"ladder": (("0.8", "0.1"), ("0.8", "0.2"))}, "ladder_malformed"),
        ({"ladder": (("0.8", "0.2"), ("0.9", "0.1"))}, "ladder_malformed"),
        ({"ladder": tuple((str(n / 100), "0.1") for n in range(21))}, "ladder_malformed"),
    ],
)
def test_terms_that_make_no_sense_are_refused(values, code):
    with pytest.raises(DomainError) as caught:
        _terms(**values)
    assert caught.value.code == code


def test_a_commitment_charges_what_is_missing_of_account_and_below():
    charged = [
        used("70"),
        used("20", account="sub", above=("root", "nlp", "sub")),
        used("99", account="x", above=("root", "x")),
        lines.credit(Decimal(50), ref="c", **PLACE, about=None, reason="r"),
    ]
    missing = lines.commitment(Decimal(100), charged, ref="k", **PLACE)
    assert missing.amount == 10
    assert missing.facts == {"committed": "100", "charged": "90"}
    assert lines.commitment(Decimal(90), charged, ref="k", **PLACE) is None


def test_a_credit_names_the_month_it_is_about():
    one = lines.credit(Decimal(5), ref="c", **PLACE, about=date(2026, 9, 1), reason="outage")
    assert (one.kind, one.amount, one.about) == (Kind.CREDIT, -5, date(2026, 9, 1))


# What comes late

START = datetime(2026, 10, 1, tzinfo=UTC)
CARD = rate_card(
    [
        RateVersion(
            id="v1",
            effective_from=START,
            lines=(RateLine(flavor="f", list_price=Decimal("0.07")),),
        )
    ]
)
record = st.builds(
    Record,
    account=st.sampled_from("ab"),
    flavor=st.just("f"),
    tier=st.sampled_from(("guaranteed", "spot")),
    units=st.integers(1, 9),
    start=st.integers(0, 10**6).map(lambda n: START + timedelta(microseconds=n)),
    end=st.integers(10**6, 10**11).map(lambda n: START + timedelta(microseconds=n)),
)


def rated(records) -> list[Line]:
    found = rating.rate(records, CARD, zone=ZoneInfo("UTC"), currency="EUR")
    return [
        lines.usage(one, account=one.group.account, above=(one.group.account,))
        for one in found.lines
    ]


@given(st.lists(st.lists(record, max_size=4), min_size=1, max_size=4))
def test_a_month_with_its_adjustments_is_what_it_would_have_been(waves):
    seen, charged = [], []
    for number, wave in enumerate(waves):
        seen += wave
        late = lines.adjustments(charged, rated(seen), about=START.date())
        charged += rated(seen) if number == 0 else late
        assert all(one.kind == Kind.ADJUSTMENT and one.about == START.date() for one in late)
    whole = rated(seen)
    assert money.total([one.amount for one in charged]) == money.total(
        [one.amount for one in whole]
    )
    assert lines.adjustments(charged, whole, about=START.date()) == []


def test_use_that_is_taken_back_is_given_back():
    once = rated([Record(account="a", flavor="f", tier="spot", units=3, start=START,
                         end=START + timedelta(hours=10))])  # fmt: skip
    (back,) = lines.adjustments(once, [], about=START.date())
    assert (back.amount, back.unit_seconds) == (Decimal("-2.10"), -3 * 10 * HOUR)
    assert back.key.kind == Kind.USAGE


@given(
    st.integers(-(10**6), 10**6),
    st.dictionaries(st.text(max_size=3), st.integers(-3, 10**6).map(Decimal), max_size=8),
)
def test_parts_of_a_line_add_up_to_it(cents, weights):
    amount = Decimal(cents).scaleb(-2)
    found = lines.parts(amount, weights, places=2)
    assert sum(found.values(), Decimal(0)) == (amount if weights else 0)
    assert set(found) == set(weights)


# Guarantees


def spans(*rows) -> Spans:
    """Rows (account, start, end, units)."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Spans(key=columns[0], start=columns[1], end=columns[2], units=columns[3])


def shares(used_, promised, parents=(-1, 0, 0), bounds=(0, 10), known=(0, 10)):
    return guarantees.shares(
        spans(*used_), spans(*promised), parents=parents, bounds=bounds, known=known
    )


def test_use_fills_the_own_guarantee_and_flows_up():
    # 0 is the department with 20 of its own; 1 uses 15 of 10, 2 uses 4 of 10.
    promised = [(0, 0, 10, 20), (1, 0, 10, 10), (2, 0, 10, 10)]
    found = shares([(1, 0, 10, 15), (2, 0, 10, 4)], promised)
    assert {who: one.idle for who, one in found.items()} == {0: (150,), 1: (0,), 2: (60,)}
    assert found[0].promised == (200,)


def test_segments_and_unknown_time_are_kept_apart():
    found = shares([(1, 2, 4, 5)], [(1, 0, 99, 5)], bounds=(0, 3, 10), known=(1, 6))
    assert found[1].promised == (10, 15)
    assert found[1].idle == (5, 10)


def test_huge_amounts_do_not_wrap_around():
    found = shares([], [(0, 0, 10**13, 10**9)], (-1,), (0, 10**13), (0, 10**13))
    assert found[0].idle == (10**22,)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20), st.integers(1, 9)),
        max_size=8,
    ),
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20), st.integers(1, 9)),
        max_size=8,
    ),
)
def test_shares_are_those_of_counting_each_instant(use, promise):
    parents, bounds = (-1, 0, 1, 0), (0, 7, 20)
    found = shares(use, promise, parents, bounds, (3, 18))
    counted: dict = {}
    for now in range(3, 18):
        flow = [sum(u for a, s, e, u in use if a == n and s <= now < e) for n in range(4)]
        for n in (3, 2, 1, 0):
            own = sum(u for a, s, e, u in promise if a == n and s <= now < e)
            segment = 0 if now < 7 else 1
            sums = counted.setdefault(n, ([0, 0], [0, 0]))
            sums[0][segment] += own
            sums[1][segment] += max(0, own - flow[n])
            if parents[n] >= 0:
                flow[parents[n]] += max(0, flow[n] - own)
    for n in range(4):
        one = found.get(n)
        assert (one.promised if one else (0, 0)) == tuple(counted[n][0])
        assert (one.idle if one else (0, 0)) == tuple(counted[n][1])


def test_lent_is_the_share_of_what_was_idle():
    found = guarantees.lent({1: (60, 10), 2: (20, 0)}, (40, 99))
    assert found == {1: (Fraction(30), Fraction(10)), 2: (Fraction(10), Fraction(0))}
    assert guarantees.lent({1: (0,)}, (5,)) == {1: (Fraction(0),)}
