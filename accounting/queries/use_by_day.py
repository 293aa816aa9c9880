"""All use of a subtree by day: what ended, and what runs, up to the moment of asking."""

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from accounting.closed_usage import start_of_day
from accounting.queries.usage import DayUse, usage_by_day
from ledger.sql import server_cursor

# Days are those of the organization's time zone, split at its midnights as in the rollup.
_RUNNING = f"""
SELECT d.day, u.pool_id, q.name, sum(u.units * extract(epoch FROM
    least(coalesce(u.ended_at, %b), %b, {start_of_day(day="d.day + 1", zone="o.time_zone")})
    - greatest(u.started_at, {start_of_day(day="d.day", zone="o.time_zone")})))
FROM accounting_openusage u
JOIN tenancy_account t ON t.organization_id = u.organization_id AND t.id = u.account_id
    AND t.ancestors @> ARRAY[%b::uuid]
JOIN tenancy_organization o ON o.id = u.organization_id
JOIN quota_pool q ON q.organization_id = u.organization_id AND q.id = u.pool_id
CROSS JOIN LATERAL generate_series(
    greatest((u.started_at AT TIME ZONE o.time_zone)::date, %b::date),
    least((%b AT TIME ZONE o.time_zone)::date, %b::date), interval '1 day') AS s(at)
CROSS JOIN LATERAL (SELECT s.at::date AS day) d
WHERE u.organization_id = %b AND u.started_at < %b
    AND least(coalesce(u.ended_at, %b), %b) > {start_of_day(day="d.day", zone="o.time_zone")}
GROUP BY d.day, u.pool_id, q.name
"""


def use_by_day(
    organization_id: UUID, *, account_id: UUID, since: date, until: date, now: datetime
) -> list[DayUse]:
    """Use of a subtree by day and pool, in order; days without use are left out.

    Ended use comes from the rollup; records that run, or whose end has not been settled yet, count
    from their start to `now`.

    Raises:
        Invalid: the period is backwards or too long.
    """
    found: dict[tuple[date, str], DayUse] = {
        (one.day, one.pool): one
        for one in usage_by_day(organization_id, account_id=account_id, since=since, until=until)
    }
    with server_cursor() as cursor:
        rows = cursor.execute(
            _RUNNING,
            (
                *(now, now, account_id, since, now, until),
                *(organization_id, now, now, now),
            ),
        ).fetchall()
    for day, pool_id, pool, running in rows:
        ended = found.get((day, pool))
        so_far = ended.unit_seconds if ended is not None else Decimal(0)
        found[day, pool] = DayUse(day, pool_id, pool, so_far + running)
    return [found[key] for key in sorted(found)]
