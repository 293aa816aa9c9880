"""A file that finance of the demo took of the month before, and what it wants of every month."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from accounting.commands.exports import RequestExport, SetExportSchedule
from accounting.exports import making
from demo.request_history import FINANCE
from demo.tenant import Tenant

WISHES: Final = (("lines", "xlsx"), ("focus", "parquet"))


def export(tenant: Tenant, *, time_zone: str, now: datetime) -> None:
    """The lines of a department in CSV, and a schedule for the organization."""
    by = tenant.person(FINANCE)
    first = now.astimezone(ZoneInfo(time_zone)).date().replace(day=1)
    wish = RequestExport(
        account_id=tenant.accounts["products"],
        month=(first - timedelta(days=1)).replace(day=1),
        what="lines",
        format="csv",
    )
    made = tenant.run(wish, "export", at=now, by=by)
    making.make(tenant.id, made.export_id, now=now)
    schedule = SetExportSchedule(account_id=tenant.root, files=WISHES, store=True)
    reason = "The data platform reads them"
    tenant.run(schedule, "export-schedule", at=now, by=by, reason=reason)
