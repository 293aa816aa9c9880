"""Locks that commands take where no row stands for what must change one at a time."""

from ledger.execution import Unit
from ledger.sql import server_cursor


def take_lock(unit: Unit, what: str) -> None:
    """One command at a time in an organization, for what bears the name; until it is over."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"{what}:{unit.organization_id}",),
        )
