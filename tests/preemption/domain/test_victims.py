"""Who gives back what: the order, the shares, the classes, and what a plan waits for."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import (
    Borrowing,
    Elsewhere,
    OpenPlan,
    PlanAnswer,
    PlanRequest,
    PlanState,
    Running,
)
from preemption.domain.victims import plan
from quota.domain.values import Pool, Quota
from tests.conftest import NOW

FREE = BudgetPolicy(pool_share=Fraction(1))
TREE = {"lab": None, "nlp": "lab", "vision": "lab", "ops": "lab", "cv": "vision", "3d": "vision"}


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def job(key: str, account: str, units: int, kind: str, **more: Any) -> Running:
    """`kind` is tier and class: "borrowed P3"."""
    tier, priority_class = kind.split()
    return Running(
        **{
            "key": key,
            "account": account,
            "units": units,
            "min_units": units,
            "tier": tier,
            "priority_class": priority_class,
            "since": ago(120),
            "saved_at": ago(30),
            **more,
        }
    )


def state(*running: Running, capacity: int | None = None, **more: Any) -> PlanState:
    """Everything is in use, and each of nlp, vision, ops is promised a third of 90."""
    full = sum(each.units - each.ending_units for each in running)
    return PlanState(
        pool=Pool(name="h100", capacity=full if capacity is None else capacity),
        accounts=TREE,
        **{
            "quotas": {name: Quota(guaranteed=30) for name in ("nlp", "vision", "ops")},
            "running": running,
            "policy": FREE,
            "price": Decimal(2),
            **more,
        },
    )


def ask(at: PlanState, account: str = "nlp", units: int = 10, **more: Any) -> PlanAnswer:
    request = {"account": account, "units": units, "priority_class": "P2", **more}
    return plan(at, PlanRequest(**request), at=NOW)


def took(found: PlanAnswer) -> list[tuple[str, str, int]]:
    return [(action.key, action.mode, action.units) for action in found.actions]


def codes(found: PlanAnswer) -> set[str]:
    return {obstacle.code for obstacle in found.obstacles}


FILL = job("fill", "ops", 30, "guaranteed P1")


def test_spot_then_borrowed_p3_then_p2_then_p1_then_a_lower_class() -> None:
    everyone = state(
        job("spot", "vision", 10, "spot P1"),
        job("p3", "vision", 10, "borrowed P3"),
        job("p2", "vision", 10, "borrowed P2"),
        job("p1", "vision", 10, "borrowed P1"),
        job("own", "nlp", 10, "guaranteed P3"),
        job("base", "vision", 30, "guaranteed P2"),
        capacity=90,
        quotas={"nlp": Quota(guaranteed=60), "vision": Quota(guaranteed=30)},
    )
    # 10 units are free, and the rest comes in the order of what is taken first.
    steps = [action.step for action in ask(everyone, units=50).actions]
    assert steps == ["spot", "borrowed P3", "borrowed P2", "borrowed P1"]
    assert [a.step for a in ask(everyone, units=60).actions][-1] == "guaranteed P3"
    assert ask(everyone, units=20).actions[0].step == "spot"


def test_a_claim_within_its_guarantee_has_share_0_whatever_its_side_borrows() -> None:
    """cv holds lab's own 4 slowly, by right. With 3d's claim vision is as far above its guarantee
    as nlp; it is nlp's fast units that use what 3d was promised."""
    promised = {"lab": 4, "nlp": 12, "vision": 4, "cv": 8, "3d": 6}
    nested = state(
        job("base", "nlp", 12, "guaranteed P1"),
        job("fast", "nlp", 4, "borrowed P1", reclaim_seconds=60),
        job("cv", "cv", 8, "guaranteed P1"),
        job("slow", "cv", 8, "borrowed P3", reclaim_seconds=900),
        capacity=34,
        quotas={account: Quota(guaranteed=units) for account, units in promised.items()},
    )
    claim = ask(nested, "3d", 6)
    assert took(claim) == [("fast", "checkpoint", 4)]
    assert (claim.returns_guarantee, claim.within_target, claim.obstacles) == (True, True, ())


