"""Who rises when a guarantee frees up."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from quota.domain.batch import Holding, PoolState
from quota.domain.lifecycle import Allocation
from quota.domain.promotion import promotions
from quota.domain.values import Pool, Quota, Tier

T0 = datetime(2026, 11, 29, 12, tzinfo=UTC)
ACCOUNTS: dict[Any, Any] = {"top": None, "a": "top", "b": "top"}
QUOTAS = {"a": Quota(guaranteed=20), "b": Quota(guaranteed=20)}


def allocation(key: str, units: int, tier: Tier, minute: int, **more: Any) -> Allocation:
    usual: dict[str, Any] = {
        "account": "a",
        "pool": "p",
        "min_units": units,
        "wanted_units": units,
        "priority_class": "P3",
        "reclaim_seconds": 60,
        "lease_seconds": 900,
        "held_at": T0 + timedelta(minutes=minute),
        "hold_until": T0 + timedelta(minutes=minute + 5),
    }
    return Allocation(key=key, units=units, tier=tier, **{**usual, **more})


def rise(*allocations: Allocation, capacity: int = 40, **holdings: Holding) -> list[Any]:
    state = PoolState(pool=Pool(name="p", capacity=capacity), quotas=QUOTAS, holdings=holdings)
    found = promotions(accounts=ACCOUNTS, pool="p", state=state, allocations=allocations)
    return [(promotion.allocation.key, promotion.tier) for promotion in found]


def test_the_oldest_first_and_who_does_not_fit_leaves_room() -> None:
    assert rise(
        allocation("young", 4, "borrowed", 3),
        allocation("big", 18, "borrowed", 2),
        allocation("old", 5, "borrowed", 1),
        a=Holding(borrowed=27),
    ) == [("old", "guaranteed"), ("young", "guaranteed")]


def test_spot_rises_as_far_as_it_can() -> None:
    assert rise(
        allocation("first", 15, "spot", 1),
        allocation("second", 15, "spot", 2),
        allocation("third", 15, "spot", 3),
        capacity=60,
        a=Holding(spot=45),
    ) == [("first", "guaranteed"), ("second", "borrowed")]


def test_a_guarantee_that_slow_units_hold_is_theirs_to_rise_to() -> None:
    held = Holding(borrowed=25, slow_borrowed=20)
    assert rise(allocation("fast", 5, "borrowed", 1), a=held) == []
    slow = allocation("slow", 20, "borrowed", 2, reclaim_seconds=900)
    assert rise(slow, a=held) == [("slow", "guaranteed")]


def test_nobody_rises_while_the_guarantee_is_in_use() -> None:
    assert rise(allocation("j", 5, "borrowed", 1), a=Holding(guaranteed=16, borrowed=5)) == []


def test_who_asked_for_its_tier_keeps_it_and_the_ended_are_passed_over() -> None:
    wished = allocation("wished", 5, "spot", 1, tier_wish="spot")
    ended = replace(allocation("ended", 5, "spot", 1), state="expired", ended_at=T0)
    assert rise(wished, ended, a=Holding(spot=5)) == []


def test_a_borrower_gets_its_own_guarantee_even_where_the_tree_is_in_deficit() -> None:
    """Its use is in the tree either way, so naming it guaranteed takes nothing from anybody."""
    assert rise(
        allocation("j", 20, "borrowed", 1), a=Holding(borrowed=20), b=Holding(borrowed=30)
    ) == [("j", "guaranteed")]
