"""Fields that several forms share."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms

from quota.commands.pools import UNITS_MAX

REASON_LENGTH_MAX = 500
LOCAL_FORMAT = "%Y-%m-%dT%H:%M"


def amount(label: str, *, maximum: int = UNITS_MAX, **options: Any) -> forms.IntegerField:
    """Whole units."""
    return forms.IntegerField(min_value=0, max_value=maximum, label=label, **options)


def reason() -> forms.CharField:
    """Why; kept with the event. It is asked for when saving, not for trying."""
    return forms.CharField(
        max_length=REASON_LENGTH_MAX,
        label="Reason",
        help_text="Kept with the change, for everybody who reads its history.",
        error_messages={"required": "Say why: the reason is kept with the change."},
    )


class LocalInput(forms.TextInput):
    """The browser's own field for a day and a time."""

    input_type = "datetime-local"


class LocalInstant(forms.Field):
    """A time as a clock in the organization's zone shows it, as an instant in UTC.

    The form sets `zone`. A time that a clock skips in spring is refused; of one that it shows
    twice in autumn the first is meant.
    """

    widget = LocalInput
    zone: ZoneInfo = ZoneInfo("UTC")

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            local = datetime.fromisoformat(str(value).strip())
        except ValueError:
            raise forms.ValidationError("Give a time like 2026-11-29T12:00.") from None
        if local.tzinfo is not None or not 2000 <= local.year < 2100:
            raise forms.ValidationError("Give a time between the years 2000 and 2099.")
        found = local.replace(tzinfo=self.zone).astimezone(UTC)
        if found.astimezone(self.zone).replace(tzinfo=None) != local:
            raise forms.ValidationError(
                "On that day the clocks are set forward and there is no such time. Give another."
            )
        return found

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return value.astimezone(self.zone).strftime(LOCAL_FORMAT)
        return value
