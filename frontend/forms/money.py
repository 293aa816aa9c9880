"""The forms of credits, commitments and terms: shape and types only."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django import forms

from accounting.commands.statements import (
    AgreeCommitment,
    EndCommitment,
    GrantCredit,
    SetStatementTerms,
)
from accounting.domain.lines import Terms
from frontend.forms.fields import reason
from frontend.numbers import plain

NAME_LENGTH_MAX = 100


class MonthInput(forms.TextInput):
    """The browser's own field for a month."""

    input_type = "month"


class MonthField(forms.Field):
    """A month as 2026-11: its first day."""

    widget = MonthInput

    def to_python(self, value: Any) -> date | None:
        if value in self.empty_values:
            return None
        try:
            return date.fromisoformat(f"{str(value).strip()}-01")
        except ValueError:
            raise forms.ValidationError("Give a month like 2026-11.") from None


class CreditForm(forms.Form):
    """An amount given back."""

    account = forms.CharField(max_length=NAME_LENGTH_MAX, label="Account")
    amount = forms.DecimalField(label="Amount", help_text="Above 0; it is taken off the statement.")
    month = MonthField(
        required=False, label="In the statement of", help_text="Empty: of this month."
    )
    about = MonthField(
        required=False, label="It makes good", help_text="The month that was wrong, maybe closed."
    )
    reason = reason()

    def command(self, account_id: Any) -> GrantCredit:
        """What the valid form asks for."""
        values = self.cleaned_data
        return GrantCredit(
            account_id=account_id,
            amount=values["amount"],
            month=values["month"],
            about=values["about"],
        )


class CommitmentForm(forms.Form):
    """At least so much a month."""

    account = forms.CharField(max_length=NAME_LENGTH_MAX, label="Account")
    amount = forms.DecimalField(label="At least, a month")
    from_month = MonthField(label="From")
    until_month = MonthField(required=False, label="Through", help_text="Empty: for good.")
    reason = reason()

    def command(self, account_id: Any) -> AgreeCommitment:
        """What the valid form asks for."""
        values = self.cleaned_data
        return AgreeCommitment(
            account_id=account_id,
            amount=values["amount"],
            from_month=values["from_month"],
            until_month=values["until_month"],
        )


class EndingForm(forms.Form):
    """A commitment that ends before it was to."""

    commitment = forms.ChoiceField(label="Commitment")
    last_month = MonthField(
        label="Last month", help_text="The last one that is charged; this one or later."
    )
    charge = forms.DecimalField(
        required=False,
        label="Ending it costs",
        help_text="Charged once, in the statement of the last month. Empty: nothing.",
    )
    reason = reason()

    def __init__(self, *args: Any, commitments: Sequence[tuple[str, str]] = (), **how: Any) -> None:
        """`commitments`: id and words of those that can be ended."""
        super().__init__(*args, **how)
        self.fields["commitment"].choices = [("", "choose"), *commitments]

    def command(self, account_id: Any = None) -> EndCommitment:
        """What the valid form asks for."""
        values = self.cleaned_data
        return EndCommitment(
            commitment_id=UUID(values["commitment"]),
            last_month=values["last_month"],
            charge=values["charge"] or Decimal(0),
        )


class TermsForm(forms.Form):
    """What idle time costs, lending gives back and good use earns."""

    from_month = MonthField(label="From the statements of", help_text="A month that is not over.")
    idle_share = forms.DecimalField(
        label="Idle share", help_text="Of the guaranteed price, 0 to 1; 0 charges nothing."
    )
    lending_share = forms.DecimalField(
        label="Lending share", help_text="Of the guaranteed price, at most the idle share."
    )
    ladder = forms.CharField(
        required=False,
        label="Ladder of discounts",
        help_text="Utilization: rate, separated by semicolons, like 0.8: 0.05; 0.9: 0.1.",
    )
    two_persons = forms.BooleanField(required=False, label="A second person confirms each close")
    reason = reason()

    def clean_ladder(self) -> tuple[tuple[Decimal, Decimal], ...]:
        """The steps as numbers."""
        steps = [step for step in self.cleaned_data["ladder"].split(";") if step.strip()]
        try:
            pairs = [step.split(":") for step in steps]
            return tuple((Decimal(above.strip()), Decimal(rate.strip())) for above, rate in pairs)
        except (InvalidOperation, ValueError):
            raise forms.ValidationError("Give steps like 0.8: 0.05; 0.9: 0.1.") from None

    def command(self, account_id: Any = None) -> SetStatementTerms:
        """What the valid form asks for."""
        names = ("from_month", "idle_share", "lending_share", "ladder", "two_persons")
        return SetStatementTerms(**{name: self.cleaned_data[name] for name in names})


def terms_initial(terms: Terms, *, two_persons: bool, month: date) -> dict[str, Any]:
    """Terms as the form takes them."""
    return {
        "from_month": f"{month:%Y-%m}",
        "idle_share": plain(terms.idle_share),
        "lending_share": plain(terms.lending_share),
        "ladder": "; ".join(f"{plain(above)}: {plain(rate)}" for above, rate in terms.ladder),
        "two_persons": two_persons,
    }
