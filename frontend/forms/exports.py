"""The forms of exports: shape and types only."""

from typing import Any
from uuid import UUID

from django import forms

from accounting.commands.exports import RequestExport, SetExportSchedule
from accounting.domain.exports import FOCUS_VERSIONS, FORMATS_OF, What
from frontend.forms.money import NAME_LENGTH_MAX, MonthField

WHAT_WORDS = {
    What.LINES: "Statement lines",
    What.RECORDS: "Usage records",
    What.FOCUS: "FOCUS",
}
FORMAT_WORDS = {
    "csv": "CSV",
    "xlsx": "workbook (XLSX)",
    "parquet": "Parquet",
    "json": "JSON document",
    "jsonl": "JSON lines",
}
SCHEDULED = [
    (f"{what}:{format_}", f"{WHAT_WORDS[what]}, {FORMAT_WORDS[format_]}")
    for what, formats in FORMATS_OF.items()
    for format_ in formats
]


def _files() -> list[tuple[str, str]]:
    found = []
    for value, words in SCHEDULED:
        versions = FOCUS_VERSIONS if value.startswith(What.FOCUS) else ("",)
        found += [
            (f"{value}:{version}", words.replace("FOCUS", f"FOCUS {version}"))
            for version in versions
        ]
    return found


class ExportForm(forms.Form):
    """One file of a month."""

    account = forms.CharField(
        max_length=NAME_LENGTH_MAX, label="Account", help_text="With everything below it."
    )
    month = MonthField(label="Month", help_text="A month that is not closed is as of now.")
    file = forms.ChoiceField(choices=_files, label="File")

    def command(self, account_id: UUID) -> RequestExport:
        """What the valid form asks for."""
        what, format_, version = self.cleaned_data["file"].split(":")
        return RequestExport(
            account_id=account_id,
            month=self.cleaned_data["month"],
            what=what,
            format=format_,
            focus_version=version,
        )


class ScheduleForm(forms.Form):
    """Files of every month."""

    account = forms.CharField(
        max_length=NAME_LENGTH_MAX, label="Account", help_text="With everything below it."
    )
    files = forms.MultipleChoiceField(
        choices=SCHEDULED,
        required=False,
        label="Files",
        help_text="None ends the schedule.",
    )
    store = forms.BooleanField(
        required=False,
        label="Keep a copy in the file storage",
        help_text="It does not expire. Where that is, operators know.",
    )
    notify = forms.BooleanField(
        required=False,
        label="Tell the people of finance",
        help_text="On the page and by mail, as each of them has chosen; the link needs a sign-in.",
    )

    def command(self, account_id: UUID) -> SetExportSchedule:
        """What the valid form asks for."""
        values: dict[str, Any] = self.cleaned_data
        return SetExportSchedule(
            account_id=account_id,
            files=tuple((what, format_) for what, format_ in map(_split, values["files"])),
            store=values["store"],
            notify=values["notify"],
        )


def _split(value: str) -> tuple[str, str]:
    what, format_ = value.split(":")
    return what, format_
