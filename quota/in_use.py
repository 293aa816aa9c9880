"""What accounts use of pools by right. The one place that the arithmetic of quotas asks."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor

_NOW = """
SELECT account_id, pool_id, guaranteed + borrowed FROM quota_holding
WHERE organization_id = %b AND pool_id = ANY(%b)
UNION ALL
SELECT account_id, pool_id, -units FROM quota_allocation
WHERE organization_id = %b AND pool_id = ANY(%b) AND tier IN ('guaranteed', 'borrowed')
  AND lapses_at <= %b
"""
_THEN = """
SELECT account_id, pool_id, tier, sum(units)::bigint FROM (
    SELECT a.account_id, a.pool_id,
           coalesce(step.units, (a.steps->0->>1)::bigint, a.units) AS units,
           coalesce(step.tier, a.steps->0->>2, a.tier) AS tier
    FROM quota_allocation a
    LEFT JOIN LATERAL (
        SELECT (s.step->>1)::bigint AS units, s.step->>2 AS tier
        FROM jsonb_array_elements(a.steps) WITH ORDINALITY AS s(step, n)
        WHERE (s.step->>0)::timestamptz <= %b ORDER BY s.n DESC LIMIT 1
    ) step ON true
    WHERE a.organization_id = %b AND a.pool_id = ANY(%b::uuid[]) AND a.held_at <= %b
      AND (a.ended_at > %b OR a.lapses_at > %b)
) held GROUP BY account_id, pool_id, tier
"""


def held_then(
    organization_id: UUID, pool_ids: Iterable[UUID], *, at: datetime
) -> list[tuple[UUID, UUID, str, int]]:
    """What was held at a past instant: (account, pool, tier, units)."""
    with server_cursor() as cursor:
        return cursor.execute(_THEN, (at, organization_id, list(pool_ids), at, at, at)).fetchall()


def units_in_use(
    organization_id: UUID,
    pool_ids: Iterable[UUID],
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> dict[tuple[UUID, UUID], int]:
    """Units held and running in tiers guaranteed and borrowed, by (account, pool).

    Spot use is left out: it has no entitlement and takes none away. What has lapsed by the instant
    holds nothing, whether or not a sweeper has come by. An instant to come is judged as now.
    """
    pools = list(pool_ids)
    found: dict[tuple[UUID, UUID], int] = {}
    if as_of is not None and as_of < now:
        for account, pool, tier, units in held_then(organization_id, pools, at=as_of):
            if tier != "spot":
                found[account, pool] = found.get((account, pool), 0) + units
    else:
        values = (organization_id, pools, organization_id, pools, now)
        with server_cursor() as cursor:
            for account, pool, units in cursor.execute(_NOW, values):
                found[account, pool] = found.get((account, pool), 0) + units
    return {key: units for key, units in found.items() if units}
