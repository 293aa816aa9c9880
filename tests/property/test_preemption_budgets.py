"""Budgets hold in every window, however plans, waits and overrides follow each other."""

from datetime import timedelta
from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from preemption.domain.budgets import BudgetPolicy, Budgets, Preempted, SlidingWindow
from preemption.domain.values import PlanRequest, PlanState, Running
from preemption.domain.victims import plan
from quota.domain.values import Pool, Quota
from tests.conftest import NOW

SECOND = timedelta(seconds=1)
entries = st.lists(st.tuples(st.integers(-900, 900), st.integers(1, 6)), max_size=8)


def fullest(at: list[tuple[int, int]], *, seconds: int) -> int:
    """The most that any half-open window holds: one that begins with an entry is the worst."""
    return max(
        (sum(n for when, n in at if first <= when < first + seconds) for first, _ in at), default=0
    )


@given(entries, st.integers(-1000, 1000), st.integers(1, 10))
def test_room_is_exactly_what_fits(found, when, limit):
    window = SlidingWindow(
        limit=limit, window_seconds=600, entries=[(NOW + at * SECOND, n) for at, n in found]
    )
    room = window.room(NOW + when * SECOND)

    def breaks(amount: int) -> bool:
        with_it = [*found, (when, amount)]
        return any(
            sum(n for at, n in with_it if first <= at < first + 600) > limit
            for first in {at for at, _ in with_it}
            if first <= when < first + 600
        )

    assert room == 0 or not breaks(room)
    assert breaks(room + 1)


@given(entries, st.integers(-1000, 1000), st.integers(1, 10), st.integers(1, 10))
def test_the_earliest_instant_is_the_earliest(found, when, limit, amount):
    window = SlidingWindow(
        limit=limit, window_seconds=600, entries=[(NOW + at * SECOND, n) for at, n in found]
    )
    earliest = window.earliest(NOW + when * SECOND, amount)
    if earliest is None:
        assert amount > limit
        return
    assert window.room(earliest) >= amount
    here = when
    while NOW + here * SECOND < earliest:  # every second before it does not do
        assert window.room(NOW + here * SECOND) < amount
        here += 1


@given(entries, st.lists(st.integers(1, 5), max_size=12))
def test_a_schedule_breaks_no_window(found, units):
    history = [Preempted(at=NOW + at * SECOND, job="x", units=n) for at, n in found]
    budgets = Budgets(BudgetPolicy(), capacity=200, history=history)  # 10 a window
    starts = budgets.schedule(units, at=NOW)
    assert starts is not None
    assert starts == sorted(starts)
    mine = [((at - NOW) // SECOND, n) for at, n in zip(starts, units, strict=True)]
    both = [*found, *mine]
    for first in {at for at, _ in both}:
        inside = [(at, n) for at, n in both if first <= at < first + 600]
        if any(first <= at < first + 600 for at, _ in mine):
            assert sum(n for _, n in inside) <= max(10, fullest(found, seconds=600))


steps = st.lists(
    st.tuples(
        st.integers(0, 400),  # seconds that pass first
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 8),
        st.sampled_from(["confirmed", "confirmed", "cancelled"]),
    ),
    max_size=14,
)


@given(steps)
@settings(max_examples=60, deadline=None)
def test_budgets_hold_under_any_interleaving_of_plans(asked):
    """Plans made while earlier ones are still waiting for their turn; some are cancelled, which
    gives their budget back; each job that is taken comes back as its next attempt."""
    policy = BudgetPolicy(pool_share=Fraction(10, 100), min_run_seconds=60)
    running = [
        Running(
            key=f"spot-{n}",
            account="d",
            units=1 + n % 3,
            min_units=1,
            tier="spot",
            priority_class="P3",
            since=NOW - timedelta(days=1),
        )
        for n in range(40)
    ]
    capacity = sum(each.units for each in running)
    history: list[Preempted] = []
    now = NOW
    for seconds, account, units, end in asked:
        now += seconds * SECOND
        state = PlanState(
            pool=Pool(name="p", capacity=capacity),
            accounts=dict.fromkeys("abcd"),
            quotas={name: Quota(guaranteed=capacity // 3) for name in "abc"},
            running=running,
            history=history,
            policy=policy,
        )
        found = plan(state, PlanRequest(account=account, units=units, priority_class="P2"), at=now)
        if found.outcome == "refused" or end == "cancelled":
            continue
        history += [
            Preempted(at=action.starts_at, job=action.key, units=action.units)
            for action in found.actions
        ]
    taken = [((each.at - NOW) // SECOND, each.units) for each in history]
    assert fullest(taken, seconds=600) <= policy.pool_units(capacity)
    for job in {each.job for each in history}:
        times = sorted(each.at for each in history if each.job == job)
        assert all(later - earlier >= timedelta(hours=1) for earlier, later in pairwise(times))
