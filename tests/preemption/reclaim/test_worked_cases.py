"""The worked cases, on the database: what a rule would have done with past use, and its worth."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.commands.rates import PriceWish, PublishRateCard
from ledger import scope
from ledger.errors import Invalid
from preemption import reclaim_queries as queries
from preemption.reclaim_loading import PoolRule
from quota.commands.quotas import SetQuota
from quota.ports import Price
from tests.preemption.reclaim.conftest import DAY
from tests.world import NOW, Tenant, record

START = NOW - 21 * DAY


@pytest.fixture
def big(acme: Tenant) -> Tenant:
    """A pool of 1,000 units at 2 per unit-hour that somebody always uses."""
    acme.pool("big", capacity=1_000)
    line = PriceWish(flavor="big-80gb", list_price=Decimal(2))
    acme.run(PublishRateCard(lines=(line,), effective_from=START), now=START, reason="test")
    acme.use(use("known", 1, account="serving", person="alice"))
    return acme


def use(key: str, units: int, *, days: float = 21, after: float = 0, **fields):
    start = START + timedelta(days=after)
    return record(key, units=units, hours=days * 24, start=start, pool="big", **fields)


def promise(place: Tenant, units: int, account: str = "nlp", **fields) -> None:
    command = SetQuota(
        account_id=place.accounts[account],
        pool_id=place.pools["big"],
        guaranteed=units,
        **fields,
    )
    place.run(command, now=START, reason="test")


def would_have(place: Tenant, account: str = "nlp", rule: PoolRule | None = None, **period):
    period = {"start": START, "now": NOW} | period
    with scope.reading(place.id):
        rows = queries.dry_run(place.id, {place.pools["big"]: "big"}, rule or PoolRule(), **period)
    return next(row for row in rows if row.account == account)


def test_500_gpus_idle_for_three_weeks_at_2_cost_504000_and_go_after_72_hours(big):
    promise(big, 500)
    one = would_have(big)
    assert one.idle_cost == Price(amount=Decimal("504000.00"), currency="EUR")
    told = [(stage.name, stage.at - START, stage.units) for stage in one.stages]
    assert told == [
        ("watch", timedelta(hours=48), 0),
        ("demoted", timedelta(hours=72), 500),
    ]
    assert one.worth_a_month == Price(amount=Decimal("730000.00"), currency="EUR")


def test_128_units_used_at_40_percent_stay_with_a_recommendation(big):
    promise(big, 128)
    big.use(use("some", 51))
    one = would_have(big)
    assert (one.stages, one.left_alone) == ((), None)
    assert (one.recommendation.p95, one.recommendation.guarantee) == (51, 57)
    assert one.recommendation.units == 71


def test_a_quota_with_gaps_in_its_telemetry_is_left_alone(acme):
    acme.pool("big", capacity=1_000)
    promise(acme, 500)
    for day in range(0, 21, 3):
        acme.use(use(f"d{day}", 1, days=0.1, after=day, account="serving", person="alice"))
    one = would_have(acme)
    assert one.stages == ()
    assert one.idle_cost is None


def test_what_ends_by_itself_or_is_exempt_is_left_alone(big):
    promise(big, 100, ends_at=NOW + DAY)
    promise(big, 100, account="vision")
    assert would_have(big).left_alone == "temporary"
    rule = PoolRule(exempt_ids=(big.accounts["research"],))
    assert would_have(big, "vision", rule).left_alone == "exempt"
    assert would_have(big, "vision", rule).stages == ()


def test_a_dry_run_records_nothing_and_has_bounds(big):
    promise(big, 500)
    with scope.reading(big.id):
        with pytest.raises(Invalid):
            queries.dry_run(big.id, {big.pools["big"]: "big"}, PoolRule(), start=NOW, now=NOW)
        from preemption.models import ReclaimState

        would_have(big)
        assert not ReclaimState.objects.exists()
