"""The form of a request: shape and types only; what may be asked is the domain's to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from frontend.errors import said
from frontend.forms.fields import LocalInstant
from frontend.request_words import KINDS
from ledger.errors import DomainError
from quota.domain.requests import (
    AT_ONCE,
    FOR_GOOD,
    PURPOSE_LENGTH_MAX,
    WITH_END,
    WITHOUT_UNITS,
    Kind,
    Terms,
    Workload,
)

GOOD, UNTIL = "good", "until"
USUAL_LENGTH: Final = timedelta(days=42)
UNPRICED: Final = frozenset({Kind.LOWER, Kind.TRANSFER, Kind.CEILING, Kind.JUSTIFICATION})
"""Kinds for which service and budget say nothing."""
TIERS: Final = (
    ("guaranteed", "Always there"),
    ("borrowed", "While others leave idle"),
    ("spot", "Whatever is left"),
)
WORKLOADS: Final = (
    (Workload.TRAINING, "Training"),
    (Workload.INFERENCE, "Inference"),
    (Workload.INTERACTIVE, "Interactive work"),
    (Workload.BATCH, "Batch jobs"),
    (Workload.OTHER, "Something else"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the form stands on.

    Attributes:
        accounts: ids of the accounts that may be asked for, by name.
        pools: ids of the pools, by name.
        now: when the page is made; the usual end is counted from here.
        fixed: terms of a request that was handed in: its account, pool and kind stay.
    """

    accounts: Mapping[str, UUID]
    pools: Mapping[str, UUID]
    zone: ZoneInfo
    now: datetime
    fixed: Terms | None = None


def usual_end(start: datetime, zone: ZoneInfo) -> datetime:
    """Six weeks on, at the midnight that follows, as a clock of the zone shows it."""
    day = (start + USUAL_LENGTH).astimezone(zone).date()
    # In UTC, as some zones skip a midnight in spring.
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


