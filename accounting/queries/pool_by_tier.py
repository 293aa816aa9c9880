"""Use of one pool by day and tier: what ended, and what runs, up to the moment of asking."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from accounting.closed_usage import start_of_day
from accounting.staging import TIER_NAMES
from ledger.sql import server_cursor

# Days are those of the organization's time zone. What has been recorded to end later counts to now.
_BY_TIER = f"""
SELECT day, tier, sum(unit_seconds) FROM (
    SELECT day, tier, unit_seconds FROM accounting_usageday
    WHERE organization_id = %b AND pool_id = %b AND day BETWEEN %b AND %b
    UNION ALL
    SELECT d.day, u.tier, u.units * extract(epoch FROM
        least(coalesce(u.ended_at, %b), %b, {start_of_day(day="d.day + 1", zone="o.time_zone")})
        - greatest(u.started_at, {start_of_day(day="d.day", zone="o.time_zone")}))
    FROM accounting_openusage u
    JOIN tenancy_organization o ON o.id = u.organization_id
    CROSS JOIN LATERAL generate_series(
        greatest((u.started_at AT TIME ZONE o.time_zone)::date, %b::date),
        least((%b AT TIME ZONE o.time_zone)::date, %b::date), interval '1 day') AS s(at)
    CROSS JOIN LATERAL (SELECT s.at::date AS day) d
    WHERE u.organization_id = %b AND u.pool_id = %b AND u.started_at < %b
        AND least(coalesce(u.ended_at, %b), %b)
            > {start_of_day(day="d.day", zone="o.time_zone")}
) used GROUP BY day, tier ORDER BY day, tier
"""


@dataclass(frozen=True, slots=True)
class TierDay:
    """Unit-seconds of a tier on a day."""

    day: date
    tier: str
    unit_seconds: Decimal


def pool_by_tier(
    organization_id: UUID, pool_id: UUID, *, since: date, until: date, now: datetime
) -> list[TierDay]:
    """Days and tiers without use are left out. Runs inside `scope.reading`."""
    values = (
        *(organization_id, pool_id, since, until, now, now, since, now, until),
        *(organization_id, pool_id, now, now, now),
    )
    with server_cursor() as cursor:
        rows = cursor.execute(_BY_TIER, values).fetchall()
    return [TierDay(day, TIER_NAMES[tier], seconds) for day, tier, seconds in rows]
