"""Months, the turn in which they close, totals and digests."""

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.domain import statements
from accounting.domain.lines import Key, Kind, Line
from accounting.domain.statements import Finding, Month
from ledger.errors import DomainError

BERLIN = ZoneInfo("Europe/Berlin")
OCTOBER = statements.month_of(date(2026, 10, 1), BERLIN)
LATER = datetime(2026, 11, 3, tzinfo=UTC)


def line(amount, account="a", kind=Kind.USAGE, **values):
    key = Key(kind=kind, account=account, above=("root", account), **values)
    return Line(key=key, amount=Decimal(amount), list_amount=Decimal(amount))


def test_a_month_is_half_open_in_the_zone_of_the_organization():
    assert OCTOBER.start == datetime(2026, 9, 30, 22, tzinfo=UTC)
    assert OCTOBER.end == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert OCTOBER.name == "2026-10"
    assert statements.month_before(date(2026, 1, 1)) == date(2025, 12, 1)
    assert statements.month_before(date(2026, 12, 1)) == date(2026, 11, 1)
    assert statements.month_after(date(2026, 12, 1)) == date(2027, 1, 1)


@pytest.mark.parametrize("first", [date(2026, 10, 2), date(1999, 1, 1), date(2099, 1, 1)])
def test_a_month_is_given_by_its_first_day(first):
    with pytest.raises(DomainError) as caught:
        statements.month_of(first, BERLIN)
    assert caught.value.code == "month_malformed"


def closing(month: Month = OCTOBER, *, state="open", last=None, newest="closed", now=LATER):
    statements.check_close(month, state=state, last_closed=last, newest=newest, now=now)


def test_months_close_when_they_are_over_and_one_after_the_other():
    closing()
    closing(last=date(2026, 9, 1))
    closing(now=OCTOBER.end)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"state": "closing"}, "month_closing"),
        ({"state": "closed"}, "month_closed_already"),
        ({"now": datetime(2026, 10, 31, 22, 59, tzinfo=UTC)}, "month_not_over"),
        ({"last": date(2026, 8, 1)}, "month_out_of_turn"),
        ({"last": date(2026, 10, 1), "newest": "closing"}, "month_out_of_turn"),
        ({"last": date(2026, 11, 1)}, "month_out_of_turn"),
    ],
)
def test_a_close_that_cannot_be_says_why(values, code):
    with pytest.raises(DomainError) as caught:
        closing(**values)
    assert caught.value.code == code


def test_findings_are_accepted_by_name():
    findings = [Finding("unrated_use", "a"), Finding("telemetry_missing", "b")]
    statements.check_accepted(findings, ["telemetry_missing", "unrated_use"])
    with pytest.raises(DomainError) as caught:
        statements.check_accepted(findings, ["telemetry_missing"])
    assert caught.value.facts == {"codes": ["unrated_use"]}


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(-(10**9), 10**9), st.sampled_from(Kind)),
        max_size=20,
    )
)
def test_statements_add_up_to_the_organization(facts):
    lines = [line(Decimal(cents).scaleb(-2), account, kind) for account, cents, kind in facts]
    statements_of = statements.by_account(lines)
    whole = statements.totals(lines)
    each = [statements.totals(part) for part in statements_of.values()]
    assert sum((one.amount for one in each), Decimal(0)) == whole.amount
    assert sum(one.lines for one in each) == whole.lines == len(lines)


@given(st.permutations(["a", "b", "c", "d"]))
def test_lines_are_numbered_the_same_in_whatever_order_they_are_found(names):
    found = statements.in_order([line("1", name) for name in names])
    assert [one.key.account for one in found] == ["a", "b", "c", "d"]


def test_a_digest_does_not_depend_on_how_a_number_is_written():
    one = statements.digest([("a", Decimal("1.50"), None, date(2026, 10, 1), {"b": "1", "a": "2"})])
    same = statements.digest([("a", Decimal("1.5"), None, date(2026, 10, 1), {"a": "2", "b": "1"})])
    other = statements.digest([("a", Decimal("1.51"), None, date(2026, 10, 1), {})])
    assert one == same != other
    assert statements.digest([("a",), ("b",)]) != statements.digest([("b",), ("a",)])
