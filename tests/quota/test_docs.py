"""The examples of docs/operator/whatif.md are run, and the tables of docs/user/quota.md checked."""

import json
import re
from pathlib import Path
from typing import get_args

from quota import whatif
from quota.domain.batch import LimitName

DOCS = Path(__file__).parents[2] / "docs"
OPERATOR = (DOCS / "operator/whatif.md").read_text()
GUIDE = (DOCS / "user/quota.md").read_text()


def block(kind: str) -> str:
    (found,) = re.findall(rf"```json {kind}\n(.*?)```", OPERATOR, re.DOTALL)
    return found


def table(heading: str) -> list[list[str]]:
    """Cells of the first table after a heading, without head and rule."""
    section = GUIDE.split(heading, 1)[1]
    lines = re.search(r"\n\n((?:\|.*\n)+)", section)
    assert lines is not None
    rows = [line.strip("|").split("|") for line in lines.group(1).splitlines()]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_example_answers_as_printed() -> None:
    wanted = json.loads(block("quota-answer"))
    answer = whatif.answer(block("quota-question").encode())["requests"]
    assert [{name: row[name] for name in wanted[0]} for row in answer] == wanted


def test_the_guide_has_the_numbers_of_its_tree() -> None:
    nodes = {n["name"]: n for n in whatif.answer(block("quota-question").encode())["nodes"]}
    columns = ("subtree", "local", "used", "available", "potential")
    printed = {row[0]: [int(cell) for cell in row[1:]] for row in table("With the numbers above")}
    for name, numbers in printed.items():
        assert [nodes[name]["pools"]["h100"][column] for column in columns] == numbers, name
    assert set(printed) == set(nodes)
    assert nodes["vision"]["dominant_share"] == 10 / 110
    assert nodes["vision"]["rounded_weighted_share"] == 91


def test_every_limit_is_explained() -> None:
    explained = {
        name for row in table("## Why a job is denied") for name in re.findall(r"`(\w+)`", row[0])
    }
    assert explained == set(get_args(LimitName))