def test_a_return_that_comes_late_says_what_stood_in_the_way_of_one_in_time() -> None:
    full = state(
        job("fast", "vision", 6, "borrowed P3"),
        job("slow", "vision", 30, "borrowed P3", reclaim_seconds=900, min_units=1),
        job("base", "vision", 24, "guaranteed P2"),
        FILL,
        policy=BudgetPolicy(pool_share=Fraction(5, 90)),
    )
    late = ask(full, "nlp", 5)
    assert (took(late), late.within_target) == ([("slow", "shrink", 5)], False)
    assert codes(late) >= {"pool_budget"}
    in_time = ask(replace(full, policy=FREE), "nlp", 5)
    assert (took(in_time), in_time.obstacles) == ([("fast", "checkpoint", 6)], ())


def test_what_is_free_needs_no_plan() -> None:
    found = ask(state(FILL, capacity=90))
    assert (found.outcome, found.actions, found.free_units) == ("plan", (), 10)


def test_p0_is_never_touched_and_p1_gives_way_to_p0_alone() -> None:
    serving = state(
        job("serve", "vision", 30, "guaranteed P0"),
        job("train", "ops", 30, "guaranteed P1"),
        job("more", "nlp", 30, "guaranteed P1"),
    )
    assert ask(serving, priority_class="P1").outcome == "refused"
    assert ask(serving, priority_class="P2").outcome == "refused"
    found = ask(serving, priority_class="P0")
    assert took(found) == [("more", "checkpoint", 30)]  # it may not borrow: its own makes room


def test_borrowed_p1_goes_back_to_who_is_promised_it_but_not_to_a_borrower() -> None:
    lent = state(job("train", "vision", 60, "borrowed P1"), FILL)
    assert took(ask(lent, units=10)) == [("train", "checkpoint", 60)]
    assert ask(lent, account="ops", units=10).outcome == "refused"


def test_who_is_further_above_its_share_takes_nothing() -> None:
    """nlp has 30 of its own and 10 borrowed; vision borrows 20."""
    borrowing = state(
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        job("nlp-more", "nlp", 10, "borrowed P2"),
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 1, "borrowed P3") for n in range(20)),
    )
    assert ask(borrowing, units=5).units == 5  # 15 against 15
    found = ask(borrowing, units=6)  # 16 against 14
    assert found.outcome == "refused"
    assert "share" in codes(found)


def test_weights_move_the_line() -> None:
    weighted = state(
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 1, "borrowed P3") for n in range(30)),
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        weights={"nlp": Fraction(2)},
    )
    assert ask(weighted, units=20).units == 20  # 20 / 2 against 10 / 1
    assert ask(weighted, units=21).outcome == "refused"


def test_what_is_borrowed_elsewhere_counts() -> None:
    at = state(
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 1, "borrowed P3") for n in range(30)),
        job("nlp-own", "nlp", 30, "guaranteed P2"),
    )
    assert ask(at, units=10).outcome == "plan"
    in_other_flavor = Borrowing(accounts={"nlp": Elsewhere(share=Fraction(1, 2))})
    assert ask(replace(at, elsewhere=in_other_flavor), units=10).outcome == "refused"


def test_who_borrows_elsewhere_still_claims_what_it_is_promised_here() -> None:
    at = state(
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 1, "borrowed P3") for n in range(60)),
        elsewhere=Borrowing(accounts={"nlp": Elsewhere(share=Fraction(1, 2))}),
    )
    claimed = ask(at, units=30)  # its own guarantee
    assert (claimed.outcome, claimed.units) == ("plan", 30)
    assert "share" in codes(ask(at, units=31, tier="borrowed"))  # one beyond it


def test_shares_that_another_flavor_decides_are_not_taken_back_and_forth() -> None:
    """nlp and vision borrow half of another flavor each, which outweighs all they borrow here."""
    half = {name: Elsewhere(share=Fraction(1, 2)) for name in ("nlp", "vision")}
    at = state(
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 1, "borrowed P2") for n in range(20)),
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        job("nlp-more", "nlp", 10, "borrowed P2"),
        elsewhere=Borrowing(accounts=half),
    )
    assert ask(at, units=5).units == 5  # 15 here against 15
    assert "share" in codes(ask(at, units=6))
    assert "share" in codes(ask(at, account="vision", units=1))


