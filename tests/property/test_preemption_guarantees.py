"""Jobs come, go and claim what they are promised: it is honoured, or the reason is told."""

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import PlanAnswer, PlanRequest, PlanState, Running
from preemption.domain.victims import plan
from quota.domain.admission import Admissions
from quota.domain.batch import AdmissionRequest, Holding, Need, PoolState
from quota.domain.values import Pool, Quota
from tests.conftest import NOW

PARENTS = {"lab": None, "nlp": "lab", "vision": "lab", "cv": "vision", "3d": "vision"}
QUOTAS = {
    "lab": Quota(guaranteed=4),
    "nlp": Quota(guaranteed=12),
    "vision": Quota(guaranteed=4, borrowing_limit=14),
    "cv": Quota(guaranteed=8, lending_limit=6),
    "3d": Quota(guaranteed=6, borrowing_limit=20),
}
PROMISED = sum(quota.guaranteed for quota in QUOTAS.values())
ALL = 99
FREE = BudgetPolicy(
    pool_share=Fraction(1), min_run_seconds=0, job_window_seconds=0, pool_window_seconds=1
)
TIGHT = BudgetPolicy(pool_share=Fraction(20, 100))

# Inner accounts run jobs, too; most jobs are the teams'.
accounts = st.sampled_from(["nlp", "nlp", "cv", "cv", "3d", "3d", "vision", "lab"])
claims = st.tuples(
    st.just("claim"),
    accounts,
    st.sampled_from([1, 3, 6, ALL, ALL]),
    st.sampled_from(["P0", "P1", "P2", "P3"]),
)
admissions = st.tuples(
    st.just("admit"),
    accounts,
    st.integers(1, 9),
    st.sampled_from(["P0", "P1", "P2", "P3", "P3"]),
    st.sampled_from([60, 300, 900, 900]),
    st.booleans(),
)
later = st.lists(
    st.one_of(
        admissions,
        st.tuples(st.just("release"), st.integers(0, 30)),
        st.tuples(st.just("fail"), st.integers(0, 6)),
        claims,
    ),
    max_size=20,
)
# What a claim finds matters most where much is borrowed, slowly: so the pool is filled first. In
# the end everybody asks for all that is left of its guarantee.
everybody = st.permutations(sorted(PARENTS)).map(
    lambda order: [("claim", account, ALL, "P1") for account in order]
)
steps = st.tuples(
    st.lists(admissions, min_size=4, max_size=12), later, st.just([("fail", 0)]), everybody
).map(lambda parts: [step for part in parts for step in part])
beside = st.sampled_from([0, 0, 5])
"""Units of the pool that nobody was promised."""


