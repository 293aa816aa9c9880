"""Every unit of a pool is in one state and one tier, at any instant."""

from datetime import timedelta

import pytest

from quota.domain import lifecycle
from quota.domain.balance import Balance, balance, holdings
from quota.domain.batch import Holding
from quota.domain.values import Pool
from tests.quota.domain.test_promotion import T0, allocation

POOL = Pool(name="p", capacity=50, unavailable=10)
RUNNING = lifecycle.start(allocation("b", 7, "borrowed", 0, reclaim_seconds=400), at=T0, now=T0)
ALLOCATIONS = [
    allocation("a", 5, "guaranteed", 0),
    RUNNING.allocation,
    allocation("c", 3, "spot", 0, account="b"),
    lifecycle.release(allocation("d", 9, "spot", 0), at=T0, now=T0).allocation,
]


def test_held_running_and_free_are_all_there_is() -> None:
    found = balance(POOL, ALLOCATIONS, now=T0)
    assert (found.held, found.running, found.free) == (8, 7, 25)
    assert (found.guaranteed, found.borrowed, found.spot) == (5, 7, 3)
    assert found.holds


@pytest.mark.parametrize(("minutes", "in_use"), [(4, 15), (5, 7), (14, 7), (15, 0)])
def test_what_has_lapsed_holds_nothing_although_nobody_swept(minutes: int, in_use: int) -> None:
    found = balance(POOL, ALLOCATIONS, now=T0 + timedelta(minutes=minutes))
    assert (found.in_use, found.free) == (in_use, 40 - in_use)


def test_a_pool_that_shrank_has_an_overshoot_and_nothing_below_zero() -> None:
    found = balance(Pool(name="p", capacity=10), ALLOCATIONS, now=T0)
    assert (found.free, found.overshoot, found.holds) == (0, 5, True)


def test_a_unit_in_two_tiers_breaks_the_law() -> None:
    assert not Balance(usable=9, held=1, running=2, guaranteed=2, borrowed=1, spot=1).holds


def test_holdings_as_admission_counts_them() -> None:
    assert holdings(POOL, ALLOCATIONS, now=T0) == {
        "a": Holding(guaranteed=5, borrowed=7, slow_borrowed=7),
        "b": Holding(spot=3),
    }
