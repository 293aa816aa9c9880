"""Conservation: what accounts hold of pools is what their allocations add up to. Part of
`manage.py ledger verify`.

That counters and allocations are what the events say is checked for every projection; this check
holds them against each other, so an event that told two stories would be found. Every unit in use
is in one allocation, which has one state and one tier (constraints of the table), and

    held + running = guaranteed + borrowed + spot

for every account in every pool.
"""

from collections.abc import Iterator
from uuid import UUID

from ledger.sql import server_cursor
from ledger.verification import Finding

CHECK = "allocations"
EXAMPLES_MAX = 20

_DIFFERENT = """
WITH counted AS (
    SELECT a.pool_id, a.account_id,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'guaranteed'), 0) AS guaranteed,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'borrowed'), 0) AS borrowed,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'spot'), 0) AS spot,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'borrowed' AND a.slow), 0) AS slow_borrowed,
        coalesce(sum(a.units) FILTER (WHERE a.tier = 'spot' AND a.slow), 0) AS slow_spot
    FROM quota_allocation a WHERE a.organization_id = %b AND a.state IN ('held', 'running')
    GROUP BY 1, 2
), holding AS (
    SELECT pool_id, account_id, guaranteed, borrowed, spot, slow_borrowed, slow_spot
    FROM quota_holding WHERE organization_id = %b
)
SELECT p.name, c.name, n.guaranteed, n.borrowed, n.spot, h.guaranteed, h.borrowed, h.spot
FROM counted n FULL JOIN holding h USING (pool_id, account_id)
LEFT JOIN quota_pool p ON p.organization_id = %b AND p.id = pool_id
LEFT JOIN tenancy_account c ON c.organization_id = %b AND c.id = account_id
WHERE (coalesce(n.guaranteed, 0), coalesce(n.borrowed, 0), coalesce(n.spot, 0),
        coalesce(n.slow_borrowed, 0), coalesce(n.slow_spot, 0))
    <> (coalesce(h.guaranteed, 0), coalesce(h.borrowed, 0), coalesce(h.spot, 0),
        coalesce(h.slow_borrowed, 0), coalesce(h.slow_spot, 0))
ORDER BY 1, 2 LIMIT %b
"""
_SLOW = """
SELECT p.name, count(*) FROM quota_allocation a
JOIN quota_pool p ON p.organization_id = a.organization_id AND p.id = a.pool_id
WHERE a.organization_id = %b AND a.lapses_at IS NOT NULL
    AND a.slow <> (a.reclaim_seconds > p.reclaim_target_seconds)
GROUP BY 1 ORDER BY 1 LIMIT %b
"""


def verify_allocations(organization_id: UUID) -> Iterator[Finding]:
    """Add up what lives and compare. Runs in the organization's snapshot."""
    here = organization_id
    with server_cursor() as cursor:
        rows = cursor.execute(_DIFFERENT, (here, here, here, here, EXAMPLES_MAX)).fetchall()
        slow = cursor.execute(_SLOW, (here, EXAMPLES_MAX)).fetchall()
    for pool, account, *amounts in rows:
        counted, held = tuple(amounts[:3]), tuple(amounts[3:])
        yield Finding(
            check=CHECK,
            problem=(
                f"{account} holds {_words(held)} of {pool}, its allocations add up to "
                f"{_words(counted)}"
            ),
            facts={"pool": pool, "account": account},
        )
    for pool, count in slow:
        yield Finding(
            check=CHECK,
            problem=f"{count} allocations of {pool} are not slow or quick as their times say",
            facts={"pool": pool},
        )


def _words(amounts: tuple[int | None, ...]) -> str:
    guaranteed, borrowed, spot = (amount or 0 for amount in amounts)
    return f"{guaranteed} guaranteed, {borrowed} borrowed, {spot} spot units"
