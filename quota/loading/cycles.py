"""What review cycles are decided on: the cycle and its entries under lock, quotas, who leads.

Locks in the one order: the tree (shared), pools, then the cycle's row, then its entries; the chain
last. Who decides holds the cycle shared, so that several may at once; who closes holds it alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.errors import NotFound
from ledger.sql import server_cursor
from quota.domain.changes import NO_CELL, Cell
from quota.domain.cycles import DEFAULT, CyclePolicy
from quota.loading.quotas import CELL_COLUMNS, cell_of
from quota.ports import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A cycle as commands need it."""

    id: UUID
    account_id: UUID
    name: str
    state: str
    window_days: int
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A quota in a cycle. `above`: its account and those above, from the root down."""

    account_id: UUID
    pool_id: UUID
    account: str
    pool: str
    above: tuple[UUID, ...]
    guaranteed: int
    state: str
    version: int
    decision: str | None
    units: int | None
    seen_guaranteed: int | None
    seen_base: int | None
    reviewer_id: UUID | None
    moved_at: datetime | None

    @property
    def place(self) -> Place:
        return (self.account_id, self.pool_id)


_CYCLE = "SELECT id, account_id, name, state, window_days, deadline FROM quota_cycle"
_ENTRY = (
    "SELECT e.account_id, e.pool_id, a.name, p.name, a.ancestors, e.guaranteed, e.state, "
    "e.version, e.decision, e.units, e.seen_guaranteed, e.seen_base, e.reviewer_id, e.moved_at "
    "FROM quota_cycleentry e "
    "JOIN tenancy_account a ON a.organization_id = e.organization_id AND a.id = e.account_id "
    "JOIN quota_pool p ON p.organization_id = e.organization_id AND p.id = e.pool_id "
    "WHERE e.organization_id = %b AND e.cycle_id = %b"
)


def cycle(organization_id: UUID, cycle_id: UUID, *, lock: str = "") -> Cycle:
    """One cycle. `lock`: FOR SHARE or FOR UPDATE.

    Raises:
        NotFound: there is none, or not in this organization.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"{_CYCLE} WHERE organization_id = %b AND id = %b {lock}", (organization_id, cycle_id)
        ).fetchone()
    if row is None:
        raise cycle_unknown()
    return Cycle(
        id=row[0],
        account_id=row[1],
        name=row[2],
        state=row[3],
        window_days=row[4],
        deadline=row[5],
    )


def cycle_unknown() -> NotFound:
    """Also said of a cycle that somebody may not see."""
    return NotFound("cycle_unknown", "There is no such review cycle.", field="cycle")


def entries(
    organization_id: UUID,
    cycle_id: UUID,
    places: Collection[Place] | None = None,
    *,
    lock: bool = False,
) -> dict[Place, Entry]:
    """Quotas of a cycle (None: all), by account and pool name."""
    wanted, values = "", []
    if places is not None:
        wanted = (
            " AND (e.account_id, e.pool_id) IN "
            "(SELECT * FROM unnest(%b::uuid[], %b::uuid[]) AS w(a, p))"
        )
        values = [[account for account, _ in places], [pool for _, pool in places]]
    order = "e.account_id, e.pool_id FOR UPDATE OF e" if lock else "a.name, p.name"
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_ENTRY}{wanted} ORDER BY {order}", (organization_id, cycle_id, *values)
        ).fetchall()
    found = [
        Entry(
            account_id=row[0],
            pool_id=row[1],
            account=row[2],
            pool=row[3],
            above=tuple(row[4]),
            guaranteed=row[5],
            state=row[6],
            version=row[7],
            decision=row[8],
            units=row[9],
            seen_guaranteed=row[10],
            seen_base=row[11],
            reviewer_id=row[12],
            moved_at=row[13],
        )
        for row in rows
    ]
    return {one.place: one for one in found}