class Cluster:
    """A pool that admits as admission does, and returns guarantees as plans do."""

    def __init__(self, policy: BudgetPolicy, beside: int = 0) -> None:
        self.pool = Pool(name="h100", capacity=PROMISED + beside)
        self.running: list[Running] = []
        self.history: list[Preempted] = []
        self.policy = policy
        self.now: datetime = NOW
        self.count = 0

    @property
    def in_use(self) -> int:
        return sum(each.units for each in self.running)

    def admit(
        self, account: str, units: int, cls: str, reclaim: int, spot: bool, tier: str | None = None
    ) -> Running | None:
        self.count += 1
        request = AdmissionRequest(
            key=f"j{self.count}",
            account=account,
            needs=(Need(pool="h100", units=units),),
            priority_class=cls,
            spot_allowed=spot,
            tier=tier,
            reclaim_seconds=reclaim,
        )
        verdict = Admissions(
            accounts=dict(PARENTS),
            pools={"h100": PoolState(pool=self.pool, quotas=QUOTAS, holdings=self._holdings())},
            now=self.now,
        ).decide(request)
        if not verdict.admitted:
            return None
        found = Running(
            key=request.key,
            account=account,
            units=units,
            min_units=1 if self.count % 3 == 0 else units,
            tier=verdict.grants[0].tier,
            priority_class=cls,
            since=self.now,
            reclaim_seconds=reclaim,
        )
        self.running.append(found)
        return found

    def _holdings(self) -> dict[str, Holding]:
        held: dict[str, dict[str, int]] = {}
        for each in self.running:
            mine = held.setdefault(each.account, {})
            mine[each.tier] = mine.get(each.tier, 0) + each.units
            if each.tier != "guaranteed" and each.reclaim_seconds > 300:
                mine[f"slow_{each.tier}"] = mine.get(f"slow_{each.tier}", 0) + each.units
        return {account: Holding(**mine) for account, mine in held.items()}

    @property
    def has_failed(self) -> bool:
        """Are failed units missing for what was promised, beside slow spot that began before?"""
        slow = sum(held.slow_spot for held in self._holdings().values())
        return bool(self.pool.unavailable) and self.pool.usable - slow < PROMISED

    def claimable(self, account: str, cls: str) -> int:
        """What the account is promised and does not use: its own jobs use it, borrowed ones as
        well, and spot ones that the claim may not end. So do those below that hold it slowly."""
        used = sum(
            each.units
            for each in self.running
            if each.account == account and (each.tier != "spot" or each.priority_class < cls)
        )
        below = sum(self.passed_up(each) for each in PARENTS if PARENTS[each] == account)
        return max(0, QUOTAS[account].guaranteed - used - below)

    def passed_up(self, account: str) -> int:
        """Units under an account, beyond its guarantees, that no claim gets back in time."""
        held = self._holdings().get(account, Holding())
        within = min(QUOTAS[account].guaranteed, held.guaranteed + held.borrowed)
        used = max(held.guaranteed + held.slow_borrowed, within)
        used += sum(self.passed_up(each) for each in PARENTS if PARENTS[each] == account)
        return max(0, used - QUOTAS[account].guaranteed)

    def claim(self, account: str, units: int, cls: str) -> PlanAnswer:
        state = PlanState(
            pool=self.pool,
            accounts=PARENTS,
            quotas=QUOTAS,
            running=self.running,
            history=self.history,
            policy=self.policy,
        )
        request = PlanRequest(account=account, units=units, priority_class=cls, tier="guaranteed")
        return plan(state, request, at=self.now)

    def carry_out(self, found: PlanAnswer) -> None:
        given = {action.key: action.units for action in found.actions}
        self.running = [
            replace(
                each,
                units=each.units - given.get(each.key, 0),
                min_units=min(each.min_units, each.units - given.get(each.key, 0)),
            )
            for each in self.running
            if given.get(each.key) != each.units
        ]
        self.history += [
            Preempted(at=action.starts_at, job=action.key, units=action.units)
            for action in found.actions
        ]


def play(cluster: Cluster, done: list[tuple]) -> None:
    for kind, *values in done:
        cluster.now += timedelta(minutes=1)
        if kind == "admit":
            cluster.admit(*values)
        elif kind == "release" and values[0] < len(cluster.running):
            cluster.running.pop(values[0])
        elif kind == "fail":
            # No more than what is free: a failure ends the jobs it hits, which is a release.
            free = cluster.pool.capacity - cluster.in_use
            cluster.pool = replace(cluster.pool, unavailable=min(values[0], free))
        elif kind == "claim":
            judge(cluster, *values)


def judge(cluster: Cluster, account: str, units: int, cls: str) -> None:
    """A claim within the account's guarantee is honoured within the target, or explained."""
    units = min(units, cluster.claimable(account, cls))
    if not units:
        return
    found = cluster.claim(account, units, cls)
    codes = {obstacle.code for obstacle in found.obstacles}
    budget = cluster.policy is TIGHT and codes & {"pool_budget", "fresh", "job_budget"}
    explained = cluster.has_failed or budget
    if found.outcome == "plan":
        assert found.returns_guarantee
        assert found.within_target or explained, codes
        cluster.carry_out(found)
        assert cluster.admit(account, units, cls, 60, False, "guaranteed") is not None
        return
    assert explained, codes
    if found.outcome == "wait":
        assert found.wait_until is not None


@given(steps, beside)
@settings(max_examples=150, deadline=None)
def test_every_guarantee_is_honoured_within_its_target(done, beside):
    play(Cluster(FREE, beside), done)


@given(steps, beside)
@settings(max_examples=60, deadline=None)
def test_every_guarantee_is_honoured_or_the_budget_says_why_not(done, beside):
    play(Cluster(TIGHT, beside), done)
