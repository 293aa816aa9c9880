"""The ledger's own projection: which things an event is about."""

from collections.abc import Sequence

from ledger import trips
from ledger.projection import ProjectedTable, Projector
from ledger.types import RecordedEvent


def subjects(run: Sequence[RecordedEvent]) -> None:
    """One row per event and thing it names, so that each thing can list its history."""
    pairs = [(event.id, subject) for event in run for subject in sorted(event.data.subjects)]
    if not pairs:
        return
    ids, found = zip(*pairs, strict=True)
    trips.send(
        "INSERT INTO ledger_subject (organization_id, subject_id, event_id) "
        "SELECT %b::uuid, subject, event "
        "FROM unnest(%b::uuid[], %b::uuid[]) AS n(event, subject)",
        (run[0].organization_id, ids, found),
    )


PROJECTORS = (
    Projector(
        name="ledger:subjects",
        project=subjects,
        types=frozenset(),
        tables=(
            ProjectedTable(
                name="ledger_subject", key=("organization_id", "subject_id", "event_id")
            ),
        ),
    ),
)
