"""Rate cards: which version holds when, what may be published, and which line is at fault."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounting.domain import rate_cards
from accounting.domain.rate_cards import RateLine, RateVersion, check_publish, rate_card
from ledger.errors import Conflict, DomainError, Invalid, Refused

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def version(days: float, until: float | None = None, *, name: str = "new") -> RateVersion:
    return RateVersion(
        id=name,
        effective_from=NOW + days * DAY,
        effective_until=None if until is None else NOW + until * DAY,
        lines=(RateLine(flavor="h100", list_price=Decimal(2)),),
    )


def test_a_version_holds_until_its_end_or_the_next():
    card = rate_card([version(10, name="c"), version(0, name="a"), version(2, 4, name="b")])
    days = [-1, 0, 1, 2, 3.9, 4, 9, 10, 100]
    found = [card.at(NOW + day * DAY) for day in days]
    assert [one and one.id for one in found] == [None, *"aa", *"bb", None, None, *"cc"]
    assert card.changes == [NOW + day * DAY for day in (0, 2, 4, 10)]
    assert card.price(NOW, flavor="a100", tier="spot") is None
    assert card.price(NOW, flavor="h100", tier="spot").price == 2


@pytest.mark.parametrize(
    ("versions", "place"),
    [
        ([version(0), version(0)], "versions[1].effective_from"),
        ([version(3), version(0, 5)], "versions[0].effective_from"),
    ],
)
def test_versions_that_overlap_are_named(versions, place):
    with pytest.raises(Conflict) as caught:
        rate_card(versions)
    assert (caught.value.code, caught.value.field) == ("rates_overlap", place)


def test_a_version_that_ends_before_it_begins():
    with pytest.raises(Invalid) as caught:
        rate_card([version(0), version(3, 3)])
    assert (caught.value.code, caught.value.field) == (
        "rates_backwards",
        "versions[1].effective_until",
    )


@pytest.mark.parametrize(
    ("there", "new"),
    [
        ([], version(0)),
        ([], version(-400)),  # nothing was priced: use so far gets its price
        ([version(-10)], version(0)),
        ([version(-10)], version(5, 8)),
        ([version(-10), version(20)], version(5)),
        ([version(-10)], version(-30)),  # holds until the other began
        ([version(-10, -5)], version(-5)),  # the gap since
        ([version(-10, -5), version(3)], version(-4, 3)),
    ],
)
def test_what_may_be_published(there, new):
    card = rate_card(there)
    check_publish(card, new, now=NOW, closed_until=None)
    assert new in rate_card([*there, new]).versions


@pytest.mark.parametrize(
    ("there", "new", "code", "field"),
    [
        ([version(-10)], version(-1), "rates_in_the_past", "effective_from"),
        ([version(-10), version(-5)], version(-7), "rates_in_the_past", "effective_from"),
        ([version(-10)], version(-10), "rates_overlap", "effective_from"),
        ([version(-10, 5)], version(3), "rates_overlap", "effective_from"),
        ([version(5)], version(3, 6), "rates_overlap", "effective_until"),
        ([], version(3, 2), "rates_backwards", "effective_until"),
        ([], version(-40), "month_closed", "effective_from"),
    ],
)
def test_what_may_not_be_published_and_the_way_out(there, new, code, field):
    with pytest.raises(DomainError) as caught:
        check_publish(rate_card(there), new, now=NOW, closed_until=NOW - 29 * DAY)
    assert (caught.value.code, caught.value.field) == (code, field)
    if isinstance(caught.value, Refused):
        assert "credit" in caught.value.detail


def line(**values) -> RateLine:
    return RateLine(**({"flavor": "h100", "list_price": Decimal(2)} | values))


@pytest.mark.parametrize(
    ("lines", "code", "field"),
    [
        ([], "lines_missing", "lines"),
        ([line()] * 1001, "out_of_range", "lines"),
        ([line(list_price=Decimal(-1))], "out_of_range", "lines[0].list_price"),
        ([line(list_price=Decimal("NaN"))], "out_of_range", "lines[0].list_price"),
        ([line(list_price=Decimal("1E-13"))], "out_of_range", "lines[0].list_price"),
        (
            [line(), line(tier="spot", contracted_price=Decimal(-1))],
            "out_of_range",
            "lines[1].contracted_price",
        ),
        ([line(tier="best")], "tier_unknown", "lines[0].tier"),
        ([line(grade=" ")], "grade_malformed", "lines[0].grade"),
        ([line(), line(tier="spot"), line()], "line_duplicate", "lines[2]"),
    ],
)
def test_lines_at_fault_are_named(lines, code, field):
    with pytest.raises(Invalid) as caught:
        rate_cards.check_lines(lines)
    assert (caught.value.code, caught.value.field) == (code, field)


def test_good_lines_pass():
    rate_cards.check_lines(
        [
            line(),
            line(tier="spot"),
            line(grade="academic"),
            line(list_price=Decimal("1E-12"), flavor=1),
        ]
    )


def test_the_currency_is_fixed():
    rate_cards.check_currency(None, "EUR")
    rate_cards.check_currency("EUR", "EUR")
    with pytest.raises(Refused) as caught:
        rate_cards.check_currency("USD", "EUR")
    assert caught.value.code == "currency_fixed"
