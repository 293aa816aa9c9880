"""Preemption tax by account and month, for pages about money."""

from datetime import UTC, datetime
from decimal import Decimal

from ledger import scope
from preemption import loading, taken
from preemption.wire import PreemptionReport
from tests.preemption.conftest import after

START, END = datetime(2026, 10, 31, 23, tzinfo=UTC), datetime(2026, 11, 30, 23, tzinfo=UTC)


def test_tax_of_accounts_in_a_month(preemption, monkeypatch):
    """Work of ten minutes x 5 units x 2 an hour is 1.67; a report of 45 minutes makes it 7.50."""
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    preemption.budgets(pool_share="1")
    place, now = preemption.place, after(minutes=10)
    for number in range(16):
        preemption.running(f"v{number}", 5, at=after())
    for number in range(4):
        preemption.running(f"s{number}", 5, at=after(), account="serving", person="alice")
    plan = preemption.ask("job", 40, now=now).plan
    by_account: dict[str, int] = {}
    for one in plan.actions:
        by_account[one.account] = by_account.get(one.account, 0) + 1
        lost = 2700 if one.account == "vision" else None
        report = PreemptionReport(key=one.key, outcome="done", lost_seconds=lost)
        preemption.report(plan, report, now=now)
    period = {"since": START, "until": END}
    with scope.reading(place.id):
        found = taken.tax_of_accounts(place.id, **period)
        mine = taken.tax_of_accounts(place.id, **period, accounts=[place.accounts["vision"]])
        before = taken.tax_of_accounts(place.id, since=START.replace(day=1), until=START)
    assert {place.accounts[name] for name in by_account} == set(found)
    for name, times in by_account.items():
        loss = found[place.accounts[name]]
        assert (loss.actions, loss.units) == (times, 5 * times)
        assert loss.tax == times * Decimal("1.666667")
    vision = found[place.accounts["vision"]]
    assert vision.cost == vision.tax_reported == by_account["vision"] * Decimal("7.5")
    assert mine == {place.accounts["vision"]: vision}
    assert before == {}
