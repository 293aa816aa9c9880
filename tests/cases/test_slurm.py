"""Slurm's Fair Tree and classic fair-share: facts, test programs and formulas it published."""

import math
from typing import Any

import pytest

from accounting.domain.decay import HalfLife, decay_factor, decayed
from tests.cases.reading import cases, standings

CASES = cases("slurm_fair_share.json")

# The tree of Slurm's test24.4 and the rows that it expects of `sshare -l`: name, parent, raw
# shares, usage, then normalised shares, normalised usage, effective usage, level, fair-share. None
# where sshare prints nothing.
INF = math.inf
TEST24_4: list[tuple[Any, ...]] = [
    ("u1", "root", 10, 0, 0.048077, 0.0, 0.0, INF, 1.0),
    ("u2", "root", 10, 10, 0.048077, 0.041667, 0.041667, 1.153846, 0.666667),
    ("aA", "root", 40, 45, 0.192308, 0.1875, 0.1875, 1.025641, None),
    ("aAA", "aA", 30, 20, 0.75, 0.083333, 0.444444, 1.6875, None),
    ("uAA1", "aAA", 1, 20, 1.0, 0.083333, 1.0, 1.0, 0.619048),
    ("aAB", "aA", 10, 25, 0.25, 0.104167, 0.555556, 0.45, None),
    ("uAB1", "aAB", 1, 25, 0.5, 0.104167, 1.0, 0.5, 0.52381),
    ("uAB2", "aAB", 1, 0, 0.5, 0.0, 0.0, INF, 0.571429),
    ("aB", "root", 60, 25, 0.288462, 0.104167, 0.104167, 2.769231, None),
    ("aBA", "aB", 25, 25, 0.416667, 0.104167, 1.0, 0.416667, None),
    ("uBA1", "aBA", 1, 25, 1.0, 0.104167, 1.0, 1.0, 0.714286),
    ("aBB", "aB", 35, 0, 0.583333, 0.0, 0.0, INF, None),
    ("uBB1", "aBB", 1, 0, 1.0, 0.0, 0.0, INF, 0.761905),
    ("aC", "root", 0, 30, 0.0, 0.125, 0.125, 0.0, None),
    ("uC1", "aC", 0, 30, 0.0, 0.125, 1.0, 0.0, 0.047619),
    ("aD", "root", 50, 110, 0.240385, 0.458333, 0.458333, 0.524476, None),
    ("uD1", "aD", "parent", 20, 0.240385, 0.083333, 0.181818, None, 0.47619),
    # 40/20 = 50/25, so uD2 ties with uD3 and uDA3 as exact levels do. Slurm prints 0.238095: its
    # long doubles differ in a digit that it does not print.
    ("uD2", "aD", 40, 20, 0.235294, 0.083333, 0.181818, 1.294118, 0.333333),
    ("uD3", "aD", 50, 25, 0.294118, 0.104167, 0.227273, 1.294118, 0.333333),
    ("aDA", "aD", "parent", 45, 0.240385, 0.1875, 0.409091, None, None),
    ("uDA1", "aDA", "parent", 10, 0.240385, 0.041667, 0.090909, None, 0.47619),
    ("uDA2", "aDA", 30, 10, 0.176471, 0.041667, 0.090909, 1.941176, 0.380952),
    ("uDA3", "aDA", 50, 25, 0.294118, 0.104167, 0.227273, 1.294118, 0.333333),
    ("aE", "root", 10, 0, 0.048077, 0.0, 0.0, INF, None),
    ("aE1", "aE", 10, 0, 0.5, 0.0, 0.0, INF, 1.0),
    ("aE2", "aE", 10, 0, 0.5, 0.0, 0.0, INF, 1.0),
    ("aF", "root", 20, 0, 0.096154, 0.0, 0.0, INF, None),
    ("uF1", "aF", 10, 0, 0.333333, 0.0, 0.0, INF, 1.0),
    ("uF2", "aF", 20, 0, 0.666667, 0.0, 0.0, INF, 1.0),
    ("aG", "root", 8, 20, 0.038462, 0.083333, 0.083333, 0.461538, None),
    ("uG1", "aG", 10, 10, 0.5, 0.041667, 0.5, 1.0, 0.190476),
    ("aGA", "aG", 10, 10, 0.5, 0.041667, 0.5, 1.0, None),
    ("uGA1", "aGA", 20, 4, 0.5, 0.016667, 0.4, 1.25, 0.190476),
    ("uGA2", "aGA", 20, 6, 0.5, 0.025, 0.6, 0.833333, 0.095238),
]


def of_kind(kind: str) -> list[dict[str, Any]]:
    found = [case for case in CASES if case["kind"] == kind]
    assert found
    return found


def named(case: dict[str, Any]) -> str:
    return case["name"]