class RequestForm(forms.Form):
    """All that a request says. What the kind does not need is not looked at."""

    account = forms.CharField(
        max_length=200,
        label="For which account",
        help_text="Whose units they become.",
        error_messages={"required": "Say for which account."},
    )
    pool = forms.ChoiceField(
        label="In which pool",
        help_text="A pool is a set of GPUs of one kind in one place.",
        error_messages={"required": "Choose a pool."},
    )
    kind = forms.ChoiceField(
        label="What do you need?",
        choices=[(str(kind), title) for kind, (title, _) in KINDS.items()],
    )
    units = forms.IntegerField(
        required=False,
        label="How many units",
        help_text="A unit is one GPU. More and fewer are counted from what the account has.",
    )
    to_account = forms.CharField(
        required=False,
        max_length=200,
        label="Who receives them",
        help_text="An account under the same parent.",
    )
    starts_at = LocalInstant(required=False, label="From")
    lasts = forms.ChoiceField(
        required=False,
        choices=[(UNTIL, "Until a day"), (GOOD, "For good")],
        label="For how long",
    )
    ends_at = LocalInstant(required=False, label="Until")
    workload = forms.ChoiceField(choices=WORKLOADS, label="What will run")
    tier = forms.ChoiceField(
        choices=TIERS,
        label="How sure they must be",
        help_text="Guaranteed, borrowed or spot: the price depends on it.",
    )
    purpose = forms.CharField(
        required=False,
        max_length=PURPOSE_LENGTH_MAX,
        label="What they are for",
        help_text="Two sentences: what you will do, and what happens without. "
        "Whoever decides reads this first.",
        widget=forms.Textarea,
    )
    budget = forms.DecimalField(
        required=False,
        max_digits=14,
        decimal_places=2,
        min_value=Decimal(0),
        label="Budget for the whole time (may stay empty)",
        help_text="If it would cost more, somebody looks at it first.",
    )

    def __init__(self, data: Any = None, *, ground: Ground, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        self.ground = ground
        zone = ground.zone
        for name in ("starts_at", "ends_at"):
            self.fields[name].zone = zone
            self.fields[name].help_text = f"Time in {zone.key}."
        self.fields[
            "starts_at"
        ].help_text = f"Empty: as soon as it is approved. Time in {zone.key}."
        self.fields["pool"].choices = [(name, name) for name in ground.pools]

    def clean_account(self) -> str:
        """A name of which the person may ask; of others nothing is told."""
        name = self.cleaned_data["account"].strip()
        if name not in self.ground.accounts:
            raise forms.ValidationError(
                "You cannot ask for such an account. Choose one that you lead."
            )
        return name

    def clean(self) -> dict[str, Any]:
        """A chosen end has to be given; what the kind does not need is dropped."""
        cleaned = super().clean()
        kind = cleaned.get("kind")
        if kind in FOR_GOOD:
            cleaned["lasts"], cleaned["ends_at"] = GOOD, None
        elif kind in WITH_END:
            cleaned["lasts"] = UNTIL
        elif cleaned.get("lasts") == GOOD:
            cleaned["ends_at"] = None
        if kind in AT_ONCE:
            cleaned["starts_at"] = None
        if kind in WITHOUT_UNITS:
            cleaned["units"] = None
        if kind != Kind.TRANSFER:
            cleaned["to_account"] = ""
        if kind in UNPRICED:
            cleaned["tier"], cleaned["budget"] = "guaranteed", None
        for unused in ("starts_at", "ends_at", "units", "to_account", "budget"):
            # A slip in a field that is not shown cannot be mended there.
            if unused in self.errors and _is_unused(unused, kind, cleaned.get("lasts")):
                del self.errors[unused]
        until = cleaned.get("lasts") == UNTIL and kind not in WITH_END
        if until and not cleaned.get("ends_at") and "ends_at" not in self.errors:
            self.add_error("ends_at", "Say until when, or choose For good.")
        return cleaned

    def terms(self, *, to_account_id: UUID | None = None) -> Terms:
        """What the valid form asks for."""
        values, fixed = self.cleaned_data, self.ground.fixed
        return Terms(
            account_id=fixed.account_id if fixed else self.ground.accounts[values["account"]],
            pool_id=fixed.pool_id if fixed else self.ground.pools[values["pool"]],
            kind=fixed.kind if fixed else values["kind"],
            units=values["units"],
            starts_at=values["starts_at"],
            ends_at=values["ends_at"],
            workload=values["workload"],
            tier=values["tier"],
            purpose=values["purpose"].replace("\r\n", "\n").strip(),
            budget=values["budget"],
            to_account_id=to_account_id,
        )

    def refuse(self, problems: Sequence[DomainError]) -> None:
        """Say what the domain says, once, at the fields it names."""
        for problem in problems:
            name = problem.field if problem.field in self.fields else None
            detail = said(problem, self.ground.zone)
            if detail not in self.errors.get(name or NON_FIELD_ERRORS, ()):
                self.add_error(name, detail)


def _is_unused(field: str, kind: str | None, lasts: str | None) -> bool:
    return {
        "starts_at": kind in AT_ONCE,
        "ends_at": kind in FOR_GOOD or (lasts == GOOD and kind not in WITH_END),
        "units": kind in WITHOUT_UNITS,
        "to_account": kind != Kind.TRANSFER,
        "budget": kind in UNPRICED,
    }[field]


def initial_of(terms: Terms, *, account: str, pool: str, to_account: str | None) -> dict[str, Any]:
    """A form that says what the terms say."""
    return {
        "account": account,
        "pool": pool,
        "kind": str(terms.kind),
        "units": terms.units,
        "to_account": to_account or "",
        "starts_at": terms.starts_at,
        "lasts": UNTIL if terms.ends_at else GOOD,
        "ends_at": terms.ends_at,
        "workload": str(terms.workload),
        "tier": terms.tier,
        "purpose": terms.purpose,
        "budget": terms.budget,
    }
