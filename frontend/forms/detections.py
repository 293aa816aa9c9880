"""The forms of detections: shape and types only."""

from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from django import forms
from django.forms import BoundField

from frontend.detection_words import KINDS
from frontend.forms.fields import LocalInstant, reason
from frontend.forms.reclaim import Percent
from preemption.commands.detection_policy import BOUNDS, SetDetectionPolicy
from preemption.commands.detections import AcknowledgeDetection, ReleaseDetected
from preemption.detection_loading import DetectionPolicy
from preemption.detection_queries import DetectionRow
from quota.domain.measuring import BUSY

_ABOUT: Final = {
    "idle_minutes": ("Idle for, minutes", "So long without a busier message, and it is found."),
    "progress_seconds_max": (
        "No progress for, seconds",
        "The last change of its count of steps, or the last time it computed, is longer ago.",
    ),
    "baseline_factor": ("Times the usual day", "The median of the 28 days before it."),
    "baseline_spread": (
        "And so many deviations above it",
        "Robust standard deviations: an account with wild days is not told of one of them.",
    ),
    "baseline_days_min": ("Days that must be known", "With fewer an account is new: no alarm."),
}


class AcknowledgeForm(forms.Form):
    """Why it is so, and how long nobody wants to hear of it."""

    reason = reason()
    until = LocalInstant(
        required=False,
        label="Quiet until",
        help_text="Empty: as long as it lasts. Then the leads are told again if it is still so.",
    )

    def __init__(self, data: Any, *, zone: ZoneInfo) -> None:
        super().__init__(data)
        self.fields["until"].zone = zone

    def command(self, row: DetectionRow) -> AcknowledgeDetection:
        """What the valid form asks for."""
        return AcknowledgeDetection(
            detection_id=row.id, account_id=row.account_id, until=self.cleaned_data["until"]
        )


class ReleaseForm(forms.Form):
    """Why it is released."""

    reason = reason()

    def __init__(self, data: Any, *, zone: ZoneInfo) -> None:
        super().__init__(data)

    def command(self, row: DetectionRow) -> ReleaseDetected:
        """What the valid form asks for."""
        return ReleaseDetected(detection_id=row.id, account_id=row.account_id)


def _number(name: str) -> forms.IntegerField:
    low, high = BOUNDS[name]
    label, meaning = _ABOUT[name]
    return forms.IntegerField(
        min_value=low, max_value=high, label=label, help_text=f"{meaning} {low:,} to {high:,}."
    )


def _switch(kind: str) -> forms.BooleanField:
    title, meaning = KINDS[kind]
    return forms.BooleanField(required=False, label=f"Look for this: {title}", help_text=meaning)


class WholePercent(Percent):
    """A share in whole percents, as stretches of work are kept."""

    def __init__(self, **options: Any) -> None:
        super().__init__(help_text=f"Whole percents, 1 to {BUSY}.", **options)

    def clean(self, value: Any) -> Decimal:
        """The share; raises `ValidationError`."""
        share = super().clean(value)
        if share * 100 % 1 or not 1 <= share * 100 <= BUSY:
            raise forms.ValidationError(f"Give whole percents from 1 to {BUSY}.")
        return share


class PolicyForm(forms.Form):
    """What is found, as a whole."""

    idle = _switch("idle")
    idle_below = WholePercent(label="Idle below, % of compute")
    idle_minutes = _number("idle_minutes")
    zombie = _switch("zombie")
    zombie_below = WholePercent(label="Zombie below, % of compute")
    progress_seconds_max = _number("progress_seconds_max")
    surge = _switch("surge")
    baseline_factor = _number("baseline_factor")
    baseline_spread = _number("baseline_spread")
    baseline_days_min = _number("baseline_days_min")
    reason = reason()

    def command(self) -> SetDetectionPolicy:
        """What the valid form asks for."""
        given = self.cleaned_data
        return SetDetectionPolicy(
            kinds=tuple(kind for kind in KINDS if given[kind]),
            idle_below=given["idle_below"],
            zombie_below=given["zombie_below"],
            **{name: given[name] for name in BOUNDS},
        )

    def groups(self) -> list[tuple[str, list[BoundField]]]:
        """The fields of each kind."""
        names = {
            "idle": ("idle", "idle_below", "idle_minutes"),
            "zombie": ("zombie", "zombie_below", "progress_seconds_max"),
            "surge": ("surge", "baseline_factor", "baseline_spread", "baseline_days_min"),
        }
        return [(KINDS[kind][0], [self[name] for name in names[kind]]) for kind in KINDS]


def initial_of(policy: DetectionPolicy) -> dict[str, Any]:
    """A policy as the form shows it."""
    rule = policy.rule
    shares = {name: float(getattr(rule, name) * 100) for name in ("idle_below", "zombie_below")}
    return {
        **{kind: kind in policy.kinds for kind in KINDS},
        **{name: f"{share:g}" for name, share in shares.items()},
        **{name: getattr(rule, name) for name in BOUNDS},
    }
