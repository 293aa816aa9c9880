"""What a rule would have done with guarantees, before it is switched on. Runs inside
`scope.reading`; nothing is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from ledger.errors import Invalid, Refused
from ledger.sql import server_cursor
from preemption import reclaim_loading as loading
from preemption.domain.reclaim import SECONDS_MAX, Stage, stages
from preemption.domain.worth import Recommendation, recommend
from preemption.reclaim_loading import PoolRule
from quota.ports import Price, ports

DAYS_MAX = 366
GUARANTEE_DAYS_MAX = 300_000
"""Guarantees times days of one trial: 10,000 over 30 days, 3,000 over 90 and some."""


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
    pool: str
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


def followers(organization_id: UUID) -> dict[UUID, str]:
    """Names of the pools without a rule of their own, which follow the organization's."""
    with server_cursor() as cursor:
        return dict(
            cursor.execute(
                "SELECT p.id, p.name FROM quota_pool p WHERE p.organization_id = %b AND NOT EXISTS "
                "(SELECT 1 FROM preemption_reclaimrule r WHERE "
                "r.organization_id = p.organization_id AND r.pool_id = p.id) ORDER BY p.name",
                (organization_id,),
            ).fetchall()
        )


def dry_run(
    organization_id: UUID,
    pools: Mapping[UUID, str],
    pool_rule: PoolRule,
    *,
    start: datetime,
    now: datetime,
) -> list[WouldHave]:
    """Every guarantee of some pools, those first that would have lost most.

    Raises:
        Invalid: `period_out_of_range`: it is empty, or longer than a year.
        Refused: `trial_too_large`: more guarantees over more hours than an answer may wait for.
    """
    if not start < now <= start + timedelta(days=DAYS_MAX):
        raise Invalid("period_out_of_range", "Choose a period of up to a year.", field="start")
    _check_size(organization_id, pools, days=-(-(now - start) // timedelta(days=1)))
    found = [
        one
        for pool_id, pool in pools.items()
        for one in _in_pool(organization_id, pool_id, pool, pool_rule, start=start, now=now)
    ]
    return sorted(found, key=lambda each: (-each.units, each.account, each.pool))


def _check_size(organization_id: UUID, pools: Mapping[UUID, str], *, days: int) -> None:
    with server_cursor() as cursor:
        (count,) = cursor.execute(
            "SELECT count(*) FROM quota_quotahistory WHERE organization_id = %b "
            "AND pool_id = ANY(%b) AND valid_to IS NULL AND guaranteed > 0",
            (organization_id, list(pools)),
        ).fetchone()
    if count * days > GUARANTEE_DAYS_MAX:
        fit = GUARANTEE_DAYS_MAX // count
        way_out = f"Try at most {fit:,} days" if fit else "Try it pool by pool"
        raise Refused(
            "trial_too_large",
            f"{count:,} guarantees over {days:,} days are more than can be tried at once. "
            f"{way_out}{' or, for the organization, pool by pool' if fit else ''}.",
            field="days",
            facts={"guarantees": count, "days": days, "days_max": fit},
        )


def _in_pool(
    organization_id: UUID,
    pool_id: UUID,
    pool_name: str,
    pool_rule: PoolRule,
    *,
    start: datetime,
    now: datetime,
) -> list[WouldHave]:
    pool = loading.guarantees(organization_id, pool_id, pool_rule, start=start, now=now)
    prices = ports().price
    places = [(account, pool_id) for account in pool.of]
    costs = prices.idle_costs(organization_id, places, start, now)
    called = names(organization_id, list(pool.of))
    worth: dict[int, Price | None] = {}
    # How long a justification may last was decided when it was approved.
    rule = replace(pool_rule.rule, justification_seconds_max=SECONDS_MAX)
    found = []
    for account, one in pool.of.items():
        done: tuple[Stage, ...] = ()
        if not one.is_temporary:
            done = stages(one.history(pool_rule, as_it_stands=False), rule)
        units = sum(stage.units for stage in done if stage.name == "demoted")
        if units and units not in worth:
            worth[units] = prices.price_per_month(
                organization_id, pool_id, units, "guaranteed", now
            )
        found.append(
            WouldHave(
                account_id=account,
                account=called[account],
                pool=pool_name,
                guarantee=one.units,
                stages=done,
                left_alone=None if done else loading.left_alone(one),
                recommendation=recommend(
                    use=one.series,
                    guarantee=one.units,
                    gap_seconds_max=pool_rule.rule.gap_seconds_max,
                ),
                idle_cost=costs.get((account, pool_id)),
                worth_a_month=worth.get(units),
            )
        )
    return found


def names(organization_id: UUID, accounts: list[UUID]) -> dict[UUID, str]:
    """Names of accounts."""
    with server_cursor() as cursor:
        return dict(
            cursor.execute(
                "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
                (organization_id, accounts),
            ).fetchall()
        )