# What ended and no task has recorded counts as ended; a quota of nothing at all is none.
_QUOTAS = """
SELECT q.account_id, q.pool_id,
    CASE WHEN q.ends_at <= %b THEN q.base_guaranteed ELSE q.guaranteed END
FROM quota_quota q
JOIN tenancy_account a ON a.organization_id = q.organization_id AND a.id = q.account_id
WHERE q.organization_id = %b AND a.ancestors && ARRAY[%b]::uuid[] AND a.archived_at IS NULL
    AND (q.guaranteed > 0 OR q.ends_at IS NOT NULL OR q.borrowing_limit IS NOT NULL
        OR q.lending_limit IS NOT NULL)
ORDER BY q.account_id, q.pool_id
"""


def quotas_below(
    organization_id: UUID, account_id: UUID, *, now: datetime
) -> list[tuple[UUID, UUID, int]]:
    """Account, pool and guarantee of every quota at and below an account."""
    with server_cursor() as cursor:
        return cursor.execute(_QUOTAS, (now, organization_id, account_id)).fetchall()


def cells(organization_id: UUID, places: Collection[Place], *, now: datetime) -> dict[Place, Cell]:
    """What stands, without a lock: the close asks again under one."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {CELL_COLUMNS} FROM quota_quota WHERE organization_id = %b "
            "AND (account_id, pool_id) IN "
            "(SELECT * FROM unnest(%b::uuid[], %b::uuid[]) AS w(a, p))",
            (
                organization_id,
                [account for account, _ in places],
                [pool for _, pool in places],
            ),
        ).fetchall()
    found = dict.fromkeys(places, NO_CELL)
    for row in rows:
        cell = cell_of(row)
        is_over = cell.temporary is not None and cell.temporary.ends_at <= now
        found[row[0], row[1]] = Cell(quota=cell.base) if is_over else cell
    return found


def leads_of(
    organization_id: UUID, entries_: Iterable[Entry], *, nearest: bool = False
) -> Mapping[UUID, frozenset[UUID]]:
    """Who leads each entry's account: by a role on it or above it; `nearest`: the closest only."""
    above = {entry.account_id: entry.above for entry in entries_}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT account_id, person_id FROM tenancy_membership WHERE organization_id = %b "
            "AND role = 'lead' AND account_id = ANY(%b)",
            (organization_id, list({one for path in above.values() for one in path})),
        ).fetchall()
    on: dict[UUID, set[UUID]] = {}
    for account, person in rows:
        on.setdefault(account, set()).add(person)
    found: dict[UUID, frozenset[UUID]] = {}
    for account, path in above.items():
        levels = [on[one] for one in reversed(path) if one in on]
        found[account] = frozenset().union(*(levels[:1] if nearest else levels))
    return found


def pools_of(organization_id: UUID, cycle_id: UUID) -> list[UUID]:
    """Pools whose quotas a cycle reviews. Fixed since its opening."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT pool_id FROM quota_cycleentry "
            "WHERE organization_id = %b AND cycle_id = %b ORDER BY pool_id",
            (organization_id, cycle_id),
        ).fetchall()
    return [row[0] for row in rows]


def open_cycle_of(organization_id: UUID, account_id: UUID) -> UUID | None:
    """The open cycle over exactly this subtree."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT id FROM quota_cycle WHERE organization_id = %b AND account_id = %b "
            "AND state = 'open'",
            (organization_id, account_id),
        ).fetchone()
    return row[0] if row else None


def cycle_of_quarter(organization_id: UUID, account_id: UUID, quarter: str) -> UUID | None:
    """The cycle that opened by itself for a quarter, whatever became of it."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT id FROM quota_cycle WHERE organization_id = %b AND account_id = %b "
            "AND quarter = %b",
            (organization_id, account_id, quarter),
        ).fetchone()
    return row[0] if row else None


def policy(organization_id: UUID) -> CyclePolicy:
    """The organization's, or the default."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT automatic, window_days, decide_days FROM quota_cyclepolicy "
            "WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    if row is None:
        return DEFAULT
    return CyclePolicy(automatic=row[0], window_days=row[1], decide_days=row[2])


def root_and_zone(organization_id: UUID) -> tuple[UUID, str]:
    """The root account and the time zone of the organization."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT root_account_id, time_zone FROM tenancy_organization WHERE id = %b",
            (organization_id,),
        ).fetchone()
