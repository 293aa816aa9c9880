"""The tree of accounts and all quotas of an organization as warm arrays, fresh at every answer.

Every change of them is an event of the organization's main lane, whose numbers have no gaps and
whose head is locked until a change commits (docs/decisions/0005-ledger.md). So one small read tells
whether anything has changed since the arrays were made, and in which pools: only their columns are
read again. An answer may stand on a change that committed while it read, never on less than all
that had committed before. Runs inside `scope.reading`, never inside a command: what it would keep
there might yet be rolled back.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain.tree import QuotaTree, Shape
from quota.queries.cells import Cells, Node, nodes_of, read_cells, shape_of, tree_of

KEPT_MAX: Final = 16
"""Organizations per process; 10,000 accounts in 50 pools take 40 MB."""
BEHIND_MAX: Final = 2_000
"""With more events than this since, everything is read again instead of looked through."""

_CHANGES = """
SELECT l.seq, l.remade, (
    SELECT array_agg(DISTINCT coalesce(e.payload->>'pool_id', e.type)) FROM ledger_event e
    WHERE e.organization_id = l.organization_id AND e.lane = l.lane
        AND e.lane_seq > %b AND e.lane_seq <= l.seq AND l.seq - %b <= %b
        AND (e.type LIKE 'account.%%' OR e.type LIKE 'quota.%%' OR e.type = 'pool.opened'))
FROM ledger_lane l WHERE l.organization_id = %b AND l.lane = %b
"""


@dataclass(slots=True, eq=False)
class Quotas:
    """Every quota as it stands in its table, whatever is due. Never changed once it is shared.
    `remade`: how often a rebuild had put the tables right by then, which is no event."""

    seq: int
    remade: int
    nodes: list[Node]
    shape: Shape
    columns: dict[UUID, int]
    cells: Cells
    _tree: QuotaTree | None = field(default=None)

    def tree_of(self, pools: Iterable[UUID]) -> QuotaTree | None:
        """The tree of exactly these pools, if they are all there are, in their order."""
        if list(pools) != list(self.columns):
            return None
        if self._tree is None:
            self._tree = tree_of(self.cells, self.shape)
        return self._tree

    def cells_of(self, pools: Iterable[UUID], *, but: set[UUID]) -> Cells:
        """A copy for these pools, in which nobody has anything in those of `but`."""
        pools = list(pools)
        found = Cells.none(self.cells.row_of, len(pools))
        here = [at for at, pool_id in enumerate(pools) if pool_id not in but]
        there = [self.columns[pools[at]] for at in here]
        found.guaranteed[:, here] = self.cells.guaranteed[:, there]
        found.borrowing[:, here] = self.cells.borrowing[:, there]
        found.lending[:, here] = self.cells.lending[:, there]
        return found


_kept: OrderedDict[UUID, Quotas] = OrderedDict()
_lock = Lock()


def quotas(organization_id: UUID) -> Quotas:
    """All quotas as of now."""
    with _lock:
        found = _kept.get(organization_id)
    since = found.seq if found else 0
    with server_cursor() as cursor:
        row = cursor.execute(
            _CHANGES,
            (since, since, BEHIND_MAX if found else -1, organization_id, organization_id),
        ).fetchone()
    seq, remade, changed = row or (0, 0, None)
    if found is not None and found.remade != remade:
        found = None
    if found is not None and seq == since:
        return found
    fresh = None
    if found is not None and since < seq <= since + BEHIND_MAX:
        fresh = _caught_up(organization_id, found, seq, changed or [])
    if fresh is None:
        fresh = _read(organization_id, seq, remade)
    with _lock:
        _kept[organization_id] = fresh
        _kept.move_to_end(organization_id)
        while len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)
    return fresh


def forget() -> None:
    """For tests and benchmarks of a cold start."""
    with _lock:
        _kept.clear()


def _caught_up(organization_id: UUID, found: Quotas, seq: int, changed: list[str]) -> Quotas | None:
    """The same with the columns that changed read again; None where the tree or pools changed."""
    if not changed:
        return replace(found, seq=seq)
    try:
        columns = {UUID(one): found.columns[UUID(one)] for one in changed}
    except (KeyError, ValueError):
        return None
    old = found.cells
    cells = Cells(
        row_of=old.row_of,
        guaranteed=old.guaranteed.copy(),
        borrowing=old.borrowing.copy(),
        lending=old.lending.copy(),
    )
    for column in columns.values():
        cells.clear(column)
    read_cells(organization_id, cells, columns)
    return replace(found, seq=seq, cells=cells, _tree=None)


def _read(organization_id: UUID, seq: int, remade: int) -> Quotas:
    nodes = nodes_of(organization_id)
    with server_cursor() as cursor:
        pools = cursor.execute(
            "SELECT id FROM quota_pool WHERE organization_id = %b ORDER BY name",
            (organization_id,),
        ).fetchall()
    row_of = {node[0]: row for row, node in enumerate(nodes)}
    columns = {pool_id: column for column, (pool_id,) in enumerate(pools)}
    cells = Cells.none(row_of, len(columns))
    read_cells(organization_id, cells, columns)
    return Quotas(seq, remade, nodes, shape_of(nodes, row_of), columns, cells)
