"""Many planners on one pool and on several: budgets hold in every sliding window, nobody is taken
twice, what is set aside is nobody else's, and each plan's job gets in."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import pytest

from ledger import verification
from preemption import wire
from preemption.commands.plans import PlanPreemption
from preemption.commands.reports import ReportActions
from preemption.commands.settling import CancelPlan, ConfirmPlan, LapsePlans
from quota import wire as quota_wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations
from tests.ledger.sample import together
from tests.preemption.conftest import Preemption, after
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
PLANNERS = 8
ROUNDS = 6
WINDOW = timedelta(seconds=600)
JOB_WINDOW = timedelta(seconds=3600)


@pytest.fixture
def place(acme: Tenant) -> Tenant:
    """h100 and a100 full of small spot jobs of vision, 20 of 5 units in each; some jobs hold units
    of both."""
    for pool in ("h100", "a100"):
        it = Preemption(acme, pool=pool)
        it.promise(nlp=40, serving=40)
    it.budgets(pool_share="0.2", plan_seconds=900)
    asks = []
    for number in range(20):
        both = number % 4 == 0
        needs = [quota_wire.PoolNeed(pool=pool, units=5) for pool in ("h100", "a100")]
        who = {"account": "vision", "person": "bob", "tier": "spot"}
        if both:
            asks.append(quota_wire.Ask(key=f"both{number}", needs=needs, **who))
        else:
            asks += [
                quota_wire.Ask(key=f"{need.pool}-{number}", needs=[need], **who) for need in needs
            ]
    told = acme.run(AdmitBatch(requests=tuple(asks)), now=after()).result
    assert told.denied == 0
    messages = tuple(quota_wire.Message(key=ask.key) for ask in asks)
    from quota.commands.allocations import StartAllocations

    acme.run(StartAllocations(messages=messages), now=after())
    return acme


class Planner:
    """A scheduler that asks, carries out, reports twice, forgets and gives up, as luck has it."""

    def __init__(self, place: Tenant, number: int) -> None:
        self.place, self.number = place, number
        self.dice = random.Random(number)
        self.made: list[tuple[datetime, wire.PreemptionPlan]] = []

    def __call__(self) -> list[tuple[datetime, wire.PreemptionPlan]]:
        for step in range(ROUNDS):
            now = after(minutes=6 + step, seconds=self.number)
            pool = self.dice.choice(["h100", "h100", "a100"])
            ask = wire.PreemptionAsk(
                account=self.dice.choice(["nlp", "serving"]),
                pool=pool,
                units=self.dice.choice([3, 5, 5, 10]),
                job_class="P1",
                key=f"job-{self.number}-{step}",
            )
            answer = self.place.run(PlanPreemption(ask=ask), now=now).result
            if answer.plan is not None and not answer.repeated:
                self.made.append((now, answer.plan))
                self._go_on(answer.plan, now)
            elif self.dice.random() < 0.3:
                self.place.run(LapsePlans(pool_id=self.place.pools[pool]), now=now)
        return self.made

    def _go_on(self, plan: wire.PreemptionPlan, now: datetime) -> None:
        id_ = UUID(plan.id)
        outcomes = ["done", "done", "done", "done", "refused", "failed"]
        reports = [
            wire.PreemptionReport(key=one.key, outcome=self.dice.choice(outcomes))
            for one in plan.actions
        ]
        fate = self.dice.random()
        if fate < 0.15:
            return  # never heard of again
        if fate < 0.3:
            self.place.run(CancelPlan(plan_id=id_), now=now)
            return
        if fate < 0.4:
            # The victim's end is told of as an ordinary release first.
            ends = tuple(quota_wire.ReleaseMessage(key=one.key) for one in plan.actions)
            self.place.run(ReleaseAllocations(messages=ends), now=now)
        for _ in range(2):
            told = self.place.run(ReportActions(plan_id=id_, reports=tuple(reports)), now=now)
            assert all(one.status != "unknown" for one in told.result.results)
        if told.result.plan.missing_units:
            self.place.run(CancelPlan(plan_id=id_), now=now)
            return
        job = quota_wire.Ask(
            key=plan.key, account=plan.account, person="bob", pool=plan.pool, units=plan.units
        )
        got = self.place.run(AdmitBatch(requests=(job,)), now=now).result.results[0]
        assert got.status == "admitted", (plan, got)
        self.place.run(ConfirmPlan(plan_id=id_), now=now)


def intruder(place: Tenant) -> int:
    """Asks for whatever is free, all the time; returns how many units it got."""
    got = 0
    for step in range(ROUNDS * 3):
        ask = quota_wire.Ask(
            key=f"intruder-{step}",
            account="vision",
            person="bob",
            pool="h100",
            units=2,
            tier="spot",
        )
        got += place.run(AdmitBatch(requests=(ask,)), now=after(minutes=6)).result.admitted
    return got


def fullest(entries: list[tuple[datetime, int]], window: timedelta) -> int:
    """The most that any half-open window holds."""
    return max(
        (sum(u for at, u in entries if start <= at < start + window) for start, _ in entries),
        default=0,
    )


def test_budgets_hold_in_every_window_and_nobody_is_taken_twice(place, owner):
    planners: list[Callable] = [Planner(place, number) for number in range(PLANNERS)]
    answers = together([*planners, partial(intruder, place)])
    assert not [one for one in answers if isinstance(one, Exception)], answers
    assert sum(len(one) for one in answers[:-1]) >= 4
    taken = owner.execute(
        "SELECT q.name, a.key, a.at, a.given, p.made_at FROM preemption_action a "
        "JOIN preemption_plan p ON p.id = a.plan_id JOIN quota_pool q ON q.id = a.pool_id "
        "WHERE a.state = 'done'"
    ).fetchall()
    assert taken
    for pool in ("h100", "a100"):
        for column in (2, 4):  # by actual ends, and by notices
            entries = [(row[column], row[3]) for row in taken if row[0] == pool]
            assert fullest(entries, WINDOW) <= 20, (pool, column)
    for key in {row[1] for row in taken}:
        assert fullest([(row[2], 1) for row in taken if row[1] == key], JOB_WINDOW) == 1, key
    ended = owner.execute(
        "SELECT allocation_id FROM preemption_action WHERE state = 'done' "
        "GROUP BY 1 HAVING count(*) > 1"
    ).fetchall()
    assert ended == []
    over = owner.execute(
        "SELECT q.name FROM quota_pool q JOIN quota_holding h ON h.pool_id = q.id "
        "GROUP BY q.name, q.capacity HAVING sum(guaranteed + borrowed + spot) > q.capacity"
    ).fetchall()
    assert over == []
    assert verification.verify(place.id).findings == []


def test_one_job_of_two_pools_is_taken_once(place):
    """Planners of both pools at once; every job they could take from holds units of both."""
    for pool in ("h100", "a100"):
        keys = [f"{pool}-{number}" for number in range(20) if number % 4]
        messages = tuple(quota_wire.ReleaseMessage(key=key) for key in keys)
        place.run(ReleaseAllocations(messages=messages), now=after(minutes=1))
        filler = quota_wire.Ask(
            key=f"filler-{pool}",
            account="vision",
            person="bob",
            pool=pool,
            units=75,
            tier="spot",
        )
        place.run(AdmitBatch(requests=(filler,)), now=after(minutes=1))
    asks = [
        wire.PreemptionAsk(account="nlp", pool=pool, units=5, job_class="P1", key=f"{pool}-{n}")
        for n in range(4)
        for pool in ("h100", "a100")
    ]
    now = after(minutes=5, seconds=30)
    answers = together(
        [lambda ask=ask: place.run(PlanPreemption(ask=ask), now=now).result for ask in asks]
    )
    assert not [one for one in answers if isinstance(one, Exception)], answers
    taken = [action.key for one in answers if one.plan for action in one.plan.actions]
    assert len(taken) == len(set(taken)) == 5


def test_one_job_asking_from_many_sides_has_one_plan(place):
    ask = wire.PreemptionAsk(account="nlp", pool="h100", units=10, job_class="P1", key="job")
    now = after(minutes=6)
    answers = together([lambda: place.run(PlanPreemption(ask=ask), now=now).result] * PLANNERS)
    assert not [one for one in answers if isinstance(one, Exception)], answers
    assert len({one.plan.id for one in answers}) == 1
    assert sorted(one.repeated for one in answers) == [False] + [True] * (PLANNERS - 1)


def test_reports_from_many_sides_count_once(place, owner):
    ask = wire.PreemptionAsk(account="nlp", pool="h100", units=20, job_class="P1", key="job")
    now = after(minutes=6)
    plan = place.run(PlanPreemption(ask=ask), now=now).result.plan
    reports = tuple(wire.PreemptionReport(key=one.key, outcome="done") for one in plan.actions)
    command = ReportActions(plan_id=UUID(plan.id), reports=reports)
    answers = together([lambda: place.run(command, now=now).result.changed] * PLANNERS)
    assert sorted(answers) == [0] * (PLANNERS - 1) + [4]
    ends = owner.execute(
        "SELECT count(*) FROM ledger_event WHERE type = 'allocation.preempted'"
    ).fetchone()
    assert ends == (4,)
    assert verification.verify(place.id).findings == []
