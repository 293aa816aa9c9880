"""The examples of docs/operator/whatif.md are run, and its tables name every field."""

import json
import re
from pathlib import Path
from typing import Any, get_args

from preemption.domain.values import ObstacleCode
from preemption.whatif import preempt, reclaim

GUIDE = (Path(__file__).parents[2] / "docs/operator/whatif.md").read_text()


def block(kind: str) -> str:
    (text,) = re.findall(rf"```json {kind}\n(.*?)```", GUIDE, re.DOTALL)
    return text


def section(question: str) -> str:
    return GUIDE.split(f"## `whatif {question}`", 1)[1].split("\n## ", 1)[0]


def shortened(value: Any, like: Any) -> Any:
    """Only what is printed."""
    if isinstance(like, dict):
        return {name: shortened(value[name], part) for name, part in like.items()}
    if isinstance(like, list):
        assert len(value) == len(like)
        return [shortened(each, part) for each, part in zip(value, like, strict=True)]
    return value


def test_the_plan_is_the_printed_one() -> None:
    wanted = json.loads(block("preempt-answer"))
    answer = preempt.answer(block("preempt-question").encode())
    assert shortened(answer, wanted) == wanted


def test_the_stages_are_the_printed_ones() -> None:
    wanted = json.loads(block("reclaim-answer"))
    answer = reclaim.answer(block("reclaim-question").encode())
    assert shortened(answer, wanted) == wanted


def test_every_field_of_the_answers_is_explained() -> None:
    plan = preempt.answer(block("preempt-question").encode())
    stages = reclaim.answer(block("reclaim-question").encode())
    for answer, text in ((plan, section("preempt")), (stages, section("reclaim"))):
        names = set(answer)
        for value in answer.values():
            parts = value if isinstance(value, list) else [value]
            names |= {name for part in parts if isinstance(part, dict) for name in part}
        missing = [n for n in sorted(names) if not re.search(rf"[`.]{n}(\[\])?`", text)]
        assert missing == []


def test_every_obstacle_is_explained() -> None:
    text = section("preempt")
    assert [code for code in get_args(ObstacleCode) if f"`{code}`" not in text] == []
