"""Whatever runs and whoever asks: a plan keeps the order, the shares and the classes."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from preemption.domain.budgets import BudgetPolicy
from preemption.domain.ground import CLASS_RANK, Ground
from preemption.domain.values import PlanAnswer, PlanRequest, PlanState, Running
from preemption.domain.victims import STEPS, plan
from quota.domain.admission import Admissions
from quota.domain.batch import AdmissionRequest, Holding, Need, PoolState
from tests.conftest import NOW
from tests.preemption.strategies import elastic_requests, requests, states, with_ending


def fits(state: PlanState, request: PlanRequest, given_back: dict[str, int]) -> bool:
    """Would admission let the request in once these units are back?"""
    after = with_ending(state, given_back)
    holdings: dict[str, dict[str, int]] = {}
    for each in after.running:
        units = each.units - each.ending_units
        held = holdings.setdefault(each.account, {})
        held[each.tier] = held.get(each.tier, 0) + units
        if each.tier != "guaranteed" and each.reclaim_seconds > state.pool.reclaim_target_seconds:
            held[f"slow_{each.tier}"] = held.get(f"slow_{each.tier}", 0) + units
    admissions = Admissions(
        accounts=dict(state.accounts),
        pools={
            "h100": PoolState(
                pool=state.pool,
                quotas=state.quotas,
                holdings={account: Holding(**held) for account, held in holdings.items()},
            )
        },
        now=NOW,
    )
    verdict = admissions.decide(
        AdmissionRequest(
            key="asking",
            account=request.account,
            needs=(Need(pool="h100", units=request.units),),
            priority_class=request.priority_class,
            tier=plan(state, request, at=NOW).tier,
        )
    )
    return verdict.admitted


def taken(found: PlanAnswer) -> dict[str, int]:
    return {action.key: action.units for action in found.actions}


@given(states(), requests())
@settings(max_examples=80, deadline=None)
def test_a_plan_lets_the_request_in_and_no_victim_is_superfluous(state, request):
    found = plan(state, request, at=NOW)
    if found.outcome == "refused":
        return
    units = taken(found)
    assert fits(state, request, units)
    for action in found.actions:
        rest = {key: n for key, n in units.items() if key != action.key}
        assert not fits(state, request, rest), "a victim that the sum does not need"
        if action.mode == "shrink":
            assert not fits(state, request, {**units, action.key: action.units - 1})


@given(states(), requests())
@settings(max_examples=80, deadline=None)
def test_order_classes_gangs_and_shares(state, request):
    found = plan(state, request, at=NOW)
    running = {each.key: each for each in state.running}
    ground = Ground(state, request)
    for action in found.actions:
        victim = running[action.key]
        ground.take(victim, ground.leaf_of(victim.account), action.units)
        assert victim.priority_class != "P0"
        assert not victim.ending_units
        assert 60 <= action.grace_seconds <= 300
        assert action.left == 0 or action.left >= victim.min_units
        if victim.min_units == victim.units:
            assert action.mode != "shrink", "gangs go whole"
        if victim.tier == "guaranteed":
            assert CLASS_RANK[victim.priority_class] > CLASS_RANK[request.priority_class]
            if victim.priority_class == "P1":
                assert request.priority_class == "P0"
    steps = [STEPS.index(action.step) for action in found.actions]
    assert steps == sorted(steps)
    for action in found.actions:  # judged on the final set, after the move
        victim = running[action.key]
        leaf = ground.leaf_of(victim.account)
        meeting = ground.meeting(leaf)
        if meeting is not None:
            levels = ground.levels
            path = levels.path(ground.leaf_of(request.account))
            path = path[: path.index(meeting[0]) + 1]
            if all(map(levels.borrows, path)):  # else it claims what is its own
                assert levels.standing(meeting[0]) <= levels.standing(meeting[1])


@given(states(), requests())
@settings(max_examples=80, deadline=None)
def test_elastic_ones_shrink_before_one_of_their_step_is_stopped(state, request):
    """Who is elastic is stopped only where its minimum is needed, too."""
    found = plan(state, request, at=NOW)
    running = {each.key: each for each in state.running}
    units = taken(found)
    for action in found.actions:
        victim = running[action.key]
        if action.mode == "shrink" or victim.min_units == victim.units:
            continue
        only_shrunk = {**units, action.key: victim.units - victim.min_units}
        assert not fits(state, request, only_shrunk), "it could have gone on with less"


@given(states(), elastic_requests())
@settings(max_examples=150, deadline=None)
def test_an_elastic_request_gets_a_number_that_one_more_unit_would_break(state, request):
    """And its plan is the one of a request for exactly that many: minimal, in order, legal."""
    found = plan(state, request, at=NOW)
    exactly = replace(request, min_units=None)
    assert request.min_units <= found.for_units <= request.units
    assert found == plan(state, replace(exactly, units=found.for_units), at=NOW)
    if plan(state, exactly, at=NOW).outcome == "plan":
        assert found.for_units == request.units
    elif found.outcome == "plan":
        more = plan(state, replace(exactly, units=found.for_units + 1), at=NOW)
        assert more.outcome != "plan"
    else:
        assert found.for_units == request.min_units


@given(states(policy=BudgetPolicy(pool_share=Fraction(1, 10))), elastic_requests())
@settings(max_examples=80, deadline=None)
def test_an_elastic_request_stays_within_the_budget(state, request):
    found = plan(state, request, at=NOW)
    if found.outcome == "plan":
        assert found.pool_draw.used + found.units <= max(
            found.pool_draw.limit, found.pool_draw.used
        )


@given(states(), requests(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_same_state_gives_the_same_plan(state, request, random):
    mixed = list(state.running)
    random.shuffle(mixed)
    assert plan(state, request, at=NOW) == plan(replace(state, running=mixed), request, at=NOW)


@given(states(), requests(), requests())
@settings(max_examples=100, deadline=None)
def test_nobody_takes_back_what_was_taken(state, first, second):
    """A takes from B; B, asking for as much as it lost, cannot take from A's new units."""
    first = replace(first, job="first")
    found = plan(state, first, at=NOW)
    if found.outcome != "plan" or not found.actions:
        return
    carried = with_ending(state, taken(found))
    won = admitted(first, found.tier)
    after = replace(
        carried,
        running=(*carried.running, won),
        history=(),
    )
    for action in found.actions:
        victim = next(each for each in state.running if each.key == action.key)
        back = plan(
            after,
            PlanRequest(
                account=victim.account,
                units=action.units,
                priority_class=victim.priority_class,
                job=victim.key,
            ),
            at=NOW + timedelta(days=1),
        )
        assert "first" not in taken(back)