def test_jobs_of_a_department_itself_borrow_elsewhere_as_well() -> None:
    at = state(
        *(job(f"own{n}", "vision", 4, "borrowed P3") for n in range(9)),
        *(job(f"cv{n}", "cv", 4, "borrowed P3") for n in range(5)),
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        job("ops-own", "ops", 4, "guaranteed P2"),
    )
    assert took(ask(at, account="3d", units=1)) == [
        ("cv0", "checkpoint", 4)
    ]  # 20 above its own against 6
    own = Borrowing(own={"vision": Elsewhere(share=Fraction(9, 10))})
    found = ask(replace(at, elsewhere=own), account="3d", units=1)
    assert took(found) == [("own0", "checkpoint", 4)]


def test_shares_are_judged_where_the_paths_meet() -> None:
    """cv borrows within vision, which as a whole is within its guarantee: nlp cannot take it."""
    within = state(
        job("cv", "cv", 20, "borrowed P3"),
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        capacity=50,
    )
    found = ask(within, units=10)  # would borrow
    assert found.outcome == "refused"
    assert took(ask(within, account="vision", units=15)) == [("cv", "checkpoint", 20)]


def test_the_furthest_above_its_share_first() -> None:
    at = state(
        job("ops-own", "ops", 30, "guaranteed P2"),
        *(job(f"o{n}", "ops", 5, "borrowed P3") for n in range(2)),
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n}", "vision", 5, "borrowed P3", saved_at=ago(1 + n)) for n in range(4)),
    )
    found = ask(at, units=15)
    accounts = [action.account for action in found.actions]
    assert accounts[:2] == ["vision", "vision"]  # 20 borrowed against 10, then equal
    assert [action.key for action in found.actions][:2] == ["v0", "v1"]


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ({"saved_at": ago(5)}, {"saved_at": ago(10)}, "a"),  # least lost
        ({"saved_at": ago(5), "reload_seconds": 600}, {"saved_at": ago(10)}, "b"),
        ({"since": ago(60)}, {"since": ago(50)}, "b"),  # the youngest
        ({}, {}, "a"),  # the key
    ],
)
def test_within_an_account_the_smallest_tax_then_the_youngest(
    first: dict[str, Any], second: dict[str, Any], taken: str
) -> None:
    at = state(
        job("a", "vision", 10, "borrowed P3", **first),
        job("b", "vision", 10, "borrowed P3", **second),
        job("own", "vision", 30, "guaranteed P3"),
    )
    assert [action.key for action in ask(at).actions] == [taken]


def test_elastic_ones_shrink_before_any_is_stopped_and_gangs_go_whole() -> None:
    at = state(
        job("gang", "vision", 20, "borrowed P3", saved_at=ago(1)),
        job("elastic", "vision", 20, "borrowed P3", min_units=5),
        job("own", "vision", 30, "guaranteed P1"),
    )
    assert took(ask(at, units=12)) == [("elastic", "shrink", 12)]
    # Fifteen from the elastic one are not enough; with the gang, they are more than needed.
    assert took(ask(at, units=18)) == [("gang", "checkpoint", 20)]
    assert took(ask(at, units=30)) == [("elastic", "shrink", 10), ("gang", "checkpoint", 20)]


def test_an_elastic_one_that_must_go_goes_whole() -> None:
    at = state(
        job("elastic", "vision", 20, "borrowed P3", min_units=5),
        job("own", "vision", 30, "guaranteed P1"),
    )
    assert took(ask(at, units=18)) == [("elastic", "checkpoint", 20)]


