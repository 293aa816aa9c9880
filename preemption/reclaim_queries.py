"""What a rule would have done with the guarantees of a pool, before it is switched on. Runs inside
`scope.reading`; nothing is recorded."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.errors import Invalid
from ledger.sql import server_cursor
from preemption import reclaim_loading as loading
from preemption.domain.reclaim import Stage, stages
from preemption.domain.worth import Recommendation, recommend
from preemption.reclaim_loading import PoolRule
from quota.ports import Price, ports

DAYS_MAX = 366


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldHave:
    """One guarantee over the period, as large as it is now.

    Attributes:
        stages: what the rule would have done with it, in order.
        left_alone: why nothing could be done: `temporary`, `exempt` or `unknown`; None: it was
            judged.
        recommendation: what would do; None: nothing is known.
        idle_cost: of what was promised and not used, at the prices that held; None: unrated or
            unknown.
        worth_a_month: of the units that would have left the guarantee, at today's price.
    """

    account_id: UUID
    account: str
    guarantee: int
    stages: tuple[Stage, ...]
    left_alone: str | None
    recommendation: Recommendation | None
    idle_cost: Price | None
    worth_a_month: Price | None

    @property
    def units(self) -> int:
        """That would have left the guarantee."""
        return sum(stage.units for stage in self.stages if stage.name == "demoted")


def dry_run(
    organization_id: UUID, pool_id: UUID, pool_rule: PoolRule, *, start: datetime, now: datetime
) -> list[WouldHave]:
    """Every guarantee of a pool, those first that would have lost most.

    Raises:
        Invalid: `period_out_of_range`: it is empty, or longer than a year.
    """
    if not start < now <= start + timedelta(days=DAYS_MAX):
        raise Invalid("period_out_of_range", "Choose a period of up to a year.", field="start")
    pool = loading.guarantees(organization_id, pool_id, pool_rule, start=start, now=now)
    prices = ports().price
    places = [(account, pool_id) for account in pool.of]
    costs = prices.idle_costs(organization_id, places, start, now)
    called = names(organization_id, list(pool.of))
    worth: dict[int, Price | None] = {}
    found = []
    for account, one in pool.of.items():
        done: tuple[Stage, ...] = ()
        if not one.is_temporary:
            done = stages(one.history(pool_rule, as_it_stands=False), pool_rule.rule)
        units = sum(stage.units for stage in done if stage.name == "demoted")
        if units and units not in worth:
            worth[units] = prices.price_per_month(
                organization_id, pool_id, units, "guaranteed", now
            )
        found.append(
            WouldHave(
                account_id=account,
                account=called[account],
                guarantee=one.units,
                stages=done,
                left_alone=loading.left_alone(one),
                recommendation=recommend(
                    use=one.series,
                    guarantee=one.units,
                    gap_seconds_max=pool_rule.rule.gap_seconds_max,
                ),
                idle_cost=costs.get((account, pool_id)),
                worth_a_month=worth.get(units),
            )
        )
    return sorted(found, key=lambda each: (-each.units, each.account))


def names(organization_id: UUID, accounts: list[UUID]) -> dict[UUID, str]:
    """Names of accounts."""
    with server_cursor() as cursor:
        return dict(
            cursor.execute(
                "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
                (organization_id, accounts),
            ).fetchall()
        )
