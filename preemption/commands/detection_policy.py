"""Set what is worth a notice."""

from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction

from ledger.errors import Invalid
from ledger.execution import Unit, handles
from preemption import detection_loading as loading
from preemption.detection_events import DetectionPolicySet
from preemption.detection_loading import ALL_KINDS, BASELINE_DAYS, DetectionPolicy
from preemption.domain.detection import DetectionRule
from quota.domain.measuring import BUSY
from quota.recording import check_reason
from tenancy.domain.roles import POOL_WRITE

BOUNDS = {
    "idle_minutes": (5, 10_080),
    "progress_seconds_max": (60, 86_400),
    "baseline_factor": (2, 100),
    "baseline_spread": (0, 100),
    "baseline_days_min": (7, BASELINE_DAYS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDetectionPolicy:
    """The policy as a whole; see `preemption.domain.detection.DetectionRule`."""

    kinds: tuple[str, ...] = ALL_KINDS
    idle_below: Decimal = Decimal("0.1")
    idle_minutes: int = 60
    zombie_below: Decimal = Decimal("0.05")
    progress_seconds_max: int = 600
    baseline_factor: int = 3
    baseline_spread: int = 3
    baseline_days_min: int = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionPolicyChanged:
    """`changed` False: it was so already."""

    changed: bool


@handles(SetDetectionPolicy, permission=POOL_WRITE)
def set_detection_policy(command: SetDetectionPolicy, unit: Unit) -> DetectionPolicyChanged:
    """Check the bounds; record the policy for every look from now on."""
    check_reason(unit)
    wanted = policy_of(command)
    changed = wanted != loading.policy(unit.organization_id)
    if changed:
        values = {field.name: getattr(command, field.name) for field in fields(command)}
        unit.record(
            DetectionPolicySet(
                organization_id=unit.organization_id, **values | {"kinds": wanted.kinds}
            )
        )
    return DetectionPolicyChanged(changed=changed)


def policy_of(command: SetDetectionPolicy) -> DetectionPolicy:
    """The policy that is meant.

    Raises:
        Invalid: `kind_unknown`, `share_out_of_range`, `out_of_range`, naming the field.
    """
    if unknown := sorted(set(command.kinds) - set(ALL_KINDS)):
        raise Invalid(
            "kind_unknown",
            f"{unknown[0]!r} is not looked for. Kinds are {', '.join(ALL_KINDS)}.",
            field="kinds",
            facts={"known": list(ALL_KINDS)},
        )
    for name in ("idle_below", "zombie_below"):
        share = getattr(command, name)
        if not share.is_finite() or share != round(share, 2) or not 0 < share * 100 <= BUSY:
            raise Invalid("share_out_of_range", f"{name} is 0.01 to 0.{BUSY}, to 0.01.", field=name)
    for name, (low, high) in BOUNDS.items():
        if not low <= getattr(command, name) <= high:
            raise Invalid(
                "out_of_range",
                f"{name} must be {low} to {high}.",
                field=name,
                facts={"minimum": low, "maximum": high},
            )
    values = {name: getattr(command, name) for name in BOUNDS}
    return DetectionPolicy(
        kinds=tuple(kind for kind in ALL_KINDS if kind in command.kinds),
        rule=DetectionRule(
            **values,
            idle_below=Fraction(command.idle_below),
            zombie_below=Fraction(command.zombie_below),
        ),
    )
