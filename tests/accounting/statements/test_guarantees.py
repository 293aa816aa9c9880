"""Guarantees of a month: idle where they are promised, exact over time, lent by the day."""

from datetime import date, timedelta
from fractions import Fraction

import pytest

from accounting import statement_rating
from accounting.statement_guarantees import month_guarantees
from ledger import scope
from quota.commands.quotas import SetQuota
from tenancy.commands.accounts import MoveAccount
from tests.accounting.statements.test_rating import DAY, END, LATER, OCTOBER, START, publish
from tests.world import Tenant, record

HOURS = 3600
MONTH = int((END - START).total_seconds()) // HOURS


def promise(place: Tenant, account: str, units: int, *, at=START - DAY, pool="h100") -> None:
    quota = {"account_id": place.accounts[account], "pool_id": place.pools[pool]}
    place.run(SetQuota(**quota, guaranteed=units), now=at, reason="test")


def found(place: Tenant, *, now=LATER, first: date = OCTOBER) -> dict:
    names = {id_: name for name, id_ in place.accounts.items()}
    with scope.reading(place.id):
        here = statement_rating.ground(place.id, first, now=now)
        return {
            (names[one.account], names[one.above[1]] if len(one.above) > 1 else "", one.price):
            (one.promised / HOURS, one.idle / HOURS, one.lent / HOURS)
            for one in month_guarantees(here)
        }  # fmt: skip


@pytest.fixture
def place(acme) -> Tenant:
    """Somebody without a guarantee uses h100 the whole time, so that its use is known."""
    publish(acme, "2", at=START - DAY)
    hours = MONTH + 48
    acme.use(record("known", units=1, hours=hours, start=START - DAY, account="serving",
                    person="alice", tier="spot"), now=LATER)  # fmt: skip
    return acme


def test_idle_units_are_idle_at_the_account_they_are_promised_to(place):
    promise(place, "nlp", 10)
    promise(place, "research", 20)
    place.use(record("a", units=15, hours=48, start=START))
    assert found(place) == {
        ("nlp", "research", 2): (10 * MONTH, 10 * (MONTH - 48), 0),
        ("research", "research", 2): (20 * MONTH, 20 * MONTH - 5 * 48, 0),
    }


def test_what_others_borrow_was_lent_by_the_day(place):
    promise(place, "nlp", 30)
    promise(place, "vision", 10)
    values = {"account": "serving", "person": "alice", "tier": "borrowed"}
    place.use(record("b", units=20, hours=12, start=START, **values))
    place.use(record("c", units=90, hours=24, start=START + DAY, **values))
    result = found(place)
    # On the first day half of what is idle is borrowed for half a day; on the second all of it.
    assert result["nlp", "research", 2][2] == Fraction(3, 4) * 20 * 12 + 30 * 24
    assert result["vision", "research", 2][2] == Fraction(1, 4) * 20 * 12 + 10 * 24


def test_time_in_which_nobody_knows_of_the_pool_is_not_idle(acme):
    publish(acme, "2", at=START - DAY)
    promise(acme, "nlp", 10)
    assert found(acme) == {}
    acme.use(record("a", units=4, hours=24, start=START + DAY))
    assert found(acme) == {("nlp", "research", 2): (240, 6 * 24, 0)}


def test_changes_of_price_promise_and_place_split_the_month(place):
    promise(place, "nlp", 10)
    publish(place, "3", at=START + 10 * DAY)
    promise(place, "nlp", 4, at=START + 15 * DAY)
    move = MoveAccount(account_id=place.accounts["nlp"], to_parent_id=place.accounts["production"])
    place.run(move, now=START + 20 * DAY)
    result = found(place)
    left = MONTH - 20 * 24
    assert result == {
        ("nlp", "research", 2): (2400, 2400, 0),
        ("nlp", "research", 3): (1200 + 480, 1680, 0),
        ("nlp", "production", 3): (4 * left, 4 * left, 0),
    }


def test_a_month_that_runs_is_counted_until_now(place):
    promise(place, "nlp", 10)
    assert found(place, now=START + timedelta(hours=5)) == {("nlp", "research", 2): (50, 50, 0)}
    assert found(place, now=START) == {}
