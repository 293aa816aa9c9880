"""A demotion is priced in the showback: what left the guarantee is no longer charged as idle from
its instant on, and use above what stays is charged as borrowed."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from accounting import allocated_usage
from accounting.commands.rates import PriceWish, PublishRateCard
from accounting.domain.lines import Kind
from accounting.statement_month import month_lines
from ledger import scope
from tests.preemption.reclaim.conftest import DAY, HOUR, Reclaim
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW

NOVEMBER = date(2026, 11, 1)
FLAVOR = "h100-80gb"


@pytest.fixture
def priced(reclaim: Reclaim) -> Reclaim:
    """nlp is promised 40 units and uses 5 of them all the time; a unit-hour costs 2, a borrowed one
    1. production is promised 40 as well."""
    wishes = (
        PriceWish(flavor=FLAVOR, list_price=Decimal(2)),
        PriceWish(flavor=FLAVOR, list_price=Decimal(1), tier="borrowed"),
    )
    at = reclaim.begin - DAY
    reclaim.place.run(PublishRateCard(lines=wishes, effective_from=at), now=at, reason="test")
    reclaim.promise("nlp", 40)
    reclaim.promise("production", 40)
    reclaim.use("steady", 5, days=10)
    exempt = (reclaim.place.accounts["production"],)
    reclaim.rule(now=reclaim.begin, exempt_ids=exempt)
    return reclaim


def demoted(it: Reclaim) -> datetime:
    """Watched after two days, demoted after three: 5 units stay."""
    at = it.begin + 3 * DAY
    assert it.run(at - DAY).watched == 1
    assert it.run(at).demoted == 1
    assert it.quota()[0] == 5
    return at


def charged(it: Reclaim, kind: Kind, *, tier: str | None = None, account="nlp") -> Decimal:
    """What an account itself is charged for November so far."""
    with scope.reading(it.place.id):
        found = month_lines(it.place.id, NOVEMBER, now=NOW)
    mine = it.place.accounts[account]
    return sum(
        (
            line.amount
            for line in found.lines
            if line.kind == kind and line.key.account == mine and tier in (None, line.key.tier)
        ),
        Decimal(0),
    )


def test_from_the_demotion_on_the_idle_part_costs_nothing(priced):
    whole = charged(priced, Kind.IDLE)
    assert whole == 35 * 240 * 2  # ten days of 35 idle units
    demoted(priced)
    assert charged(priced, Kind.IDLE) == 35 * 72 * 2  # three days
    assert charged(priced, Kind.USAGE, tier="guaranteed") == 5 * 240 * 2  # what is used stays so


def test_use_above_what_stays_is_charged_as_borrowed(priced):
    at = demoted(priced) + HOUR
    assert charged(priced, Kind.USAGE, tier="borrowed") == 0
    jobs = Jobs(priced.place)
    told = jobs.admit(jobs.ask("more", units=30), now=at)
    # Before the demotion it would have been guaranteed.
    assert [one.tier for one in told.results[0].allocations] == ["borrowed"]
    jobs.start("more", now=at)
    jobs.release("more", now=at + timedelta(minutes=5))
    allocated_usage.meter(priced.place.id, now=NOW)
    assert charged(priced, Kind.USAGE, tier="borrowed") == Decimal("2.50")  # 30 x 1/12 h x 1


def test_a_restored_guarantee_costs_again(priced):
    at = demoted(priced)
    priced.restore(now=at + 2 * DAY)
    assert priced.quota()[0] == 40
    assert charged(priced, Kind.IDLE) == 35 * (72 + 120) * 2  # three days, and the last five
