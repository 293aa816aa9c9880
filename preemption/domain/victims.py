"""The plan: who gives back what so that a request fits, or what it must wait for. Pure.

    spot; borrowed P3; borrowed P2, then P1; then guaranteed P3, P2, P1 of a lower class

(docs/design.md part 8). `ground` says what is legal, `taking` walks the order, `budgets` says when.
The same state gives the same plan: nothing here looks at a clock, at chance or at input order.

*Ping-pong is impossible.* A take is legal only if, after it, the asking side's share is at most the
victim's at the level where they meet; asking back would have to raise the other above this again.
Whoever is at share 0 on both sides holds it within its guarantee, and what is taken back must be
borrowed. What is held within a guarantee gives way to P0 alone, which nobody takes anything from;
and within one account to a strictly higher class, which a lower one cannot ask back from.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from preemption.domain.budgets import Budgets
from preemption.domain.candidates import (
    STEPS,
    Candidates,
    grace_seconds,
    is_in_time,
    return_seconds,
)
from preemption.domain.ground import Ground
from preemption.domain.taking import Candidate, Taking
from preemption.domain.tax import Loss, time_lost
from preemption.domain.values import (
    Action,
    Mode,
    Obstacle,
    ObstacleCode,
    PlanAnswer,
    PlanRequest,
    PlanState,
    PoolDraw,
)

ROUNDS_MAX = 32
"""How often a final set is drawn again without those that proved illegal in it."""

_SECOND = timedelta(seconds=1)

Taken = list[tuple[Candidate, int]]
"""Candidates and the units of each."""

Found = tuple[Taken, datetime]


def plan(state: PlanState, request: PlanRequest, *, at: datetime) -> PlanAnswer:
    """Who gives back what.

    Of a request with `min_units` the answer is for as many units as can be had now: a number that
    has a plan while one more has none, found by halving; the plan is the one of a request for
    exactly those, so no victim of it is superfluous either. Where not even the fewest can be had,
    the answer is theirs, which are the first to be had.

    Args:
        state: allocations that live at `at`; each one's account is among the accounts.

    Raises:
        KeyError: an account that nobody named.
    """
    asked = request.units
    whole = _Planner(state, replace(request, min_units=None), at)
    fewest = asked if request.min_units is None else request.min_units
    if fewest == asked:
        return whole.answer()

    def answer(units: int) -> PlanAnswer:
        return _Planner(state, replace(request, units=units, min_units=None), at).answer()

    # Most often the pool's budget is what bounds it, so the first number tried is the right one.
    high = max(fewest, min(asked, whole.ceiling()))
    found = whole.answer() if high == asked else answer(high)
    if found.outcome == "plan" or high == fewest:
        return found
    low, best = fewest, answer(fewest)
    while best.outcome == "plan" and high - low > 1:
        middle = (low + high) // 2
        found = answer(middle)
        if found.outcome == "plan":
            low, best = middle, found
        else:
            high = middle
    return best


class _Planner:
    def __init__(self, state: PlanState, request: PlanRequest, at: datetime) -> None:
        self.state = state
        self.request = request
        self.at = at
        self.ground = Ground(state, request)
        self.budgets = Budgets(state.policy, capacity=state.pool.capacity, history=state.history)
        self.candidates = Candidates(
            state=state, request=request, ground=self.ground, budgets=self.budgets, at=at
        )
        self.obstacles: dict[ObstacleCode, Obstacle] = {}
        self.returns = self.ground.tier != "spot" and self.ground.returns_guarantee()

    def ceiling(self) -> int:
        """Units that no plan for now exceeds: what is free and what the pool's budget leaves."""
        if self.request.override:
            return self.request.units
        return max(0, self.ground.book.free) + self.budgets.pool.room(self.at)

    def answer(self) -> PlanAnswer:
        if not any(self.ground.gaps()):
            return self._settle([], self.at)
        if self.ground.tier == "spot":
            return self._refuse("spot_never_preempts")
        begins = self.at
        if not self.request.override:
            cooled = self.budgets.may_ask_at(self.request.job)
            if cooled is not None and cooled > self.at:
                self._note("cooling_down", 0, 0, cooled)
                begins = cooled
        for limit in self._limits():
            found = self._first(begins, self._seconds(begins, limit))
            if found is not None:
                return self._settle(*found)
        if self.request.units > self.ground.potential:
            return self._refuse("quota")
        return self._refuse("not_enough")

    def _limits(self) -> tuple[int | None, ...]:
        """A claim on a guarantee takes what comes back within the target, if that is enough."""
        return (self.ground.target_seconds, None) if self.returns else (None,)

    def _seconds(self, begins: datetime, limit: int | None) -> int | None:
        """How long an allocation may take to give back: target and deadline."""
        if self.request.deadline is None:
            return limit
        left = (self.request.deadline - begins) // _SECOND
        return left if limit is None else min(limit, left)

    def _first(self, begins: datetime, limit: int | None) -> Found | None:
        """The set to take and the first instant at which it may be taken, budgets of the pool
        aside. Time only ever makes more allocations available, so the instant is searched for."""
        taken = self._draw(begins, limit)
        if taken is not None:
            return taken, begins
        self._note_passed_over(begins, limit)
        usable = [each for each in self.candidates.all() if is_in_time(each, limit)]
        later = sorted({each.available_at for each in usable if each.available_at > begins})
        if not later or self._draw(later[-1], limit) is None:
            return None
        low, high = 0, len(later) - 1
        while low < high:
            middle = (low + high) // 2
            if self._draw(later[middle], limit) is None:
                low = middle + 1
            else:
                high = middle
        taken = self._draw(later[low], limit)
        if taken is None:
            raise AssertionError("it was there when it was searched for")
        return taken, later[low]

    def _note_passed_over(self, begins: datetime, limit: int | None) -> None:
        for code in ("slow", "fresh", "job_budget", "pool_budget"):
            self.obstacles.pop(code, None)
        for each in self.candidates.all():
            units = each.candidate.running.units
            if not is_in_time(each, limit):
                self._note("slow", 1, units, None)
            elif each.available_at > begins:
                self._note(each.waits_for, 1, units, each.available_at)
        for running in self.candidates.too_large:
            self._note("pool_budget", 1, running.units, None)

    def _draw(self, when: datetime, limit: int | None) -> Taken | None:
        """The minimal legal set among those available; the ground is as before afterwards."""
        banned: dict[int, tuple[str, Candidate]] = {}

        def usable(step: int) -> list[Candidate]:
            found = self.candidates.usable(step, when=when, limit=limit)
            return [each for each in found if id(each) not in banned]

        for _ in range(ROUNDS_MAX):
            taking = Taking(self.ground)
            if not taking.cover(len(STEPS), usable):
                taking.refused |= banned
                self._note_refused(taking)
                return None
            illegal = taking.illegal()
            taken = [(candidate, candidate.taken) for candidate in taking.taken]
            taking.undo()
            if not illegal:
                return taken
            banned |= {id(candidate): (why, candidate) for why, candidate in illegal}
        return None

    def _settle(self, taken: Taken, when: datetime) -> PlanAnswer:
        """Actions with their instants; all may start now, or the plan waits for the last."""
        request = self.request
        code: ObstacleCode
        units = [each for _, each in taken]
        starts: list[datetime] | None = [when] * len(taken)
        if not request.override:
            pool_alone = self.budgets.schedule(units, at=when)
            starts, code = pool_alone, "pool_budget"
            if request.aged:
                starts = self.budgets.schedule(units, at=when, aged_account=request.account)
                code = "pool_budget" if starts == pool_alone else "aged_budget"
            if starts is None:
                return self._refuse(code)
            if starts and starts[-1] > when:
                waiting = [u for u, at in zip(units, starts, strict=True) if at > when]
                self._note(code, len(waiting), sum(waiting), starts[-1])
        actions = tuple(
            self._action(candidate, given, starts_at)
            for (candidate, given), starts_at in zip(taken, starts or [], strict=True)
        )
        last = max((action.starts_at for action in actions), default=when)
        now = last <= self.at
        # What the actions give is not kept twice: a gang may give more than is needed.
        free = max(0, min(request.units - sum(units), self.ground.book.free))
        ready = max((action.returns_at for action in actions), default=self.at)
        target = self.at + timedelta(seconds=self.ground.target_seconds)
        late = self.returns and ready > target
        return PlanAnswer(
            outcome="plan" if now else "wait",
            for_units=request.units,
            tier=self.ground.tier,
            actions=actions,
            wait_until=None if now else last,
            ready_at=ready,
            meets_deadline=None if request.deadline is None else ready <= request.deadline,
            returns_guarantee=self.returns,
            within_target=not late if self.returns else None,
            free_units=free,
            # Of a late return they tell why there was none in time.
            obstacles=tuple(self.obstacles.values()) if late or not now else (),
            pool_draw=self._pool_draw(sum(units)),
            override=request.override,
        )

    def _action(self, candidate: Candidate, units: int, starts_at: datetime) -> Action:
        running = candidate.running
        left = running.units - units
        mode: Mode = "shrink" if left else "checkpoint" if running.saves else "stop"
        lost = time_lost(
            at=self.at,
            saved_at=running.saved_at or running.since,
            reload_seconds=running.reload_seconds,
            warm_up_seconds=running.warm_up_seconds,
        )
        seconds = return_seconds(running.reclaim_seconds)
        return Action(
            key=running.key,
            attempt=running.attempt,
            account=running.account,
            step=STEPS[candidate.step],
            mode=mode,
            units=units,
            left=left,
            grace_seconds=grace_seconds(running.reclaim_seconds),
            starts_at=starts_at,
            returns_at=starts_at + timedelta(seconds=seconds),
            tax=Loss(lost=lost, units=units).tax(self.state.price),
        )

    def _refuse(self, code: ObstacleCode) -> PlanAnswer:
        self._note(code, 0, 0, None)
        return PlanAnswer(
            outcome="refused",
            for_units=self.request.units,
            tier=self.ground.tier,
            returns_guarantee=self.returns,
            free_units=max(0, min(self.request.units, self.ground.book.free)),
            obstacles=tuple(self.obstacles.values()),
            blocks=tuple(self.ground.blocks()),
            pool_draw=self._pool_draw(0),
            override=self.request.override,
        )

    def _pool_draw(self, units: int) -> PoolDraw:
        pool = self.budgets.pool
        return PoolDraw(used=pool.used(self.at), units=units, limit=pool.limit)

    def _note_refused(self, taking: Taking) -> None:
        """Shares and classes that stood in the way of the last set that was drawn."""
        for code in ("share", "class"):
            self.obstacles.pop(code, None)
        for why, candidate in taking.refused.values():
            code = "share" if why == "share" else "class"
            self._note(code, 1, candidate.running.units, None)

    def _note(
        self, code: ObstacleCode, allocations: int, units: int, until: datetime | None
    ) -> None:
        known = self.obstacles.get(code, Obstacle(code=code))
        soonest = min((at for at in (known.until, until) if at is not None), default=None)
        self.obstacles[code] = Obstacle(
            code=code,
            allocations=known.allocations + allocations,
            units=known.units + units,
            until=soonest,
        )
