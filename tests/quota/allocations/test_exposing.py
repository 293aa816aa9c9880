"""What a change of guarantees makes of the tiers of what runs, in the same command."""

from dataclasses import replace

import pytest

from ledger import scope, verification
from quota.commands.plans import ApplyQuotaPlan
from quota.commands.pools import ResizePool, SetReclaimTarget
from quota.commands.quotas import EndQuota, SettleQuotas
from quota.domain.values import Quota
from quota.importers.plan import PoolEntry, QuotaEntry, QuotaPlan
from quota.in_use import units_in_use
from tenancy.commands.accounts import MoveAccount
from tests.quota.allocations.conftest import after
from tests.world import NOW

LATER = after(minutes=1)


def tiers(jobs) -> dict[str, str]:
    return dict(jobs.rows("key, tier"))


def said(outcome) -> list[tuple]:
    """The tiers that a command's events tell of."""
    return [
        (data.event_type.split(".")[1], data.units, data.tier_before, data.tier)
        for data in (event.data for event in outcome.events)
        if data.event_type in ("allocation.demoted", "allocation.promoted")
    ]


@pytest.fixture
def full(jobs, quotas):
    """nlp has 30 guaranteed units and uses them: `a` (the oldest) 16, `b` 8, `c` 6; `c` waits."""
    quotas.set("nlp", 30)
    for minute, (key, units) in enumerate((("a", 16), ("b", 8), ("c", 6))):
        jobs.admit(jobs.ask(key, units=units), now=after(seconds=minute))
    jobs.start("a", "b", now=after(seconds=9))
    assert set(tiers(jobs).values()) == {"guaranteed"}
    return jobs


def whole(jobs) -> bool:
    return verification.verify(jobs.place.id).findings == []


def test_without_expose_everybody_keeps_its_tier(full, quotas):
    outcome = quotas.set("nlp", 10, now=LATER)
    assert said(outcome) == []
    assert full.holding("nlp") == (30, 0, 0)
    assert full.admit(full.ask("d", units=1, tier="guaranteed"), now=LATER).denied == 1


def test_the_excess_becomes_borrowed_oldest_first_while_they_fit(full, quotas):
    outcome = quotas.set("nlp", 22, now=LATER, expose=True)
    assert said(outcome) == [("demoted", 8, "guaranteed", "borrowed")]
    assert tiers(full) == {"a": "guaranteed", "b": "borrowed", "c": "guaranteed"}
    assert full.holding("nlp") == (22, 8, 0)
    assert full.rows("key, jsonb_path_query_array(steps, '$[*][2]')::text") == [
        ("a", '["guaranteed"]'),
        ("b", '["guaranteed", "borrowed"]'),
        ("c", "[]"),
    ]
    assert whole(full)


def test_what_was_left_above_can_be_exposed_afterwards(full, quotas):
    quotas.set("nlp", 16, now=LATER)
    outcome = quotas.set("nlp", 16, now=LATER, expose=True)
    assert outcome.result.changed
    assert tiers(full) == {"a": "guaranteed", "b": "borrowed", "c": "borrowed"}
    assert not quotas.set("nlp", 16, now=LATER, expose=True).result.changed


def test_production_serving_is_never_made_to_borrow(jobs, quotas):
    quotas.set("nlp", 20)
    jobs.admit(jobs.ask("old", units=10), now=NOW)
    jobs.admit(jobs.ask("p0", units=10, job_class="P0"), now=after(seconds=1))
    quotas.set("nlp", 5, now=LATER, expose=True)
    assert tiers(jobs) == {"old": "borrowed", "p0": "guaranteed"}
    assert whole(jobs)


def test_a_lender_is_exposed_by_what_is_carved_from_it(jobs, quotas):
    quotas.set("research", 30)
    jobs.admit(jobs.ask("r", units=30, account="research"))
    outcome = quotas.set("nlp", 20, carve="research", now=LATER, expose=True)
    assert said(outcome) == [("demoted", 30, "guaranteed", "borrowed")]
    assert jobs.holding("research") == (0, 30, 0)
    assert whole(jobs)


