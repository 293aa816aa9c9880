"""Events of tags for past use to rows."""

from collections.abc import Sequence

from accounting import tag_events as ev
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

Run = Sequence[RecordedEvent]
_TABLE = ProjectedTable(name="accounting_usagetagging", key=("organization_id", "id"))


def tagged(run: Run) -> None:
    """New taggings."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_usagetagging (organization_id, id, account_id, since, "
                "until, person_id, pool_id, job, batch_id, only_untagged, project, model, "
                "workload, to_account_id, tagged_at, tagged_by, reason) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    *(event.organization_id, data.tagging_id, data.account_id, data.since),
                    *(data.until, data.person_id, data.pool_id, data.job, data.batch_id),
                    *(data.only_untagged, data.project, data.model, data.workload),
                    *(data.to_account_id, event.recorded_at, event.actor_label, event.reason),
                ),
            )


def untagged(run: Run) -> None:
    """Taggings that are taken back."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_usagetagging SET undone_at = %b "
                "WHERE organization_id = %b AND id = %b",
                (event.recorded_at, event.organization_id, event.data.tagging_id),
            )


PROJECTORS = tuple(
    Projector(
        name=f"accounting:{event_type.event_type}",
        project=project,
        types=frozenset({event_type.event_type}),
        tables=(_TABLE,),
    )
    for event_type, project in ((ev.UsageTagged, tagged), (ev.UsageUntagged, untagged))
)
