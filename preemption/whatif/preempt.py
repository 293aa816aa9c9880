"""`manage.py whatif preempt`: the plan for a described state, or what it waits for.

The same pure code plans here and over REST. Documented field by field in docs/operator/whatif.md.
"""

from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from preemption.domain.elsewhere import borrowing_elsewhere
from preemption.domain.values import NO_BORROWING, Borrowing, PlanAnswer, PlanState
from preemption.domain.victims import plan
from preemption.whatif.preempt_document import Question, read
from quota.domain.tree import NO_PARENT, QuotaTree, Shape, evaluate
from quota.domain.values import NO_QUOTA

MONEY_PLACES = Decimal("0.000001")


def answer(document: bytes) -> dict[str, Any]:
    """Question in JSON to answer as JSON-friendly values.

    Raises:
        Invalid: `whatif_invalid`, with the place of the fault in `field`.
    """
    question = read(document)
    line = question.pools[question.pool]
    state = PlanState(
        pool=line.pool,
        accounts={name: account.parent for name, account in question.accounts.items()},
        quotas={
            name: account.quotas[question.pool]
            for name, account in question.accounts.items()
            if question.pool in account.quotas
        },
        running=question.running[question.pool],
        weights={name: account.weight for name, account in question.accounts.items()},
        elsewhere=_elsewhere(question),
        open_plans=question.open_plans[question.pool],
        history=question.history[question.pool],
        policy=question.policy,
        price=line.price,
    )
    return _shown(question, plan(state, question.request, at=question.at))


def instant(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def money(value: Fraction) -> str:
    """Text, so that no digit is lost on the way; at most six decimals, half-even."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    found = exact.quantize(MONEY_PLACES, rounding=ROUND_HALF_EVEN)
    return f"{found.normalize():f}" if found else "0"


def _elsewhere(question: Question) -> Borrowing:
    """What accounts borrow in other pools, for their dominant share."""
    others = [name for name in question.pools if name != question.pool]
    if not others:
        return NO_BORROWING
    names = list(question.accounts)
    row_of = {name: row for row, name in enumerate(names)}
    lines = question.accounts.values()
    parents = [NO_PARENT if line.parent is None else row_of[line.parent] for line in lines]
    cells = [[line.quotas.get(pool, NO_QUOTA) for pool in others] for line in lines]
    tree = QuotaTree.build(
        Shape.build(parents),
        guaranteed=[[quota.guaranteed for quota in row] for row in cells],
        borrowing=[[quota.borrowing_limit for quota in row] for row in cells],
        lending=[[quota.lending_limit for quota in row] for row in cells],
    )
    use = [[0] * len(others) for _ in names]
    for at, pool in enumerate(others):
        for running in question.running[pool]:
            if running.tier != "spot":
                row = row_of[str(running.account)]
                use[row][at] += running.units - running.ending_units
    own_use = np.asarray(use, dtype=np.int64)
    return borrowing_elsewhere(
        tree,
        used=evaluate(tree, own_use).used,
        own_use=own_use,
        keys=names,
        resources=[question.pools[pool].resource for pool in others],
        mine=question.pools[question.pool].resource,
    )


def _shown(question: Question, found: PlanAnswer) -> dict[str, Any]:
    return {
        "outcome": found.outcome,
        "pool": question.pool,
        "account": question.request.account,
        "tier": found.tier,
        "units": question.request.units,
        "planned_units": found.for_units,
        "free_units": found.free_units,
        "units_taken": found.units,
        "returns_guarantee": found.returns_guarantee,
        "within_target": found.within_target,
        "meets_deadline": found.meets_deadline,
        "wait_until": instant(found.wait_until),
        "ready_at": instant(found.ready_at),
        "tax": money(found.tax),
        "override": found.override,
        "actions": [
            {
                "key": action.key,
                "attempt": action.attempt,
                "account": action.account,
                "step": action.step,
                "mode": action.mode,
                "units": action.units,
                "left": action.left,
                "grace_seconds": action.grace_seconds,
                "starts_at": instant(action.starts_at),
                "returns_at": instant(action.returns_at),
                "tax": money(action.tax),
            }
            for action in found.actions
        ],
        "pool_budget": {
            "used": found.pool_draw.used,
            "units": found.pool_draw.units,
            "limit": found.pool_draw.limit,
            "window_seconds": question.policy.pool_window_seconds,
        },
        "obstacles": [
            {
                "code": obstacle.code,
                "allocations": obstacle.allocations,
                "units": obstacle.units,
                "until": instant(obstacle.until),
            }
            for obstacle in found.obstacles
        ],
        "blocking": [
            {
                "node": block.account,
                "limit": block.limit,
                "available": block.available,
                "short_by": block.short_by,
            }
            for block in found.blocks
        ],
    }
