"""Forms of those who review: shape and types only; who may decide what is the domain's to say."""

from collections.abc import Collection
from typing import Any, Final
from zoneinfo import ZoneInfo

from django import forms

from frontend.forms.fields import REASON_LENGTH_MAX, LocalInstant, amount
from quota.commands.reviews import Approve, ApproveLess, AskChanges, Reject
from quota.domain.requests import UNITS_MAX
from quota.queries.requests import RequestRow

APPROVE, LESS, ASK, REJECT = "approve", "less", "ask", "reject"
WAYS: Final = (
    (APPROVE, "Approve as asked"),
    (LESS, "Approve less: an offer, which the requester accepts or withdraws"),
    (ASK, "Ask for changes: it comes back when they are made"),
    (REJECT, "Reject"),
)
EVERY_WAY: Final = frozenset(way for way, _ in WAYS)
WITH_REASON: Final = (ASK, REJECT)
_SAID: Final = {ASK: "Say what should change.", REJECT: "Say why; the requester reads it."}


class DecideForm(forms.Form):
    """One decision about one request."""

    what = forms.ChoiceField(choices=WAYS, label="Decision")
    units = amount("Units offered", maximum=UNITS_MAX, required=False)
    ends_at = LocalInstant(required=False, label="Until")
    reason = forms.CharField(
        required=False,
        max_length=REASON_LENGTH_MAX,
        label="Reason",
        help_text="Required to ask for changes and to reject. The requester reads it, and it is "
        "kept.",
    )

    def __init__(
        self,
        data: Any = None,
        *,
        row: RequestRow,
        zone: ZoneInfo,
        what: str = "",
        ways: Collection[str] = EVERY_WAY,
    ) -> None:
        """A form about one request.

        Args:
            what: the decision that is chosen at first.
            ways: those that can be taken at all.
        """
        self.terms = row.request.terms
        choices = [one for one in WAYS if one[0] in ways]
        first = what if what in ways else choices[0][0]
        super().__init__(
            data,
            initial={"what": first, "units": self.terms.units, "ends_at": self.terms.ends_at},
        )
        self.fields["what"].choices = choices
        self.fields["ends_at"].zone = zone
        self.fields["ends_at"].help_text = f"Time in {zone.key}; not later than was asked for."
        if self.terms.units is None:
            del self.fields["units"]
        else:
            self.fields["units"].help_text = f"Asked: {self.terms.units:,}."

    def clean(self) -> dict[str, Any]:
        """A reason where it is needed; an offer is something."""
        cleaned = super().clean()
        what = cleaned.get("what")
        if what in WITH_REASON and not cleaned.get("reason") and "reason" not in self.errors:
            self.add_error("reason", _SAID[what])
        if self._kept(cleaned.get("ends_at")):
            # The field on the page knows no seconds: left as it was, it is what it was.
            cleaned["ends_at"] = self.terms.ends_at
        return cleaned

    def _kept(self, given: Any) -> bool:
        asked = self.terms.ends_at
        return bool(given and asked and given == asked.replace(second=0, microsecond=0))

    def command(self, request_id: Any, *, expected_version: int | None) -> Any:
        """What the valid form asks for."""
        values = self.cleaned_data
        of = {"request_id": request_id, "expected_version": expected_version}
        if values["what"] == LESS:
            return ApproveLess(**of, units=values.get("units"), ends_at=values["ends_at"])
        return {APPROVE: Approve, ASK: AskChanges, REJECT: Reject}[values["what"]](**of)

    def field_of(self, name: str) -> str:
        """Where a refusal stands: at the fields of an offer only if one was made."""
        offering = self.cleaned_data.get("what") == LESS
        return name if offering or name not in ("units", "ends_at") else ""


class AbsenceForm(forms.Form):
    """Who reviews in somebody's place, and when."""

    person = forms.CharField(
        required=False,
        max_length=100,
        label="Who is away (short name)",
        help_text="Empty: you yourself.",
    )
    delegate = forms.CharField(
        max_length=100,
        label="Who stands in (short name)",
        help_text="They decide what the absent person may, but never that person's own requests.",
    )
    starts_at = LocalInstant(required=False, label="From")
    ends_at = LocalInstant(
        label="Until", error_messages={"required": "Say until when; at most 92 days."}
    )

    def __init__(self, data: Any = None, *, zone: ZoneInfo, others: bool = False) -> None:
        """`others`: absences of others may be set, too."""
        super().__init__(data)
        for name in ("starts_at", "ends_at"):
            self.fields[name].zone = zone
        self.fields["starts_at"].help_text = f"Time in {zone.key}. Empty: from now."
        self.fields["ends_at"].help_text = f"Time in {zone.key}. At most 92 days."
        if not others:
            del self.fields["person"]
