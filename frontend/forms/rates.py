"""The forms of rates and of closing a month: shape and types only."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from django import forms

from accounting.commands.rates import PriceWish, PublishRateCard
from accounting.commands.statements import StartClose
from accounting.domain.statements import Finding
from accounting.queries.rates import PriceRow
from frontend.forms.fields import LocalInstant, reason
from frontend.numbers import plain

ANY = "*"
PARTS = 5


def as_text(rows: Sequence[PriceRow]) -> str:
    """Prices as the form takes them."""
    return "\n".join(
        ", ".join(
            (
                row.flavor,
                row.tier or ANY,
                row.grade or ANY,
                plain(row.list_price),
                *(() if row.contracted_price is None else (plain(row.contracted_price),)),
            )
        )
        for row in rows
    )


class Prices(forms.CharField):
    """One price a line: flavor, tier, grade, list price, contracted price if another."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        """The lines as wishes.

        Raises:
            ValidationError: names the line.
        """
        text = super().to_python(value)
        found = []
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                found.append(_wish(number, [part.strip() for part in line.split(",")]))
        return tuple(found)

    def validate(self, value: Any) -> None:
        """At least one: text length is checked by the domain's number of lines."""
        if not value:
            raise forms.ValidationError("Give at least one price.")

    def run_validators(self, value: Any) -> None:
        """None: the value is no text any more."""


def _wish(number: int, parts: list[str]) -> PriceWish:
    if not PARTS - 1 <= len(parts) <= PARTS:
        raise forms.ValidationError(
            f"Line {number}: give flavor, tier, grade, list price and maybe a contracted price."
        )
    flavor, tier, grade, *prices = parts
    try:
        values = [Decimal(price) for price in prices if price]
    except InvalidOperation:
        raise forms.ValidationError(f"Line {number}: a price is a number like 2.50.") from None
    if not values or not prices[0]:
        raise forms.ValidationError(f"Line {number}: the list price is missing.")
    return PriceWish(
        flavor=flavor,
        tier=None if tier in ("", ANY) else tier,
        grade=None if grade in ("", ANY) else grade,
        list_price=values[0],
        contracted_price=values[1] if len(values) > 1 else None,
    )


class RatesForm(forms.Form):
    """A new version of the rates."""

    prices = Prices(
        strip=False,
        label="Prices",
        help_text="One a line: flavor, tier, grade, list price, contracted price if it is another. "
        "* stands for every tier, or every grade, without a line of its own.",
    )
    effective_from = LocalInstant(
        required=False, label="From", help_text="Empty: at once. Never earlier than now."
    )
    effective_until = LocalInstant(
        required=False, label="Until", help_text="Empty: until the next version begins."
    )
    memory_flavor = forms.ChoiceField(
        required=False,
        label="Memory is priced as",
        help_text="The flavor by whose price the memory of a record is charged beside its units.",
    )
    reason = reason()

    def __init__(
        self,
        data: Any = None,
        *,
        flavors: Sequence[str],
        zone: ZoneInfo,
        saving: bool = False,
        initial: dict[str, Any] | None = None,
    ) -> None:
        """`saving`: the reason is required."""
        super().__init__(data, initial=initial)
        self.fields["reason"].required = saving
        for name in ("effective_from", "effective_until"):
            self.fields[name].zone = zone
        self.fields["memory_flavor"].choices = [
            ("", "nothing"),
            *((name, name) for name in flavors),
        ]

    def command(self) -> PublishRateCard:
        """What the valid form asks for."""
        values = self.cleaned_data
        return PublishRateCard(
            lines=values["prices"],
            effective_from=values["effective_from"],
            effective_until=values["effective_until"],
            memory_flavor=values["memory_flavor"] or None,
        )


class ReasonForm(forms.Form):
    """A reason alone."""

    reason = reason()


class CloseForm(forms.Form):
    """The close of a month: what is odd about it, accepted one by one."""

    accept = forms.MultipleChoiceField(required=False, label="Seen and accepted")
    reason = reason()

    def __init__(self, data: Any = None, *, findings: Sequence[Finding]) -> None:
        super().__init__(data)
        self.fields["accept"].choices = [(one.code, one.detail) for one in findings]

    def command(self, month: Any) -> StartClose:
        """What the valid form asks for."""
        return StartClose(month=month, accept=tuple(self.cleaned_data["accept"]))
