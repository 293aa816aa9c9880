"""Where the units of a pool were, at instants of the past: sizes, promises and use of then.

Runs inside `scope.reading`, in three questions whatever the number of instants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.promise import Promise
from quota.domain.values import Pool
from quota.loading.quotas import pool_of
from quota.queries.capacity import NOTHING, Held

# What was alive in the window, from two ranges of two indexes; then who of them at each instant.
HELD = """
WITH alive AS MATERIALIZED (
    SELECT held_at, ended_at AS until, units, tier, steps FROM quota_allocation
    WHERE organization_id = %b AND pool_id = %b AND ended_at > %b
    UNION ALL
    SELECT held_at, lapses_at, units, tier, steps FROM quota_allocation
    WHERE organization_id = %b AND pool_id = %b AND lapses_at > %b
)
SELECT i.at, coalesce(step.tier, a.steps->0->>2, a.tier),
    sum(coalesce(step.units, (a.steps->0->>1)::bigint, a.units))::bigint
FROM unnest(%b::timestamptz[]) AS i(at)
JOIN alive a ON a.held_at <= i.at AND a.until > i.at
LEFT JOIN LATERAL (
    SELECT (s.step->>1)::bigint AS units, s.step->>2 AS tier
    FROM jsonb_array_elements(a.steps) WITH ORDINALITY AS s(step, n)
    WHERE (s.step->>0)::timestamptz <= i.at ORDER BY s.n DESC LIMIT 1
) step ON true
GROUP BY 1, 2
"""
_SIZES = """
SELECT valid_from, valid_to, capacity, unavailable, safety_margin, reclaim_target_seconds
FROM quota_poolhistory
WHERE organization_id = %b AND pool_id = %b AND (valid_to IS NULL OR valid_to > %b)
ORDER BY valid_from
"""
# Guarantees at the beginning, then what every change since added or took.
_PROMISED = """
SELECT at, sum(units)::bigint FROM (
    SELECT greatest(valid_from, %b) AS at, guaranteed AS units FROM quota_quotahistory
    WHERE organization_id = %b AND pool_id = %b AND (valid_to IS NULL OR valid_to > %b)
    UNION ALL
    SELECT valid_to, -guaranteed FROM quota_quotahistory
    WHERE organization_id = %b AND pool_id = %b AND valid_to > %b
) changes GROUP BY at ORDER BY at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A pool at an instant."""

    at: datetime
    pool: Pool
    promise: Promise
    held: Held


def moments(
    organization_id: UUID, pool_id: UUID, name: str, instants: Sequence[datetime]
) -> list[Moment]:
    """The pool at each instant, in their order; those before it was opened are left out.

    Args:
        instants: ascending, none in the future.
    """
    place = (organization_id, pool_id)
    since = instants[0]
    with server_cursor() as cursor:
        sizes = cursor.execute(_SIZES, (*place, since)).fetchall()
        changes = cursor.execute(_PROMISED, (since, *place, since, *place, since)).fetchall()
        rows = cursor.execute(HELD, (*place, since, *place, since, list(instants))).fetchall()
    held: dict[datetime, dict[str, int]] = {}
    for at, tier, units in rows:
        held.setdefault(at, {})[tier] = units
    promised = list(zip((at for at, _ in changes), accumulate(u for _, u in changes), strict=True))
    found = []
    for at in instants:
        pool = _size(sizes, name, at)
        if pool is None:
            continue
        units = max((one for one in promised if one[0] <= at), default=(at, 0))[1]
        found.append(
            Moment(
                at=at,
                pool=pool,
                promise=Promise(promised=units, promisable=pool.promisable),
                held=Held(**held[at]) if at in held else NOTHING,
            )
        )
    return found


def _size(sizes: list[tuple], name: str, at: datetime) -> Pool | None:
    for valid_from, valid_to, *amounts in sizes:
        if valid_from <= at and (valid_to is None or valid_to > at):
            return pool_of((name, *amounts))
    return None
