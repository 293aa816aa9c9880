"""The form of a quota: shape and types only; what is allowed is the domain's to say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms

from frontend import numbers
from frontend.forms.fields import LocalInstant, amount, reason
from quota.commands.quotas import SetQuota
from quota.domain.changes import Cell

NOW, LATER = "now", "later"
KEEP, FOR_GOOD, UNTIL = "keep", "good", "until"
ADD = ""
"""Choice of `carve_from`: the promise itself rises or falls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Above:
    """An account above, and what it has of its own to give."""

    id: UUID
    name: str
    own: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the form stands on.

    Attributes:
        cell: the account's quota in the pool as it is, with its end.
        above: accounts above, the nearest first.
        unpromised: units that the pool may still promise.
    """

    cell: Cell
    above: Sequence[Above]
    unpromised: int
    zone: ZoneInfo


class QuotaForm(forms.Form):
    """A quota as a whole: a limit left empty is no limit."""

    guaranteed = amount(
        "Guaranteed, units",
        help_text="What is promised to the account itself, beside what accounts below have.",
    )
    borrowing_limit = amount(
        "Borrowing limit, units",
        required=False,
        help_text="How far beyond its guarantee it may go. Empty: no limit; 0: not at all.",
    )
    lending_limit = amount(
        "Lending limit, units",
        required=False,
        help_text="How much of an idle guarantee others may use. Empty: all; 0: none.",
    )
    carve_from = forms.ChoiceField(
        required=False,
        label="Where a rise comes from, and where a cut goes back to",
        help_text="Carving moves units from an account above and leaves the promise as it is.",
    )
    starts = forms.ChoiceField(
        required=False, choices=[(NOW, "Now"), (LATER, "Later")], label="Takes effect"
    )
    effective_at = LocalInstant(required=False, label="From")
    lasts = forms.ChoiceField(
        required=False,
        label="Lasts",
        error_messages={
            "invalid_choice": "It has no end any more that could be kept. Choose how long it lasts."
        },
    )
    ends_at = LocalInstant(required=False, label="Until")
    expose = forms.BooleanField(
        required=False,
        label="Expose what runs above a lowered guarantee",
        help_text="Those jobs lose their tier and become borrowed: among the first to give back. "
        "Left clear, they keep it until they end. Nothing is stopped either way.",
    )
    reason = reason()

    def __init__(self, data: Any = None, *, ground: Ground, saving: bool = False) -> None:
        """`saving`: the reason is required."""
        temporary = ground.cell.temporary
        quota = ground.cell.quota
        initial = {
            "guaranteed": quota.guaranteed,
            "borrowing_limit": quota.borrowing_limit,
            "lending_limit": quota.lending_limit,
            "carve_from": _usual(ground),
            "starts": NOW,
            "lasts": KEEP if temporary else FOR_GOOD,
        }
        super().__init__(data, initial=initial)
        self.ground = ground
        self.fields["reason"].required = saving
        for name in ("effective_at", "ends_at"):
            self.fields[name].zone = ground.zone
            self.fields[name].help_text = f"Time in {ground.zone.key}."
        self.fields["carve_from"].choices = [
            *((one.name, f"{one.name}, which has {one.own:,} of its own") for one in ground.above),
            (ADD, f"The pool's promise itself, which has {ground.unpromised:,} left"),
        ]
        self.fields["lasts"].choices = [
            *([(KEEP, self._keep(temporary.ends_at))] if temporary else ()),
            (FOR_GOOD, "For good"),
            (UNTIL, "Until a time, then back to what it was before"),
        ]

    def _keep(self, ends_at: datetime) -> str:
        base = self.ground.cell.base.guaranteed
        end = numbers.instant(ends_at, self.ground.zone)
        return f"Keep its end: {end}, then back to {numbers.several(base)}"

    def clean(self) -> dict[str, Any]:
        """A chosen time has to be given; one that is not chosen does not count."""
        cleaned = super().clean()
        if cleaned.get("starts") != LATER:
            cleaned["effective_at"] = None
        elif not cleaned.get("effective_at") and "effective_at" not in self.errors:
            self.add_error("effective_at", "Say when it takes effect, or choose Now.")
        temporary = self.ground.cell.temporary
        lasts = cleaned.get("lasts") or (KEEP if temporary else FOR_GOOD)
        if lasts == KEEP and temporary:
            # The exact instant: the field on the page knows no seconds.
            cleaned["ends_at"] = temporary.ends_at
        elif lasts != UNTIL:
            cleaned["ends_at"] = None
        elif not cleaned.get("ends_at") and "ends_at" not in self.errors:
            self.add_error("ends_at", "Say when it ends, or choose For good.")
        return cleaned

    def command(
        self, *, account_id: UUID, pool_id: UUID, expected_version: int | None = None
    ) -> SetQuota:
        """What the valid form asks for."""
        values = self.cleaned_data
        lenders = {one.name: one.id for one in self.ground.above}
        return SetQuota(
            account_id=account_id,
            pool_id=pool_id,
            guaranteed=values["guaranteed"],
            borrowing_limit=values["borrowing_limit"],
            lending_limit=values["lending_limit"],
            carve_from_id=lenders.get(values["carve_from"]),
            effective_at=values["effective_at"],
            ends_at=values["ends_at"],
            expose=values["expose"],
            expected_version=expected_version,
        )


class ReasonForm(forms.Form):
    """For what only needs to be confirmed."""

    reason = reason()


def _usual(ground: Ground) -> str:
    """Who lends already; else the nearest account above that has something to give."""
    temporary = ground.cell.temporary
    for one in ground.above:
        if one.id == temporary.lender if temporary else one.own:
            return one.name
    return ADD
