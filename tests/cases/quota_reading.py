"""Puts Kueue's published trees into our notation: (node, flavor/resource) is (account, pool)."""

from dataclasses import dataclass
from typing import Any

from quota.domain.tree import NO_PARENT, QuotaTree, Shape, Standing, evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A case's tree. `use` is rows of what was entered at each node."""

    names: list[str]
    pools: list[str]
    weights: list[float]
    use: list[list[int]]
    tree: QuotaTree
    standing: Standing

    def number(self, array: str, node: str, pool: str) -> int:
        holder = self.tree if hasattr(self.tree, array) else self.standing
        return int(getattr(holder, array)[self.names.index(node), self.pools.index(pool)])


def published(rows: list[dict[str, Any]], *, without_use: bool = False) -> Published:
    names = list(dict.fromkeys(row["node"] for row in rows))
    pools = list(dict.fromkeys(row["fr"] for row in rows))
    parents = {row["node"]: row["parent"] for row in rows}
    weights = {row["node"]: row.get("fair_weight", 1) for row in rows}
    cells = {(row["node"], row["fr"]): row for row in rows}

    def table(field: str, missing: int | None) -> list[list[Any]]:
        return [[cells.get((n, p), {field: missing})[field] for p in pools] for n in names]

    tree = QuotaTree.build(
        Shape.build([NO_PARENT if parents[n] is None else names.index(parents[n]) for n in names]),
        guaranteed=table("nominal", 0),
        borrowing=table("borrowing_limit", None),
        lending=table("lending_limit", None),
    )
    use = [[0] * len(pools) for _ in names] if without_use else table("usage", 0)
    return Published(
        names=names,
        pools=pools,
        weights=[weights[n] for n in names],
        use=use,
        tree=tree,
        standing=evaluate(tree, use),
    )
