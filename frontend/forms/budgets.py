"""Forms of budgets: shape and types only; what is allowed is the domain's to say."""

from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django import forms

from accounting.commands.budgets import NAME_LENGTH_MAX, ChangeBudget, EndBudget, SetBudget
from accounting.domain.budgets import Alerts, BurnRule
from accounting.queries.budgets import BudgetRow, VersionRow
from frontend.forms.fields import reason
from frontend.numbers import plain

PERIODS = (
    ("month", "Each month"),
    ("quarter", "Each quarter"),
    ("year", "Each year"),
    ("range", "A range of days"),
)
_LIKE = "Give rules like 3/1/3; 7/1/1.5: days, fewer days, and how many times as fast."


class DayInput(forms.TextInput):
    """The browser's own field for a day."""

    input_type = "date"


class DayField(forms.DateField):
    """A day as 2026-11-29."""

    widget = DayInput
    default_error_messages = {"invalid": "Give a day like 2026-11-29."}


class PercentsField(forms.CharField):
    """Whole percents, separated by commas."""

    def clean(self, value: Any) -> tuple[int, ...]:
        parts = [part.strip(" %") for part in (super().clean(value) or "").split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts if part):
            raise forms.ValidationError("Give whole percents like 50, 80, 100.")
        return tuple(int(part) for part in parts if part)


class BurnField(forms.CharField):
    """Burn rules as 7/1/1.5: long window and short one in days, and the factor."""

    def clean(self, value: Any) -> tuple[BurnRule, ...]:
        found = []
        for text in (super().clean(value) or "").split(";"):
            parts = [part.strip() for part in text.split("/")]
            if parts == [""]:
                continue
            whole = [part.isascii() and part.isdigit() and len(part) < 6 for part in parts[:2]]
            if len(parts) != 3 or not all(whole):
                raise forms.ValidationError(_LIKE)
            try:
                factor = Decimal(parts[2])
            except InvalidOperation:
                raise forms.ValidationError(_LIKE) from None
            found.append(BurnRule(long_days=int(parts[0]), short_days=int(parts[1]), factor=factor))
        return tuple(found)


class AlertsForm(forms.Form):
    """When a budget speaks up."""

    spent = PercentsField(
        required=False, label="When so much is spent, in %", help_text="Such as 50, 80, 100."
    )
    forecast = PercentsField(
        required=False, label="When the forecast comes to, in %", help_text="Such as 100."
    )
    burn = BurnField(
        required=False,
        label="When it is spent too fast",
        help_text="Days / fewer days / times: 7/1/1.5 is one and a half times as fast as the "
        "budget allows, over 7 days and still in the last one.",
    )
    reason = reason()

    def alerts(self) -> Alerts:
        """Its thresholds.

        Raises:
            Invalid: which the command raises, too.
        """
        values = self.cleaned_data
        return Alerts(spent=values["spent"], forecast=values["forecast"], burn=values["burn"])


class NewBudgetForm(AlertsForm):
    """A budget for an account."""

    account = forms.CharField(
        max_length=100, label="Account", help_text="What is below it counts, too."
    )
    name = forms.CharField(
        required=False,
        max_length=NAME_LENGTH_MAX,
        label="Name",
        help_text="Of a project or a grant, say; may be empty.",
    )
    amount = forms.DecimalField(label="Amount", help_text="For each period, above 0.")
    period = forms.ChoiceField(choices=PERIODS, label="For")
    starts_on = DayField(
        required=False, label="From", help_text="First day of a period; empty: of this one."
    )
    last_day = DayField(required=False, label="Through", help_text="Of a range only.")
    field_order = (
        *("account", "name", "amount", "period", "starts_on", "last_day"),
        *("spent", "forecast", "burn", "reason"),
    )

    def command(self, account_id: UUID) -> SetBudget:
        """What the valid form asks for."""
        values = self.cleaned_data
        last = values["last_day"]
        return SetBudget(
            account_id=account_id,
            ends_on=last + timedelta(days=1) if last else None,
            **{
                name: values[name]
                for name in ("period", "amount", "name", "starts_on", "spent", "forecast", "burn")
            },
        )


class ChangeBudgetForm(AlertsForm):
    """Another amount, or other alerts."""

    amount = forms.DecimalField(label="Amount", help_text="For each period, above 0.")
    effective_from = DayField(
        label="From the period that begins on", help_text="This one or a later one."
    )
    field_order = ("amount", "effective_from", "spent", "forecast", "burn", "reason")

    def command(self, budget_id: UUID) -> ChangeBudget:
        """What the valid form asks for."""
        names = ("amount", "effective_from", "spent", "forecast", "burn")
        return ChangeBudget(budget_id=budget_id, **{n: self.cleaned_data[n] for n in names})


class EndBudgetForm(forms.Form):
    """From when a budget counts no more."""

    ended_on = DayField(label="From", help_text="Today or later; from this day on it is over.")
    reason = reason()

    def command(self, budget_id: UUID) -> EndBudget:
        """What the valid form asks for."""
        return EndBudget(budget_id=budget_id, ended_on=self.cleaned_data["ended_on"])


def alerts_initial(alerts: Alerts) -> dict[str, str]:
    """Alerts as the forms take them."""
    return {
        "spent": ", ".join(str(percent) for percent in sorted(alerts.spent)),
        "forecast": ", ".join(str(percent) for percent in sorted(alerts.forecast)),
        "burn": "; ".join(
            f"{rule.long_days}/{rule.short_days}/{plain(rule.factor)}" for rule in alerts.burn
        ),
    }


def change_initial(row: BudgetRow, version: VersionRow, today: date) -> dict[str, Any]:
    """What holds, as the form takes it."""
    return {
        "amount": plain(version.amount),
        "effective_from": row.span(today).first.isoformat(),
        **alerts_initial(version.alerts),
    }


def field_of(name: str) -> str:
    """Where a refusal of the command belongs."""
    return "last_day" if name == "ends_on" else name.split("[")[0]
