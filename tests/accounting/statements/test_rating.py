"""A month grouped in SQL is what the records rated one by one are."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

import pytest

from accounting import statement_rating
from accounting.commands.rates import PriceWish, PublishRateCard, SetRateGrade
from accounting.domain import money, rating
from accounting.domain.rating import Record
from accounting.queries import rates
from ledger import scope
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from quota.commands.quotas import SetQuota
from quota.wire import Ask, Message
from tenancy.commands.accounts import MoveAccount
from tests.world import NOW, Tenant, record

OCTOBER = date(2026, 10, 1)
START = datetime(2026, 9, 30, 22, tzinfo=UTC)
END = datetime(2026, 10, 31, 23, tzinfo=UTC)
LATER = datetime(2026, 11, 2, 8, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)


def publish(place: Tenant, price: str, *, at: datetime, until=None, **values) -> None:
    wishes = [PriceWish(flavor="h100-80gb", list_price=Decimal(price))]
    for tier, its_price in values.items():
        wishes.append(PriceWish(flavor="h100-80gb", list_price=Decimal(its_price), tier=tier))
    command = PublishRateCard(lines=tuple(wishes), effective_from=at, effective_until=until)
    place.run(command, now=at, reason="test")


def month(place: Tenant, *, now=LATER, first=OCTOBER, **values):
    with scope.reading(place.id):
        here = statement_rating.ground(place.id, first, now=now)
        return statement_rating.month_use(here, **values)


@pytest.fixture
def place(acme) -> Tenant:
    return acme


def rolled() -> list[dict]:
    """Records of all lengths, before, in and beyond the month."""
    dice = Random(7)
    return [
        record(
            str(number),
            start=START + timedelta(microseconds=dice.randrange(-4 * 10**12, 25 * 10**11)),
            hours=dice.choice((0.001, 1, 7.7, 30, 900, 1500)),
            tier=dice.choice(("guaranteed", "borrowed", "spot")),
            account=dice.choice(("nlp", "vision")),
            units=dice.randrange(1, 500),
            labels=dice.choice((None, {"project": "p"})),
        )
        for number in range(120)
    ]


def one_by_one(place: Tenant, rows: list[dict]) -> rating.Rating:
    """The pure rating of the parts of the records that lie in the month."""
    with scope.reading(place.id):
        card = rates.rate_card(place.id)
        said = rates.grades(place.id)
    (flavor,) = {line.flavor for version in card.versions for line in version.lines}
    records = [
        Record(
            account=place.accounts[row["account"]],
            flavor=flavor,
            tier=row["tier"],
            units=row["units"],
            start=max(row["start"], START),
            end=min(row["end"], END),
        )
        for row in rows
        if row["end"] > START and row["start"] < END
    ]
    return rating.rate(records, card, zone=BERLIN, currency="EUR", grades=said)


def compared(lines) -> dict:
    """What a group costs, without its place in the tree."""
    found = {}
    for line in lines:
        group = line.group
        account = group.account[0] if isinstance(group.account, tuple) else group.account
        key = (account, group.tier, group.grade, group.version)
        found[key] = (line.unit_seconds, getattr(line, "amount", None))
    return found


def test_a_month_in_sql_is_the_records_rated_one_by_one(place):
    publish(place, "2", at=START - DAY, spot="0.7", until=START + 20 * DAY)
    publish(place, "3", at=START + 21 * DAY + timedelta(microseconds=1))
    grade = SetRateGrade(account_id=place.accounts["research"], grade="academic")
    place.run(grade, now=START + 3 * DAY, reason="test")
    rows = rolled()
    place.use(*rows, now=LATER)
    expected = one_by_one(place, rows)
    found = month(place, now=LATER, details=statement_rating.DETAILS)
    for each in (found, month(place, now=LATER)):
        assert compared(each.rating.lines) == compared(expected.lines)
        assert compared(each.rating.unrated) == compared(expected.unrated)
    assert expected.unrated
    for line in found.rating.lines:
        assert money.total(list(found.parts[line.group].values())) == line.unit_seconds


def test_what_runs_counts_to_the_end_of_the_month_or_until_now(place):
    publish(place, "1", at=START - 200 * DAY)
    place.use(
        record("ever", units=1, hours=None, start=START - 100 * DAY),
        record("fresh", units=2, hours=None, start=END - DAY),
    )
    (line,) = month(place).lines
    hours = Decimal((END - START).total_seconds()) / 3600
    assert line.amount == hours + 48
    (line,) = month(place, now=START + DAY).lines
    assert line.amount == 24
    assert month(place, now=START - DAY).lines == []


def test_corrections_and_memory(place):
    wishes = tuple(
        PriceWish(flavor=flavor, list_price=Decimal(price))
        for flavor, price in (("h100-80gb", "8"), ("a100-80gb", "0.05"))
    )
    place.run(
        PublishRateCard(lines=wishes, effective_from=START, memory_flavor="a100-80gb"),
        now=START,
        reason="test",
    )
    place.use(record("a", units=500, hours=100, start=START))
    values = {"units": 128, "hours": 100, "start": START, "memory_gb": Decimal(10_240)}
    place.use(record("b", supersedes="a", **values))
    found = month(place)
    assert sorted(line.amount for line in found.lines) == [51_200, 102_400]
    assert found.rating.total == 153_600


def test_a_move_splits_the_month_at_its_instant(place):
    publish(place, "1", at=START - DAY)
    place.use(record("a", units=1, hours=240, start=START))
    move = MoveAccount(account_id=place.accounts["nlp"], to_parent_id=place.accounts["production"])
    place.run(move, now=START + 2 * DAY)
    above = {line.key.above[1]: line.amount for line in month(place, now=LATER).lines}
    assert above == {place.accounts["research"]: 48, place.accounts["production"]: 192}


def test_an_allocation_that_runs_counts_until_now_and_once(place):
    start = NOW - timedelta(minutes=3)
    publish(place, "60", at=START)
    promise = {"account_id": place.accounts["nlp"], "pool_id": place.pools["h100"]}
    place.run(SetQuota(**promise, guaranteed=40), now=START, reason="test")
    ask = Ask(key="j", account="nlp", person="bob", pool="h100", units=12, job_class="P1")
    place.run(AdmitBatch(requests=(ask,)), now=start)
    place.run(StartAllocations(messages=(Message(key="j"),)), now=start)
    november = {"now": NOW, "first": date(2026, 11, 1)}
    (line,) = month(place, **november, details=statement_rating.DETAILS).lines
    assert (line.amount, line.key.tier) == (12 * 3, "guaranteed")
    # Its scheduler reports it, too.
    place.use(record("j", units=12, hours=None, start=start))
    (line,) = month(place, **november).lines
    assert line.amount == 12 * 3


def test_how_far_use_is_settled_is_asked_only_where_the_last_day_is_not_over(place, statements):
    publish(place, "1", at=START)
    place.use(record("a", units=1, hours=24, start=START))

    def asked(now: datetime) -> bool:
        statements.clear()
        (line,) = month(place, now=now).lines
        assert line.amount == 24
        return any("payload->>'until'" in one for one in statements)

    assert asked(START + 5 * DAY + timedelta(hours=3))
    assert not asked(LATER)
