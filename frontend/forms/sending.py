"""Sending a form's command: tried as often as one likes, saved once, refused at its fields."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms

from frontend.errors import said
from frontend.history import names_for, sentence
from frontend.numbers import ago
from frontend.pages import Page, PageRequest
from ledger import queries as ledger
from ledger.errors import Conflict, Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id

_MOVED = ("stale_version", "idempotency_key_reused")
TRIED = "(tried, not saved)"
"""The reason of a dry run whose author has not given one yet."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of a form.

    Attributes:
        result: the command's; None where it was refused.
        notice: why it was not saved although nothing is wrong with what was typed.
        form_key: for the form when it is shown again. A key that a refusal was stored under is
            spent: what is sent next is something else.
        short_by: units that are missing, where the refusal says so.
    """

    result: Any
    notice: str = ""
    form_key: Any = None
    short_by: int | None = None


def saving(request: PageRequest) -> bool:
    """The form was sent to be saved, not tried: the pages' buttons name the `step`."""
    return request.method == "POST" and request.POST.get("step") == "save"


def version_seen(request: PageRequest) -> int | None:
    """The version of the stream that the form was made on."""
    value = request.POST.get("version", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def version_of(here: Page, stream: str) -> int:
    """The newest version of a stream; 0 where nothing is recorded. Inside `scope.reading`."""
    found = ledger.history(here.id, stream=stream, limit=1).rows
    return found[0].version if found else 0


def changed_meanwhile(here: Page, stream: str, seen: int | None) -> str:
    """Who changed what since the form was made, in words; empty: nobody. In `scope.reading`."""
    found = ledger.history(here.id, stream=stream, limit=1).rows
    if seen is None or not found or found[0].version == seen:
        return ""
    event = found[0]
    what = sentence(event, names_for(here.id, [event]), here.zone)
    return (
        f"{event.actor_label} changed it {ago(event.recorded_at, here.now)}: {what}. What you "
        "typed is still here, and the preview is on what stands now. Save again if it is right."
    )


def key_of(request: PageRequest) -> str | None:
    """The idempotency key that a form carries; None: none that could be used."""
    given = request.POST.get("key", "")
    return f"form/{given}" if given and given.isprintable() and len(given) <= 100 else None


def send(
    request: PageRequest,
    form: forms.Form,
    command: Any,
    *,
    field_of: Callable[[str], str] = str,
) -> Sent:
    """Execute the command of a valid form, for good where it was sent to be saved.

    Raises:
        Denied: a page of its own, and so is
        NotFound, but for what was typed: a name that is none is told at its field.
    """
    here, save = request.page, saving(request)
    given = request.POST.get("key", "")
    usable = given if given and given.isprintable() and len(given) <= 100 else ""
    try:
        outcome = execute(
            command,
            Context(
                organization_id=here.id,
                actor=here.actor,
                now=here.now,
                reason=form.cleaned_data.get("reason") or ("" if save else TRIED),
                dry_run=not save,
                # Sent twice, a form acts once.
                idempotency_key=f"form/{usable}" if save and usable else None,
            ),
        )
    except DomainError as error:
        name = field_of(error.field or "")
        if isinstance(error, Denied) or (isinstance(error, NotFound) and name not in form.fields):
            raise
        key = new_id() if save else usable or new_id()
        if isinstance(error, Conflict) and error.code in (
            "stale_version",
            "idempotency_key_reused",
        ):
            return Sent(None, _spent(error), key)
        form.add_error(name if name in form.fields else None, said(error, here.zone))
        return Sent(None, "", key, error.facts.get("short_by"))
    return Sent(outcome.result, "", usable or new_id())


def form_status(request: PageRequest, form: forms.Form, *, notice: str) -> int:
    """htmx swaps only what is well; what is wrong is said in the preview itself."""
    if request.htmx:
        return 200
    if notice:
        return 409
    return 400 if form.errors else 200


def _spent(error: Conflict) -> str:
    if error.code == "stale_version":
        return (
            "Somebody changed this meanwhile. What you typed is still here; look at the preview "
            "on what stands now, and save again if it is right."
        )
    return (
        "This form was saved before with other values. What you typed is still here; save again "
        "to make it the next change."
    )
