"""What is held of pools, by tier. Runs inside `scope.reading`; what has lapsed holds nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.values import TIERS
from quota.in_use import held_then

_HELD = """
SELECT account_id, pool_id, guaranteed, borrowed, spot FROM quota_holding
WHERE organization_id = %b AND pool_id = ANY(%b::uuid[])
UNION ALL
SELECT account_id, pool_id,
    CASE WHEN tier = 'guaranteed' THEN -units ELSE 0 END,
    CASE WHEN tier = 'borrowed' THEN -units ELSE 0 END,
    CASE WHEN tier = 'spot' THEN -units ELSE 0 END
FROM quota_allocation
WHERE organization_id = %b AND pool_id = ANY(%b::uuid[]) AND lapses_at <= %b
"""


@dataclass(frozen=True, slots=True)
class Held:
    """Units by tier, held and running."""

    guaranteed: int = 0
    borrowed: int = 0
    spot: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(
            self.guaranteed + other.guaranteed,
            self.borrowed + other.borrowed,
            self.spot + other.spot,
        )

    @property
    def units(self) -> int:
        """In all tiers."""
        return self.guaranteed + self.borrowed + self.spot


NOTHING = Held()


def held_by_account(
    organization_id: UUID,
    pool_ids: Iterable[UUID],
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> dict[UUID, dict[UUID, Held]]:
    """What accounts hold, by pool and account; who holds nothing is missing. An instant to come is
    judged as now."""
    found: dict[UUID, dict[UUID, Held]] = {}
    for account, pool, *units in _rows(organization_id, list(pool_ids), now, as_of):
        holders = found.setdefault(pool, {})
        holders[account] = holders.get(account, NOTHING) + Held(*units)
    return {
        pool: {account: held for account, held in holders.items() if held.units}
        for pool, holders in found.items()
    }


def _rows(
    organization_id: UUID, pools: list[UUID], now: datetime, as_of: datetime | None
) -> list[tuple]:
    if as_of is not None and as_of < now:
        return [
            (account, pool, *(units if tier == one else 0 for one in TIERS))
            for account, pool, tier, units in held_then(organization_id, pools, at=as_of)
        ]
    with server_cursor() as cursor:
        return cursor.execute(
            _HELD, (organization_id, pools, organization_id, pools, now)
        ).fetchall()
