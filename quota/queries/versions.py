"""How far the streams of pools and quotas have come: what a careful change expects."""

from collections.abc import Iterable
from uuid import UUID

from ledger.sql import server_cursor


def versions(organization_id: UUID, streams: Iterable[str]) -> dict[str, int]:
    """The newest version of each stream; one without events is missing, its version is 0."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT s.stream, e.version FROM unnest(%b::text[]) s(stream) CROSS JOIN LATERAL ("
            "SELECT version FROM ledger_event e WHERE e.organization_id = %b "
            "AND e.stream = s.stream ORDER BY version DESC LIMIT 1) e",
            (list(streams), organization_id),
        ).fetchall()
    return dict(rows)
