"""A column of the tree's arrays, to hold both against each other."""

from quota.domain.column import Column
from quota.domain.tree import QuotaTree, Standing


def column_of(tree: QuotaTree, standing: Standing, pool: int) -> Column:
    """One pool taken out of the arrays."""
    limits = tree.borrowing[:, pool].tolist()
    bounded = tree.borrowing_bounded[:, pool].tolist()
    return Column(
        parent=tree.shape.parent.tolist(),
        subtree=tree.subtree[:, pool].tolist(),
        local=tree.local[:, pool].tolist(),
        borrowing=[
            limit if has_limit else None for limit, has_limit in zip(limits, bounded, strict=True)
        ],
        used=standing.used[:, pool].tolist(),
    )
