"""Notices about exports: whoever asked for a large one hears when it is there, or why it is not;
finance hears of what the schedule has made."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from uuid import UUID

from accounting.export_events import ExportFailed, ExportMade
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from notices.registry import Draft, Holders, Look, Someone, kind

_FACTS = """
SELECT e.id, e.month, e.what, e.format, e.scheduled, e.requester_id, s.notify IS TRUE
FROM accounting_export e LEFT JOIN accounting_exportschedule s
    ON s.organization_id = e.organization_id AND s.account_id = e.account_id
WHERE e.organization_id = %b AND e.id = ANY(%b)
"""


class _Fact:
    """An export as its notice tells of it; `notify`: its schedule says so."""

    def __init__(self, row: tuple) -> None:
        month: date
        _, month, self.what, self.format, self.scheduled, self.requester, self.notify = row
        self.month = f"{month:%Y-%m}"


def _facts(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Fact]:
    ids = list({event.data.export_id for event in events})
    with server_cursor() as cursor:
        rows = cursor.execute(_FACTS, (organization_id, ids)).fetchall()
    found = {row[0]: _Fact(row) for row in rows}
    return {event.id: found[event.data.export_id] for event in events}


@kind(
    "export.ready",
    label="An export is ready",
    about="For whoever asked for it, and finance for what is exported when a month is closed.",
    on=(ExportMade,),
    facts=_facts,
)
def export_ready(event: RecordedEvent, look: Look) -> Draft | None:
    """The link leads to the list, where one downloads; it needs a sign-in as every page does."""
    data: ExportMade = event.data
    return _told(
        look,
        data.account_id,
        f"is exported as {_file(look.facts)}",
        f"{data.rows:,} rows, {data.size:,} bytes, SHA-256 {data.digest}. "
        f"The file can be downloaded until {look.day(data.expires_at)}.",
    )


@kind(
    "export.failed",
    label="An export failed",
    about="For whoever asked for it, and finance for what is exported when a month is closed.",
    on=(ExportFailed,),
    facts=_facts,
)
def export_failed(event: RecordedEvent, look: Look) -> Draft | None:
    """Why, and where to try again."""
    data: ExportFailed = event.data
    return _told(
        look,
        data.account_id,
        "could not be exported",
        f"As {_file(look.facts)}: {data.detail}",
    )


def _told(look: Look, account_id: UUID, became: str, body: str) -> Draft | None:
    """What became of the export of an account, to those who wait for it, if anybody does."""
    fact: _Fact = look.facts
    to = _to(fact, account_id)
    if not to:
        return None
    return Draft(
        to=to,
        title=f"{fact.month} of {look.name(account_id)} {became}",
        body=body,
        link=("exports",),
        also_author=True,
    )


def _to(fact: _Fact, account_id: UUID) -> tuple[Holders | Someone, ...]:
    if fact.scheduled:
        return (Holders(account_id, ("finance",)),) if fact.notify else ()
    return () if fact.requester is None else (Someone(fact.requester),)


def _file(fact: _Fact) -> str:
    return f"{fact.what}, {fact.format}"