def test_a_scheduled_change_exposes_when_it_is_recorded(full, quotas, acme):
    quotas.set("nlp", 16, now=LATER, expose=True, effective_at=after(minutes=5))
    assert full.holding("nlp") == (30, 0, 0)
    outcome = acme.run(SettleQuotas(), now=after(minutes=6))
    # `c` was held for five minutes and is over; it is ended and does not fall.
    assert said(outcome) == [("demoted", 8, "guaranteed", "borrowed")]
    assert full.holding("nlp") == (16, 8, 0)
    assert whole(full)


@pytest.mark.parametrize("early", [False, True])
def test_the_end_of_a_temporary_quota_exposes_if_it_said_so(jobs, quotas, acme, early):
    quotas.set("research", 20)
    quotas.set("nlp", 5)
    lent = {"carve": "research", "ends_at": after(minutes=10)}
    quotas.set("nlp", 20, expose=True, **lent)
    jobs.admit(jobs.ask("a", units=20))
    jobs.start("a")
    nlp, h100 = acme.accounts["nlp"], acme.pools["h100"]
    command = EndQuota(account_id=nlp, pool_id=h100) if early else SettleQuotas()
    outcome = acme.run(command, now=after(minutes=9 if early else 11), reason="over")
    assert said(outcome) == [("demoted", 20, "guaranteed", "borrowed")]
    assert jobs.holding("nlp") == (0, 20, 0)
    assert whole(jobs)


def test_the_end_of_a_temporary_quota_harms_nobody_if_it_did_not(jobs, quotas, acme):
    quotas.set("nlp", 5)
    quotas.set("nlp", 20, ends_at=after(minutes=10))
    jobs.admit(jobs.ask("a", units=20))
    jobs.start("a")
    assert said(acme.run(SettleQuotas(), now=after(minutes=11))) == []
    assert jobs.holding("nlp") == (20, 0, 0)


def test_a_temporary_cut_that_exposes_ends_with_everybody_back(full, quotas, acme):
    quotas.set("nlp", 16, now=LATER, expose=True, ends_at=after(minutes=3))
    assert full.holding("nlp") == (16, 14, 0)
    outcome = acme.run(SettleQuotas(), now=after(minutes=4))
    assert [one[0] for one in said(outcome)] == ["promoted", "promoted"]
    assert full.holding("nlp") == (30, 0, 0)
    assert whole(full)


def test_who_asked_for_a_guarantee_comes_back_to_it(jobs, quotas):
    quotas.set("nlp", 10)
    jobs.admit(jobs.ask("a", units=10, tier="guaranteed"))
    quotas.set("nlp", 0, expose=True, now=LATER)
    assert jobs.holding("nlp") == (0, 10, 0)
    quotas.set("nlp", 10, now=LATER)
    assert jobs.holding("nlp") == (10, 0, 0)


@pytest.fixture
def borrowing(jobs, quotas):
    """vision uses 20 units that production is promised."""
    quotas.set("production", 60)
    jobs.admit(jobs.ask("v", account="vision", units=20))
    jobs.start("v")
    assert tiers(jobs) == {"v": "borrowed"}
    return jobs


def test_a_raised_guarantee_is_used_at_once(borrowing, quotas):
    outcome = quotas.set("vision", 20, now=LATER)
    assert said(outcome) == [("promoted", 20, "borrowed", "guaranteed")]
    assert borrowing.holding("vision") == (20, 0, 0)
    assert whole(borrowing)


def test_a_change_that_falls_due_raises_whoever_records_it(borrowing, quotas, acme):
    quotas.set("vision", 20, effective_at=after(minutes=5), now=LATER)
    assert tiers(borrowing) == {"v": "borrowed"}
    quotas.set("nlp", 1, now=after(minutes=6))
    assert tiers(borrowing) == {"v": "guaranteed"}


