"""Units that are set aside for jobs whose plans are open. Runs inside `scope.reading`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.values import Tier
from quota.queries.capacity import Held

# What an allocation still owes is not set aside yet; one that has ended or lapsed owes nothing.
_RESERVED = """
SELECT r.id, r.pool_id, r.account_id, r.key, r.tier, r.units, r.until, least(r.units, r.free_units
        + coalesce(c.units, 0)) - coalesce(c.owed, 0), coalesce(c.owed, 0)
FROM quota_reservation r
LEFT JOIN LATERAL (
    SELECT sum((one->>'units')::bigint)::bigint AS units,
        sum(least((one->>'units')::bigint, greatest(0, o.units - (one->>'left')::bigint)))::bigint
            AS owed
    FROM jsonb_array_elements(r.claims) one
    LEFT JOIN quota_allocation o ON o.organization_id = r.organization_id
        AND o.id = (one->>'allocation_id')::uuid AND o.lapses_at > %b
) c ON true
WHERE r.organization_id = %b AND r.pool_id = ANY(%b::uuid[]) AND r.until > %b
ORDER BY r.until, r.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A job for which units of a pool are kept, as of now.

    Attributes:
        wanted: units that its job needs; `units` of them are set aside, `coming` are to be given
            back by others.
        until: when they are free for everybody, if the job does not come for them.
    """

    id: UUID
    pool_id: UUID
    account_id: UUID
    key: str
    tier: Tier
    wanted: int
    until: datetime
    units: int
    coming: int

    @property
    def held(self) -> Held:
        """What is set aside, as if it were held."""
        return Held(**{self.tier: self.units})


def reserved(
    organization_id: UUID, pool_ids: Iterable[UUID], *, now: datetime
) -> dict[UUID, tuple[Reserved, ...]]:
    """What is kept for jobs, by pool, the soonest to end first; pools without any are missing."""
    with server_cursor() as cursor:
        rows = cursor.execute(_RESERVED, (now, organization_id, list(pool_ids), now)).fetchall()
    found: dict[UUID, list[Reserved]] = {}
    for id_, pool_id, account_id, key, tier, wanted, until, units, coming in rows:
        one = Reserved(
            id=id_,
            pool_id=pool_id,
            account_id=account_id,
            key=key,
            tier=tier,
            wanted=wanted,
            until=until,
            units=max(0, units),
            coming=coming,
        )
        found.setdefault(pool_id, []).append(one)
    return {pool_id: tuple(ones) for pool_id, ones in found.items()}
