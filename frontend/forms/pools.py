"""Forms of flavors and pools: shape and types only."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms

from frontend.forms.fields import amount, reason
from frontend.numbers import duration, several
from quota.commands.pools import (
    RECLAIM_SECONDS_MAX,
    WEIGHT_MAX,
    WEIGHT_PLACES,
    DefineFlavor,
    OpenPool,
    SetFlavorWeight,
    SizeChange,
    size_change,
)
from quota.queries import FlavorRow, PoolRow

NAME_LENGTH_MAX = 100
RECLAIM_SECONDS_DEFAULT = 300


class PoolForm(forms.Form):
    """One fact about a pool at a time, so that each is one event with its own reason."""

    what = forms.ChoiceField(label="What changes")
    value = amount(
        "New value", help_text="Whole units; for the reclaim target, seconds (at most 7 days)."
    )
    accept_over_promise = forms.BooleanField(
        required=False,
        label="The hardware is gone: save it even if promises no longer fit",
        help_text="Promises are kept and shown as over-promised; nothing is cut, nothing added.",
    )
    reason = reason()

    def __init__(self, data: Any = None, *, row: PoolRow, saving: bool = False) -> None:
        """`saving`: the reason is required."""
        super().__init__(data, initial={"what": "capacity"})
        self.fields["reason"].required = saving
        target = f"{row.reclaim_target_seconds:,} s ({duration(row.reclaim_target_seconds)})"
        self.fields["what"].choices = [
            ("capacity", f"Capacity, now {several(row.capacity)}"),
            ("unavailable", f"Unavailable (failed, drained), now {several(row.unavailable)}"),
            ("safety_margin", f"Safety margin, never promised, now {several(row.safety_margin)}"),
            ("reclaim_target_seconds", f"Reclaim target, guarantees hold within it, now {target}"),
        ]

    def clean(self) -> dict[str, Any]:
        """The reclaim target has a smaller maximum."""
        cleaned = super().clean()
        is_seconds = cleaned.get("what") == "reclaim_target_seconds"
        if is_seconds and (cleaned.get("value") or 0) > RECLAIM_SECONDS_MAX:
            self.add_error("value", f"At most {RECLAIM_SECONDS_MAX} seconds, which is 7 days.")
        return cleaned

    def command(self, *, pool_id: UUID, expected_version: int | None = None) -> SizeChange:
        """What the valid form asks for."""
        values = self.cleaned_data
        return size_change(
            pool_id,
            values["what"],
            values["value"],
            accept_over_promise=values["accept_over_promise"],
            expected_version=expected_version,
        )


class OpenPoolForm(forms.Form):
    """A new pool: one flavor in one cluster."""

    name = forms.CharField(max_length=NAME_LENGTH_MAX, label="Name")
    flavor = forms.ChoiceField(label="Flavor")
    cluster = forms.CharField(max_length=NAME_LENGTH_MAX, label="Cluster")
    capacity = amount("Capacity, units", help_text="All units, working or not.")
    unavailable = amount(
        "Unavailable, units", initial=0, help_text="Of the capacity, failed or drained."
    )
    safety_margin = amount(
        "Safety margin, units", initial=0, help_text="Of the capacity, never promised to anybody."
    )
    reclaim_target_seconds = amount(
        "Reclaim target, seconds",
        maximum=RECLAIM_SECONDS_MAX,
        initial=RECLAIM_SECONDS_DEFAULT,
        help_text="Within which a guarantee must be honoured. At most 7 days.",
    )
    reason = reason()

    def __init__(self, data: Any = None, *, flavors: Sequence[FlavorRow], flavor: str = "") -> None:
        """`flavor`: the one chosen at first."""
        super().__init__(data, initial={"flavor": flavor})
        self.fields["flavor"].choices = [(one.name, one.name) for one in flavors]
        self._ids = {one.name: one.id for one in flavors}

    def command(self) -> OpenPool:
        """What the valid form asks for."""
        values = self.cleaned_data
        same = ("name", "cluster", "capacity", "unavailable", "safety_margin")
        return OpenPool(
            flavor_id=self._ids[values["flavor"]],
            reclaim_target_seconds=values["reclaim_target_seconds"],
            **{name: values[name] for name in same},
        )


class WeightForm(forms.Form):
    """What a flavor weighs in fair-share."""

    weight = forms.DecimalField(
        min_value=0,
        max_value=WEIGHT_MAX,
        decimal_places=WEIGHT_PLACES,
        initial=Decimal(1),
        label="Economic weight",
        help_text="What one unit-hour counts in fair-share, beside the other flavors. "
        "It counts for past and future use alike.",
    )
    reason = reason()

    def command(self, flavor_id: UUID) -> SetFlavorWeight:
        """What the valid form asks for."""
        return SetFlavorWeight(flavor_id=flavor_id, weight=self.cleaned_data["weight"])


class FlavorForm(WeightForm):
    """A new kind of resource."""

    name = forms.CharField(
        max_length=NAME_LENGTH_MAX, label="Name", help_text="Like h100-80gb or cpu-core."
    )
    field_order = ("name", "weight", "reason")

    def define(self) -> DefineFlavor:
        """What the valid form asks for."""
        return DefineFlavor(name=self.cleaned_data["name"], weight=self.cleaned_data["weight"])
