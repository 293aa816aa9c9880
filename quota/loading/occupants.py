"""Who could make room in a pool, for the explanation of denials only."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.batch import Occupant

OCCUPANTS_MAX = 20_000
"""Allocations of a pool that an explanation looks at."""


class Occupants(Sequence[Occupant]):
    """Who could make room in a pool; read when an explanation first asks."""

    def __init__(self, organization_id: UUID, pool_id: UUID, *, now: datetime) -> None:
        self._place = (organization_id, pool_id, now)
        self._found: list[Occupant] | None = None

    def _read(self) -> list[Occupant]:
        if self._found is None:
            with server_cursor() as cursor:
                rows = cursor.execute(
                    "SELECT key, account_id, tier, priority_class, units, CASE "
                    "WHEN state = 'running' AND duration_seconds IS NOT NULL "
                    "THEN started_at + make_interval(secs => duration_seconds) END "
                    "FROM quota_allocation WHERE organization_id = %b AND pool_id = %b "
                    "AND lapses_at > %b AND units > 0 ORDER BY units DESC, id LIMIT %b",
                    (*self._place, OCCUPANTS_MAX),
                ).fetchall()
            self._found = [
                Occupant(
                    key=row[0],
                    account=row[1],
                    tier=row[2],
                    priority_class=row[3],
                    units=row[4],
                    ends_at=row[5],
                )
                for row in rows
            ]
        return self._found

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __iter__(self) -> Iterator[Occupant]:
        return iter(self._read())