def test_a_plan_raises_what_it_promises(borrowing, acme):
    plan = replace(
        QuotaPlan(), quotas=(QuotaEntry(account="vision", pool="h100", quota=Quota(guaranteed=20)),)
    )
    assert said(acme.run(ApplyQuotaPlan(plan=plan), now=LATER, reason="plan"))
    assert tiers(borrowing) == {"v": "guaranteed"}
    assert whole(borrowing)


def test_a_pool_that_grows_and_an_account_that_moves_let_spot_rise(jobs, quotas, acme):
    quotas.set("production", 40)
    quotas.set("research", 0, borrowing_limit=0)
    jobs.admit(jobs.ask("s", account="vision", units=8, spot_allowed=True))
    assert tiers(jobs) == {"s": "spot"}
    move = MoveAccount(account_id=acme.accounts["vision"], to_parent_id=acme.accounts["production"])
    assert said(acme.run(move, now=LATER)) == [("promoted", 8, "spot", "borrowed")]
    assert tiers(jobs) == {"s": "borrowed"}
    assert whole(jobs)


def test_a_pool_that_keeps_its_promises_again_lets_spot_rise(jobs, quotas, acme):
    quotas.set("production", 60)
    quotas.set("research", 0, borrowing_limit=0)
    jobs.admit(jobs.ask("s", account="vision", units=8, spot_allowed=True))
    h100, vision = acme.pools["h100"], acme.accounts["vision"]
    small = ResizePool(pool_id=h100, capacity=50, accept_over_promise=True)
    assert said(acme.run(small, now=LATER, reason="broken")) == []
    move = MoveAccount(account_id=vision, to_parent_id=acme.accounts["production"])
    assert said(acme.run(move, now=LATER)) == []
    target = SetReclaimTarget(pool_id=h100, reclaim_target_seconds=30)
    assert said(acme.run(target, now=LATER, reason="faster")) == []
    # With the new target the job is slow, but a larger pool keeps every promise beside it.
    grown = acme.run(ResizePool(pool_id=h100, capacity=100), now=LATER, reason="repaired")
    assert said(grown) == [("promoted", 8, "spot", "borrowed")]
    assert whole(jobs)


def test_use_by_right_is_the_same_in_both_tiers(full, quotas, acme):
    h100 = acme.pools["h100"]

    def used():
        with scope.reading(acme.id):
            return units_in_use(acme.id, [h100], now=LATER)

    before = used()
    quotas.set("nlp", 0, now=LATER, expose=True)
    assert used() == before


def test_a_longer_reclaim_target_lets_who_is_in_time_now_rise_at_once(jobs, quotas, acme):
    quotas.set("production", 80)
    quotas.set("research", 0, borrowing_limit=0)
    jobs.admit(jobs.ask("s", account="vision", units=30, reclaim_seconds=60, spot_allowed=True))
    h100 = acme.pools["h100"]

    def target(seconds: int, minutes: int):
        command = SetReclaimTarget(pool_id=h100, reclaim_target_seconds=seconds)
        return said(acme.run(command, now=after(minutes=minutes), reason="measured"))

    assert target(30, 1) == []
    assert said(quotas.set("research", 0, now=after(minutes=2))) == []
    assert target(60, 3) == [("promoted", 30, "spot", "borrowed")]
    assert jobs.rows("tier, slow") == [("borrowed", False)]
    assert whole(jobs)


def test_a_plan_with_another_target_measures_by_it(jobs, quotas, acme):
    quotas.set("production", 80)
    quotas.set("research", 0, borrowing_limit=0)
    jobs.admit(jobs.ask("s", account="vision", units=15, reclaim_seconds=60, spot_allowed=True))
    pool = PoolEntry(name="h100", reclaim_target_seconds=30)
    # Slow by the new target, so it rises to what its own path is promised, and no further.
    quota = QuotaEntry(account="research", pool="h100", quota=Quota(guaranteed=15))
    plan = QuotaPlan(pools=(pool,), quotas=(quota,))
    told = acme.run(ApplyQuotaPlan(plan=plan), now=LATER, reason="plan")
    assert said(told) == [("promoted", 15, "spot", "borrowed")]
    assert jobs.rows("tier, slow") == [("borrowed", True)]
    assert whole(jobs)
