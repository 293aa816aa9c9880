"""Plans against allocations, reservations and budgets. Part of `manage.py ledger verify`.

That tables are what the events say is checked for every projection; these hold them against each
other: nothing is taken twice, nothing is kept for a plan that is over, no plan passed its budget.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from ledger.verification import Finding

CHECK = "preemption"
EXAMPLES_MAX = 20

_QUESTIONS = {
    "was taken, but lives or ended otherwise": """
SELECT a.key, p.key FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
LEFT JOIN quota_allocation q
    ON q.organization_id = a.organization_id AND q.id = a.allocation_id
WHERE a.organization_id = %b AND a.state = 'done' AND a.remains = 0
    AND q.state IS DISTINCT FROM 'preempted'
ORDER BY a.plan_id, a.ordinal LIMIT %b
""",
    "is to be taken although its plan is over": """
SELECT a.key, p.key FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
WHERE a.organization_id = %b AND a.state = 'open' AND p.state <> 'open'
ORDER BY a.plan_id, a.ordinal LIMIT %b
""",
    "was taken whole twice": """
SELECT a.key, min(p.key) FROM preemption_action a
JOIN preemption_plan p ON p.organization_id = a.organization_id AND p.id = a.plan_id
WHERE a.organization_id = %b AND a.state = 'done' AND a.remains = 0
GROUP BY a.allocation_id, a.key HAVING count(*) > 1 ORDER BY 1 LIMIT %b
""",
}
_KEPT = """
SELECT r.key, coalesce(p.state, 'unknown') FROM quota_reservation r
LEFT JOIN preemption_plan p ON p.organization_id = r.organization_id AND p.id = r.id
WHERE r.organization_id = %b AND coalesce(p.state, 'unknown') NOT IN
    ('open', 'confirmed', 'replaced')
ORDER BY r.id LIMIT %b
"""
_OVER_BUDGET = """
SELECT p.key, p.made_at, p.pool_used, sum(a.units), p.pool_limit FROM preemption_plan p
JOIN preemption_action a ON a.organization_id = p.organization_id AND a.plan_id = p.id
WHERE p.organization_id = %b AND NOT p.override
GROUP BY p.id, p.key, p.made_at, p.pool_used, p.pool_limit
HAVING p.pool_used + sum(a.units) > p.pool_limit ORDER BY p.id LIMIT %b
"""


def verify_preemption(organization_id: UUID) -> Iterator[Finding]:
    """Look for what cannot be. Runs in the organization's snapshot."""
    place = (organization_id, EXAMPLES_MAX)
    with server_cursor() as cursor:
        found = {
            problem: cursor.execute(sql, place).fetchall() for problem, sql in _QUESTIONS.items()
        }
        kept = cursor.execute(_KEPT, place).fetchall()
        over = cursor.execute(_OVER_BUDGET, place).fetchall()
    for problem, rows in found.items():
        for job, by_job in rows:
            yield Finding(
                check=CHECK,
                problem=f"job {job} {problem} (plan for {by_job})",
                facts={"job": job, "by_job": by_job},
            )
    for job, state in kept:
        yield Finding(
            check=CHECK,
            problem=f"units are kept for {job}, whose plan is {state}",
            facts={"job": job},
        )
    for job, made_at, used, units, limit in over:
        yield Finding(check=CHECK, problem=_beyond(job, made_at, used, int(units), limit))


def _beyond(job: str, made_at: datetime, used: int, units: int, limit: int) -> str:
    return (
        f"the plan for {job} of {made_at.isoformat()} takes {units} units beside {used} that were "
        f"taken, of {limit}"
    )
