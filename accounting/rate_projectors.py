"""Events of rates to rows."""

from collections.abc import Sequence

from accounting import rate_events as ev
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

Run = Sequence[RecordedEvent]

_VERSION = ProjectedTable(name="accounting_rateversion", key=("organization_id", "id"))
_LINE = ProjectedTable(name="accounting_rateline", key=("organization_id", "version_id", "line_no"))
_GRADE = ProjectedTable(
    name="accounting_rategrade", key=("organization_id", "account_id", "effective_from")
)
_LINES = """
INSERT INTO accounting_rateline (organization_id, version_id, line_no, flavor_id, tier, grade,
    list_price, contracted_price)
SELECT %b, %b, n.at, n.flavor_id, n.tier, n.grade, n.list_price, n.contracted_price
FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::numeric[], %b::numeric[]) WITH ORDINALITY
    AS n(flavor_id, tier, grade, list_price, contracted_price, at)
"""


def published(run: Run) -> None:
    """A version and its prices."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_rateversion (organization_id, id, effective_from, "
                "effective_until, memory_flavor_id, published_at, published_by, reason) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.version_id,
                    data.effective_from,
                    data.effective_until,
                    data.memory_flavor_id,
                    event.recorded_at,
                    event.actor_label,
                    event.reason,
                ),
            )
            names = ("flavor_id", "tier", "grade", "list_price", "contracted_price")
            columns = [[getattr(line, name) for line in data.lines] for name in names]
            cursor.execute(_LINES, (event.organization_id, data.version_id, *columns))


def withdrawn(run: Run) -> None:
    """A version that never held, and its prices."""
    with server_cursor() as cursor:
        for event in run:
            which = (event.organization_id, event.data.version_id)
            for table, column in (("accounting_rateline", "version_id"), (_VERSION.name, "id")):
                cursor.execute(
                    f"DELETE FROM {table} WHERE organization_id = %b AND {column} = %b", which
                )


def grade_set(run: Run) -> None:
    """Grades; what was said of the same instant before is replaced."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_rategrade (organization_id, account_id, effective_from, "
                "grade) VALUES (%b, %b, %b, %b) "
                "ON CONFLICT (organization_id, account_id, effective_from) "
                "DO UPDATE SET grade = excluded.grade",
                (event.organization_id, data.account_id, data.effective_from, data.grade),
            )


def _projector(name: str, project, *tables: ProjectedTable) -> Projector:
    return Projector(
        name=f"accounting:{name}", project=project, types=frozenset({name}), tables=tables
    )


PROJECTORS = (
    _projector(ev.RatesPublished.event_type, published, _VERSION, _LINE),
    _projector(ev.RatesWithdrawn.event_type, withdrawn, _VERSION, _LINE),
    _projector(ev.RateGradeSet.event_type, grade_set, _GRADE),
)
