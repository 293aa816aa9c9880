"""`manage.py whatif preempt`: the plan or the wait, and a named place for every fault."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ledger.errors import Invalid
from preemption.whatif import preempt

QUESTION: dict[str, Any] = {
    "at": "2026-11-29T12:00:00Z",
    "pools": {"h100": {"capacity": 200, "price": 2}},
    "accounts": [
        {"name": "lab"},
        {"name": "nlp", "parent": "lab", "quotas": {"h100": {"guaranteed": 100}}},
        {"name": "vision", "parent": "lab", "quotas": {"h100": {"guaranteed": 100}}},
    ],
    "allocations": [
        {
            "key": "base",
            "account": "vision",
            "units": 100,
            "tier": "guaranteed",
            "class": "P1",
            "since": "2026-11-28T12:00:00Z",
        },
        {
            "key": "train",
            "account": "vision",
            "units": 64,
            "tier": "borrowed",
            "class": "P3",
            "since": "2026-11-28T12:00:00Z",
            "checkpoint_at": "2026-11-29T11:45:00Z",
            "reload_seconds": 1200,
            "warm_up_seconds": 600,
        },
        {
            "key": "sweep",
            "account": "vision",
            "units": 30,
            "min_units": 10,
            "tier": "spot",
            "class": "P3",
            "since": "2026-11-28T12:00:00+01:00",
        },
    ],
    "budgets": {"pool_percent": 50},
    "request": {"account": "nlp", "units": 90, "class": "P2"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The question with one value set, at a place like `allocations.0.units`."""
    found = copy.deepcopy(QUESTION)
    here: Any = found
    *steps, last = path.split(".")
    for step in steps:
        here = here[int(step) if isinstance(here, list) else step]
    here[int(last) if isinstance(here, list) else last] = value
    return found


def ask(document: dict[str, Any]) -> dict[str, Any]:
    return preempt.answer(json.dumps(document).encode())


def test_the_plan_in_order_with_its_cost() -> None:
    answer = ask(QUESTION)
    assert (answer["outcome"], answer["tier"], answer["free_units"]) == ("plan", "guaranteed", 6)
    assert [(a["key"], a["step"], a["mode"], a["units"], a["left"]) for a in answer["actions"]] == [
        ("sweep", "spot", "shrink", 20, 10),
        ("train", "borrowed P3", "checkpoint", 64, 0),
    ]
    assert answer["actions"][1]["tax"] == "96"
    assert answer["pool_budget"] == {"used": 0, "units": 84, "limit": 100, "window_seconds": 600}
    assert (answer["returns_guarantee"], answer["within_target"]) == (True, True)
    assert answer["ready_at"] == "2026-11-29T12:01:00Z"


def test_the_wait_says_until_when() -> None:
    answer = ask(changed("budgets", {"pool_percent": 35}))
    assert (answer["outcome"], answer["wait_until"]) == ("wait", "2026-11-29T12:10:00Z")
    assert [a["starts_at"][11:16] for a in answer["actions"]] == ["12:00", "12:10"]
    assert answer["obstacles"] == [
        {
            "code": "pool_budget",
            "allocations": 1,
            "units": 64,
            "until": "2026-11-29T12:10:00Z",
        }
    ]


def test_history_open_plans_and_override() -> None:
    taken = {"at": "2026-11-29T11:30:00Z", "job": "train", "units": 64}
    waits = ask({**QUESTION, "history": [taken]})
    assert (waits["outcome"], waits["wait_until"]) == ("wait", "2026-11-29T12:30:00Z")
    override = changed("request.override", True)
    assert ask({**override, "history": [taken]})["outcome"] == "plan"
    held = {"key": "plan-1", "account": "nlp", "units": 6}
    assert ask({**QUESTION, "open_plans": [held]})["free_units"] == 0


