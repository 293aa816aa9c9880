"""Kueue's published quota trees, values untouched."""

from typing import Any

import pytest

from quota.domain.tree import evaluate
from tests.cases.quota_reading import published
from tests.cases.reading import cases
from tests.quota.columns import column_of

CASES = cases("kueue_available.json")
OURS = {
    "available": "available",
    "potential_available": "potential",
    "subtree_quota": "subtree",
    "usage": "used",
}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_published_number(case: dict[str, Any]) -> None:
    found = published(case["tree"])
    for node, pools in case["expect"].items():
        for pool, wanted in pools.items():
            got = {name: found.number(OURS[name], node, pool) for name in wanted}
            assert got == wanted, (node, pool)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_without_use_available_is_potential(case: dict[str, Any]) -> None:
    found = published(case["tree"], without_use=True)
    assert (found.standing.available == found.tree.potential).all()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_use_added_and_removed_leaves_no_trace(case: dict[str, Any]) -> None:
    """And on the way there, added one by one, it gives what it gives at once."""
    found = published(case["tree"])
    idle = evaluate(found.tree, [[0] * len(found.pools) for _ in found.names])
    for pool in range(len(found.pools)):
        column = column_of(found.tree, idle, pool)
        rows = range(len(found.names))
        for row in rows:
            column.add(row, found.use[row][pool])
        assert column.used == found.standing.used[:, pool].tolist()
        assert [column.headroom(row) for row in rows] == found.standing.headroom[:, pool].tolist()
        for row in rows:
            column.add(row, -found.use[row][pool])
        assert [column.headroom(row) for row in rows] == found.tree.potential[:, pool].tolist()
