"""`manage.py whatif quota`: the answer, and a named place for every fault."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ledger.errors import Invalid
from quota import whatif

TREE: list[dict[str, Any]] = [
    {"name": "science", "pools": {"h100": {"guaranteed": 60}}},
    {"name": "vision", "parent": "science", "pools": {"h100": {"guaranteed": 20, "used": 30}}},
    {
        "name": "language",
        "parent": "science",
        "weight": 0.5,
        "pools": {"h100": {"guaranteed": 20, "borrowing_limit": 10, "lending_limit": None}},
    },
]
CELL = {
    "guaranteed",
    "borrowing_limit",
    "lending_limit",
    "subtree",
    "local",
    "used",
    "available",
    "potential",
    "headroom",
    "borrowed",
    "overshoot",
}


def ask(**document: Any) -> dict[str, Any]:
    return whatif.answer(json.dumps({"nodes": TREE, **document}).encode())


def job(**more: Any) -> dict[str, Any]:
    return {"key": "j", "account": "language", "pool": "h100", "units": 20, **more}


def verdict(**more: Any) -> dict[str, Any]:
    document = {name: more.pop(name) for name in ("pools", "states") if name in more}
    (found,) = ask(requests=[job(**more)], **document)["requests"]
    return found


def test_every_node_and_pool_with_every_number() -> None:
    answer = ask()
    assert list(answer) == ["nodes", "requests"]
    assert answer["requests"] == []
    science, vision, language = answer["nodes"]
    assert [n["name"] for n in answer["nodes"]] == ["science", "vision", "language"]
    assert set(vision["pools"]["h100"]) == CELL
    assert science["pools"]["h100"]["subtree"] == 100
    assert science["pools"]["h100"]["used"] == 30
    assert vision["pools"]["h100"]["available"] == 70
    assert language["pools"]["h100"]["available"] == 30
    assert language["pools"]["h100"]["potential"] == 30


def test_dominant_share_plain_and_weighted() -> None:
    nodes = json.loads(json.dumps(TREE))
    nodes[1]["weight"] = 2
    vision = ask(nodes=nodes)["nodes"][1]
    assert vision["borrowing"] is True
    assert vision["dominant_resource"] == "h100"
    assert vision["dominant_share"] == 0.1
    assert vision["weighted_share"] == 0.05
    assert vision["rounded_weighted_share"] == 50
    nodes[1]["weight"] = 0
    vision = ask(nodes=nodes)["nodes"][1]
    assert (vision["weighted_share"], vision["rounded_weighted_share"]) == ("inf", "inf")


def test_pools_of_one_resource_add_up() -> None:
    """10 of 40 units of h100 in two clusters are borrowed; the name says so, or `resource`."""

    def share(first: str, second: str, **document: Any) -> float:
        nodes = [
            {"name": "top", "pools": {first: {"guaranteed": 10}, second: {"guaranteed": 30}}},
            {"name": "a", "parent": "top", "pools": {first: {"used": 10}}},
        ]
        return ask(nodes=nodes, **document)["nodes"][1]["dominant_share"]

    assert share("berlin/h100", "paris/h100") == 0.25
    assert share("b", "p") == 1.0
    assert share("b", "p", pools={"b": {"resource": "h"}, "p": {"resource": "h"}}) == 0.25


def test_a_verdict_with_the_state_after_it() -> None:
    found = verdict(**{"class": "P1"})
    assert found == {
        "key": "j",
        "account": "language",
        "pool": "h100",
        "verdict": "admitted",
        "tier": "guaranteed",
        "units": 20,
        "grants": [{"pool": "h100", "tier": "guaranteed", "units": 20, "duration_seconds": None}],
        "blocking": [],
        "state": {
            "h100": {
                "free": 50,
                "nodes": {
                    "science": {"used": 50, "available": 50},
                    "vision": {"used": 30, "available": 50},
                    "language": {"used": 20, "available": 10},
                },
            }
        },
    }


def test_a_denial_names_node_and_limit_and_leaves_the_state() -> None:
    found = verdict(units=75)
    assert (found["verdict"], found["tier"], found["units"]) == ("denied", None, 0)
    assert found["blocking"] == [
        {
            "pool": "h100",
            "node": "language",
            "limit": "borrowing_limit",
            "available": 30,
            "short_by": 45,
        },
        {"pool": "h100", "node": "science", "limit": "guarantees", "available": 70, "short_by": 5},
    ]
    assert found["state"]["h100"]["nodes"]["language"] == {"used": 0, "available": 30}


def test_requests_are_decided_in_order() -> None:
    requests = [job(key=str(at), units=15) for at in range(3)]
    answer = ask(requests=requests)["requests"]
    assert [(r["tier"], r["units"]) for r in answer] == [
        ("guaranteed", 15),
        ("borrowed", 15),
        (None, 0),
    ]


@pytest.mark.parametrize(
    ("case", "more", "wanted"),
    [
        ("elastic", {"units": 90, "min_units": 1}, ("borrowed", 30)),
        ("gang", {"units": 90, "min_units": 90}, (None, 0)),
        ("P0", {"units": 21, "class": "P0"}, (None, 0)),
        ("only guaranteed", {"units": 21, "tier": "guaranteed"}, (None, 0)),
        ("spot", {"units": 70, "tier": "spot"}, ("spot", 70)),
        ("more spot than is idle", {"units": 71, "tier": "spot"}, (None, 0)),
        ("or spot", {"units": 70, "spot_allowed": True}, ("spot", 70)),
        ("nothing", {"units": 0}, (None, 0)),
        ("nulls are absent", {"min_units": None, "class": None, "tier": None}, ("guaranteed", 20)),
        ("too little capacity", {"pools": {"h100": {"capacity": 45}}}, (None, 0)),
        ("capacity for spot", {"units": 90, "tier": "spot", "pools": {"h100": {"capacity": 120}}},
         ("spot", 90)),
        ("slow", {"units": 25, "reclaim_seconds": 301, "account": "vision",
                  "pools": {"h100": {"capacity": 100, "reclaim_target_seconds": 300}}},
         ("borrowed", 25)),
        ("slow beyond its own", {"units": 61, "reclaim_seconds": 301, "account": "vision",
                  "pools": {"h100": {"capacity": 100, "reclaim_target_seconds": 300}}},
         (None, 0)),
    ],
)  # fmt: skip
def test_rules(case: str, more: dict[str, Any], wanted: tuple[str | None, int]) -> None:
    found = verdict(**more)
    assert (found["tier"], found["units"]) == wanted, case


def test_a_companion_set_passes_whole_or_not_at_all() -> None:
    nodes = [{"name": "a", "pools": {"gpu": {"guaranteed": 8}, "cpu": {"guaranteed": 64}}}]
    usual = {"account": "a", "pool": "gpu", "units": 8}
    requests = [
        {**usual, "key": "1", "companions": [{"pool": "cpu", "units": 65}]},
        {**usual, "key": "2", "companions": [{"pool": "cpu", "units": 64}]},
    ]
    denied, admitted = ask(nodes=nodes, requests=requests)["requests"]
    assert [b["pool"] for b in denied["blocking"]] == ["cpu"]
    assert set(denied["state"]) == {"gpu", "cpu"}
    assert [(g["pool"], g["units"]) for g in admitted["grants"]] == [("gpu", 8), ("cpu", 64)]


@pytest.mark.parametrize("others", [0, 25, 70])
@pytest.mark.parametrize("own", [0, 12])
@pytest.mark.parametrize("cap", [0, 15, 90])
def test_capped_teams_get_what_their_department_leaves_and_no_more(
    cap: int, own: int, others: int
) -> None:
    """Q_eff = min(Q_team, Q_dept - use of the other teams), beside units idle elsewhere."""
    department = 80
    nodes: list[dict[str, Any]] = [
        {"name": "lab"},
        {"name": "elsewhere", "parent": "lab", "pools": {"h100": {"guaranteed": 500}}},
        {
            "name": "dept",
            "parent": "lab",
            "pools": {"h100": {"guaranteed": department, "borrowing_limit": 0}},
        },
        {
            "name": "team",
            "parent": "dept",
            "pools": {"h100": {"borrowing_limit": cap, "used": own}},
        },
        {"name": "rest", "parent": "dept", "pools": {"h100": {"used": others}}},
    ]
    room = max(0, min(cap, department - others) - own)
    asked = [
        {"key": "more", "account": "team", "pool": "h100", "units": room + 1},
        {"key": "all", "account": "team", "pool": "h100", "units": room},
        {"key": "one", "account": "team", "pool": "h100", "units": 1},
    ]
    found = ask(nodes=nodes, requests=asked)
    assert found["nodes"][3]["pools"]["h100"]["available"] == room
    verdicts = [request["verdict"] for request in found["requests"]]
    assert verdicts == ["denied", "admitted", "denied"]


def test_states_can_be_fewer() -> None:
    assert verdict(states="none")["state"] == {}
    assert list(verdict(states="path")["state"]["h100"]["nodes"]) == ["language", "science"]
    assert verdict(states="path")["state"]["h100"]["nodes"]["science"]["available"] == 50


def test_amounts_up_to_what_other_systems_write() -> None:
    nodes = [{"name": "a", "pools": {"p": {"guaranteed": 2**63 - 1}}}]
    assert ask(nodes=nodes)["nodes"][0]["pools"]["p"]["potential"] == 2**63 - 1


def test_nobody_is_no_fault() -> None:
    assert whatif.answer(b'{"nodes": []}') == {"nodes": [], "requests": []}
    assert whatif.answer(b'{"nodes": [{"name": "a"}]}')["nodes"][0]["pools"] == {}


def node(**cell: Any) -> dict[str, Any]:
    return {"nodes": [{"name": "a", "pools": {"p": cell}}]}


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("nodes no list", {"nodes": {}}, "nodes"),
    ("no name", {"nodes": [{}]}, "nodes[0].name"),
    ("a name twice", {"nodes": [*TREE, {"name": "vision"}]}, "nodes[3].name"),
    ("unknown parent", {"nodes": [{"name": "a", "parent": "b"}]}, "nodes[0].parent"),
    (
        "a circle",
        {"nodes": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]},
        "nodes[0].parent",
    ),
    (
        "17 levels below the root",
        {"nodes": [{"name": str(n), "parent": str(n - 1) if n else None} for n in range(18)]},
        "nodes[17].parent",
    ),
    ("pools no object", {"nodes": [{"name": "a", "pools": []}]}, "nodes[0].pools"),
    ("unknown field", node(nominal=5), "nodes[0].pools.p.nominal"),
    ("negative", node(guaranteed=-1), "nodes[0].pools.p.guaranteed"),
    ("null guarantee", node(guaranteed=None), "nodes[0].pools.p.guaranteed"),
    ("broken", node(used=1.5), "nodes[0].pools.p.used"),
    ("text", node(borrowing_limit="none"), "nodes[0].pools.p.borrowing_limit"),
    ("beyond 64 bits", node(lending_limit=2**63), "nodes[0].pools.p.lending_limit"),
    ("true is no number", node(used=True), "nodes[0].pools.p.used"),
    ("negative weight", {"nodes": [{"name": "a", "weight": -1}]}, "nodes[0].weight"),
    ("weight as text", {"nodes": [{"name": "a", "weight": "2"}]}, "nodes[0].weight"),
    (
        "huge with requests",
        {
            **node(guaranteed=2**53 + 1),
            "requests": [{"key": "j", "account": "a", "pool": "p", "units": 1}],
        },
        "nodes[0].pools.p.guaranteed",
    ),
    ("requests no list", {"requests": {}}, "requests"),
    (
        "no key",
        {"requests": [{"account": "vision", "pool": "h100", "units": 1}]},
        "requests[0].key",
    ),
    ("a key twice", {"requests": [job(), job()]}, "requests[1].key"),
    ("unknown account", {"requests": [job(account="x")]}, "requests[0].account"),
    ("unknown pool", {"requests": [job(pool="x")]}, "requests[0].pool"),
    ("negative units", {"requests": [job(units=-1)]}, "requests[0].units"),
    ("absurd units", {"requests": [job(units=2**53 + 1)]}, "requests[0].units"),
    ("more least than wanted", {"requests": [job(min_units=21)]}, "requests[0].min_units"),
    ("unknown class", {"requests": [job(**{"class": "P4"})]}, "requests[0].class"),
    ("unknown tier", {"requests": [job(tier="free")]}, "requests[0].tier"),
    ("tier of another kind", {"requests": [job(tier=["spot"])]}, "requests[0].tier"),
    ("no flag", {"requests": [job(spot_allowed=1)]}, "requests[0].spot_allowed"),
    ("no time", {"requests": [job(duration_seconds=0)]}, "requests[0].duration_seconds"),
    (
        "a pool twice in a set",
        {"requests": [job(companions=[{"pool": "h100", "units": 1}])]},
        "requests[0].companions[0].pool",
    ),
    ("unknown states", {"states": "some"}, "states"),
    ("no capacity", {"pools": {"h100": {"unavailable": 1}}}, "pools.h100.capacity"),
    ("unknown in a pool", {"pools": {"h100": {"size": 1}}}, "pools.h100.size"),
    ("a pool no object", {"pools": {"h100": 5}}, "pools.h100"),
]


@pytest.mark.parametrize(("case", "change", "place"), FAULTS, ids=[f[0] for f in FAULTS])
def test_faults_name_their_place(case: str, change: dict[str, Any], place: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(**change)
    assert caught.value.field == place
    assert caught.value.code == "whatif_invalid"


def test_states_of_everybody_are_bounded() -> None:
    nodes = [{"name": f"a{at}", "pools": {"p": {"guaranteed": 1}}} for at in range(2001)]
    requests = [{"key": str(k), "account": "a0", "pool": "p", "units": 0} for k in range(1000)]
    with pytest.raises(Invalid) as caught:
        ask(nodes=nodes, requests=requests)
    assert caught.value.field == "requests"
    assert len(ask(nodes=nodes, requests=requests, states="path")["requests"]) == 1000


class TestCommand:
    def test_reads_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "question.json"
        file.write_text(json.dumps({"nodes": TREE, "requests": [job()]}))
        output = io.StringIO()
        call_command("whatif", "quota", str(file), stdout=output)
        assert json.loads(output.getvalue()) == ask(requests=[job()])

    def test_bad_input_exits_with_2_and_names_the_place(self, tmp_path: Path) -> None:
        file = tmp_path / "question.json"
        file.write_text(json.dumps({"nodes": [{"name": 7}]}))
        with pytest.raises(CommandError, match=r"nodes\[0\]\.name: must be text") as caught:
            call_command("whatif", "quota", str(file))
        assert caught.value.returncode == 2
