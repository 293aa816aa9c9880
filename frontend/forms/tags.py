"""The form of tags for past use: shape and types only."""

from typing import Any
from uuid import UUID

from django import forms

from accounting.commands.taggings import AssignUsage, TagUsage, UseChosen
from accounting.domain.tagging import LABEL_LENGTH_MAX, LABELS, PATTERN_LENGTH_MAX
from frontend.forms.fields import reason

NAME_LENGTH_MAX = 128


class DayInput(forms.TextInput):
    """The browser's own field for a day."""

    input_type = "date"


def _name(label: str, help_text: str = "", *, required: bool = False) -> forms.CharField:
    return forms.CharField(
        max_length=NAME_LENGTH_MAX, label=label, help_text=help_text, required=required
    )


def _tag(label: str) -> forms.CharField:
    return forms.CharField(max_length=LABEL_LENGTH_MAX, label=label, required=False)


class TagForm(forms.Form):
    """Which use, and what it is to be told apart by."""

    account = _name("Account", "Its use and that of everything below it.", required=True)
    since = forms.DateField(widget=DayInput, label="From")
    until = forms.DateField(widget=DayInput, label="Through")
    person = _name("Person", "Empty: everybody.")
    pool = _name("Pool", "Empty: every pool.")
    job = forms.CharField(
        max_length=PATTERN_LENGTH_MAX,
        required=False,
        label="Jobs",
        help_text="The key of a job, or a pattern like train-7b*. Empty: every job.",
    )
    batch = forms.UUIDField(
        required=False, label="Batch", help_text="The id of a batch of records. Empty: every batch."
    )
    project = _tag("Project")
    model = _tag("Model")
    workload = _tag("Workload")
    only_untagged = forms.BooleanField(
        required=False, initial=True, label="Leave alone what has such a tag already"
    )
    to_account = _name("Charged to", "Another account; empty: who used it.")
    reason = reason()

    def __init__(self, *args: Any, may_assign: bool, saving: bool = False, **how: Any) -> None:
        """`may_assign`: another account may be charged; `saving`: a reason is required."""
        super().__init__(*args, **how)
        self.fields["reason"].required = saving
        if not may_assign:
            del self.fields["to_account"]

    def command(self, ids: dict[str, UUID | None]) -> TagUsage | AssignUsage:
        """What the valid form asks for; `ids` of the names in it."""
        values = self.cleaned_data
        account = ids["account"]
        assert account is not None
        chosen = UseChosen(
            account_id=account,
            since=values["since"],
            until=values["until"],
            person_id=ids["person"],
            pool_id=ids["pool"],
            job=values["job"] or None,
            batch_id=values["batch"],
        )
        tags = {name: values[name] or None for name in LABELS}
        shared = {"chosen": chosen, "only_untagged": values["only_untagged"], **tags}
        target = ids.get("to_account")
        if target is not None:
            return AssignUsage(to_account_id=target, **shared)
        return TagUsage(account_id=account, **shared)
