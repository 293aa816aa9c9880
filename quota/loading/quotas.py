"""Pools and their quotas, for commands under lock and for readers without.

Locks are taken in one order: the tree (shared), pools by id, and the chain last. A pool's row is
the lock of all its quotas: the promise rule looks at every one of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from ledger.errors import NotFound, Refused
from ledger.execution import Unit
from ledger.sql import server_cursor
from quota.domain.changes import Cell, QuotaBook, Scheduled, Temporary, Wish
from quota.domain.values import Pool, Quota

_POOL = "id, name, capacity, unavailable, safety_margin, reclaim_target_seconds"
CELL_COLUMNS = (
    "account_id, pool_id, guaranteed, borrowing_limit, lending_limit, ends_at, base_guaranteed, "
    "base_borrowing_limit, base_lending_limit, lender_id, end_exposes"
)


@dataclass(slots=True)
class Paths:
    """The accounts above one, asked once each. Refuses what takes no quota."""

    organization_id: UUID
    known: dict[UUID, tuple[str, tuple[UUID, ...], bool]] = field(default_factory=dict)

    def load(self, accounts: Iterable[UUID]) -> None:
        """Ask for several at once."""
        missing = [account for account in accounts if account not in self.known]
        if not missing:
            return
        with server_cursor() as cursor:
            rows = cursor.execute(
                "SELECT id, name, ancestors, archived_at IS NOT NULL FROM tenancy_account "
                "WHERE organization_id = %b AND id = ANY(%b)",
                (self.organization_id, missing),
            ).fetchall()
        for account, name, ancestors, archived in rows:
            self.known[account] = (name, tuple(ancestors[:-1]), archived)

    def __call__(self, account: UUID) -> tuple[UUID, ...]:
        """From the root down to the parent.

        Raises:
            NotFound: no such account.
            Refused: it is archived.
        """
        self.load((account,))
        if account not in self.known:
            raise NotFound(
                "account_unknown",
                "There is no such account.",
                field="account",
                facts={"account": str(account)},
            )
        name, above, archived = self.known[account]
        if archived:
            raise Refused(
                "account_archived",
                f"{name} is archived and takes no new quota.",
                field="account",
                facts={"account": name},
            )
        return above


def lock_pools(unit: Unit, pool_ids: Iterable[UUID] | None = None) -> dict[UUID, Pool]:
    """Pools under lock, in the one order; None: all of the organization.

    Raises:
        NotFound: one of them does not exist.
    """
    wanted = None if pool_ids is None else sorted(set(pool_ids))
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_POOL} FROM quota_pool WHERE organization_id = %b "
            "AND (%b::uuid[] IS NULL OR id = ANY(%b::uuid[])) ORDER BY id FOR UPDATE",
            (unit.organization_id, wanted, wanted),
        ).fetchall()
    pools = {row[0]: pool_of(row[1:]) for row in rows}
    for pool_id in wanted or ():
        if pool_id not in pools:
            raise NotFound(
                "pool_unknown",
                "There is no such pool.",
                field="pool",
                facts={"pool": str(pool_id)},
            )
    return pools


def pool_of(row: Sequence) -> Pool:
    """From name, capacity, unavailable, safety margin, reclaim target."""
    name, capacity, unavailable, safety_margin, seconds = row
    return Pool(
        name=name,
        capacity=capacity,
        unavailable=unavailable,
        safety_margin=safety_margin,
        reclaim_target_seconds=seconds,
    )


def books(organization_id: UUID, pools: Mapping[UUID, Pool], paths: Paths) -> dict[UUID, QuotaBook]:
    """What is recorded of the pools' quotas; what has fallen due since is not in it."""
    found = {pool_id: QuotaBook(pool=pool, cells={}, path=paths) for pool_id, pool in pools.items()}
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {CELL_COLUMNS} FROM quota_quota "
            "WHERE organization_id = %b AND pool_id = ANY(%b)",
            (organization_id, list(pools)),
        ).fetchall()
    for row in rows:
        found[row[1]].cells[row[0]] = cell_of(row)
    return found


def cell_of(row: Sequence) -> Cell:
    """From CELL_COLUMNS."""
    temporary = None
    if row[5] is not None:
        temporary = Temporary(
            ends_at=row[5],
            base=Quota(guaranteed=row[6], borrowing_limit=row[7], lending_limit=row[8]),
            lender=row[9],
            expose=row[10],
        )
    return Cell(
        quota=Quota(guaranteed=row[2], borrowing_limit=row[3], lending_limit=row[4]),
        temporary=temporary,
    )


def parents_of(organization_id: UUID, accounts: Iterable[UUID]) -> dict[UUID, UUID | None]:
    """Parents of accounts and of all above them."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, parent_id FROM tenancy_account WHERE organization_id = %b AND id IN ("
            "SELECT unnest(ancestors) FROM tenancy_account "
            "WHERE organization_id = %b AND id = ANY(%b))",
            (organization_id, organization_id, list(accounts)),
        ).fetchall()
    return dict(rows)


def scheduled(
    organization_id: UUID, pool_ids: Iterable[UUID], *, until: datetime | None = None
) -> dict[UUID, list[Scheduled]]:
    """Changes that have not taken effect, by pool; with `until`, those due by then."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT pool_id, id, account_id, guaranteed, borrowing_limit, lending_limit, "
            "starts_at, ends_at, lender_id, expose FROM quota_scheduled "
            "WHERE organization_id = %b AND pool_id = ANY(%b) "
            "AND (%b::timestamptz IS NULL OR starts_at <= %b::timestamptz) ORDER BY starts_at, id",
            (organization_id, list(pool_ids), until, until),
        ).fetchall()
    found: dict[UUID, list[Scheduled]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(_scheduled_of(row))
    return found


def _scheduled_of(row: Sequence) -> Scheduled:
    return Scheduled(
        id=row[1],
        starts_at=row[6],
        wish=Wish(
            account=row[2],
            quota=Quota(guaranteed=row[3], borrowing_limit=row[4], lending_limit=row[5]),
            ends_at=row[7],
            lender=row[8],
            expose=row[9],
        ),
    )


def due_among(
    organization_id: UUID, pool_ids: Iterable[UUID], *, at: datetime, then: bool = False
) -> set[UUID]:
    """Those pools in which something recorded has fallen due by `at` and its effect is not: their
    quotas have to be settled before they are shown. `then`: as recorded at that past instant."""
    return _due(organization_id, at=at, then=then) & set(pool_ids)


def _due(organization_id: UUID, *, at: datetime, then: bool) -> set[UUID]:
    if then:
        ends = (
            "quota_quotahistory WHERE organization_id = %b AND ends_at <= %b "
            "AND valid_from <= %b AND (valid_to IS NULL OR valid_to > %b)"
        )
    else:
        ends = "quota_quota WHERE organization_id = %b AND ends_at <= %b"
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT pool_id FROM quota_scheduled WHERE organization_id = %b AND starts_at <= %b "
            f"UNION SELECT pool_id FROM {ends}",
            (organization_id, at, organization_id, at, *((at, at) if then else ())),
        ).fetchall()
    return {row[0] for row in rows}


def due_pools(organization_id: UUID, *, now: datetime) -> list[UUID]:
    """Pools in which something has fallen due and is not recorded."""
    return sorted(_due(organization_id, at=now, then=False))


def pool_of_scheduled(organization_id: UUID, change_id: UUID) -> UUID | None:
    """The pool that a change to come is about; None: there is no such change."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT pool_id FROM quota_scheduled WHERE organization_id = %b AND id = %b",
            (organization_id, change_id),
        ).fetchone()
    return row[0] if row else None