def test_modes_grace_and_tax() -> None:
    """The worked case: 64 units, 15 + 20 + 10 minutes, 2 per unit-hour: 96."""
    worked = {"saved_at": ago(15), "reload_seconds": 1200, "warm_up_seconds": 600}
    at = state(job("train", "vision", 64, "borrowed P3", reclaim_seconds=200, **worked))
    (action,) = ask(at).actions
    assert (action.mode, action.grace_seconds, action.tax) == ("checkpoint", 200, 96)
    assert action.returns_at == NOW + timedelta(seconds=200)
    stops = state(job("x", "vision", 10, "spot P3", saves=False, reclaim_seconds=5))
    (action,) = ask(stops).actions
    assert (action.mode, action.grace_seconds) == ("stop", 60)
    slow = state(job("x", "vision", 10, "spot P3", reclaim_seconds=900))
    found = ask(slow)
    assert (found.actions[0].grace_seconds, found.within_target) == (300, False)
    assert found.ready_at == NOW + timedelta(seconds=900)


def test_what_comes_back_within_the_target_is_taken_first_for_a_guarantee() -> None:
    at = state(
        job("slow", "vision", 10, "spot P3", reclaim_seconds=301, saved_at=NOW),
        job("fast", "vision", 10, "spot P3", reclaim_seconds=300),
    )
    found = ask(at)
    assert (found.returns_guarantee, found.within_target) == (True, True)
    assert took(found) == [("fast", "checkpoint", 10)]


def test_a_deadline_excludes_the_slow() -> None:
    at = state(job("slow", "vision", 10, "spot P3", reclaim_seconds=900))
    assert ask(at, deadline=NOW + timedelta(seconds=900)).meets_deadline is True
    found = ask(at, deadline=NOW + timedelta(seconds=899))
    assert (found.outcome, codes(found)) == ("refused", {"slow", "not_enough"})


def test_what_is_ending_counts_as_freed_and_open_plans_hold_it() -> None:
    at = state(
        job("ending", "vision", 10, "borrowed P3", ending_units=10),
        job("own", "vision", 30, "guaranteed P1"),
        capacity=40,
    )
    assert ask(at).actions == ()
    held = replace(at, open_plans=(OpenPlan(key="p", account="ops", units=10, tier="guaranteed"),))
    assert ask(held).outcome == "refused"


def test_the_fresh_are_protected_and_the_answer_says_how_long() -> None:
    at = state(
        job("new", "vision", 10, "spot P3", since=ago(2), saved_at=None),
        job("newer", "vision", 10, "spot P3", since=ago(1), saved_at=None),
        policy=replace(FREE, min_run_seconds=300),
    )
    found = ask(at)
    assert (found.outcome, codes(found)) == ("wait", {"fresh"})
    assert found.wait_until == ago(2) + timedelta(seconds=300)
    assert took(found) == [("new", "checkpoint", 10)]
    assert ask(at, units=20).wait_until == ago(1) + timedelta(seconds=300)


def test_one_preemption_per_job_and_hour_across_requeues() -> None:
    at = state(
        job("again", "vision", 10, "spot P3", attempt=2, since=ago(20), saved_at=None),
        history=(Preempted(at=ago(59), job="again", units=10),),
    )
    found = ask(at)
    assert (found.outcome, found.wait_until) == ("wait", ago(-1))
    assert codes(found) == {"job_budget"}
    assert ask(replace(at, history=(Preempted(at=ago(60), job="again", units=10),))).outcome == (
        "plan"
    )
    assert ask(at, override=True).outcome == "plan"


def test_a_preempted_job_does_not_preempt_while_it_cools_down() -> None:
    at = state(
        job("spot", "vision", 10, "spot P3"),
        history=(Preempted(at=ago(10), job="victim", units=1),),
    )
    found = ask(at, job="victim")
    assert (found.outcome, found.wait_until) == ("wait", ago(-50))
    assert codes(found) == {"cooling_down"}
    assert ask(at, job="somebody").outcome == "plan"
    assert ask(at, job="victim", override=True).outcome == "plan"


