"""Events of the comparison of teams. Pure; names and versions are fixed."""

from dataclasses import dataclass

from ledger.registry import event
from ledger.types import Event


@event("comparison.policy_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPolicySet(Event):
    """What leads may compare from now on: with whom (`reach`: off, department, organization), which
    figures, and whether other teams are named."""

    reach: str
    figures: tuple[str, ...]
    named: bool

    @property
    def stream(self) -> str:
        return "comparison:organization"
