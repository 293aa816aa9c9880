"""Kueue's published dominant shares, giving order and preemption rules, values untouched."""

from fractions import Fraction
from typing import Any

import pytest

from quota.domain.shares import (
    BorrowedShare,
    GivingBack,
    at_most_final_share,
    below_initial_share,
    borrowed_share,
    is_borrowing_on,
    weighted,
)
from tests.cases.quota_reading import Published, published
from tests.cases.reading import cases

CASES = cases("kueue_drs.json")
INFINITE_ROUNDED = 2**63 - 1


def of_kind(kind: str) -> pytest.MarkDecorator:
    found = [case for case in CASES if case["kind"] == kind]
    return pytest.mark.parametrize("case", found, ids=[case["name"] for case in found])


def share(found: Published, node: str, requested: dict[str, int] | None = None) -> BorrowedShare:
    """The resource of a pool is what follows the flavor: default/example.com/gpu."""
    row = found.names.index(node)
    return borrowed_share(
        found.tree,
        found.standing,
        row,
        resources=[pool.split("/", 1)[1] for pool in found.pools],
        weight=Fraction(found.weights[row]),
        requested={found.pools.index(pool): units for pool, units in (requested or {}).items()},
    )


def serialized(value: Fraction | None) -> float | str:
    return "+Inf" if value is None else float(value * 1000)


@of_kind("weighted_share")
def test_weighted_share(case: dict[str, Any]) -> None:
    found = published(case["tree"])
    for node, wanted in case["expect"].items():
        # What a workload asks counts for the queue it is in, the published case's `cq`.
        got = share(found, node, case["workload_request"] if node == "cq" else None)
        rounded = INFINITE_ROUNDED if got.rounded is None else got.rounded
        precise = serialized(got.weighted)
        numbers = {
            "rounded_weighted_share": rounded,
            "dominant_resource": got.resource or "",
            "borrowing": got.borrowing,
            "precise_weighted_share": precise
            if isinstance(precise, str)
            else pytest.approx(precise, rel=1e-12),
            # A gauge cannot show infinity, so Kueue's metric is NaN there; we say infinite.
            "metric_is_nan": got.weighted is None,
        }
        assert {name: numbers[name] for name in wanted} == wanted, node


@of_kind("is_borrowing_on")
def test_is_borrowing_on(case: dict[str, Any]) -> None:
    found = published(case["tree"])
    requested = {found.pools.index(pool): units for pool, units in case["requested"].items()}
    got = {
        "borrowing": share(found, case["node"]).borrowing,
        "borrowing_on_requested": is_borrowing_on(
            found.tree, found.standing, found.names.index(case["node"]), requested
        ),
    }
    assert got == case["expect"]


@of_kind("precise_share_arithmetic")
def test_precise_share_arithmetic(case: dict[str, Any]) -> None:
    value = weighted(Fraction(case["unweighted_ratio"], 1000), case["fair_weight"])
    got = serialized(value)
    assert (got if isinstance(got, str) else f"{got:g}") == case["expect"]["serialized"]


@of_kind("preemption_target_order")
def test_preemption_target_order(case: dict[str, Any]) -> None:
    found = published(case["tree"])
    row_of = {name: row for row, name in enumerate(found.names)}
    order = GivingBack(
        parents=found.tree.shape.parent.tolist(),
        shares=[share(found, name).weighted for name in found.names],
        asking=row_of[case["preemptor"]],
        candidates={row_of[name]: count for name, count in case["candidates"].items()},
    )
    got: list[str] = []
    while (leaf := order.following()) is not None:
        actions = case["actions"]
        action = actions[len(got)] if len(got) < len(actions) else "pop"
        (order.drop if action == "drop" else order.take)(leaf)
        got.append(found.names[leaf])
    assert got == case["expect"]["order"]


@of_kind("fair_preemption_rule")
def test_fair_preemption_rule(case: dict[str, Any]) -> None:
    preemptor, old, new = (
        Fraction(case[name])
        for name in ("preemptor_new_share", "target_old_share", "target_new_share")
    )
    got = {
        "less_than_or_equal_to_final_share": at_most_final_share(preemptor, new),
        "less_than_initial_share": below_initial_share(preemptor, old),
    }
    assert got == case["expect"]


def test_every_case_is_tested() -> None:
    assert {case["kind"] for case in CASES} == {
        "weighted_share",
        "is_borrowing_on",
        "precise_share_arithmetic",
        "preemption_target_order",
        "fair_preemption_rule",
    }
