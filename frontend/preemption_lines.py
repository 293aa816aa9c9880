"""Plans and actions of preemption as a viewer may see them: names of others are hidden."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from preemption.plans import StoredPlan
from preemption.taken import TakenRow

HIDDEN = "another account"
Seen = Callable[[UUID], bool]
"""Whether the viewer may see an account's name."""

STATES = {
    "open": "open",
    "confirmed": "complete",
    "cancelled": "cancelled",
    "lapsed": "lapsed",
    "replaced": "replaced by another",
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A plan with names; who asks is hidden together with the job, the asker and the reason."""

    plan: StoredPlan
    pool: str
    account: str
    taken_from: tuple[str, ...]
    is_mine: bool

    @property
    def job(self) -> str:
        return self.plan.key if self.is_mine else ""

    @property
    def state(self) -> str:
        """In words."""
        return STATES[self.plan.state]

    @property
    def reported(self) -> int:
        """Actions of which somebody told."""
        return len(self.plan.actions) - len(self.plan.open_actions)

    @property
    def units_planned(self) -> int:
        """Units that its actions were to give."""
        return sum(action.units for action in self.plan.actions)

    @property
    def units_taken(self) -> int:
        """Units that they gave."""
        return sum(action.given or 0 for action in self.plan.done_actions)


@dataclass(frozen=True, slots=True)
class ActionLine:
    """Units that were taken; names that the viewer may not see are hidden."""

    row: TakenRow
    sees_victim: bool
    sees_asker: bool

    @property
    def account(self) -> str:
        return self.row.account if self.sees_victim else HIDDEN

    @property
    def by_account(self) -> str:
        return self.row.by_account if self.sees_asker else HIDDEN

    @property
    def cost(self) -> Decimal:
        """As reported, or as it was reckoned."""
        return self.row.cost

    @property
    def pool_total(self) -> int:
        """Units of the pool's budget with this plan in it."""
        return self.row.pool_used + self.row.pool_planned


def plan_lines(
    plans: Iterable[StoredPlan], seen: Seen, *, pools: dict, accounts: dict
) -> list[PlanLine]:
    """Plans for a viewer.

    Args:
        pools, accounts: names.
    """

    def name(account_id: UUID) -> str:
        return accounts[account_id] if seen(account_id) else HIDDEN

    return [
        PlanLine(
            plan=plan,
            pool=pools[plan.pool_id],
            account=name(plan.account_id),
            taken_from=tuple(dict.fromkeys(name(one.account_id) for one in plan.actions)),
            is_mine=seen(plan.account_id),
        )
        for plan in plans
    ]


def action_lines(rows: Iterable[TakenRow], seen: Seen) -> list[ActionLine]:
    """What was taken, for a viewer."""
    return [ActionLine(row, seen(row.account_id), seen(row.by_account_id)) for row in rows]