def test_what_exceeds_the_pools_budget_waits_for_its_turn() -> None:
    """5 % of 200 are 10 units in any 10 minutes."""
    at = state(
        *(job(f"s{n}", "vision", 5, "spot P3") for n in range(40)),
        quotas={"nlp": Quota(guaranteed=200)},
        policy=BudgetPolicy(),
        history=(Preempted(at=ago(4), job="other", units=5),),
    )
    assert ask(at, units=5).outcome == "plan"
    found = ask(at, units=20)
    waits = [(action.starts_at - NOW) // timedelta(minutes=1) for action in found.actions]
    assert (found.outcome, waits) == ("wait", [0, 6, 10, 16])
    assert found.wait_until == NOW + timedelta(minutes=16)
    assert (found.pool_draw.used, found.pool_draw.units, found.pool_draw.limit) == (5, 20, 10)
    assert ask(at, units=20, override=True).outcome == "plan"


def test_a_gang_larger_than_the_budget_needs_an_operator() -> None:
    at = state(job("gang", "vision", 100, "spot P3"), policy=BudgetPolicy())
    found = ask(at)
    assert (found.outcome, codes(found)) == ("refused", {"pool_budget", "not_enough"})
    assert ask(at, override=True).units == 100


def test_aged_preemptions_per_account_and_day() -> None:
    old = Preempted(at=ago(60), job="x", units=1, by_account="nlp", by_aged=True)
    at = state(
        *(job(f"s{n}", "vision", 5, "spot P3") for n in range(2)),
        policy=replace(FREE, aged_per_day=2),
        history=(old,),
    )
    assert ask(at, units=5, aged=True).outcome == "plan"
    found = ask(at, units=10, aged=True)
    assert (found.outcome, codes(found)) == ("wait", {"aged_budget"})
    assert found.wait_until == ago(60) + timedelta(days=1)
    assert ask(at, units=10).outcome == "plan"


def test_spot_preempts_nobody_and_nobody_gets_more_than_quotas_allow() -> None:
    at = state(job("spot", "vision", 10, "spot P3"))
    assert codes(ask(at, tier="spot")) == {"spot_never_preempts"}
    assert "quota" in codes(ask(at, units=91))
    hard = replace(at, quotas={"nlp": Quota(guaranteed=5, borrowing_limit=0)})
    found = ask(hard, units=6)
    assert "quota" in codes(found)
    assert [block.limit for block in found.blocks]


def test_spot_is_spared_where_quotas_not_room_are_short() -> None:
    """All that is promised is in use, with room in the pool: only what is borrowed helps."""
    at = state(
        job("spot", "vision", 10, "spot P3"),
        job("lent", "vision", 60, "borrowed P3", min_units=1),
        FILL,
        capacity=200,
    )
    assert took(ask(at)) == [("lent", "shrink", 10)]


def test_an_unknown_account_is_a_fault_of_the_caller() -> None:
    with pytest.raises(KeyError):
        ask(state(job("x", "nobody", 1, "spot P3")))


def test_what_another_account_holds_within_its_guarantee_is_for_p0_alone() -> None:
    """A failure left 50 units of 60 promised: nlp's serving comes first, its training waits."""
    failed = state(
        job("batch", "vision", 30, "guaranteed P3", min_units=10),
        job("more", "nlp", 20, "guaranteed P1"),
        capacity=50,
    )
    assert codes(ask(failed, priority_class="P1")) >= {"class", "not_enough"}
    assert took(ask(failed, priority_class="P0")) == [("batch", "shrink", 10)]


def test_a_team_within_its_guarantee_is_left_alone_beside_one_that_borrows() -> None:
    """vision is above its guarantee, because 3d is; what cv holds, cv was promised."""
    at = state(
        job("cv", "cv", 10, "borrowed P3"),
        job("3d", "3d", 25, "borrowed P1"),
        job("nlp-own", "nlp", 20, "guaranteed P2"),
        quotas={"nlp": Quota(guaranteed=30), "cv": Quota(guaranteed=10)},
    )
    assert took(ask(at)) == [("3d", "checkpoint", 25)]


def test_who_borrows_takes_no_spot_from_who_borrows_less() -> None:
    at = state(
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        job("spot", "vision", 10, "spot P3"),
        capacity=40,
    )
    assert ask(at).outcome == "refused"  # nlp would borrow, vision does not
    assert took(ask(at, account="ops")) == [("spot", "checkpoint", 10)]
