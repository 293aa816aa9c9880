"""flux-accounting's weighted tree walk: order, factors and weights of its tests and documents."""

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.cases.reading import cases, standings

DIGITS = 6
CASES = cases("flux_fairshare.json")


def named(case: dict[str, Any]) -> str:
    return case["name"]


@pytest.mark.parametrize("case", [case for case in CASES if "order" in case["expect"]], ids=named)
def test_order(case: dict[str, Any]) -> None:
    """Their order inside a tie is that of an unstable sort, so only ranks must not rise."""
    found = standings(case["tree"])
    order = case["expect"]["order"]
    assert {node["name"] for node in case["tree"] if node["type"] == "user"} == set(order)
    for first, second in pairwise(order):
        assert found[first]["rank"] >= found[second]["rank"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "fairshare" in case["expect"]], ids=named
)
def test_fairshare(case: dict[str, Any]) -> None:
    found = standings(case["tree"])
    assert {
        name: round(found[name]["fairshare"], DIGITS) for name in case["expect"]["fairshare"]
    } == case["expect"]["fairshare"]


@pytest.mark.parametrize("case", [case for case in CASES if "expect_weights" in case], ids=named)
def test_weights_are_levels(case: dict[str, Any]) -> None:
    """They print six significant digits, and 2^64 where we say infinite."""
    found = standings(case["tree"])
    for name, weight in case["expect_weights"].items():
        level = found[name]["level_fs"]
        if weight == 2**64:
            assert level == math.inf
        else:
            assert float(f"{level:.6g}") == weight, name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_usage_of_banks_is_the_sum_below(case: dict[str, Any]) -> None:
    """A bank without anybody below, which `minimal` has, keeps what the file says for itself."""
    found = standings(case["tree"])
    parents = {node["parent"] for node in case["tree"]}
    for node in case["tree"]:
        if node["name"] in parents:
            assert found[node["name"]]["usage"] == node["usage"]
