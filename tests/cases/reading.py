"""Loads the handed cases, byte for byte as published, and puts their trees into our notation."""

import json
from pathlib import Path
from typing import Any

from accounting.domain.fairshare import NO_PARENT, Algorithm, FairshareTree, Usage, evaluate

DATA = Path(__file__).parent / "data"

SSHARE_COLUMNS = (
    "norm_shares",
    "usage",
    "norm_usage",
    "effective_usage",
    "level_fs",
    "fairshare",
    "rank",
)


def cases(file: str) -> list[dict[str, Any]]:
    return json.loads((DATA / file).read_text())["cases"]


def standings(
    tree: list[dict[str, Any]], *, algorithm: Algorithm = "fair_tree"
) -> dict[str, dict[str, float]]:
    """Evaluate a case's tree: name -> column -> number, accounts and people in one table."""
    accounts = [node for node in tree if node["type"] in ("account", "bank")]
    people = [node for node in tree if node["type"] == "user"]
    index = {node["name"]: at for at, node in enumerate(accounts)}

    def shares(nodes: list[dict[str, Any]]) -> list[int]:
        return [n["shares"] if isinstance(n["shares"], int) else 0 for n in nodes]

    def transparent(nodes: list[dict[str, Any]]) -> list[bool]:
        return [n["shares"] == "parent" for n in nodes]

    shape = FairshareTree.build(
        account_parents=[
            NO_PARENT if node["parent"] is None else index[node["parent"]] for node in accounts
        ],
        account_shares=shares(accounts),
        account_transparent=transparent(accounts),
        person_accounts=[index[node["parent"]] for node in people],
        person_shares=shares(people),
        person_transparent=transparent(people),
    )
    usage = Usage(tree=shape, people=[node.get("usage", 0) for node in people])
    result = evaluate(shape, usage, algorithm=algorithm)
    return {
        node["name"]: {column: getattr(standing, column)[at].item() for column in SSHARE_COLUMNS}
        for nodes, standing in ((accounts, result.accounts), (people, result.people))
        for at, node in enumerate(nodes)
    }
