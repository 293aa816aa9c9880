"""A preview says what then happens: each is compared with what the command made of it."""

import random
from datetime import timedelta

import pytest

from ledger import scope
from ledger.errors import DomainError
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.pools import ResizePool, SetUnavailable
from quota.commands.quotas import EndQuota, SetQuota
from quota.domain.changes import Wish
from quota.domain.values import Quota
from quota.queries.allocations import allocations
from quota.queries.preview import SHOWN_MAX, preview_end, preview_size, preview_wish
from quota.queries.standing import pool_tree
from tests.world import NOW

ACCOUNTS = ("root", "research", "nlp", "vision", "production", "serving")


def admit(acme, rng, number):
    asks = tuple(
        wire.Ask(
            key=f"job-{number}-{n}",
            account=rng.choice(("nlp", "vision", "serving")),
            person="bob",
            pool="h100",
            units=rng.randint(1, 15),
        )
        for n in range(3)
    )
    acme.run(AdmitBatch(requests=asks), now=NOW + timedelta(seconds=number))


def wish(acme, rng, now):
    ends = rng.random() < 0.3
    above = {"research": ["root"], "nlp": ["research", "root"], "vision": ["research"]}
    account = rng.choice(ACCOUNTS)
    lenders = [None, *above.get(account, ())]
    lender = rng.choice(lenders)
    return Wish(
        account=acme.accounts[account],
        quota=Quota(
            guaranteed=rng.randint(0, 40),
            borrowing_limit=rng.choice((None, 0, 10)),
            lending_limit=rng.choice((None, 0, 10)),
        ),
        lender=acme.accounts[lender] if lender else None,
        ends_at=now + timedelta(days=1) if ends else None,
        expose=rng.random() < 0.5,
    )


def set_quota(acme, one, **more):
    return SetQuota(
        account_id=one.account,
        pool_id=acme.pools["h100"],
        guaranteed=one.quota.guaranteed,
        borrowing_limit=one.quota.borrowing_limit,
        lending_limit=one.quota.lending_limit,
        carve_from_id=one.lender,
        ends_at=one.ends_at,
        expose=one.expose,
        **more,
    )


def stands(acme, now):
    with scope.reading(acme.id):
        tree = pool_tree(acme.id, acme.pools["h100"], now=now)
        jobs = {one.key: one.tier for one in allocations(acme.id, now=now, limit=1000)}
    return tree, jobs


def compare(acme, preview, before, *, now):
    """The preview against what stands after the command."""
    (tree_before, jobs_before), (tree, jobs) = before, stands(acme, now)
    assert preview.promise_before == tree_before.promise
    assert preview.promise_after == tree.promise
    was = {one.account_id: one for one in tree_before.accounts}
    then = {one.account_id: one for one in tree.accounts}
    told = {one.after.account_id: one for one in preview.shifts}
    for account, one in told.items():
        assert (one.before, one.after) == (was[account], then[account])
    for account in then.keys() - told.keys():
        parts = ("quota", "available", "potential", "overshoot")
        assert all(getattr(was[account], p) == getattr(then[account], p) for p in parts)
    moved = {one.key: one.tier for one in preview.rises}
    moved |= {one.key: one.tier for one in preview.above if preview.expose}
    real = {key: tier for key, tier in jobs.items() if tier != jobs_before[key]}
    assert {key: tier for key, tier in moved.items() if tier != jobs_before[key]} == real


@pytest.mark.parametrize("seed", range(4))
def test_a_preview_is_what_happens(acme, seed):
    rng = random.Random(seed)
    made = 0
    for number in range(1, 25):
        now = NOW + timedelta(seconds=number)
        if rng.random() < 0.4:
            admit(acme, rng, number)
        before = stands(acme, now)
        pool_id = acme.pools["h100"]
        try:
            if rng.random() < 0.15:
                units = rng.randint(0, 60)
                command = SetUnavailable(pool_id=pool_id, unavailable=units)
                with scope.reading(acme.id):
                    found = preview_size(acme.id, pool_id, {"unavailable": units}, now=now)
            else:
                one = wish(acme, rng, now)
                command = set_quota(acme, one)
                with scope.reading(acme.id):
                    found = preview_wish(acme.id, pool_id, one, now=now)
        except DomainError as error:
            with pytest.raises(type(error)) as refused:
                acme.run(command, reason="x", now=now)
            assert refused.value.code == error.code
            continue
        acme.run(command, reason="x", now=now)
        compare(acme, found, before, now=now)
        made += 1
    assert made > 5


def test_the_end_of_a_temporary_quota_is_previewed_as_it_comes(acme):
    rng = random.Random(1)
    base = Wish(account=acme.accounts["research"], quota=Quota(guaranteed=30))
    acme.run(set_quota(acme, base), reason="x")
    more = Wish(
        account=acme.accounts["nlp"],
        quota=Quota(guaranteed=20),
        lender=acme.accounts["research"],
        ends_at=NOW + timedelta(days=1),
        expose=True,
    )
    acme.run(set_quota(acme, more), reason="x")
    admit(acme, rng, 1)
    now = NOW + timedelta(seconds=2)
    before = stands(acme, now)
    place = {"account_id": acme.accounts["nlp"], "pool_id": acme.pools["h100"]}
    with scope.reading(acme.id):
        found = preview_end(acme.id, place["pool_id"], place["account_id"], now=now)
    acme.run(EndQuota(**place), reason="x", now=now)
    compare(acme, found, before, now=now)
    assert found.expose


def test_a_shrunk_pool_names_the_largest_guarantees_and_what_lapses(acme):
    for account, units in (("nlp", 40), ("vision", 30)):
        one = Wish(account=acme.accounts[account], quota=Quota(guaranteed=units))
        acme.run(set_quota(acme, one), reason="x")
    later = Wish(account=acme.accounts["serving"], quota=Quota(guaranteed=20))
    starts = NOW + timedelta(days=1)
    acme.run(set_quota(acme, later, effective_at=starts), reason="x")
    with scope.reading(acme.id):
        found = preview_size(acme.id, acme.pools["h100"], {"capacity": 60}, now=NOW)
    assert found.is_over_promised and found.promise_after.over_promised_by == 10
    assert [one.account for one in found.promised_to] == ["nlp", "vision"]
    assert [(one.account, one.at, one.is_end) for one in found.lapses] == [
        ("serving", starts, False)
    ]
    with pytest.raises(DomainError):
        acme.run(ResizePool(pool_id=acme.pools["h100"], capacity=60), reason="x")
    assert found.shifts_count <= SHOWN_MAX
