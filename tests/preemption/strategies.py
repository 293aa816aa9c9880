"""Pools in use, for property tests: a small tree, jobs of every kind, one request."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import strategies as st

from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import PlanRequest, PlanState, Running
from quota.domain.values import CLASSES, TIERS, Pool, Quota
from tests.conftest import NOW

PARENTS = {
    "lab": None,
    "research": "lab",
    "serving": "lab",
    "nlp": "research",
    "vision": "research",
    "chat": "serving",
}
ACCOUNTS = st.sampled_from(list(PARENTS))
UNLIMITED = BudgetPolicy(pool_share=Fraction(1), min_run_seconds=0)

limits = st.none() | st.integers(0, 30)
quotas = st.builds(
    Quota, guaranteed=st.integers(0, 20), borrowing_limit=limits, lending_limit=limits
)


@st.composite
def runnings(draw, key: str) -> Running:
    units = draw(st.integers(1, 12))
    since = NOW - timedelta(minutes=draw(st.integers(0, 300)))
    saved = draw(st.none() | st.integers(0, 60))
    priority_class = draw(st.sampled_from(CLASSES))
    return Running(
        key=key,
        account=draw(ACCOUNTS),
        units=units,
        min_units=draw(st.just(units) | st.integers(1, units)),
        # P0 may not borrow.
        tier="guaranteed" if priority_class == "P0" else draw(st.sampled_from(TIERS)),
        priority_class=priority_class,
        since=since,
        saved_at=None if saved is None else max(since, NOW - timedelta(minutes=saved)),
        saves=draw(st.booleans()),
        reclaim_seconds=draw(st.sampled_from([0, 60, 120, 300, 900])),
        ending_units=draw(st.sampled_from([0, 0, 0, units])),
    )


@st.composite
def requests(draw) -> PlanRequest:
    return PlanRequest(
        account=draw(ACCOUNTS),
        units=draw(st.integers(1, 30)),
        priority_class=draw(st.sampled_from(CLASSES)),
        job="asking",
    )


@st.composite
def states(draw, policy: BudgetPolicy = UNLIMITED) -> PlanState:
    count = draw(st.integers(0, 14))
    running = tuple(draw(runnings(f"job-{at}")) for at in range(count))
    in_use = sum(each.units - each.ending_units for each in running)
    given = {name: draw(quotas) for name in PARENTS}
    return PlanState(
        pool=Pool(name="h100", capacity=in_use + draw(st.integers(0, 10))),
        accounts=PARENTS,
        quotas=given,
        running=running,
        weights={name: Fraction(draw(st.integers(0, 3)), 2) for name in PARENTS},
        history=tuple(
            Preempted(at=NOW - timedelta(seconds=back), job=f"job-{at}", units=units)
            for at, back, units in draw(
                st.lists(
                    st.tuples(st.integers(0, 14), st.integers(0, 4000), st.integers(1, 9)),
                    max_size=4,
                )
            )
        ),
        policy=policy,
        price=Decimal(2),
    )


def with_ending(state: PlanState, given_back: dict[str, int]) -> PlanState:
    """The state once these units are being given back."""
    return replace(
        state,
        running=tuple(
            replace(each, ending_units=each.ending_units + given_back.get(each.key, 0))
            for each in state.running
        ),
    )