def tree_of_test24_4() -> list[dict[str, Any]]:
    parents = {row[1] for row in TEST24_4}
    rows = [{"name": "root", "parent": None, "type": "account", "shares": 1}]
    for name, parent, shares, usage, *_ in TEST24_4:
        kind = "account" if name in parents else "user"
        node = {"name": name, "parent": parent, "type": kind, "shares": shares}
        rows.append(node if kind == "account" else {**node, "usage": usage})
    return rows


@pytest.mark.parametrize("case", of_kind("fair_tree_fact"), ids=named)
def test_fair_tree_facts(case: dict[str, Any]) -> None:
    found = standings(tree_of_test24_4())
    assert {name: round(found[name]["fairshare"], 6) for name in case["expect"]} == case["expect"]


@pytest.mark.parametrize("row", TEST24_4, ids=lambda row: row[0])
def test_every_column_of_sshare(row: tuple[Any, ...]) -> None:
    found = standings(tree_of_test24_4())
    name, _, shares, usage, *expected = row
    ours = found[name]
    assert ours["usage"] == usage
    columns = ("norm_shares", "norm_usage", "effective_usage", "level_fs", "fairshare")
    for column, want in zip(columns, expected, strict=True):
        if want is not None:
            assert round(ours[column], 6) == want, column
        elif column == "level_fs":  # printed blank; inside Slurm it is infinite for a person
            assert shares == "parent"
            assert math.isnan(ours[column]) if name == "aDA" else ours[column] == math.inf
        else:  # printed for people only; ours is that of the account's best person
            assert ours[column] > 0


@pytest.mark.parametrize("case", of_kind("fair_tree_doc_vs_code"), ids=named)
def test_tied_accounts_merge_as_documented(case: dict[str, Any]) -> None:
    found = standings(case["tree"])
    want = case["docs_rule"]["fairshare"]
    assert {name: found[name]["fairshare"] for name in want} == want


@pytest.mark.parametrize("case", of_kind("classic"), ids=named)
def test_classic(case: dict[str, Any]) -> None:
    found = standings(case["tree"], algorithm="classic")
    for column, values in case["expect"].items():
        digits = case["printed_digits"].get(column, 6)
        assert {name: round(found[name][column], digits) for name in values} == values
    assert found["User6"]["fairshare"] == 0.0
    assert found["root"]["usage"] == case["total_usage"]


@pytest.mark.parametrize("case", of_kind("classic_norm_share"), ids=named)
def test_classic_equal_people_divide_the_share(case: dict[str, Any]) -> None:
    found = standings(_under_account(case, [1] * case["users"]), algorithm="classic")
    want = case["expect"]["norm_share"]
    assert all(round(found[f"u{at}"]["norm_shares"], 6) == want for at in range(case["users"]))


@pytest.mark.parametrize("case", of_kind("classic_norm_share_ratio"), ids=named)
def test_classic_unequal_people_divide_the_share(case: dict[str, Any]) -> None:
    shares = [case["user_shares"], *case["sibling_shares"]]
    found = standings(_under_account(case, shares), algorithm="classic")
    assert round(found["u0"]["norm_shares"], 6) == case["expect"]["norm_share"]


def _under_account(case: dict[str, Any], shares: list[int]) -> list[dict[str, Any]]:
    part = round(case["account_norm_share"] * 100)
    return [
        {"name": "root", "parent": None, "type": "account", "shares": 1},
        {"name": "A3", "parent": "root", "type": "account", "shares": part},
        {"name": "rest", "parent": "root", "type": "account", "shares": 100 - part},
        *(
            {"name": f"u{at}", "parent": "A3", "type": "user", "shares": share}
            for at, share in enumerate(shares)
        ),
    ]


@pytest.mark.parametrize("case", of_kind("classic_factor"), ids=named)
def test_classic_share_used_up(case: dict[str, Any]) -> None:
    """One person is all of the tree: U / S = 1."""
    tree = [
        {"name": "root", "parent": None, "type": "account", "shares": 1},
        {"name": "u", "parent": "root", "type": "user", "shares": 1, "usage": 7},
    ]
    found = standings(tree, algorithm="classic")["u"]
    assert found["effective_usage"] / found["norm_shares"] == case["U_over_S"]
    assert found["fairshare"] == case["expect"]["F"]


def test_decay_within_a_thousandth_of_theirs() -> None:
    """Slurm truncates ln 2 to 0.693 and linearises; for half-lives of days that is 0.02 %."""
    compared = 0
    for case in of_kind("decay_formula"):
        for derived in case.get("derived_here", []):
            if derived["half_life_s"] < 86_400:
                continue  # we offer days, and theirs is far off for minutes
            half_life = HalfLife(derived["half_life_s"])
            if "factor" in derived:
                ours = decay_factor(elapsed=derived["dt_s"], half_life=half_life)
                assert ours == pytest.approx(derived["factor"], rel=1e-3)
            else:  # they decay the whole tick as if it were used at its start
                dt = derived["dt_s"]
                ours = decayed(
                    rate=derived["billable"], start=0, end=dt, at=dt, half_life=half_life
                )
                assert ours == pytest.approx(derived["charge"], rel=1e-3)
            compared += 1
    assert compared == 3
