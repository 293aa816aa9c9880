"""Budgets speak up: once, by whoever looks, and to those who can do something."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import psycopg
import pytest

from accounting import tasks
from accounting.commands.budgets import ChangeBudget
from accounting.commands.statements import CloseMonth, GrantCredit, StartClose
from accounting.domain.budgets import BurnRule
from accounting.queries import budgets as queries
from ledger import scope
from ledger.sql import server_cursor
from notices import reading
from notices.queries import notices
from tests import world
from tests.accounting.budgets.sample_budgets import SINCE, budget, look, spend
from tests.notices.test_reading import told
from tests.races import became
from tests.world import NOW, Tenant, record

HOUR = timedelta(hours=1)


@pytest.fixture
def place(acme) -> Tenant:
    """nlp spends 8 x 2 x 24 = 384 a day since October; today, the 29th, nothing yet."""
    spend(acme)
    return acme


def alerts(place: Tenant, made) -> list[str]:
    with scope.reading(place.id):
        rows = queries.alerts_of(place.id, [made.budget_id])
    return sorted(f"{row.kind} {row.rule}{' over' if row.over_at else ''}" for row in rows)


def standing(place: Tenant, made, *, now=NOW):
    with scope.reading(place.id):
        here = queries.ground(place.id, now=now)
        row = queries.budget_row(place.id, made.budget_id)
        return queries.standings(place.id, [row], here)[0]


def test_figures_of_a_month(place):
    made = budget(place, amount="12000")
    look(place)
    found = standing(place, made)
    assert found.figures.spent == Decimal(384 * 28)
    assert found.figures.remaining == Decimal(12000 - 384 * 28)
    assert found.figures.burns[7] == Fraction(384, 400)
    assert found.state == "ok"
    # It is 13:00 on the 29th in Berlin: 11/24 of today and the 30th are left.
    assert found.forecast.amount == Decimal(384 * 28) + 384 + Decimal(384 * 11) / 24
    assert alerts(place, made) == ["spent 50", "spent 80"]


def test_thresholds_are_recorded_once(place):
    made = budget(place, amount="10000")
    assert look(place) == 4
    said = ["forecast 100", "spent 100", "spent 50", "spent 80"]
    assert alerts(place, made) == said
    assert look(place, now=NOW + HOUR) == 0
    assert alerts(place, made) == said


def test_a_higher_amount_ends_alerts_and_its_own_may_fire(place):
    made = budget(place, amount="10000")
    look(place)
    place.run(ChangeBudget(budget_id=made.budget_id, amount=Decimal(16000)), reason="more")
    assert look(place, now=NOW + HOUR) == 0
    assert alerts(place, made) == [
        "forecast 100 over", "spent 100 over", "spent 50", "spent 80 over",
    ]  # fmt: skip


def test_a_rate_alarms_and_calms(place):
    rule = BurnRule(long_days=3, short_days=1, factor=Decimal(2))
    made = budget(place, amount="100000", burn=(rule,), spent=(), forecast=())
    look(place)
    assert alerts(place, made) == []
    # 3333 a day are planned; three days at 7000 more are more than twice that.
    place.use(
        record("burst", start=NOW - timedelta(days=4), hours=96, units=150, tier="spot")
    )  # fmt: skip
    assert look(place, now=NOW + HOUR) == 1
    assert alerts(place, made) == ["burn 3/1/2"]
    later = NOW + timedelta(days=1, hours=14)
    assert look(place, now=later) == 0
    # Yesterday had its last hours; the day after only the end of it counts.
    assert alerts(place, made) == ["burn 3/1/2 over"]


def test_what_came_in_the_last_hours_of_a_period_still_counts(place):
    made = budget(place, amount="11500", forecast=(), burn=())
    look(place)
    assert alerts(place, made) == ["spent 50", "spent 80"]
    place.use(
        record("late", start=NOW, hours=12, units=40, tier="spot"), now=NOW + timedelta(days=2)
    )
    look(place, now=NOW + timedelta(days=3))
    assert alerts(place, made) == ["spent 100", "spent 50", "spent 80"]


def test_a_credit_calms_what_was_spent(place):
    made = budget(place, amount="10000", forecast=(), burn=())
    look(place)
    credit = GrantCredit(account_id=place.accounts["nlp"], amount=Decimal(5000))
    place.run(credit, reason="outage")
    look(place, now=NOW + HOUR)
    assert alerts(place, made) == ["spent 100 over", "spent 50", "spent 80 over"]


def test_a_budget_of_an_account_above_counts_what_is_below(place):
    place.use(record("v", start=SINCE + timedelta(days=40), hours=24, account="vision"))
    made = budget(place, "research", "100000")
    look(place)
    assert standing(place, made).figures.spent == Decimal(384 * 28 + 384)


def test_a_closed_month_is_its_statement(place):
    made = budget(place, amount="12000", now=NOW - timedelta(days=40))
    then = NOW + timedelta(days=3)
    for month in (date(2026, 10, 1), date(2026, 11, 1)):
        place.run(StartClose(month=month), reason="test", now=then)
        while not place.run(CloseMonth(month=month), now=then).result.closed:
            pass
    look(place, now=then + HOUR)
    with scope.reading(place.id):
        here = queries.ground(place.id, now=then + HOUR)
        row = queries.budget_row(place.id, made.budget_id)
        spans = [row.span(date(2026, 11, 5))]
        (found,) = queries.standings(place.id, [row], here, spans=spans)
        with server_cursor() as cursor:
            charged = dict(cursor.execute(
                "SELECT account_id, sum(amount) FROM accounting_statementline "
                "WHERE organization_id = %b AND month = '2026-11-01' GROUP BY 1", (place.id,)
            ).fetchall())  # fmt: skip
    assert found.figures.spent == charged[place.accounts["nlp"]]
    assert (found.state, found.forecast.why_not) == ("ended", "over")


def test_leads_and_finance_are_told(place):
    place.person("fay")
    place.role("fay", "finance")
    made = budget(place, amount="12000", spent=(80,))
    look(place)
    reading.read_events(place.id, now=NOW)
    for name in ("alice", "fay"):
        assert told(place, name) == ["nlp has spent 90 % of its budget"]
    assert alerts(place, made) == ["spent 80"]


def test_any_number_of_budgets_takes_five_questions(place):
    for period in ("month", "quarter", "year"):
        for account in ("nlp", "vision", "research", "root"):
            budget(place, account, "1000000", period=period)
    look(place)
    asked = []
    with scope.reading(place.id), counting(asked):
        here = queries.ground(place.id, now=NOW)
        rows = queries.budget_rows(place.id, today=here.today)
        assert len(queries.standings(place.id, rows, here)) == 12
    assert len(asked) == 5


@contextmanager
def counting(asked: list) -> Iterator[None]:
    """Every statement that a server cursor executes."""
    real = psycopg.Cursor.execute

    def counted(self, query, *rest, **named):
        asked.append(query)
        return real(self, query, *rest, **named)

    psycopg.Cursor.execute = counted
    try:
        yield
    finally:
        psycopg.Cursor.execute = real


@pytest.mark.django_db(transaction=True)
def test_two_workers_have_one_effect(transactional_db):
    it = world.acme()
    spend(it)
    made = budget(it, amount="10000")
    counts = became([lambda: look(it)] * 3)
    assert sum(counts) == 4
    assert len(alerts(it, made)) == 4


def test_a_notice_leads_to_the_budget(place):
    made = budget(place, amount="12000", spent=(80,))
    look(place)
    reading.read_events(place.id, now=NOW)
    with scope.reading(place.id):
        (row,) = notices(place.id, place.people["alice"]).rows
    assert row.link == f"/budgets/{made.budget_id}"
    assert "10,752.00 of 12,000.00 EUR are spent; the forecast is" in row.body


def test_the_task_draws_and_watches_every_organization(place, monkeypatch):
    monkeypatch.setattr(tasks, "datetime", SimpleNamespace(now=lambda zone: NOW))
    made = budget(place, amount="0.01", spent=(100,), forecast=(), burn=())
    seen = []
    monkeypatch.setattr(
        tasks.watch_budgets_of, "apply_async", lambda args, **options: seen.append(args)
    )
    tasks.watch_budgets()
    assert (str(place.id),) in seen
    tasks.watch_budgets_of(*seen[0])
    tasks.watch_budgets_of(*seen[0])
    assert alerts(place, made) == ["spent 100"]
