"""The form of the routing policy: every field with its meaning, its default and its bounds."""

from typing import Any, Final

from django import forms

from frontend.forms.fields import reason
from quota.domain.routing import BOUNDS, DEFAULT, Policy

_ABOUT: Final[dict[str, tuple[str, str]]] = {
    "automatic": (
        "Grant automatically what is small, short, fits and comes from who uses what they hold",
        "Off: everything but what is given back goes to people.",
    ),
    "automatic_units_max": (
        "Automatic up to, units",
        "The rise, together with the account's other automatic grants that still run.",
    ),
    "automatic_days_max": ("Automatic up to, days", "Longest period. Empty: also without an end."),
    "automatic_price_max": (
        "Automatic up to, price a month",
        "Of the rise, in the organization's currency. Empty: any price. Units without a rate pass.",
    ),
    "use_percent_min": (
        "Least mean use of what is held, percent",
        "Over four weeks, where the account has a guarantee already.",
    ),
    "unknown_use_passes": (
        "A guarantee whose use is unknown counts as used",
        "Off: without telemetry people decide.",
    ),
    "rejection_days": (
        "Days after a rejection without automatic grants",
        "Of the account in the pool.",
    ),
    "two_approvals_units": (
        "Two approvals from, units",
        "From this rise on two different people approve.",
    ),
    "days_max": ("Longest period of any request, days", "Empty: open ones, too."),
    "justification_days_max": (
        "Longest protection of an idle guarantee, days",
        "What a justification asks for.",
    ),
    "decide_hours": (
        "Hours to decide",
        "Then the next approvers up are asked, too.",
    ),
    "remind_hours": ("Hours between reminders", "To those who are asked."),
}
OPTIONAL: Final = ("automatic_days_max", "automatic_price_max", "days_max")


def _help(name: str) -> str:
    default = getattr(DEFAULT, name)
    if isinstance(default, bool):
        return f"{_ABOUT[name][1]} Default: {'on' if default else 'off'}."
    low, high = BOUNDS[name]
    said = "empty" if default is None else f"{default:,}"
    return f"{_ABOUT[name][1]} Default: {said}; from {low:,} to {high:,}."


def _number(name: str) -> forms.IntegerField:
    low, high = BOUNDS[name]
    return forms.IntegerField(
        min_value=low,
        max_value=high,
        required=name not in OPTIONAL,
        label=_ABOUT[name][0],
        help_text=_help(name),
    )


def _switch(name: str) -> forms.BooleanField:
    return forms.BooleanField(required=False, label=_ABOUT[name][0], help_text=_help(name))


class PolicyForm(forms.Form):
    """How requests handed in from now on are routed, as a whole."""

    automatic = _switch("automatic")
    automatic_units_max = _number("automatic_units_max")
    automatic_days_max = _number("automatic_days_max")
    automatic_price_max = forms.DecimalField(
        min_value=0,
        max_value=10**12,
        decimal_places=2,
        required=False,
        label=_ABOUT["automatic_price_max"][0],
        help_text=_help("automatic_price_max"),
    )
    use_percent_min = _number("use_percent_min")
    unknown_use_passes = _switch("unknown_use_passes")
    rejection_days = _number("rejection_days")
    two_approvals_units = _number("two_approvals_units")
    days_max = _number("days_max")
    justification_days_max = _number("justification_days_max")
    decide_hours = _number("decide_hours")
    remind_hours = _number("remind_hours")
    reason = reason()

    def __init__(self, data: Any = None, *, current: Policy, saving: bool = False) -> None:
        """`saving`: the reason is required."""
        super().__init__(data, initial={name: getattr(current, name) for name in _ABOUT})
        self.fields["reason"].required = saving

    def policy(self) -> Policy:
        """What the valid form asks for."""
        return Policy(**{name: self.cleaned_data[name] for name in _ABOUT})

    def rules(self) -> list[forms.BoundField]:
        """The fields that are rules."""
        return [self[name] for name in _ABOUT]
