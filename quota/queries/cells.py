"""Quotas of many pools as arrays, and the tree they stand in. Runs inside `scope.reading`."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from ledger.sql import server_cursor
from quota.domain.changes import QuotaBook
from quota.domain.tree import NO_LIMIT, NO_PARENT, QuotaTree, Shape

Node = tuple[UUID, str, UUID | None, int, bool]
"""Id, name, parent, depth, archived."""


@dataclass(slots=True, eq=False)
class Cells:
    """Quotas as arrays, nodes x pools, while they are filled in."""

    row_of: dict[UUID, int]
    guaranteed: np.ndarray
    borrowing: np.ndarray
    lending: np.ndarray

    @classmethod
    def none(cls, row_of: dict[UUID, int], pool_count: int) -> "Cells":
        """Nobody has any."""
        size = (len(row_of), pool_count)
        return cls(
            row_of=row_of,
            guaranteed=np.zeros(size, dtype=np.int64),
            borrowing=np.full(size, NO_LIMIT, dtype=np.int64),
            lending=np.full(size, NO_LIMIT, dtype=np.int64),
        )

    def clear(self, column: int) -> None:
        """Nobody has any in one pool."""
        self.guaranteed[:, column] = 0
        self.borrowing[:, column] = NO_LIMIT
        self.lending[:, column] = NO_LIMIT

    def fill(self, column: int, book: QuotaBook) -> None:
        """One pool, quota by quota."""
        for account, cell in book.cells.items():
            row, quota = self.row_of[account], cell.quota
            self.guaranteed[row, column] = quota.guaranteed
            if quota.borrowing_limit is not None:
                self.borrowing[row, column] = quota.borrowing_limit
            if quota.lending_limit is not None:
                self.lending[row, column] = quota.lending_limit


def nodes_of(organization_id: UUID) -> list[Node]:
    """Every account, archived ones too: they may still hold units."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT id, name, parent_id, cardinality(ancestors) - 1, archived_at IS NOT NULL "
            "FROM tenancy_account WHERE organization_id = %b "
            "ORDER BY cardinality(ancestors), name",
            (organization_id,),
        ).fetchall()


def read_cells(
    organization_id: UUID,
    cells: Cells,
    columns: Mapping[UUID, int],
    *,
    table: str = "quota_quota",
    condition: str = "",
    values: tuple = (),
) -> None:
    """Fill in the pools of `columns` as they stand in a table, as whole columns: one row of packed
    numbers a pool instead of one row a quota, which costs a tenth."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT pool_id, string_agg(uuid_send(account_id), ''), "
            "string_agg(int8send(guaranteed), ''), "
            "string_agg(int8send(coalesce(borrowing_limit, -1)), ''), "
            "string_agg(int8send(coalesce(lending_limit, -1)), '') "
            f"FROM {table} WHERE organization_id = %b AND pool_id = ANY(%b) "
            f"{condition} GROUP BY pool_id",
            (organization_id, list(columns), *values),
            binary=True,
        ).fetchall()
    by_bytes = {account.bytes: row for account, row in cells.row_of.items()}
    for pool_id, accounts, *numbers in rows:
        column = columns[pool_id]
        at = [by_bytes.get(accounts[start : start + 16]) for start in range(0, len(accounts), 16)]
        guaranteed, borrowing, lending = (np.frombuffer(one, dtype=">i8") for one in numbers)
        if None in at:
            # An account that was opened while this read: the next answer has it.
            known = [place for place, row in enumerate(at) if row is not None]
            at = [at[place] for place in known]
            guaranteed, borrowing, lending = guaranteed[known], borrowing[known], lending[known]
        cells.guaranteed[at, column] = guaranteed
        cells.borrowing[at, column] = borrowing
        cells.lending[at, column] = lending


def shape_of(nodes: list[Node], row_of: Mapping[UUID, int]) -> Shape:
    """Who stands under whom, by row."""
    return Shape.build([NO_PARENT if node[2] is None else row_of[node[2]] for node in nodes])


def tree_of(cells: Cells, shape: Shape) -> QuotaTree:
    """What follows from the quotas without any use."""
    return QuotaTree.build(
        shape, guaranteed=cells.guaranteed, borrowing=cells.borrowing, lending=cells.lending
    )
