"""Sixteen writers at once, on one hot pool and on many: never over-admitted, no deadlock surfaces,
and each answer true at its commit."""

import contextlib
import random
import threading
from datetime import datetime, timedelta
from functools import partial

import pytest

from ledger import scope, store, verification
from quota import wire
from quota.commands import settling
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations, ResizeAllocations, StartAllocations
from quota.commands.quotas import SetQuota
from quota.commands.settling import SettlePools
from tests.ledger.sample import together
from tests.world import NOW, Tenant

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 16
ROUNDS = 5


@pytest.fixture
def place(acme: Tenant) -> Tenant:
    """Five pools of 100 units beside h100, in each 20 for nlp and 60 for production."""
    promise(acme, "h100")
    for number in range(5):
        open_pool(acme, number)
    return acme


def open_pool(place: Tenant, number: int) -> None:
    place.pool(f"p{number}")
    promise(place, f"p{number}")


def promise(place: Tenant, pool: str) -> None:
    for account, units in (("nlp", 20), ("production", 60)):
        command = SetQuota(
            account_id=place.accounts[account], pool_id=place.pools[pool], guaranteed=units
        )
        place.run(command, reason="test")


def writer(place: Tenant, number: int, pools: list[str]) -> int:
    """Ask, start, resize, release and sweep, as luck will have it; returns how many got in."""
    dice = random.Random(number)
    got = 0
    for step in range(ROUNDS):
        now = NOW + timedelta(minutes=step)
        key = f"{number}-{step}"
        chosen = dice.sample(pools, min(len(pools), dice.choice([1, 1, 2, 3])))
        needs = [
            wire.PoolNeed(pool=pool, units=dice.randint(4, 30), min_units=4) for pool in chosen
        ]
        ask = wire.Ask(
            key=key,
            account=dice.choice(["nlp", "vision", "serving"]),
            person="bob",
            needs=needs,
            spot_allowed=dice.random() < 0.3,
        )
        told = place.run(AdmitBatch(requests=(ask,)), now=now).result
        if told.results[0].status != "admitted":
            place.run(SettlePools(pool_ids=tuple(place.pools[pool] for pool in chosen)), now=now)
            continue
        got += 1
        place.run(StartAllocations(messages=(wire.Message(key=key),)), now=now)
        _change(place, dice, key, chosen[0], now)
    return got


def _change(place: Tenant, dice: random.Random, key: str, pool: str, now: datetime) -> None:
    if dice.random() < 0.5:
        message = wire.ResizeMessage(key=key, pool=pool, units=dice.randint(4, 30))
        place.run(ResizeAllocations(messages=(message,)), now=now)
    if dice.random() < 0.7:
        place.run(ReleaseAllocations(messages=(wire.ReleaseMessage(key=key),)), now=now)


def use_at_every_commit(place: Tenant, pool_id) -> list[int]:
    """Units in use after each command, from the pool's lane, whose order is that of commits."""
    with scope.reading(place.id):
        events = store.read_lane(place.id, pool_id, after_seq=0, limit=5_000)
    used, totals = 0, {None: 0}
    for event in events:
        match event.data.event_type.split(".")[1]:
            case "held" | "adopted":
                used += event.data.units
            case "resized":
                used += event.data.units - event.data.units_before
            case "released" | "preempted" | "expired":
                used -= event.data.units
        totals[event.command_id] = used
    return list(totals.values())


@pytest.mark.parametrize("count", [1, 6, 50])
def test_writers_at_once_never_overfill_a_pool(place, count):
    for number in range(5, count - 1):
        open_pool(place, number)
    pools = ["h100", *(f"p{number}" for number in range(count - 1))]
    got = together(partial(writer, place, number, pools) for number in range(WRITERS))
    assert not [one for one in got if isinstance(one, Exception)], got
    # Who gets in how often is luck; but nobody gets more than 30 of 80 units at first.
    assert sum(got) >= 3
    for pool in pools:
        used = use_at_every_commit(place, place.pools[pool])
        assert min(used) >= 0 and max(used) <= 100, pool
    assert verification.verify(place.id).findings == []


def test_the_same_job_from_many_schedulers_is_admitted_once(place):
    ask = wire.Ask(key="a", account="nlp", person="bob", pool="h100", units=5)
    answers = together([lambda: place.run(AdmitBatch(requests=(ask,))).result] * WRITERS)
    assert len({one.results[0].allocations[0].id for one in answers}) == 1
    assert sum(not one.results[0].repeated for one in answers) == 1


def test_one_attempt_asked_of_two_pools_at_once_is_admitted_in_one(place, monkeypatch):
    """The pools are other locks, so both decide before either has written."""
    decided = threading.Barrier(2)
    record = settling.record

    def record_together(unit, events):
        with contextlib.suppress(threading.BrokenBarrierError):
            # The second time round one comes alone: nobody waits for it any more.
            decided.wait(timeout=5)
            decided.abort()
        record(unit, events)

    monkeypatch.setattr(settling, "record", record_together)
    asks = [
        wire.Ask(key="a", account="nlp", person="bob", pool=pool, units=5) for pool in ("p0", "p1")
    ]
    answers = together(
        [lambda ask=ask: place.run(AdmitBatch(requests=(ask,))).result.results[0] for ask in asks]
    )
    assert sorted(one.status for one in answers) == ["admitted", "denied"], answers
    denied = next(one for one in answers if one.status == "denied")
    assert [block.limit for block in denied.blocks] == ["key_conflict"]
    again = [place.run(AdmitBatch(requests=(ask,))).result.results[0] for ask in asks]
    assert [one.status for one in again] == [one.status for one in answers]
    assert verification.verify(place.id).findings == []


def test_batches_that_claim_the_same_jobs_in_other_orders_are_all_answered(place):
    """Each waits for the other's claims at once: whoever is told to try again is answered."""
    keys = [f"j{number}" for number in range(40)]
    asks = {
        pool: [wire.Ask(key=key, account="nlp", person="bob", pool=pool, units=1) for key in keys]
        for pool in ("p0", "p1", "p2")
    }
    asks["p1"].reverse()
    answers = together(
        [
            lambda batch=batch: place.run(AdmitBatch(requests=tuple(batch))).result
            for batch in asks.values()
        ]
    )
    assert not [one for one in answers if isinstance(one, Exception)], answers
    got = [one.key for told in answers for one in told.results if one.status == "admitted"]
    assert sorted(got) == sorted(keys)


def test_the_last_units_go_to_one_of_many(place):
    asks = [
        wire.Ask(key=str(n), account="nlp", person="bob", pool="h100", units=20, tier="guaranteed")
        for n in range(WRITERS)
    ]
    answers = together(
        [lambda ask=ask: place.run(AdmitBatch(requests=(ask,))).result.admitted for ask in asks]
    )
    assert sorted(answers) == [0] * (WRITERS - 1) + [1]


def test_verification_notices_units_that_nobody_holds(place, owner):
    ask = wire.Ask(key="a", account="nlp", person="bob", pool="h100", units=5)
    place.run(AdmitBatch(requests=(ask,)))
    owner.execute("UPDATE quota_holding SET guaranteed = guaranteed + 1")
    found = {finding.check: finding.problem for finding in verification.verify(place.id).findings}
    assert "nlp holds 6 guaranteed" in found["allocations"]
    assert "quota_holding" in found["projections"]
