"""What a plan costs, by what jobs told of their checkpoints, and what was measured in the end."""

from decimal import Decimal

import pytest

from ledger import scope, verification
from preemption import taken
from preemption.commands.checkpoints import RecordCheckpoints
from preemption.taken import Which
from preemption.wire import Checkpoint, PreemptionReport
from tests.accounting import sample_rates
from tests.preemption.conftest import Preemption, after


@pytest.fixture
def busy(preemption: Preemption) -> Preemption:
    """A job of 64 spot units and one of 36, for two hours."""
    preemption.budgets(pool_share="1")
    preemption.running("big", 64, at=after(), duration_seconds=86_400)
    preemption.running("small", 36, at=after())
    for minutes in range(10, 121, 10):
        preemption.alive("big", "small", at=after(minutes=minutes))
    return preemption


def save(busy: Preemption, *told: Checkpoint, now=None) -> list[str]:
    command = RecordCheckpoints(pool="h100", checkpoints=told)
    answer = busy.place.run(command, now=now or after(minutes=120)).result
    return [one.code for one in answer.results]


def test_the_worked_case_costs_96(busy, monkeypatch):
    """64 GPUs, 15 + 20 + 10 minutes, 2 per GPU-hour."""
    from preemption import loading

    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    saved = Checkpoint(key="big", at=after(minutes=105), reload_seconds=1200, warm_up_seconds=600)
    assert save(busy, saved) == ["recorded"]
    plan = busy.ask("job", 40, now=after(minutes=120)).plan
    assert [(a.key, a.tax) for a in plan.actions] == [("big", Decimal("96.000000"))]
    report = PreemptionReport(key="big", outcome="done", lost_seconds=5400)
    told = busy.report(plan, report, now=after(minutes=121))
    assert told.plan.actions[0].tax_reported == Decimal("192.000000")
    with scope.reading(busy.place.id):
        which = Which(since=after(), until=after(minutes=122))
        (row,) = taken.actions(busy.place.id, which)
    assert (row.units, row.tax, row.tax_reported) == (64, 96, 192)
    assert verification.verify(busy.place.id).findings == []


def test_who_loses_least_goes_first(busy):
    assert save(busy, Checkpoint(key="small", at=after(minutes=60))) == ["recorded"]
    assert busy.ask("job", 30, now=after(minutes=120)).plan.actions[0].key == "small"
    other = busy.place
    busy.cancel(busy.ask("job", 30, now=after(minutes=120)).plan, now=after(minutes=120))
    assert save(busy, Checkpoint(key="big")) == ["recorded"]
    assert busy.ask("job", 30, now=after(minutes=121)).plan.actions[0].key == "big"
    assert verification.verify(other.id).findings == []


def test_the_latest_counts_in_whichever_order_they_come(busy):
    late, early = after(minutes=110), after(minutes=100)
    assert save(
        busy,
        Checkpoint(key="big", at=late),
        Checkpoint(key="big", at=early),
        Checkpoint(key="big", at=late),
        Checkpoint(key="nobody"),
        Checkpoint(key="big", at=after(minutes=130)),
        Checkpoint(key="big", attempt=2),
    ) == [
        "recorded",
        "nothing_newer",
        "nothing_newer",
        "allocation_unknown",
        "from_the_future",
        "allocation_unknown",
    ]
    busy.jobs.release("big", now=after(minutes=120))
    assert save(busy, Checkpoint(key="big")) == ["already_ended"]


def test_the_price_is_that_of_guaranteed_units(busy):
    from preemption import loading

    place = busy.place
    with scope.reading(place.id):
        assert loading.unit_price(place.id, place.pools["h100"], at=after()) == 0
    sample_rates.publish(place)
    with scope.reading(place.id):
        assert loading.unit_price(place.id, place.pools["h100"], at=after()) > 0
