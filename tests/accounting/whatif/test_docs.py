"""The examples of docs/operator/whatif.md are run, and the tables of the user guide checked."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accounting.whatif import fairshare

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"```json (question|answer)\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall((DOCS / "operator/whatif.md").read_text())
QUESTIONS = [text for kind, text in BLOCKS if kind == "question"]


def test_the_examples_are_found() -> None:
    assert [kind for kind, _ in BLOCKS] == ["question", "answer", "question"]


def test_first_example_answers_as_printed() -> None:
    answer = fairshare.answer(QUESTIONS[0].encode())
    wanted = json.loads(BLOCKS[1][1])
    rows = answer["accounts"] + answer["people"]
    assert [{name: row[name] for name in wanted[0]} for row in rows] == wanted


def test_second_example_decays_to_the_number_of_the_user_guide() -> None:
    ana = fairshare.answer(QUESTIONS[1].encode())["people"][0]
    assert f"{ana['usage']:,.0f}" == "329,040"
    assert "329,040" in (DOCS / "user/fair-share.md").read_text()


@pytest.mark.parametrize(
    ("algorithm", "heading", "columns"),
    [
        ("fair_tree", "## Fair Tree", ("level_fs", "fairshare")),
        ("classic", "## Classic", ("norm_shares", "norm_usage", "fairshare")),
    ],
)
def test_tables_of_the_user_guide(algorithm: str, heading: str, columns: tuple[str, ...]) -> None:
    question = {**json.loads(QUESTIONS[0]), "algorithm": algorithm}
    answer = fairshare.answer(json.dumps(question).encode())
    guide = (DOCS / "user/fair-share.md").read_text()
    section = guide.split(heading, 1)[1].split("\n## ", 1)[0]
    table = {
        cells[0].strip(): [cell.strip() for cell in cells]
        for cells in (line.strip("|").split("|") for line in section.splitlines() if "|" in line)
    }
    rows: list[dict[str, Any]] = answer["people"]
    for row in rows:
        printed = table[row["name"]]
        for column in columns:
            shown = "infinite" if row[column] == "inf" else f"{row[column]:.4g}"
            assert shown in {cell if cell == "infinite" else _short(cell) for cell in printed}
        assert str(row["rank"]) in printed


def _short(cell: str) -> str:
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return cell
