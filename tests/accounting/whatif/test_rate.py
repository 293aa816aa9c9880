"""`whatif rate`: the documented example, exact amounts, and faults that name their place."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounting.whatif import rate
from ledger.errors import Invalid

GUIDE = (Path(__file__).parents[3] / "docs/operator/whatif.md").read_text()
BLOCKS = dict(re.findall(r"```json rate-(question|answer)\n(.*?)```", GUIDE, re.DOTALL))
QUESTION = json.loads(BLOCKS["question"])


def ask(question: dict[str, Any]) -> dict[str, Any]:
    return rate.answer(json.dumps(question).encode())


def shortened(found: Any, wanted: Any) -> Any:
    """Only what the guide prints."""
    if isinstance(wanted, dict):
        return {name: shortened(found[name], wanted[name]) for name in wanted}
    if isinstance(wanted, list):
        return [shortened(*pair) for pair in zip(found, wanted, strict=True)]
    return found


def test_the_example_answers_as_printed() -> None:
    wanted = json.loads(BLOCKS["answer"])
    found = rate.answer(BLOCKS["question"].encode())
    assert shortened(found, wanted) == wanted


def test_every_field_of_the_answer_is_documented() -> None:
    found = ask(QUESTION | {"labels": ["project"]})
    section = GUIDE.split("## `whatif rate`", 1)[1]
    for name in (*found, *found["lines"][0], *found["unrated"][0]):
        assert f"`{name}" in section or f".{name}`" in section, name


def test_the_command_needs_no_database(tmp_path: Path) -> None:
    file = tmp_path / "question.json"
    file.write_text(json.dumps(QUESTION))
    out = StringIO()
    call_command("whatif", "rate", str(file), stdout=out)
    assert json.loads(out.getvalue())["total"] == "153601.40"


def test_sums_by_account_flavor_and_period_add_up_to_the_total() -> None:
    found = ask(QUESTION)
    for name in ("accounts", "flavors", "periods"):
        cents = sum(int(amount.replace(".", "")) for amount in found[name].values())
        assert cents == int(found["total"].replace(".", ""))


def test_labels_days_and_grades() -> None:
    lines = [
        {"flavor": "h100", "list_price": 2},
        {"flavor": "h100", "list_price": 1, "grade": "academic"},
    ]
    record = {
        "account": "a",
        "pool": "lab",
        "flavor": "h100",
        "units": 1,
        "start": "2026-10-24T22:00:00Z",
        "end": "2026-10-26T00:00:00Z",
        "labels": {"project": "x"},
    }
    found = ask(
        {
            "currency": "JPY",
            "time_zone": "Europe/Berlin",
            "bucket": "day",
            "labels": ["project", "model"],
            "rates": [{"effective_from": "2026-01-01T00:00:00Z", "lines": lines}],
            "grades": [{"account": "a", "from": "2026-10-25T23:00:00Z", "grade": "academic"}],
            "records": [record],
        }
    )
    assert [(line["period"], line["grade"], line["amount"]) for line in found["lines"]] == [
        ("2026-10-25", None, "50"),
        ("2026-10-26", "academic", "1"),
    ]
    assert found["lines"][0]["labels"] == {"project": "x", "model": None}
    assert found["lines"][0]["unit_seconds"] == "90000"


def changed(path: str, value: Any) -> dict[str, Any]:
    """The question with one place changed; a value of `...` takes the place out."""
    question = json.loads(BLOCKS["question"])
    *above, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    here = question
    for step in above:
        here = here[step]
    if value is ...:
        del here[last]
    elif isinstance(here, list) and last == len(here):
        here.append(value)
    else:
        here[last] = value
    return question


@pytest.mark.parametrize(
    ("path", "value", "place", "words"),
    [
        ("currency", "euro", "currency", "three capital letters"),
        ("time_zone", "Mars/Base", "time_zone", "IANA"),
        ("time_zone", "../etc", "time_zone", "IANA"),
        ("bucket", "week", "bucket", "day, month"),
        ("labels", "x", "labels", "list"),
        ("records", ..., "records", "required"),
        ("extra", 1, "extra", "unknown"),
        ("rates/0/currency", "USD", "rates[0].currency", "must be EUR"),
        ("rates/0/lines", [], "rates[0].lines", "at least one"),
        ("rates/0/lines/1/list_price", -1, "rates[0].lines[1].list_price", "0 to 1000000000"),
        ("rates/0/lines/1/list_price", "1", "rates[0].lines[1].list_price", "a number"),
        ("rates/0/lines/1/list_price", 1e-13, "rates[0].lines[1].list_price", "12 decimals"),
        ("rates/0/lines/1/tier", "best", "rates[0].lines[1].tier", "guaranteed"),
        ("rates/0/lines/1/tier", None, "rates[0].lines[1]", "lines[0] has a price"),
        ("rates/0/lines/0/grade", " ", "rates[0].lines[0].grade", "printable"),
        ("rates/0/effective_from", "2026-01-01", "rates[0].effective_from", "zone"),
        ("rates/0/effective_until", "2025-01-01T00:00:00Z", "rates[0].effective_until", "after"),
        (
            "rates/1",
            {
                "effective_from": "2025-12-31T23:00:00Z",
                "lines": [{"flavor": "h100", "list_price": 1}],
            },
            "rates[1].effective_from",
            "there already",
        ),
        ("grades", [{"account": "a", "grade": "x"}], "grades[0].from", "required"),
        ("records/0/end", "2026-11-01T00:00:00Z", "records[0].end", "before the start"),
        ("records/0/end", "2099-11-01T00:00:00Z", "records[0].end", "3660 days"),
        ("records/0/end", None, "records[0].end", "null"),
        ("records/0/units", -1, "records[0].units", "0 to"),
        ("records/0/tier", "gold", "records[0].tier", "spot"),
        ("records/0/memory_gb", "x", "records[0].memory_gb", "a number"),
        ("records/0/labels", {"a": 1}, "records[0].labels.a", "text"),
        ("records/0/labels", [], "records[0].labels", "an object"),
    ],
)
def test_a_fault_names_its_place(path: str, value: Any, place: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(changed(path, value))
    assert (caught.value.code, caught.value.field) == ("whatif_invalid", place)
    assert words in caught.value.detail


def test_two_grades_of_one_instant_are_refused() -> None:
    grade = {"account": "a", "from": "2026-01-01T00:00:00Z", "grade": "x"}
    with pytest.raises(Invalid) as caught:
        ask(QUESTION | {"grades": [grade, grade]})
    assert caught.value.field == "grades[1].from"
