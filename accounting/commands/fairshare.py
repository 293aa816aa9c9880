"""Set the fair-share policy, and reset fair-share."""

from dataclasses import dataclass, field
from datetime import datetime

from accounting import events, ingest
from accounting.domain import policy
from accounting.domain.decay import HalfLife
from ledger.errors import Invalid
from ledger.execution import Unit, handles
from tenancy.domain.roles import POLICY_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFairsharePolicy:
    """Algorithm, half-life (seconds), priority weights by name and boosts by account id, both as
    decimal strings. What is left out of the weights is the default."""

    algorithm: str
    half_life_seconds: int
    weights: dict[str, str] = field(default_factory=dict)
    boosts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAnswer:
    """What holds from now on."""

    algorithm: str
    half_life_seconds: int


@handles(SetFairsharePolicy, permission=POLICY_WRITE)
def set_fairshare_policy(command: SetFairsharePolicy, unit: Unit) -> PolicyAnswer:
    """Check and record the policy; use is weighed anew when the half-life changes."""
    if command.algorithm not in policy.ALGORITHMS:
        raise Invalid(
            "algorithm_unknown", f"Choose one of {', '.join(policy.ALGORITHMS)}.", field="algorithm"
        )
    HalfLife(command.half_life_seconds)
    policy.priority_policy(command.weights)
    policy.boosts(command.boosts)
    ingest.lock(unit)
    unit.record(
        events.FairsharePolicySet(
            organization_id=unit.organization_id,
            algorithm=command.algorithm,
            half_life_seconds=command.half_life_seconds,
            weights=command.weights,
            boosts=command.boosts,
        )
    )
    return PolicyAnswer(algorithm=command.algorithm, half_life_seconds=command.half_life_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetFairshare:
    """Let use before now no longer count for priority. Never touches a bill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetAnswer:
    """Since when use counts."""

    at: datetime


@handles(ResetFairshare, permission=POLICY_WRITE)
def reset_fairshare(command: ResetFairshare, unit: Unit) -> ResetAnswer:
    """Record the reset at the present instant."""
    ingest.lock(unit)
    unit.record(events.FairshareReset(organization_id=unit.organization_id, at=unit.now))
    return ResetAnswer(at=unit.now)