def test_refused_with_every_bound() -> None:
    answer = ask(changed("request.units", 300))
    assert answer["outcome"] == "refused"
    assert {block["limit"] for block in answer["blocking"]} >= {"capacity", "guarantees"}
    assert answer["obstacles"][-1]["code"] == "quota"


def test_borrowing_in_other_pools_counts_in_the_share() -> None:
    """nlp borrows all of another flavor: it takes nothing from who borrows less."""
    document = changed("pools.a100", {"capacity": 50})
    document["accounts"][2]["quotas"]["a100"] = {"guaranteed": 50}
    document["request"] |= {"units": 101, "pool": "h100"}
    for line in document["allocations"]:
        line["pool"] = "h100"
    document["allocations"].append(
        {
            "key": "other",
            "pool": "a100",
            "account": "nlp",
            "units": 50,
            "tier": "borrowed",
            "class": "P3",
            "since": "2026-11-28T12:00:00Z",
        }
    )
    answer = ask(document)
    assert answer["outcome"] == "refused"
    assert "share" in {obstacle["code"] for obstacle in answer["obstacles"]}


def test_an_elastic_request_is_answered_for_as_many_as_can_be_had() -> None:
    document = changed("request.units", 150)
    whole = ask(document)
    assert (whole["outcome"], whole["planned_units"]) != ("plan", 150)
    document["request"]["min_units"] = 1
    some = ask(document)
    assert some["outcome"] == "plan" and 1 <= some["planned_units"] < 150
    exactly = ask(changed("request.units", some["planned_units"]))
    assert exactly["actions"] == some["actions"]
    assert ask(changed("request.units", some["planned_units"] + 1))["outcome"] != "plan"


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("at", "yesterday", "at"),
        ("pools.h100.capacity", -1, "pools.h100.capacity"),
        ("pools.h100.size", 1, "pools.h100.size"),
        ("accounts.1.parent", "x", "accounts[1].parent"),
        ("accounts.1.name", "lab", "accounts[1].name"),
        ("accounts.0.quotas", {"x": {}}, "accounts[0].quotas.x"),
        ("accounts.0.quotas", {"h100": {"guaranteed": 1.5}}, "accounts[0].quotas.h100.guaranteed"),
        ("allocations.0.account", "x", "allocations[0].account"),
        ("allocations.0.tier", "x", "allocations[0].tier"),
        ("allocations.0.class", None, "allocations[0].class"),
        ("allocations.0.key", "train", "allocations[1].key"),
        ("allocations.0.min_units", 101, "allocations[0].min_units"),
        ("allocations.0.since", "2026-11-29T12:00:01Z", "allocations[0].since"),
        ("allocations.0.pool", "x", "allocations[0].pool"),
        ("budgets.pool_percent", 101, "budgets.pool_percent"),
        ("budgets.percent", 1, "budgets.percent"),
        ("history", [{"at": "2026-11-29T12:00:00Z", "job": "x"}], "history[0].units"),
        ("open_plans", [{"key": "x", "account": "lab"}], "open_plans[0].units"),
        ("request.class", "P9", "request.class"),
        ("request.aged", 1, "request.aged"),
        ("request", [], "request"),
    ],
)
def test_every_fault_names_its_place(path: str, value: Any, place: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(changed(path, value))
    assert (caught.value.code, caught.value.field) == ("whatif_invalid", place)


def test_p0_is_not_reached_by_waiting() -> None:
    document = changed("request", {"account": "nlp", "units": 1, "class": "P0", "aged": True})
    with pytest.raises(Invalid) as caught:
        ask(document)
    assert caught.value.field == "request.aged"


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "question.json"
    file.write_text(json.dumps(QUESTION))
    output = io.StringIO()
    call_command("whatif", "preempt", str(file), stdout=output)
    assert json.loads(output.getvalue()) == ask(QUESTION)
    file.write_text("{}")
    with pytest.raises(CommandError, match="at: is required"):
        call_command("whatif", "preempt", str(file))
