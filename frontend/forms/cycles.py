"""Forms of review cycles: shape and types only; what is allowed is the domain's to say."""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms

from frontend.forms.fields import REASON_LENGTH_MAX, LocalInstant, amount
from frontend.forms.fields import reason as required_reason
from quota.commands.cycle_close import CloseCycle
from quota.commands.cycle_decisions import AnswerReview, AskLead, Choice, DecideCycle
from quota.commands.cycles import OpenCycle, SetCyclePolicy
from quota.domain.cycles import (
    DECIDE_DAYS_MAX,
    NAME_LENGTH_MAX,
    TEXT_LENGTH_MAX,
    WINDOW_DAYS_MAX,
    CyclePolicy,
    Decision,
)

WAYS = (
    ("keep", "Keep what it has"),
    ("recommended", "Take the recommended figure"),
    ("set", "Set another figure"),
)


def _reason(help_text: str) -> forms.CharField:
    return forms.CharField(
        required=False, max_length=REASON_LENGTH_MAX, label="Reason", help_text=help_text
    )


def _days(label: str, *, maximum: int, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(min_value=1, max_value=maximum, label=label, help_text=help_text)


class OpenForm(forms.Form):
    """A new cycle over a subtree."""

    account = forms.CharField(
        max_length=100,
        label="Account",
        help_text="Every quota that it and the accounts below it have, in every pool.",
    )
    name = forms.CharField(
        max_length=NAME_LENGTH_MAX,
        label="Name",
        help_text="It is in the reason of every quota that the review changes.",
    )
    deadline = LocalInstant(label="Decide until", help_text="Nothing happens by itself then.")
    window_days = _days(
        "Days of use to look at",
        maximum=WINDOW_DAYS_MAX,
        help_text=f"Back from the day of reading, 1 to {WINDOW_DAYS_MAX}.",
    )
    reason = _reason("Why now; everybody who reviews reads it.")

    def __init__(self, data: Any = None, *, zone: ZoneInfo, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.fields["deadline"].zone = zone

    def command(self, account_id: UUID) -> OpenCycle:
        """What the valid form asks for."""
        return OpenCycle(
            account_id=account_id,
            name=self.cleaned_data["name"],
            deadline=self.cleaned_data["deadline"],
            window_days=self.cleaned_data["window_days"],
        )


class PolicyForm(forms.Form):
    """How cycles open by themselves."""

    automatic = forms.BooleanField(
        required=False,
        label="Open a review of all quotas with each quarter",
        help_text="In its first days, by the organization's calendar, unless one is open.",
    )
    window_days = _days(
        "Days of use to look at",
        maximum=WINDOW_DAYS_MAX,
        help_text=f"Back from the day of reading, 1 to {WINDOW_DAYS_MAX}.",
    )
    decide_days = _days(
        "Days to decide",
        maximum=DECIDE_DAYS_MAX,
        help_text=f"From its opening, 1 to {DECIDE_DAYS_MAX}.",
    )
    reason = required_reason()

    def command(self, *, expected_version: int | None) -> SetCyclePolicy:
        """What the valid form asks for."""
        names = ("automatic", "window_days", "decide_days")
        return SetCyclePolicy(
            policy=CyclePolicy(**{name: self.cleaned_data[name] for name in names}),
            expected_version=expected_version,
        )


class RowForm(forms.Form):
    """A decision as a row of the grid sends it: one button each, units for `set`."""

    what = forms.ChoiceField(choices=WAYS, label="Decision")
    units = amount("Units", required=False)
    seen = amount("Recommended", required=False)
    version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    reason = _reason("Kept with the decision, for everybody who reads the report.")

    def command(self, cycle_id: UUID, place: tuple[UUID, UUID]) -> DecideCycle:
        """What the valid form asks for."""
        given = self.cleaned_data
        decision = Decision(given["what"])
        units = {Decision.SET: given["units"], Decision.RECOMMENDED: given["seen"]}.get(decision)
        choice = Choice(
            account_id=place[0],
            pool_id=place[1],
            decision=decision,
            units=units,
            expected_version=given["version"],
        )
        return DecideCycle(cycle_id=cycle_id, choices=(choice,))


class TextForm(forms.Form):
    """A question to a lead."""

    text = forms.CharField(
        max_length=TEXT_LENGTH_MAX,
        label="Question",
        help_text="The leads nearest to the account are told, and may answer on this page.",
    )
    version = forms.IntegerField(min_value=0, max_value=2**31 - 1)

    def command(self, cycle_id: UUID, place: tuple[UUID, UUID]) -> AskLead | AnswerReview:
        """What the valid form asks for."""
        return AskLead(
            cycle_id=cycle_id,
            account_id=place[0],
            pool_id=place[1],
            question=self.cleaned_data["text"],
            expected_version=self.cleaned_data["version"],
        )


class AnswerForm(TextForm):
    """A lead's answer."""

    text = forms.CharField(
        max_length=TEXT_LENGTH_MAX, label="Answer", help_text="The reviewer is told."
    )
    units = amount(
        "Units needed", required=False, help_text="The guarantee you need; empty to leave it open."
    )

    def command(self, cycle_id: UUID, place: tuple[UUID, UUID]) -> AnswerReview:
        """What the valid form asks for."""
        return AnswerReview(
            cycle_id=cycle_id,
            account_id=place[0],
            pool_id=place[1],
            text=self.cleaned_data["text"],
            units=self.cleaned_data["units"],
            expected_version=self.cleaned_data["version"],
        )


class CloseForm(forms.Form):
    """What the closer says about quotas that are not decided, and decisions that cannot be."""

    undecided_keep = forms.BooleanField(
        required=False, label="Quotas without a decision stay as they are"
    )
    without_impossible = forms.BooleanField(
        required=False, label="Close without the decisions that cannot be applied"
    )
    reason = _reason("Kept with every quota that changes, after the name of the review.")

    def command(self, cycle_id: UUID) -> CloseCycle:
        """What the valid form asks for."""
        return CloseCycle(
            cycle_id=cycle_id,
            undecided_keep=self.cleaned_data["undecided_keep"],
            without_impossible=self.cleaned_data["without_impossible"],
        )
