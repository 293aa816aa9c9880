"""Sliding windows, exact: what counts, what fits, when it does if not now."""

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from ledger.errors import Invalid
from preemption.domain.budgets import BudgetPolicy, Budgets, Preempted, SlidingWindow
from tests.conftest import NOW


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def window(*entries: tuple[float, int], limit: int = 10) -> SlidingWindow:
    return SlidingWindow(
        limit=limit, window_seconds=600, entries=[(at(when), n) for when, n in entries]
    )


def taken(when: float, units: int = 1, **more: object) -> Preempted:
    return Preempted(**{"at": at(when), "job": "j", "units": units, **more})


def test_a_window_is_half_open() -> None:
    found = window((0, 10))
    assert [found.used(at(second)) for second in (-1, 0, 599, 599.999999, 600)] == [
        0,
        10,
        10,
        10,
        0,
    ]
    assert [found.room(at(second)) for second in (-600, -599, 0, 599, 600)] == [10, 0, 0, 0, 10]


def test_entries_ahead_count_in_every_window_that_reaches_them() -> None:
    """4 now and 6 in five minutes: nothing fits between, nor shortly before the first."""
    found = window((0, 4), (300, 6))
    assert [found.room(at(second)) for second in (-301, -299, 0, 300, 600, 900)] == [
        6,
        0,
        0,
        0,
        4,
        10,
    ]


@pytest.mark.parametrize(("amount", "second"), [(1, 600), (4, 600), (5, 900), (10, 900), (0, 1)])
def test_the_first_instant_at_which_it_fits(amount: int, second: int) -> None:
    assert window((0, 4), (300, 6)).earliest(at(1), amount) == at(second)


def test_what_never_fits_and_what_is_over_the_limit_already() -> None:
    assert window().earliest(at(0), 11) is None
    assert window((0, 30)).room(at(1)) == 0
    assert window((0, 30)).earliest(at(1), 10) == at(600)


def test_entering_changes_what_is_left() -> None:
    found = window((0, 4))
    found.enter(at(60), 3)
    found.enter(at(0), 1)
    assert (found.used(at(60)), found.room(at(60))) == (8, 2)
    assert found.used(at(600)) == 3


def test_five_percent_rounded_down() -> None:
    assert BudgetPolicy().pool_units(1000) == 50
    assert BudgetPolicy().pool_units(119) == 5
    assert BudgetPolicy(pool_share=Fraction(0)).pool_units(1000) == 0


def test_a_job_once_an_hour_by_its_last() -> None:
    found = Budgets(BudgetPolicy(), capacity=100, history=[taken(-100), taken(-4000), taken(-50)])
    assert found.job_allowed_at("j") == at(3550)
    assert found.job_allowed_at("other") is None
    assert found.may_ask_at("j") == at(3550)
    assert found.may_ask_at(None) is None


def test_actions_are_scheduled_in_order_as_the_windows_allow() -> None:
    found = Budgets(BudgetPolicy(), capacity=200, history=[taken(-60, 6)])  # 10 a window
    seconds = [(when - NOW).total_seconds() for when in found.schedule([4, 4, 2, 5], at=NOW) or []]
    assert seconds == [0, 540, 540, 1140]
    assert found.schedule([11], at=NOW) is None
    assert found.schedule([], at=NOW) == []


def test_aged_actions_need_both_budgets() -> None:
    policy = replace(BudgetPolicy(), aged_per_day=2)
    old = taken(-86_000, 1, by_account="a", by_aged=True)
    found = Budgets(policy, capacity=200, history=[old])
    when = found.schedule([1, 1, 1], at=NOW, aged_account="a")
    assert when == [NOW, at(400), at(86_400)]
    assert found.schedule([1, 1], at=NOW, aged_account="b") == [NOW, NOW]
    none = replace(policy, aged_per_day=0)
    assert Budgets(none, capacity=200).schedule([1], at=NOW, aged_account="a") is None


@pytest.mark.parametrize(
    "bad", [{"pool_share": Fraction(2)}, {"aged_per_day": -1}, {"job_window_seconds": -1}]
)
def test_what_cannot_be_a_policy(bad: dict) -> None:
    with pytest.raises(Invalid):
        BudgetPolicy(**bad)
