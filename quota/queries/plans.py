"""The organization as a plan: what `manage.py quota export` writes. Runs inside `scope.reading`."""

from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.values import NO_QUOTA
from quota.importers.plan import FlavorEntry, PoolEntry, QuotaEntry, QuotaPlan
from quota.queries.pools import flavors, pools_with_weights
from quota.queries.quotas import books_at, pools_at
from tenancy.importers.tree import AccountEntry, TreePlan


def as_plan(organization_id: UUID, *, now: datetime) -> QuotaPlan:
    """Flavors, pools, open accounts and quotas that stand. A temporary quota is written as what it
    returns to, changes to come are left out: a plan says what stands."""
    names, accounts = _accounts(organization_id)
    quotas = [
        QuotaEntry(account=names[account], pool=book.pool.name, quota=cell.base)
        for book in books_at(organization_id, pools_at(organization_id, now=now), now=now).values()
        for account, cell in book.cells.items()
        if cell.base != NO_QUOTA and account in names
    ]
    return QuotaPlan(
        flavors=tuple(
            FlavorEntry(name=one.name, weight=one.weight) for one in flavors(organization_id)
        ),
        pools=tuple(
            PoolEntry(
                name=one.name,
                flavor=one.flavor,
                cluster=one.cluster,
                capacity=one.capacity,
                unavailable=one.unavailable,
                safety_margin=one.safety_margin,
                reclaim_target_seconds=one.reclaim_target_seconds,
            )
            for one in pools_with_weights(organization_id)
        ),
        tree=TreePlan(accounts=accounts),
        shares_given=frozenset(one.name for one in accounts),
        quotas=tuple(sorted(quotas, key=lambda one: (one.pool, one.account))),
    )


def _accounts(organization_id: UUID) -> tuple[dict[UUID, str], tuple[AccountEntry, ...]]:
    """Open accounts, parents before their children; the root has a name but no entry."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name, parent_id, shares, description FROM tenancy_account "
            "WHERE organization_id = %b AND archived_at IS NULL "
            "ORDER BY cardinality(ancestors), name",
            (organization_id,),
        ).fetchall()
    names = {row[0]: row[1] for row in rows}
    roots = {row[0] for row in rows if row[2] is None}
    entries = tuple(
        AccountEntry(
            name=name,
            parent=None if parent in roots else names[parent],
            shares=shares,
            description=description,
        )
        for _, name, parent, shares, description in rows
        if parent is not None
    )
    return names, entries
