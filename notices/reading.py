"""The asynchronous reader that turns events into notices, and the scan for what time makes due.

At least once from the ledger, exactly once here: the cursor moves in the transaction that writes
the notices, and their unique key stands behind it (docs/decisions/0011-notices.md).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from ledger import scope
from ledger.readers import Reader, catch_up
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from notices import registry
from notices.registry import Look, Trigger
from notices.writing import Item, write
from tenancy import queries as tenancy

READER = "notices"
NEWS_DAYS = 14
"""What was recorded longer ago is no news: a reader that begins on an old ledger tells of the last
two weeks only."""
MAIL_DAYS = 2
"""News as old as this stand in the list, and are not mailed any more."""


def read_events(organization_id: UUID, *, now: datetime) -> int:
    """Make notices of everything recorded since the last time; returns how many events there
    were. Two at once, twice, or late: the same notices."""

    def handle(events: Sequence[RecordedEvent]) -> None:
        _tell(organization_id, events, now)

    return catch_up(Reader(name=READER, handle=handle), organization_id)


def remind(organization_id: UUID, *, now: datetime) -> int:
    """Make the notices that time has made due; returns how many there were. A round that was
    missed is caught up by the next, with the most urgent step only."""
    with scope.writing(organization_id):
        zone = ZoneInfo(tenancy.organization(organization_id).time_zone)
        items = []
        for kind, scan in registry.SCANS.items():
            items += [
                Item(
                    kind=kind,
                    source=f"{due.key}:{due.step}",
                    draft=due.draft,
                    unless=tuple(f"{due.key}:{step}" for step in range(due.step)),
                )
                for due in scan(organization_id, Look(names={}, zone=zone, now=now))
            ]
        return write(organization_id, items, now=now, zone=zone)


def names(organization_id: UUID, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of accounts, people, pools and tokens among the ids."""
    wanted = list(set(ids))
    if not wanted:
        return {}
    here = (organization_id, wanted)
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, coalesce(nullif(display_name, ''), name) FROM tenancy_person "
            "WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, name FROM quota_pool WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, name FROM tenancy_apitoken "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (*here, *here, *here, *here),
        ).fetchall()
    return dict(rows)


def _tell(organization_id: UUID, events: Sequence[RecordedEvent], now: datetime) -> None:
    """Write the notices of a batch, with as many queries as there are kinds with facts of their
    own and five more, whatever the number of events."""
    wanted = registry.event_types()
    news = [
        event
        for event in events
        if event.data.event_type in wanted and event.recorded_at > now - timedelta(days=NEWS_DAYS)
    ]
    if not news:
        return
    zone = ZoneInfo(tenancy.organization(organization_id).time_zone)
    ids = {one for event in news for one in event.data.subjects | {event.actor_id}} - {None}
    known = names(organization_id, ids)
    items = []
    for trigger in registry.TRIGGERS.values():
        items += _made(organization_id, trigger, news, Look(names=known, zone=zone, now=now))
    write(organization_id, items, now=now, zone=zone)


def _made(
    organization_id: UUID, trigger: Trigger, news: Sequence[RecordedEvent], look: Look
) -> list[Item]:
    events = [event for event in news if event.data.event_type in trigger.on]
    if not events:
        return []
    facts = trigger.facts(organization_id, events, look.now) if trigger.facts else {}
    made = []
    for event in events:
        seen = Look(names=look.names, zone=look.zone, now=look.now, facts=facts.get(event.id))
        draft = trigger.make(event, seen)
        if draft is not None:
            made.append(
                Item(
                    kind=trigger.kind,
                    source=draft.once or f"event:{event.id}",
                    draft=draft,
                    author_id=event.actor_id,
                    mailed=event.recorded_at > look.now - timedelta(days=MAIL_DAYS),
                )
            )
    return made
