"""Rates are published, withdrawn and graded by finance; nothing that was priced ever changes."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.commands.rates import (
    PriceWish,
    PublishRateCard,
    SetRateGrade,
    WithdrawRateCard,
)
from accounting.queries import rates
from ledger import scope, verification
from ledger.errors import Conflict, Denied, DomainError, Invalid
from ledger.ids import new_id
from tests import world
from tests.ledger.sample import together
from tests.world import NOW

DAY = timedelta(days=1)


@pytest.fixture
def place(acme):
    """Fay holds the purse."""
    acme.person("fay")
    acme.role("fay", "finance")
    return acme


def publish(place, price="2", *, by="fay", now=NOW, reason="contract", **values):
    lines = values.pop("lines", (PriceWish(flavor="h100-80gb", list_price=Decimal(price)),))
    command = PublishRateCard(lines=lines, **values)
    return place.run(command, by=place.actor(by), now=now, reason=reason).result


def price_at(place, at, tier="guaranteed"):
    with scope.reading(place.id):
        card = rates.rate_card(place.id)
        (flavor,) = {line.flavor for version in card.versions for line in version.lines}
        found = card.price(at, flavor=flavor, tier=tier)
    return None if found is None else found.price


def test_prices_hold_from_their_instant_until_the_next(place):
    publish(place, "2")
    publish(place, "3", effective_from=NOW + 2 * DAY, effective_until=NOW + 4 * DAY)
    days = (-1, 0, 1.9, 2, 3.9, 4)
    assert [price_at(place, NOW + day * DAY) for day in days] == [None, 2, 2, 3, 3, None]
    assert verification.verify(place.id).findings == []


def test_pages_list_versions_and_their_lines(place):
    wishes = (
        PriceWish(flavor="h100-80gb", list_price=Decimal(4), contracted_price=Decimal("3.5")),
        PriceWish(flavor="h100-80gb", tier="spot", grade="academic", list_price=Decimal("0.7")),
    )
    made = publish(place, lines=wishes, memory_flavor="a100-80gb", currency="EUR")
    later = publish(place, effective_from=NOW + DAY)
    with scope.reading(place.id):
        second, first = rates.rate_versions(place.id)
        lines = rates.rate_lines(place.id, made.version_id)
    assert (first.id, first.holds_until) == (made.version_id, NOW + DAY)
    assert (second.id, second.holds_until) == (later.version_id, None)
    assert (first.memory_flavor, first.published_by, first.reason) == (
        "a100-80gb",
        "fay",
        "contract",
    )
    assert [(line.tier, line.grade, line.list_price, line.contracted_price) for line in lines] == [
        (None, None, 4, Decimal("3.5")),
        ("spot", "academic", Decimal("0.7"), None),
    ]


def test_use_before_the_first_prices_may_get_its_price_later(place):
    publish(place, "2", effective_from=NOW - 90 * DAY)
    assert price_at(place, NOW - 80 * DAY) == 2


@pytest.mark.parametrize(
    ("values", "code", "field"),
    [
        ({"effective_from": NOW - DAY}, "rates_in_the_past", "effective_from"),
        ({"effective_from": NOW - 5 * DAY}, "rates_overlap", "effective_from"),
        ({"effective_until": NOW + 11 * DAY}, "rates_overlap", "effective_until"),
        ({"effective_until": NOW}, "rates_backwards", "effective_until"),
        ({"currency": "USD"}, "currency_fixed", "currency"),
        ({"memory_flavor": "ram"}, "flavor_unknown", "memory_flavor"),
        ({"lines": ()}, "lines_missing", "lines"),
        ({"price": "-1"}, "out_of_range", "lines[0].list_price"),
        (
            {"lines": (PriceWish(flavor="tpu", list_price=Decimal(1)),)},
            "flavor_unknown",
            "lines[0].flavor",
        ),
        (
            {"lines": (PriceWish(flavor="h100-80gb", list_price=Decimal(1)),) * 2},
            "line_duplicate",
            "lines[1]",
        ),
        ({"reason": " "}, "reason_missing", "reason"),
    ],
)
def test_what_cannot_be_published_is_named_and_changes_nothing(place, values, code, field):
    publish(place, "2", effective_from=NOW - 5 * DAY)
    publish(place, "3", effective_from=NOW + 10 * DAY)
    with pytest.raises(DomainError) as caught:
        publish(place, **({"price": "9"} | values))
    assert (caught.value.code, caught.value.field) == (code, field)
    with scope.reading(place.id):
        assert len(rates.rate_versions(place.id)) == 2


def test_only_finance_writes_rates(place):
    for name in ("otto", "alice", "uma"):
        with pytest.raises(Denied) as caught:
            publish(place, by=name)
        assert caught.value.facts["roles"] == ["finance"]


def test_prices_that_do_not_hold_yet_can_be_withdrawn(place):
    publish(place, "2")
    later = publish(place, "3", effective_from=NOW + DAY)
    place.run(WithdrawRateCard(version_id=later.version_id), reason="typing error")
    assert price_at(place, NOW + 2 * DAY) == 2
    publish(place, "4", effective_from=NOW + DAY)
    assert price_at(place, NOW + 2 * DAY) == 4
    assert verification.verify(place.id).findings == []


def test_prices_that_held_cannot_be_withdrawn(place):
    made = publish(place, "2")
    for version_id, code in ((made.version_id, "rates_in_the_past"), (new_id(), "rates_unknown")):
        with pytest.raises(DomainError) as caught:
            place.run(WithdrawRateCard(version_id=version_id), reason="why not")
        assert caught.value.code == code


def grade(place, account, name, *, reason="contract", **values):
    command = SetRateGrade(account_id=place.accounts[account], grade=name, **values)
    place.run(command, reason=reason)


def test_grades_are_inherited_until_an_account_has_its_own(place):
    grade(place, "root", "internal")
    grade(place, "research", "academic", effective_from=NOW + DAY)
    grade(place, "nlp", "partner", effective_from=NOW + 2 * DAY)
    grade(place, "nlp", None, effective_from=NOW + 3 * DAY)
    with scope.reading(place.id):
        found = rates.grades(place.id)
        only = rates.grades(place.id, [place.accounts["vision"]])
    academic = ((NOW, "internal"), (NOW + DAY, "academic"))
    assert found[place.accounts["vision"]] == academic
    assert only == {place.accounts["vision"]: academic}
    assert found[place.accounts["serving"]] == ((NOW, "internal"),)
    assert found[place.accounts["nlp"]] == (
        *academic,
        (NOW + 2 * DAY, "partner"),
        (NOW + 3 * DAY, "academic"),
    )
    assert verification.verify(place.id).findings == []


def test_a_grade_never_changes_what_was_priced(place):
    grade(place, "nlp", "academic", effective_from=NOW - 50 * DAY)
    publish(place, "2", effective_from=NOW - 40 * DAY)
    for values, code in (
        ({"effective_from": NOW - DAY}, "rates_in_the_past"),
        ({"name": "\n"}, "grade_malformed"),
        ({"reason": ""}, "reason_missing"),
    ):
        with pytest.raises(DomainError) as caught:
            grade(place, "nlp", values.pop("name", "partner"), **values)
        assert caught.value.code == code


def test_a_command_that_is_repeated_publishes_once(place):
    command = PublishRateCard(lines=(PriceWish(flavor="h100-80gb", list_price=Decimal(2)),))
    first = place.run(command, idempotency_key="k", reason="r")
    again = place.run(command, idempotency_key="k", reason="r")
    assert again.replayed and again.result == first.result
    with pytest.raises((Conflict, Invalid)):
        place.run(command, reason="r")


@pytest.mark.django_db(transaction=True)
def test_of_two_that_publish_at_once_for_one_instant_one_is_told():
    tenant = world.acme()
    start = NOW + DAY

    def job(price):
        lines = (PriceWish(flavor="h100-80gb", list_price=Decimal(price)),)
        command = PublishRateCard(lines=lines, effective_from=start)
        return lambda: tenant.run(command, reason="test")

    outcomes = together([job(2), job(3)])
    (refused,) = [one for one in outcomes if isinstance(one, Exception)]
    assert isinstance(refused, Conflict) and refused.code == "rates_overlap"
    with scope.reading(tenant.id):
        assert len(rates.rate_versions(tenant.id)) == 1
