"""Costs by day add up to the statements, and are drawn when something may have changed."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting import cost_days
from accounting.commands.statements import CloseMonth, GrantCredit, SetStatementTerms, StartClose
from accounting.domain.lines import Kind
from accounting.queries import budgets as queries
from accounting.queries import showback
from ledger import scope
from tests.accounting.budgets.sample_budgets import SINCE, look, spend
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import DAY
from tests.world import NOW, Tenant, record

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)


def costs(place: Tenant, account: str, month: date = NOVEMBER) -> dict:
    end = (month + timedelta(days=32)).replace(day=1)
    with scope.reading(place.id):
        window = (place.accounts[account], month, end)
        return queries.costs_by_day(place.id, [window], places=2)[0]


def charged(place: Tenant, account: str, month: date = NOVEMBER, *, now=NOW) -> Decimal:
    """What the page of costs says, less what a commitment is short of."""
    with scope.reading(place.id):
        found = showback.showback(place.id, place.accounts[account], month, now=now)
    kept = [line.amount for line in found.lines
            if found.state == "closed" or line.kind != Kind.COMMITMENT]  # fmt: skip
    return sum(kept, Decimal(0))


def total(place: Tenant, account: str, month: date = NOVEMBER) -> Decimal:
    return sum((cost.total for cost in costs(place, account, month).values()), Decimal(0))


@pytest.fixture
def place(acme) -> Tenant:
    """nlp uses 8 of 10 promised units at 1/3 an hour, production borrows; nothing is even."""
    promise(acme, "nlp", 10, at=SINCE - 5 * DAY)
    spend(acme, price="0.333333")
    acme.use(
        record("lent", start=SINCE + 40 * DAY, hours=77.7, units=3, account="serving",
               person="alice", tier="borrowed")
    )  # fmt: skip
    acme.run(GrantCredit(account_id=acme.accounts["vision"], amount=Decimal("1.23")), reason="test")
    return acme


def test_the_days_of_an_open_month_add_up_to_its_statements_to_the_cent(place):
    look(place)
    for account in place.accounts:
        assert total(place, account) == charged(place, account), account
    assert {cost.use for day, cost in costs(place, "nlp").items() if day < date(2026, 11, 29)} == {
        Decimal("64.00")
    }


def test_what_an_account_has_is_what_those_below_it_have_together(place):
    look(place)
    parts = [costs(place, name) for name in ("nlp", "vision")]
    for day, cost in costs(place, "research").items():
        assert cost.total == sum(part[day].total for part in parts if day in part)


def test_idle_guarantees_and_what_lending_gives_back_stand_on_their_days(place):
    look(place)
    found = costs(place, "nlp")
    lent = [day.day for day in sorted(found) if found[day].idle < Decimal(16) and found[day].use]
    # Two units lie idle all day: 48 h at 1/3; three borrowed ones gave a part of it back.
    assert found[date(2026, 11, 3)].idle == Decimal("16.00")
    assert lent == [9, 10, 11, 12, 13]


def test_a_credit_stands_on_the_last_day_so_far(place):
    look(place)
    assert costs(place, "vision") == {date(2026, 11, 29): queries.Cost(other=Decimal("-1.23"))}


def test_a_closed_month_is_its_statements(place):
    look(place)
    place.run(StartClose(month=OCTOBER, accept=("telemetry_missing", "unrated_use")), reason="t")
    while not place.run(CloseMonth(month=OCTOBER)).result.closed:
        pass
    look(place, now=NOW + timedelta(hours=1))
    with scope.reading(place.id):
        assert cost_days.drawn(place.id)[OCTOBER].closed
    for account in place.accounts:
        assert total(place, account, OCTOBER) == charged(place, account, OCTOBER), account
    # Late use is an adjustment of November, and changes no day of October.
    before = costs(place, "nlp", OCTOBER)
    place.use(record("late", start=SINCE + DAY, hours=5, units=1))
    look(place, now=NOW + timedelta(hours=3))
    assert costs(place, "nlp", OCTOBER) == before


def test_months_are_drawn_when_something_came_for_them(place):
    def due(now):
        with scope.reading(place.id):
            return cost_days.due_months(place.id, now=now)

    september = date(2026, 9, 1)
    assert due(NOW) == [OCTOBER, NOVEMBER]
    look(place, now=NOW + timedelta(hours=2))
    assert due(NOW + timedelta(hours=4)) == [NOVEMBER]
    assert due(NOW + timedelta(hours=26)) == [OCTOBER, NOVEMBER]
    place.use(record("old", start=SINCE - DAY, hours=1), now=NOW + timedelta(hours=4))
    assert due(NOW + timedelta(hours=5)) == [september, OCTOBER, NOVEMBER]


def test_a_draw_that_changes_nothing_writes_no_row(place, owner):
    look(place)
    before = owner.execute("SELECT max(xmin::text::bigint) FROM accounting_costday").fetchone()
    place.run(SetStatementTerms(
        from_month=date(2026, 12, 1), idle_share=Decimal(1), lending_share=Decimal(0),
        ladder=()), reason="test")  # fmt: skip
    look(place)
    assert (
        owner.execute("SELECT max(xmin::text::bigint) FROM accounting_costday").fetchone() == before
    )


def test_nothing_is_drawn_of_an_organization_without_use(acme):
    assert look(acme) == 0
    assert costs(acme, "root") == {}
