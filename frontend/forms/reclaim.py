"""The forms of use-it-or-lose-it: shape and types only."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms

from frontend.forms.fields import LOCAL_FORMAT, REASON_LENGTH_MAX, LocalInstant, reason
from frontend.numbers import plain
from preemption.commands.reclaim_rules import SetReclaimRule
from preemption.reclaim_loading import PoolRule

UNITS: Final = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
DAYS: Final = (7, 30, 90)
TEXT_MAX: Final = 20_000
_PART = re.compile(r"(\d{1,9})\s*(days?|d|hours?|h|minutes?|min|seconds?|s)", re.ASCII)
_WINDOW = re.compile(r"\s*(\S+)\s+(?:to|until|-|–)\s+(\S+)\s*")


def length_text(seconds: int) -> str:
    """A length of time as the form takes it, exact: `14 d`, `72 h`, `90 min`, `100 s`."""
    if seconds % UNITS["d"] == 0 and seconds >= 7 * UNITS["d"]:
        return f"{seconds // UNITS['d']} d"
    for name in ("h", "min", "s"):
        if seconds % UNITS[name] == 0:
            return f"{seconds // UNITS[name]} {name}"
    raise AssertionError("every length is whole seconds")


class Length(forms.CharField):
    """A length of time such as `72 h` or `1 d 12 h`, in seconds."""

    def to_python(self, value: Any) -> Any:
        """Raises `ValidationError`: it is no length."""
        text = super().to_python(value)
        if not text:
            return None
        parts = _PART.findall(text)
        if not parts or _PART.sub("", text).strip(" ,"):
            raise forms.ValidationError("Give a length like 72 h, 14 d or 90 min.")
        return sum(int(count) * _seconds_of(name) for count, name in parts)

    def run_validators(self, value: Any) -> None:
        """None: the value is no text any more."""


def _seconds_of(name: str) -> int:
    return UNITS["min" if name.startswith("min") else name[0]]


class Percent(forms.DecimalField):
    """A share typed as a percentage: 20 for 0.2."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=100, max_digits=5, decimal_places=2, **options)

    def clean(self, value: Any) -> Decimal:
        """The share, 0 to 1."""
        return super().clean(value) / 100


class Windows(forms.CharField):
    """One stretch of time a line: `2026-12-24T00:00 to 2027-01-02T00:00`, as clocks there show."""

    widget = forms.Textarea
    zone: ZoneInfo = ZoneInfo("UTC")

    def to_python(self, value: Any) -> Any:
        """Raises `ValidationError`: names the line."""
        text = super().to_python(value)
        found = []
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                found.append(self._window(number, line))
        return tuple(found)

    def run_validators(self, value: Any) -> None:
        """None: the value is no text any more."""

    def _window(self, number: int, line: str) -> tuple[datetime, datetime]:
        parts = _WINDOW.fullmatch(line)
        if parts is None:
            raise forms.ValidationError(
                f"Line {number}: give beginning and end like 2026-12-24T00:00 to 2027-01-02T00:00."
            )
        instant = LocalInstant()
        instant.zone = self.zone
        try:
            low, high = (instant.to_python(part) for part in parts.groups())
        except forms.ValidationError as error:
            raise forms.ValidationError(f"Line {number}: {error.messages[0]}") from None
        return low, high


class RuleForm(forms.Form):
    """A pool's rule as a whole, and over which past days it is tried."""

    enabled = forms.BooleanField(required=False, label="The rule is on")
    threshold = Percent(
        label="Threshold, %", help_text="Idle is a guarantee of which less is used on average."
    )
    window_seconds = Length(label="Window", help_text="Idle so long, and it loses its idle part.")
    watch_seconds = Length(label="Watched after", help_text="Idle so long, and its leads are told.")
    clear_margin = Percent(
        label="Margin, %", help_text="Used again is what reaches the threshold and this."
    )
    cooldown_seconds = Length(
        label="Cooldown", help_text="Restoring is possible, and nothing is taken again, so long."
    )
    gap_seconds_max = Length(
        label="Gaps that are bridged", help_text="Longer ones without known use stop the clock."
    )
    unknown_seconds_max = Length(
        label="Unknown time", help_text="Of a window with more of it nothing is said."
    )
    exempt = forms.CharField(
        required=False,
        max_length=TEXT_MAX,
        widget=forms.Textarea,
        label="Exempt accounts",
        help_text="One a line; each with all below it.",
    )
    maintenance = Windows(
        required=False,
        max_length=TEXT_MAX,
        label="Maintenance",
        help_text="One window a line, like 2026-12-24T00:00 to 2027-01-02T00:00. Nothing is judged "
        "or taken within.",
    )
    days = forms.TypedChoiceField(
        coerce=int,
        label="Try it on",
        choices=[(each, f"the last {each} days") for each in DAYS],
    )
    reason = reason()

    def __init__(
        self,
        data: Any = None,
        *,
        zone: ZoneInfo,
        saving: bool = False,
        initial: dict[str, Any] | None = None,
    ) -> None:
        """`saving`: the reason is required."""
        super().__init__(data, initial=initial)
        self.fields["reason"].required = saving
        self.fields["maintenance"].zone = zone

    def names(self) -> tuple[str, ...]:
        """Accounts that the valid form exempts."""
        lines = self.cleaned_data["exempt"].replace(",", "\n").splitlines()
        return tuple(sorted({line.strip() for line in lines if line.strip()}))

    def command(
        self, pool_id: UUID | None, exempt_ids: Sequence[UUID], *, version: int | None = None
    ) -> SetReclaimRule:
        """What the valid form asks for. `version`: of the rule, as the form was made on."""
        names = (
            *("enabled", "threshold", "window_seconds", "watch_seconds", "clear_margin"),
            *("cooldown_seconds", "gap_seconds_max", "unknown_seconds_max", "maintenance"),
        )
        values = {name: self.cleaned_data[name] for name in names}
        return SetReclaimRule(
            pool_id=pool_id, exempt_ids=tuple(exempt_ids), expected_version=version, **values
        )


def initial_of(found: PoolRule, names: Mapping[UUID, str], *, zone: ZoneInfo) -> dict[str, Any]:
    """A rule as the form takes it."""
    rule = found.rule
    lengths = ("window", "watch", "cooldown")
    values = {f"{name}_seconds": length_text(getattr(rule, f"{name}_seconds")) for name in lengths}
    return values | {
        "enabled": found.enabled,
        "threshold": _percent(rule.threshold),
        "clear_margin": _percent(rule.clear_margin),
        "gap_seconds_max": length_text(rule.gap_seconds_max),
        "unknown_seconds_max": length_text(rule.unknown_seconds_max),
        "exempt": "\n".join(sorted(names[one] for one in found.exempt_ids)),
        "maintenance": "\n".join(
            " to ".join(_local(at, zone) for at in window) for window in found.maintenance
        ),
        "days": 30,
    }


class WhyForm(forms.Form):
    """Why, and no more."""

    reason = reason()


class WordForm(forms.Form):
    """Why, where that need not be said."""

    reason = forms.CharField(
        required=False,
        max_length=REASON_LENGTH_MAX,
        label="Reason",
        help_text="Kept with the change, for everybody who reads its history. May stay empty.",
    )


def _percent(share: Fraction) -> str:
    return plain(Decimal(share.numerator * 100) / Decimal(share.denominator))


def _local(at: datetime, zone: ZoneInfo) -> str:
    return at.astimezone(UTC).astimezone(zone).strftime(LOCAL_FORMAT)
