"""Pools in use, for property tests: a small tree, jobs of every kind, one request."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import strategies as st

from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import (
    NO_BORROWING,
    Borrowing,
    Elsewhere,
    PlanRequest,
    PlanState,
    Running,
)
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

limits = st.sampled_from([None, None, None, None, 5, 30])
quotas = st.builds(
    Quota,
    guaranteed=st.sampled_from([0, 4, 10, 20]),
    borrowing_limit=limits,
    lending_limit=limits,
)


@st.composite
def runnings(draw, key: str) -> Running:
    units = draw(st.integers(1, 8))
    since = NOW - timedelta(minutes=draw(st.integers(0, 300)))
    saved = draw(st.none() | st.integers(0, 60))
    priority_class = draw(st.sampled_from([*CLASSES, "P2", "P3", "P3"]))
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


def _entitled(each: Running, running: list[Running], given: dict[str, Quota]) -> Running:
    """Guaranteed only within the account's own guarantee, as admission decides."""
    held = sum(o.units for o in running if o.account == each.account and o.tier == "guaranteed")
    if each.tier == "guaranteed" and held + each.units > given[each.account].guaranteed:
        tier = "guaranteed" if each.priority_class == "P0" else "borrowed"
        return replace(each, tier=tier)
    return each


@st.composite
def requests(draw) -> PlanRequest:
    return PlanRequest(
        account=draw(ACCOUNTS),
        units=draw(st.integers(1, 12)),
        priority_class=draw(st.sampled_from(CLASSES)),
        job="asking",
    )


@st.composite
def elastic_requests(draw) -> PlanRequest:
    """One that would do with fewer units."""
    asked = draw(requests())
    units = draw(st.integers(1, 40))
    return replace(asked, units=units, min_units=draw(st.integers(0, units)))


elsewheres = st.builds(
    Elsewhere,
    borrowed=st.sampled_from([0, 0, 3, 12]),
    share=st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 4), Fraction(1, 2)]),
)


@st.composite
def borrowings(draw) -> Borrowing:
    """What accounts borrow in other pools: nothing, or of the same and of other flavors. What is
    lendable there is the parent's, so the same for all its children."""
    if draw(st.booleans()):
        return NO_BORROWING
    lendable = {name: draw(st.sampled_from([12, 40])) for name in PARENTS}
    accounts = {
        name: replace(draw(elsewheres), lendable=lendable[parent])
        for name, parent in PARENTS.items()
        if parent is not None
    }
    inner = dict.fromkeys(parent for parent in PARENTS.values() if parent is not None)
    own = {name: replace(draw(elsewheres), lendable=lendable[name]) for name in inner}
    return Borrowing(accounts=accounts, own=own)


@st.composite
def states(draw, policy: BudgetPolicy = UNLIMITED) -> PlanState:
    given = {name: draw(quotas) for name in PARENTS}
    promised = sum(quota.guaranteed for quota in given.values())
    # Full is where plans are made; what ran before a quota or the pool shrank may exceed both.
    size = draw(st.sampled_from([promised, promised + 8]))
    running: list[Running] = []
    for at in range(draw(st.integers(6, 24))):
        each = _entitled(draw(runnings(f"job-{at}")), running, given)
        if sum(other.units for other in running) + each.units <= size:
            running.append(each)
    in_use = sum(each.units - each.ending_units for each in running)
    capacity = draw(st.sampled_from([in_use, in_use + 3, size, size]))
    return PlanState(
        pool=Pool(name="h100", capacity=max(capacity, in_use)),
        accounts=PARENTS,
        quotas=given,
        running=tuple(running),
        weights={name: Fraction(draw(st.integers(0, 3)), 2) for name in PARENTS},
        elsewhere=draw(borrowings()),
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
