"""Events of the comparison of teams to rows."""

from collections.abc import Sequence

from accounting.comparison_events import ComparisonPolicySet
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent


def policy_set(run: Sequence[RecordedEvent]) -> None:
    """The policy as a whole."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_comparisonrule (organization_id, reach, figures, named) "
                "VALUES (%b, %b, %b, %b) ON CONFLICT (organization_id) DO UPDATE SET "
                "reach = excluded.reach, figures = excluded.figures, named = excluded.named",
                (event.organization_id, data.reach, list(data.figures), data.named),
            )


PROJECTORS = (
    Projector(
        name="accounting:comparison.policy_set",
        project=policy_set,
        types=frozenset({ComparisonPolicySet.event_type}),
        tables=(ProjectedTable(name="accounting_comparisonrule", key=("organization_id",)),),
    ),
)
