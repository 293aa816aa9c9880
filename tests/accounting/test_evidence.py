"""Evidence beside a request: exact over time, unknown where nothing is known, and the same few
statements for any number of places."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.commands.rates import PriceWish, PublishRateCard, SetRateGrade
from accounting.queries import evidence as queries
from accounting.queries import evidence_sql as sql
from accounting.queries.evidence import Evidence
from ledger import scope
from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from quota.commands.quotas import SetQuota
from quota.ports import Price, UtilizationFacts, ports
from quota.wire import Ask, Message
from tests.world import NOW, Tenant, record

MINUTES, DAY = timedelta(minutes=3), timedelta(days=1)
START = NOW - 10 * DAY


def promise(tenant: Tenant, account: str, units: int, *, at=START, pool="h100") -> None:
    place = {"account_id": tenant.accounts[account], "pool_id": tenant.pools[pool]}
    tenant.run(SetQuota(**place, guaranteed=units), now=at, reason="test")


def place_of(tenant: Tenant, account: str, pool: str = "h100"):
    return (tenant.accounts[account], tenant.pools[pool])


def found(tenant: Tenant, account: str = "nlp", *, start=START, end=NOW) -> Evidence:
    place = place_of(tenant, account)
    with scope.reading(tenant.id):
        return queries.evidence(tenant.id, [place], start=start, end=end)[place]


def used(key: str, units: int, days: float, *, after: float = 0, **values):
    """Units of nlp in h100 for so many days, that many days after START."""
    hours = None if days is None else days * 24
    return record(key, units=units, hours=hours, start=START + after * DAY, **values)


@pytest.fixture
def place(acme) -> Tenant:
    """nlp is promised 40 h100; somebody else uses h100 the whole time, so that use is known."""
    promise(acme, "nlp", 40)
    acme.use(used("known", 1, 10, account="serving", person="alice"))
    return acme


def test_percentiles_count_each_amount_for_as_long_as_it_was_in_use(place):
    place.use(used("a", 8, 10), used("b", 24, 4.5), used("c", 68, 0.5))
    one = found(place)
    # 100 for half a day (5 %), 32 for four days, 8 for five and a half.
    assert (one.p50, one.p95, one.peak) == (8, 32, 100)
    assert one.mean == Fraction(8 * 10 * 2 + 24 * 9 + 68, 20)
    assert (one.coverage, one.guaranteed, one.own, one.idle_units) == (1, 40, 40, 8)
    assert one.used_hours == (80 + 108 + 34) * 24
    assert one.idle_hours == ((40 - 32) * 4 + (40 - 8) * Fraction(11, 2)) * 24
    assert one.hoarding == one.idle_hours / (400 * 24)


def test_use_and_guarantees_below_count(place):
    promise(place, "research", 20)
    place.account("nlp-sub", under="nlp")
    place.person("bob", "nlp-sub")
    place.use(used("a", 4, 10), used("b", 2, 10, account="nlp-sub"))
    assert (found(place).p95, found(place).guaranteed) == (6, 40)
    above = found(place, "research")
    assert (above.p95, above.guaranteed, above.own) == (6, 60, 20)
    assert (found(place).needed, above.needed) == (7, 7)


def test_only_the_part_of_a_record_in_the_window_counts(place):
    place.use(
        used("long", 5, 65, after=-55),
        used("before", 100, 1, after=-1),
        used("until", 7, 1, after=9.5),
    )
    one = found(place, end=NOW)
    assert (one.p50, one.peak) == (5, 12)
    assert one.used_hours == (5 * 10 + Fraction(7, 2)) * 24


def test_what_runs_counts_to_the_end_of_the_window(place):
    place.use(used("runs", 16, None, after=5), used("ever", 1, None, after=-100))
    one = found(place)
    assert one.used_hours == (16 * 5 + 10) * 24


def test_what_was_corrected_counts_as_corrected(place):
    place.use(used("runs", 16, None, after=-50))
    place.use(used("right", 4, 55, after=-50, supersedes="runs"))
    assert found(place).used_hours == 4 * 5 * 24


def test_a_guarantee_counts_from_when_it_held(place):
    promise(place, "nlp", 10, at=NOW - 5 * DAY)
    one = found(place)
    assert one.promised_hours == (40 * 5 + 10 * 5) * 24
    assert one.idle_hours == one.promised_hours
    assert one.guaranteed == 10
    assert one.hoarding == 1


def test_an_allocation_that_runs_is_use(acme):
    promise(acme, "nlp", 40)
    ask = Ask(key="j", account="nlp", person="bob", pool="h100", units=12, job_class="P1")
    acme.run(AdmitBatch(requests=(ask,)), now=NOW - MINUTES)
    acme.run(StartAllocations(messages=(Message(key="j"),)), now=NOW - MINUTES)
    one = found(acme, start=NOW - 2 * MINUTES)
    assert (one.coverage, one.peak, one.pinned) == (Fraction(1, 2), 12, 12)
    assert one.needed == 14
    # Its scheduler reports it, too: it counts once.
    acme.use(record("j", units=12, hours=None, start=NOW - MINUTES))
    assert found(acme, start=NOW - 2 * MINUTES).peak == 12


def test_a_pool_that_nobody_tells_of_is_unknown_and_not_idle(acme):
    promise(acme, "nlp", 40)
    one = found(acme)
    assert (one.coverage, one.p95, one.mean, one.needed, one.hoarding) == (0, *[None] * 4)
    assert (one.guaranteed, one.idle_units, one.utilization) == (40, None, None)
    acme.run(
        PublishRateCard(
            lines=(PriceWish(flavor="h100-80gb", list_price=Decimal(2)),),
            effective_from=START,
        ),
        reason="test",
    )
    with scope.reading(acme.id):
        assert queries.Prices().idle_cost(acme.id, *place_of(acme, "nlp"), START, NOW) is None


def test_after_the_last_word_of_a_pool_its_use_is_unknown(acme):
    promise(acme, "nlp", 40)
    start = datetime(2026, 11, 20, tzinfo=UTC)
    first = datetime(2026, 11, 20, 23, tzinfo=UTC)  # midnight in Berlin, where acme is
    acme.use(record("a", units=10, hours=48, start=first))
    one = found(acme, start=start, end=start + 8 * DAY)
    assert (one.coverage, one.mean) == (Fraction(2, 8), 10)


def rates(tenant: Tenant, price: str, *, at=START, grade: str | None = None, **values) -> None:
    line = PriceWish(flavor="h100-80gb", list_price=Decimal(price), grade=grade, **values)
    tenant.run(PublishRateCard(lines=(line,), effective_from=at), now=at, reason="test")


def idle_cost(tenant: Tenant, account="nlp", *, start=START, end=NOW) -> Price | None:
    with scope.reading(tenant.id):
        return ports().price.idle_cost(tenant.id, *place_of(tenant, account), start, end)


def test_500_gpus_idle_for_three_weeks_at_2_cost_504000(acme):
    start = NOW - 21 * DAY
    acme.pool("big", capacity=600)
    acme.run(
        PublishRateCard(
            lines=(PriceWish(flavor="big-80gb", list_price=Decimal(2)),), effective_from=start
        ),
        now=start,
        reason="test",
    )
    promise(acme, "nlp", 500, at=start, pool="big")
    other = {"pool": "big", "account": "serving", "person": "alice"}
    acme.use(record("known", units=1, hours=21 * 24, start=start, **other))
    with scope.reading(acme.id):
        place = place_of(acme, "nlp", "big")
        cost = ports().price.idle_cost(acme.id, *place, start, NOW)
        assert cost == Price(amount=Decimal("504000.00"), currency="EUR")
        assert ports().price.idle_costs(acme.id, [place], start, NOW) == {place: cost}


def test_idle_time_costs_what_held_at_each_instant(place):
    rates(place, "2")
    rates(place, "3", at=NOW - 2 * DAY)
    place.use(used("a", 30, 10))
    assert idle_cost(place).amount == 10 * 24 * (8 * 2 + 2 * 3)


def test_idle_time_without_a_price_is_unrated_and_not_free(place):
    rates(place, "2", at=NOW - 5 * DAY)
    assert idle_cost(place) is None
    assert idle_cost(place, start=NOW - 5 * DAY).amount == 40 * 2 * 5 * 24


def test_the_grade_of_the_account_decides(place):
    lines = (
        PriceWish(flavor="h100-80gb", list_price=Decimal(2)),
        PriceWish(flavor="h100-80gb", list_price=Decimal(1), grade="academic"),
    )
    place.run(PublishRateCard(lines=lines, effective_from=START), now=START, reason="test")
    grade = SetRateGrade(account_id=place.accounts["research"], grade="academic")
    place.run(grade, now=NOW - 5 * DAY, reason="test")
    assert idle_cost(place).amount == 40 * 24 * (5 * 2 + 5 * 1)


@pytest.mark.parametrize(("tier", "amount"), [("guaranteed", 2), ("spot", Decimal("0.7"))])
def test_a_month_has_730_hours(place, tier, amount):
    lines = (
        PriceWish(flavor="h100-80gb", list_price=Decimal(2)),
        PriceWish(flavor="h100-80gb", list_price=Decimal("0.7"), tier="spot"),
    )
    place.run(PublishRateCard(lines=lines), now=START, reason="test")
    with scope.reading(place.id):
        price = ports().price
        pool = place.pools["h100"]
        month = price.price_per_month(place.id, pool, 24, tier, NOW)
        assert month == Price(amount=24 * 730 * amount, currency="EUR")
        assert price.price_per_month(place.id, pool, 24, tier, START - DAY) is None
        assert price.price_per_month(place.id, place.pools["a100"], 24, tier, NOW) is None


def test_the_port_answers_with_facts(place):
    place.use(used("a", 10, 10))
    asked = place_of(place, "nlp")
    with scope.reading(place.id):
        facts = ports().utilization.utilization(place.id, *asked, START, NOW)
        many = ports().utilization.utilizations(place.id, [asked], START, NOW)
    assert many == {asked: replace(facts, recommended=11)}
    assert facts == UtilizationFacts(
        mean=0.25, p50=10, p95=10, peak=10, guaranteed=40, idle_units=30, coverage=1.0
    )


def test_so_many_places_that_accounts_are_found_otherwise_are_the_same(place, monkeypatch):
    promise(place, "research", 20)
    place.use(used("a", 4, 10))
    places = [place_of(place, name) for name in ("research", "nlp", "serving")]
    with scope.reading(place.id):
        few = queries.evidence(place.id, places, start=START, end=NOW)
        monkeypatch.setattr(sql, "MANY", 1)
        assert queries.evidence(place.id, places, start=START, end=NOW) == few


def recommended(tenant: Tenant, *accounts: str, pool: str = "h100") -> list[int | None]:
    places = [place_of(tenant, account, pool) for account in accounts]
    with scope.reading(tenant.id):
        told = ports().utilization.utilizations(tenant.id, places, START, NOW)
    return [told[one].recommended for one in places]


def test_idle_units_are_recommended_away_at_one_level(place):
    promise(place, "research", 20)
    place.person("rob", "research")
    place.use(used("own", 20, 10, account="research", person="rob"))
    # nlp uses nothing of its 40. The jobs of research itself use its 20: 22 are needed, together.
    assert recommended(place, "research", "nlp") == [20, 2]
    # The figure of a quota is the same beside others, alone, and of an account without any.
    assert [recommended(place, one) for one in ("research", "nlp")] == [[20], [2]]
    assert recommended(place, "vision", "root") == [0, 0]
    promise(place, "research", 30)
    assert recommended(place, "nlp", "research") == [0, 22]


def test_a_pool_without_known_use_has_no_recommended_figure(place):
    promise(place, "nlp", 40, pool="a100")
    assert recommended(place, "nlp", "research", pool="a100") == [None, None]
    assert recommended(place, "nlp") == [0]


def test_recommended_figures_of_many_take_no_more_statements_than_of_one(place, monkeypatch):
    promise(place, "research", 10)
    teams = [f"team-{n}" for n in range(12)]
    for name in teams:
        place.account(name, under="nlp")
        promise(place, name, 1)
    asked: list[str] = []

    class Counting(psycopg.Cursor):
        def execute(self, query, *values, **options):
            asked.append(query)
            return super().execute(query, *values, **options)

    monkeypatch.setattr(queries, "server_cursor", lambda: Counting(connection.connection))
    recommended(place, teams[0])
    of_one = list(asked)
    asked.clear()
    recommended(place, *teams)
    assert len(asked) <= len(of_one) <= 13


def test_many_places_take_no_more_statements_than_one(place, globex):
    accounts = [place.account(f"team-{n}", under="nlp") for n in range(30)]
    places = [(account, pool) for account in accounts for pool in place.pools.values()]
    with scope.reading(place.id), CaptureQueriesContext(connection) as seen:
        found_ = queries.evidence(place.id, places, start=START, end=NOW)
    assert list(found_) == places
    assert len(seen) <= 1
    with scope.reading(place.id):
        assert queries.evidence(place.id, [], start=START, end=NOW) == {}
        foreign = [place_of(globex, "nlp")]
        assert queries.evidence(place.id, foreign, start=START, end=NOW) == {}


def test_records_are_found_by_index(place):
    place.use(used("a", 4, 10), used("b", 2, 60, after=-55), used("c", 1, 1, after=-60))
    values = {
        "organization": place.id,
        "counted_account": [place.accounts["nlp"]],
        "counted_pool": [place.pools["h100"]],
        "members": [place.accounts["nlp"]],
        **sql.window(START, NOW),
    }
    with scope.reading(place.id), server_cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = [
            row[0]
            for statement in sql.USED
            for row in cursor.execute(f"EXPLAIN {statement}", values).fetchall()
        ]
    # Long records by their end, in whatever month they began; no month is read as a whole.
    assert any("_ended_at_idx on accounting_usagerecord_202609" in line for line in plan)
    assert not [line for line in plan if "Seq Scan on accounting_usagerecord" in line]


@pytest.mark.parametrize("end", [START, START - DAY, START + 4000 * DAY])
def test_a_window_that_is_none(place, end):
    with pytest.raises(Invalid) as caught:
        found(place, end=end)
    assert caught.value.code == "period_out_of_range"


def test_hoarding_of_an_account_weighs_its_flavors(place):
    promise(place, "nlp", 10, pool="a100")  # weighs half of h100
    place.use(
        used("a", 10, 10, pool="a100"),
        used("b", 20, 10),
    )
    both = [place_of(place, "nlp", pool) for pool in ("h100", "a100")]
    with scope.reading(place.id):
        found_ = queries.evidence(place.id, both, start=START, end=NOW)
    scores = queries.hoarding_scores(found_)
    assert scores == {place.accounts["nlp"]: Fraction(20, 45)}
