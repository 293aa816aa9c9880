"""What happened in the demo's organization between the weekly reports of use, as commands."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from demo import (
    budget_history,
    clusters,
    history,
    preemption_history,
    quota_history,
    reclaim_history,
    request_history,
)
from demo.organization import H100
from demo.quota_history import OPERATOR
from demo.tenant import Tenant
from demo.values import Demo
from ledger import scope
from ledger.sql import server_cursor
from ledger.types import SYSTEM, Actor
from quota import wire
from quota.commands.pools import SetUnavailable
from quota.commands.quotas import SetQuota
from quota.commands.snapshots import ReconcilePool
from tenancy.commands.accounts import MoveAccount, SetAccountShares
from tenancy.commands.people import SetAssociation

RENEWED_BEFORE = timedelta(days=2)
"""Leases that would be over within this are renewed when the demo starts again."""

# The newest attempt of each job that runs on in the records of use.
_RUNNING = """
SELECT DISTINCT ON (a.key) a.key, p.name, c.name, s.name, a.units, a.priority_class,
    u.started_at, a.lapses_at
FROM accounting_openusage u
JOIN quota_allocation a ON a.organization_id = u.organization_id AND a.key = u.key
JOIN quota_pool p ON p.organization_id = a.organization_id AND p.id = a.pool_id
JOIN tenancy_account c ON c.organization_id = a.organization_id AND c.id = a.account_id
JOIN tenancy_person s ON s.organization_id = a.organization_id AND s.id = a.person_id
WHERE u.organization_id = %b AND u.ended_at IS NULL
ORDER BY a.key, a.attempt DESC
"""


def wake(tenant: Tenant, *, now: datetime) -> bool:
    """Give the clusters' signs of life after a pause: each tells what it runs. Whether any had to.

    What expired in the meantime is found running and counts again, as it would at a real site.
    """
    with scope.reading(tenant.id), server_cursor() as cursor:
        rows = cursor.execute(_RUNNING, (tenant.id,)).fetchall()
    if all(row[-1] is not None and row[-1] > now + RENEWED_BEFORE for row in rows):
        return False
    jobs: dict[str, list[wire.SnapshotJob]] = {}
    for key, pool, account, person, units, job_class, started_at, _ in rows:
        jobs.setdefault(pool, []).append(
            wire.SnapshotJob(
                key=key,
                account=account,
                person=person,
                units=units,
                started_at=started_at,
                job_class=job_class,
            )
        )
    for pool, running in sorted(jobs.items()):
        running.sort(key=lambda job: (job.job_class, job.started_at, job.key))
        command = ReconcilePool(pool=pool, at=now, jobs=tuple(running))
        tenant.run(command, None, at=now, by=SYSTEM)
    return True


def between_reports(
    tenant: Tenant,
    demo: Demo,
    clusters_of: Mapping[str, str],
    reporters: Mapping[str, Actor],
    *,
    now: datetime,
) -> list[tuple[datetime, Callable[[], None]]]:
    """Everything that happened besides the weekly reports, in its order."""
    steps: list[tuple[datetime, Callable[[], None]]] = []
    for dated in history.CHANGES:
        at = now - timedelta(days=dated.days_ago)
        steps.append((at, partial(_change, tenant, at, dated)))
    for step in quota_history.STEPS:
        at = now - timedelta(days=step.days_ago)
        steps.append((at, partial(_quota_step, tenant, at, step)))
    at = now - clusters.SINCE
    facts: dict[str, Any] = {
        "by": tenant.person(OPERATOR),
        "reason": "From today on the clusters ask before they start a job",
    }
    steps.append((at, partial(tenant.run, clusters.POLICY, "policy", at=at, **facts)))
    for told in clusters.messages(demo.records, clusters=clusters_of, now=now):
        run = partial(tenant.run, told.command, told.step, at=told.at, by=reporters[told.cluster])
        steps.append((told.at, run))
    steps += request_history.steps(tenant, now=now)
    steps += reclaim_history.steps(tenant, now=now)
    steps += budget_history.rounds(tenant, now=now)
    scheduler = reporters[clusters_of[H100]]
    steps += preemption_history.steps(tenant, reporter=scheduler, now=now)
    return sorted(steps, key=lambda one: one[0])


def _quota_step(tenant: Tenant, at: datetime, step: quota_history.QuotaStep) -> None:
    change, name = step.change, f"quota-step/{step.days_ago}"
    facts = {"at": at, "by": tenant.person(step.by), "reason": step.reason}
    match change:
        case quota_history.Promised():
            promise(tenant, change, name, **facts)
        case quota_history.Failed():
            command = SetUnavailable(pool_id=tenant.pools[change.pool], unavailable=change.units)
            tenant.run(command, name, **facts)


def promise(
    tenant: Tenant,
    promised: quota_history.Promised,
    step: str,
    *,
    at: datetime | None = None,
    **facts: Any,
) -> None:
    def later(days: float | None) -> datetime | None:
        return None if days is None else (at or tenant.at) + timedelta(days=days)

    quota = promised.quota
    lender = promised.carve_from
    command = SetQuota(
        account_id=tenant.accounts[quota.account],
        pool_id=tenant.pools[quota.pool],
        guaranteed=quota.guaranteed,
        borrowing_limit=quota.borrowing_limit,
        lending_limit=quota.lending_limit,
        carve_from_id=tenant.accounts[lender] if lender else None,
        effective_at=later(promised.starts_in_days),
        ends_at=later(promised.ends_in_days),
    )
    tenant.run(command, step, at=at, **facts)


def _change(tenant: Tenant, at: datetime, dated: history.DatedChange) -> None:
    change = dated.change
    match change:
        case history.Moved():
            command: Any = MoveAccount(
                account_id=tenant.accounts[change.account],
                to_parent_id=tenant.accounts[change.parent],
            )
        case history.Weighed():
            command = SetAccountShares(
                account_id=tenant.accounts[change.account], shares=change.shares
            )
        case history.PersonWeighed():
            command = SetAssociation(
                account_id=tenant.accounts[change.account],
                person_id=tenant.people[change.person],
                shares=change.shares,
            )
    tenant.run(
        command,
        f"change/{dated.days_ago}",
        at=at,
        by=tenant.person(dated.by),
        reason=dated.reason,
    )
