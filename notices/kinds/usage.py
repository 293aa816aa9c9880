"""Notices about usage that somebody brought in."""

from accounting.events import UsageBatchRecorded
from ledger.types import ActorKind, RecordedEvent
from notices.registry import Draft, Look, Someone, kind


@kind(
    "usage.batch",
    label="Your import of usage is done",
    about="For whoever sent usage records: how many were stored, known before, or rejected.",
    on=(UsageBatchRecorded,),
)
def usage_batch(event: RecordedEvent, look: Look) -> Draft | None:
    """To the author, if that is a person: machines read the answer."""
    if event.actor_kind != ActorKind.PERSON:
        return None
    data: UsageBatchRecorded = event.data
    bad = data.rejected + data.conflicts
    title = "1 usage row stored" if data.rows == 1 else f"{data.rows:,} usage rows stored"
    if bad:
        title += f", {bad:,} records not"
    return Draft(
        to=(Someone(event.actor_id),),
        title=title,
        body=f"{data.duplicates:,} records were known already, {data.rejected:,} were rejected, "
        f"{data.conflicts:,} contradict what was recorded before and changed nothing."
        + (
            " Send the corrected ones again; repeating a batch counts nothing twice." if bad else ""
        ),
        link=("usage_batch", str(data.batch_id)),
        also_author=True,
    )
