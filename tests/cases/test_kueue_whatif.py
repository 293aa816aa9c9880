"""Kueue's published numbers once more, asked as a user asks: `manage.py whatif quota`."""

import json
from typing import Any

import pytest

from quota import whatif
from tests.cases.reading import cases

AVAILABLE = cases("kueue_available.json")
SHARES = [case for case in cases("kueue_drs.json") if case["kind"] == "weighted_share"]


def nodes(rows: list[dict[str, Any]], requested: dict[str, int]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        node = found.setdefault(
            row["node"],
            {
                "name": row["node"],
                "parent": row["parent"],
                "weight": row.get("fair_weight", 1),
                "pools": {},
            },
        )
        # A published share may count a workload that is only asked for, in the queue `cq`.
        more = requested.get(row["fr"], 0) if row["node"] == "cq" else 0
        node["pools"][row["fr"]] = {
            "guaranteed": row["nominal"],
            "borrowing_limit": row["borrowing_limit"],
            "lending_limit": row["lending_limit"],
            "used": row["usage"] + more,
        }
    return list(found.values())


def ask(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    asked = nodes(case["tree"], case.get("workload_request", {}))
    answer = whatif.answer(json.dumps({"nodes": asked}).encode())
    return {node["name"]: node for node in answer["nodes"]}


@pytest.mark.parametrize("case", AVAILABLE, ids=[case["name"] for case in AVAILABLE])
def test_quota_tree(case: dict[str, Any]) -> None:
    ours = {
        "available": "available",
        "potential_available": "potential",
        "subtree_quota": "subtree",
        "usage": "used",
    }
    found = ask(case)
    for node, pools in case["expect"].items():
        for pool, wanted in pools.items():
            got = {name: found[node]["pools"][pool][ours[name]] for name in wanted}
            assert got == wanted, (node, pool)


@pytest.mark.parametrize("case", SHARES, ids=[case["name"] for case in SHARES])
def test_dominant_share(case: dict[str, Any]) -> None:
    found = ask(case)
    for name, wanted in case["expect"].items():
        node = found[name]
        infinite = node["weighted_share"] == "inf"
        got = {
            "rounded_weighted_share": 2**63 - 1 if infinite else node["rounded_weighted_share"],
            "dominant_resource": node["dominant_resource"] or "",
            "borrowing": node["borrowing"],
            "precise_weighted_share": "+Inf"
            if infinite
            else pytest.approx(node["weighted_share"] * 1000, rel=1e-12),
            "metric_is_nan": infinite,
        }
        assert {field: got[field] for field in wanted} == wanted, name
