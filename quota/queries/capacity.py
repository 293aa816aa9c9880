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


GUARANTEES_MAX = 50


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


def largest_guarantees(
    organization_id: UUID, pool_ids: Iterable[UUID]
) -> list[tuple[UUID, UUID, str, int]]:
    """(pool, account, its name, units), the largest of each pool first; at most GUARANTEES_MAX a
    pool."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT p.id, q.account_id, a.name, q.guaranteed FROM unnest(%b::uuid[]) AS p(id) "
            "CROSS JOIN LATERAL (SELECT account_id, guaranteed FROM quota_quota "
            "WHERE organization_id = %b AND pool_id = p.id AND guaranteed > 0 "
            "ORDER BY guaranteed DESC, account_id LIMIT %b) q "
            "JOIN tenancy_account a ON a.organization_id = %b AND a.id = q.account_id "
            "ORDER BY p.id, q.guaranteed DESC, a.name",
            (list(pool_ids), organization_id, GUARANTEES_MAX, organization_id),
        ).fetchall()


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
