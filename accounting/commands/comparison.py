"""Say what leads may compare."""

from dataclasses import dataclass

from accounting.comparison_events import ComparisonPolicySet
from accounting.domain.comparison import ComparisonPolicy, Figure, Reach
from accounting.queries import comparison
from ledger.execution import Unit, handles
from quota.recording import check_reason
from tenancy.domain.roles import POLICY_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SetComparisonPolicy:
    """The policy as a whole. The reason goes with the command."""

    reach: Reach
    figures: tuple[Figure, ...]
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPolicyChanged:
    """`changed` False: it was so already."""

    changed: bool


@handles(SetComparisonPolicy, permission=POLICY_WRITE)
def set_comparison_policy(command: SetComparisonPolicy, unit: Unit) -> ComparisonPolicyChanged:
    """Check and record it."""
    check_reason(unit)
    wanted = ComparisonPolicy(reach=command.reach, figures=command.figures, named=command.named)
    changed = wanted != comparison.policy(unit.organization_id)
    if changed:
        unit.record(
            ComparisonPolicySet(reach=wanted.reach, figures=wanted.figures, named=wanted.named)
        )
    return ComparisonPolicyChanged(changed=changed)
