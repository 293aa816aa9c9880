"""Shares count all the organization's pools: who borrows in one is further above its share when it
asks for units of another."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import scope
from ledger.sql import server_cursor
from preemption import loading
from preemption.domain.values import NO_BORROWING
from quota.commands.pools import OpenPool
from tests.preemption.conftest import Preemption, after

NOW = after(minutes=10)


@pytest.fixture
def place(acme) -> Preemption:
    """h100 is full: of 40 promised to research, nlp and vision use their 20 each and vision borrows
    40 of production's 60 in jobs of one unit. nlp has twice vision's weight. Nobody uses a100."""
    it = Preemption(acme)
    it.promise(nlp=20, vision=20, production=60)
    it.budgets(pool_share="1")
    for account in ("nlp", "vision"):
        mine = {"account": account, "tier": "guaranteed", "job_class": "P1"}
        it.running(f"{account}-own", 20, at=after(), **mine)
    for number in range(40):
        it.running(f"v{number:02}", 1, tier="borrowed", at=after())
    it.running("own", 20, account="production", tier="guaranteed", at=after())
    return it


def elsewhere(it: Preemption, account: str, *, pool: str = "h100"):
    place = it.place
    with scope.reading(place.id):
        found = loading.borrowing_elsewhere(
            place.id, place.pools[pool], now=NOW, among=set(place.accounts.values())
        )
    return found.accounts.get(place.accounts[account])


def borrow(it: Preemption, pool: str, units: int, *, promised: int) -> None:
    """nlp borrows units of another pool, which promises some to production."""
    there = Preemption(it.place, pool=pool)
    there.promise(production=promised)
    there.running(f"{pool}-more", units, account="nlp", tier="borrowed", at=after())


def test_alone_in_its_pool_the_share_is_of_that_pool(place):
    with scope.reading(place.place.id):
        pool_id = place.place.pools["h100"]
        found = loading.borrowing_elsewhere(place.place.id, pool_id, now=NOW, among=())
    assert found == NO_BORROWING
    assert place.ask("much", 27, now=NOW).status == "refused"  # 27 / 2 against 13
    assert place.ask("job", 26, now=NOW).status == "plan"  # 26 / 2 against 14


def test_borrowing_of_another_flavor_decides_the_share(place):
    """nlp borrows half of what a100 lends: a share of 1/2 / 2, as 25 of the 100 of h100."""
    borrow(place, "a100", 50, promised=100)
    one = elsewhere(place, "nlp")
    assert (one.borrowed, one.lendable, one.share) == (0, 0, Decimal(1) / 2)
    found = place.ask("job", 16, now=NOW)  # against 24
    assert found.status == "refused"
    assert "share" in {one.code for one in found.obstacles}
    even = place.ask("job", 15, now=NOW)  # against 25
    assert even.status == "plan"
    place.cancel(even.plan, now=NOW)
    place.jobs.release("a100-more", now=NOW)
    assert place.ask("job", 26, now=NOW).status == "plan"


def test_borrowing_of_the_same_flavor_adds_up(place):
    """What nlp borrows in another cluster is borrowed of the same."""
    acme = place.place
    with scope.reading(acme.id), server_cursor() as cursor:
        (flavor,) = cursor.execute(
            "SELECT flavor_id FROM quota_pool WHERE id = %b", (acme.pools["h100"],)
        ).fetchone()
    opened = OpenPool(name="berlin", flavor_id=flavor, cluster="berlin", capacity=50)
    acme.pools["berlin"] = acme.run(opened, reason="test").result.pool_id
    borrow(place, "berlin", 10, promised=50)
    one = elsewhere(place, "nlp")
    assert (one.borrowed, one.share) == (10, 0)
    assert one.lendable == 50  # the parent, research, could have all that production is promised
    assert place.ask("much", 24, now=NOW).status == "refused"  # (24 + 10) / 2 against 16
    assert place.ask("little", 23, now=NOW).status == "plan"  # (23 + 10) / 2 against 17


def test_pools_in_which_nobody_borrows_are_not_read(place):
    there = Preemption(place.place, pool="a100")
    there.promise(nlp=50)
    there.running("there", 30, account="nlp", tier="guaranteed", at=after())
    with CaptureQueriesContext(connection) as told, scope.reading(place.place.id):
        loading.borrowing_elsewhere(place.place.id, place.place.pools["h100"], now=NOW, among=())
    assert not any("FROM quota_quota WHERE" in one["sql"] for one in told)
    # A guarantee that was cut under what runs is borrowed from then on.
    there.promise(nlp=20)
    assert elsewhere(place, "nlp").share > 0


def test_a_guarantee_is_claimed_whatever_is_borrowed_elsewhere(place):
    borrow(place, "a100", 50, promised=100)
    found = place.ask("claim", 40, account="production", now=NOW)
    assert found.status == "plan" and found.plan.returns_guarantee
    place.cancel(found.plan, now=NOW)
    place.jobs.release("nlp-own", now=NOW)
    fits = place.ask("again", 20, now=NOW)
    assert fits.status == "fits"
    place.jobs.admit(place.jobs.ask("other", units=20, account="vision", tier="borrowed"), now=NOW)
    mine = place.ask("mine", 20, now=NOW)
    assert mine.status == "plan" and mine.plan.tier == "guaranteed"


def test_the_number_of_questions_does_not_grow_with_pools(place):
    def questions() -> int:
        with CaptureQueriesContext(connection) as told, scope.reading(place.place.id):
            loading.borrowing_elsewhere(
                place.place.id, place.place.pools["h100"], now=NOW, among=set()
            )
        return len(told)

    borrow(place, "a100", 5, promised=100)
    few = questions()
    for number in range(4):
        name = f"more-{number}"
        place.place.pool(name)
        borrow(place, name, 5, promised=100)
    assert questions() == few
