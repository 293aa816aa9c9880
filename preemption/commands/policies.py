"""Set an organization's budgets of preemption."""

from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction

from ledger.errors import Invalid
from ledger.execution import Unit, handles
from preemption import loading
from preemption.domain.budgets import BudgetPolicy
from preemption.events import PreemptionPolicySet
from preemption.loading import Policy
from quota.recording import check_reason
from tenancy.domain.roles import POOL_WRITE

PLAN_SECONDS = (60, 86_400)
SHARE_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPreemptionPolicy:
    """All budgets at once; see `preemption.domain.budgets.BudgetPolicy`."""

    pool_share: Decimal
    pool_window_seconds: int
    job_window_seconds: int
    aged_per_day: int
    cooldown_seconds: int
    min_run_seconds: int
    plan_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionPolicyChanged:
    """`changed` False: it was so already."""

    changed: bool


@handles(SetPreemptionPolicy, permission=POOL_WRITE)
def set_preemption_policy(command: SetPreemptionPolicy, unit: Unit) -> PreemptionPolicyChanged:
    """Check the bounds; record the budgets for every plan from now on."""
    check_reason(unit)
    low, high = PLAN_SECONDS
    if not low <= command.plan_seconds <= high:
        raise Invalid(
            "seconds_out_of_range", f"plan_seconds must be {low} to {high}.", field="plan_seconds"
        )
    share = command.pool_share
    if not share.is_finite() or share != round(share, SHARE_PLACES):
        raise Invalid(
            "pool_share_out_of_range",
            f"A share is 0 to 1 with at most {SHARE_PLACES} decimals.",
            field="pool_share",
        )
    values = {field.name: getattr(command, field.name) for field in fields(command)}
    budgets = {name: value for name, value in values.items() if name != "plan_seconds"}
    wanted = Policy(
        budgets=BudgetPolicy(**budgets | {"pool_share": Fraction(share)}),
        plan_seconds=command.plan_seconds,
    )
    loading.lock_budgets(unit.organization_id)
    changed = wanted != loading.policy(unit.organization_id)
    if changed:
        unit.record(PreemptionPolicySet(organization_id=unit.organization_id, **values))
    return PreemptionPolicyChanged(changed=changed)
