"""What preemption costs whom, and how often jobs that lose most should save themselves."""

from datetime import date, timedelta
from decimal import Decimal

from ledger import scope
from preemption import loading, losses
from preemption.commands.checkpoints import RecordCheckpoints
from preemption.wire import Checkpoint, PreemptionReport
from tests.preemption.conftest import after


def test_by_month_of_the_organization_and_account(preemption, monkeypatch):
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    preemption.budgets(pool_share="1", job_window_seconds=0)
    place = preemption.place
    for number in range(2):
        preemption.running(f"v{number}", 50, at=after())
    now = after(minutes=10)
    saved = Checkpoint(key="v0", at=after(minutes=9), seconds=30)
    place.run(RecordCheckpoints(pool="h100", checkpoints=(saved,)), now=now)
    plan = preemption.ask("job", 40, now=now).plan
    report = PreemptionReport(key="v0", outcome="done", lost_seconds=90)
    assert [one.code for one in preemption.report(plan, report, now=now).results] == ["done"]
    with scope.reading(place.id):
        (month,) = losses.by_month(place.id, now=now, time_zone="Europe/Berlin")
        period = {"since": now - timedelta(days=30), "until": now + timedelta(seconds=1)}
        (loser,) = losses.losers(place.id, **period)
        others = [place.accounts["serving"]]
        none = losses.losers(place.id, **period, accounts=others)
    # One minute since the checkpoint, 50 units, 2 an hour; the scheduler measured one and a half.
    assert (month.month, month.account, month.units) == (date(2026, 11, 1), "vision", 50)
    assert (month.tax.quantize(Decimal("0.01")), month.tax_reported) == (
        Decimal("1.67"),
        Decimal("2.5"),
    )
    assert (month.actions, month.unreported) == (1, 0)
    # sqrt(2 x 30 s x 600 s)
    assert (loser.job, loser.times, loser.between_seconds, loser.interval_seconds) == (
        "v0",
        1,
        600,
        189,
    )
    assert none == []
