"""The promise rule: additions, carving, pools that shrink."""

import pytest

from ledger.errors import Invalid, Refused
from quota.domain.promise import (
    GuaranteeChange,
    check_whole_plan,
    promise_of,
    resize_pool,
    set_guarantee,
)
from quota.domain.values import AMOUNT_MAX, Pool

POOL = Pool(name="h100", capacity=200, unavailable=10, safety_margin=10)
GIVEN = {"department": 150, "team": 0, "other": 20}
"""170 of the 180 that can be promised."""


def grant(account: str, guaranteed: int, **more: object) -> tuple[GuaranteeChange, ...]:
    return set_guarantee(
        pool=POOL,
        guarantees=GIVEN,
        account=account,
        guaranteed=guaranteed,
        **more,  # type: ignore[arg-type]
    )


def test_the_promise_is_the_sum_over_all_nodes() -> None:
    promise = promise_of(POOL, GIVEN.values())
    assert (promise.promised, promise.promisable, promise.unpromised) == (170, 180, 10)
    assert promise.holds


def test_the_department_s_150_become_90_own_and_60_for_the_team() -> None:
    changes = grant("team", 60, carve_from="department", ancestors=["department"])
    assert changes == (
        GuaranteeChange("department", 150, 90),
        GuaranteeChange("team", 0, 60),
    )


def test_an_addition_fits_to_the_last_unit() -> None:
    assert grant("team", 10) == (GuaranteeChange("team", 0, 10),)


def test_one_unit_more_is_refused_with_the_shortfall() -> None:
    with pytest.raises(Refused) as caught:
        grant("team", 11)
    assert caught.value.code == "promise_exceeded"
    facts = caught.value.facts
    assert (facts["short_by"], facts["unpromised"], facts["asked"]) == (1, 10, 11)


def test_more_than_the_ancestor_s_own_is_refused_with_the_shortfall() -> None:
    with pytest.raises(Refused) as caught:
        grant("team", 155, carve_from="department", ancestors=["department"])
    assert caught.value.code == "carve_exceeded"
    assert (caught.value.facts["short_by"], caught.value.facts["available"]) == (5, 150)


def test_a_cut_goes_back_to_whom_it_came_from() -> None:
    changes = set_guarantee(
        pool=POOL,
        guarantees={"department": 90, "team": 60},
        account="team",
        guaranteed=40,
        carve_from="department",
        ancestors=["department"],
    )
    assert changes == (GuaranteeChange("department", 90, 110), GuaranteeChange("team", 60, 40))


def test_nobody_carves_from_a_stranger() -> None:
    with pytest.raises(Invalid) as caught:
        grant("team", 5, carve_from="other", ancestors=["department"])
    assert caught.value.code == "carve_not_ancestor"


def test_no_change_is_no_change() -> None:
    assert grant("other", 20) == ()


@pytest.mark.parametrize("amount", [-1, AMOUNT_MAX + 1])
def test_absurd_amounts_are_refused(amount: int) -> None:
    with pytest.raises(Invalid):
        grant("team", amount)


class TestShrinking:
    def test_failed_units_are_accepted_and_shown(self) -> None:
        after = Pool(name="h100", capacity=200, unavailable=50, safety_margin=10)
        promise = resize_pool(before=POOL, after=after, guarantees=GIVEN.values())
        assert (promise.holds, promise.over_promised_by) == (False, 30)

    def test_a_decision_against_promises_is_refused(self) -> None:
        after = Pool(name="h100", capacity=189, unavailable=10, safety_margin=10)
        with pytest.raises(Refused) as caught:
            resize_pool(before=POOL, after=after, guarantees=GIVEN.values())
        assert (caught.value.code, caught.value.facts["short_by"]) == ("promise_exceeded", 1)
        accepted = resize_pool(
            before=POOL, after=after, guarantees=GIVEN.values(), accept_over_promise=True
        )
        assert accepted.over_promised_by == 1

    def test_taking_failed_units_out_for_good_changes_no_promise(self) -> None:
        before = Pool(name="h100", capacity=200, unavailable=40)
        after = Pool(name="h100", capacity=160)
        assert resize_pool(before=before, after=after, guarantees=[170]).over_promised_by == 10

    def test_nothing_is_added_to_an_over_promised_pool_but_carving_goes_on(self) -> None:
        small = Pool(name="h100", capacity=100)
        for guaranteed in (1, 60):
            with pytest.raises(Refused) as caught:
                set_guarantee(pool=small, guarantees=GIVEN, account="team", guaranteed=guaranteed)
            assert caught.value.code == "pool_over_promised"
            assert caught.value.facts["over_promised_by"] == 70
            assert caught.value.facts["short_by"] == 70 + guaranteed
        carved = set_guarantee(
            pool=small,
            guarantees=GIVEN,
            account="team",
            guaranteed=60,
            carve_from="department",
            ancestors=["department"],
        )
        assert len(carved) == 2

    def test_a_plan_that_lowers_the_promise_passes_although_still_over(self) -> None:
        small = Pool(name="h100", capacity=100)
        promise = check_whole_plan(small, GIVEN.values(), [130, 20])
        assert promise.over_promised_by == 50
        with pytest.raises(Refused):
            check_whole_plan(small, GIVEN.values(), [151, 20])
