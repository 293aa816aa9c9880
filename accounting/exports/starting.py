"""From a wish to a file: small ones are made while one waits, large ones by a worker."""

from datetime import datetime
from uuid import UUID

import structlog
from kombu.exceptions import OperationalError

from accounting import tasks
from accounting.exports import making
from accounting.queries import exports as queries
from accounting.queries.exports import ExportRow
from ledger import scope

log = structlog.get_logger(__name__)


def start(organization_id: UUID, export_id: UUID, *, now: datetime) -> ExportRow:
    """Make an export that was asked for, or hand it to a worker; how it stands then."""
    with scope.reading(organization_id):
        row = queries.export(organization_id, export_id)
        if row.state != "requested":
            return row
        small = making.is_small(organization_id, row.spec, asked_at=row.requested_at)
    if small:
        making.make(organization_id, export_id, now=now)
    else:
        try:
            tasks.make_export.apply_async(
                (str(organization_id), str(export_id)), queue=tasks.EXPORT_QUEUE
            )
        except OperationalError:
            # It waits, and the next beat hands over what waits.
            log.warning("export_not_handed_over", export=str(export_id))
    with scope.reading(organization_id):
        return queries.export(organization_id, export_id)