def admitted(request: PlanRequest, tier: str) -> Running:
    return Running(
        key="first",
        account=request.account,
        units=request.units,
        min_units=request.units,
        tier=tier,
        priority_class=request.priority_class,
        since=NOW,
    )


@given(states(policy=BudgetPolicy(min_run_seconds=600)), requests())
@settings(max_examples=80, deadline=None)
def test_a_wait_ends_when_it_says(state, request):
    """With the same state at that instant the same units may start; a second earlier not all."""
    found = plan(state, request, at=NOW)
    if found.outcome != "wait":
        return
    assert found.wait_until is not None and found.wait_until > NOW
    assert max(action.starts_at for action in found.actions) == found.wait_until
    limit = found.pool_draw.limit
    entries = [(each.at, each.units) for each in state.history]
    entries += [(action.starts_at, action.units) for action in found.actions]
    drawn = {action.starts_at for action in found.actions}
    for start, _ in entries:
        inside = [(at, n) for at, n in entries if start <= at < start + timedelta(minutes=10)]
        if any(at in drawn for at, _ in inside):
            assert sum(n for _, n in inside) <= limit
    jobs = {
        each.job: max(h.at for h in state.history if h.job == each.job) for each in state.history
    }
    for action in found.actions:
        if action.key in jobs:
            assert action.starts_at >= jobs[action.key] + timedelta(hours=1)
