"""`manage.py whatif fairshare`: the answer, and a named place for every fault."""

import io
import json
import math
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from accounting.domain.decay import HalfLife, decayed
from accounting.whatif import fairshare
from ledger.errors import Invalid
from tests.cases.reading import SSHARE_COLUMNS, cases, standings

AT = "2026-11-29T12:00:00Z"
TREE: dict[str, Any] = {
    "accounts": [
        {"name": "science"},
        {"name": "vision", "parent": "science", "shares": 3},
        {"name": "language", "parent": "science", "shares": 1},
    ],
    "people": [
        {"account": "vision", "name": "ana", "shares": 1},
        {"account": "vision", "name": "ben", "shares": "parent"},
        {"account": "language", "name": "ana"},
    ],
}
USED = {"half_life_days": 7, "at": AT}


def ask(**changes: Any) -> dict[str, Any]:
    return fairshare.answer(json.dumps({**TREE, **changes}).encode())


def person(answer: dict[str, Any], account: str, name: str) -> dict[str, Any]:
    (found,) = (p for p in answer["people"] if (p["account"], p["name"]) == (account, name))
    return found


def line(**changes: Any) -> dict[str, Any]:
    usual = {"account": "vision", "person": "ana", "units": 2, "start": "2026-11-22T12:00:00Z"}
    return {**usual, **changes}


def test_answer_has_every_column_in_the_order_of_the_question() -> None:
    answer = ask(decayed_usage=[{"account": "vision", "person": "ana", "value": 30}])
    assert list(answer) == ["algorithm", "half_life_days", "at", "accounts", "people"]
    assert [account["name"] for account in answer["accounts"]] == ["science", "vision", "language"]
    assert list(answer["accounts"][0]) == ["name", "parent", "shares", *SSHARE_COLUMNS]
    assert list(answer["people"][0]) == ["account", "name", "shares", *SSHARE_COLUMNS]
    assert [(p["account"], p["name"]) for p in answer["people"]] == [
        ("vision", "ana"),
        ("vision", "ben"),
        ("language", "ana"),
    ]


def test_defaults_and_parent_shares() -> None:
    answer = ask()
    assert answer["algorithm"] == "fair_tree"
    assert [account["shares"] for account in answer["accounts"]] == [1, 3, 1]
    assert [p["shares"] for p in answer["people"]] == [1, "parent", 1]
    assert [p["fairshare"] for p in answer["people"]] == [1.0, 1.0, 1.0]


def test_infinite_levels_are_text_and_missing_ones_null() -> None:
    answer = ask()
    assert [account["level_fs"] for account in answer["accounts"]] == [None, "inf", "inf"]
    json.dumps(answer, allow_nan=False)


def test_an_account_without_people_has_no_rank() -> None:
    accounts = [*TREE["accounts"], {"name": "empty", "parent": "science"}]
    assert ask(accounts=accounts)["accounts"][3]["rank"] is None


def test_decimals_are_exact() -> None:
    """0.1 + 0.2 is 0.3, so language's ana and vision's ana (3 times the shares) tie."""
    answer = ask(
        decayed_usage=[
            {"account": "vision", "person": "ana", "value": 0.9},
            {"account": "language", "person": "ana", "value": 0.1},
            {"account": "language", "person": "ana", "value": 0.2},
        ]
    )
    assert answer["accounts"][2]["usage"] == 0.3
    assert answer["accounts"][0]["usage"] == 1.2
    # vision: 3/0.9, language: 1/0.3: equal, so the accounts merge; ben is first, the anas tie.
    assert [p["rank"] for p in answer["people"]] == [2, 3, 2]


def test_tiny_and_huge_values_stand_together() -> None:
    values = [1e-300, 1e29]
    answer = ask(
        decayed_usage=[
            {"account": account, "person": "ana", "value": value}
            for account, value in zip(("vision", "language"), values, strict=True)
        ]
    )
    assert [person(answer, a, "ana")["usage"] for a in ("vision", "language")] == values
    assert [p["rank"] for p in answer["people"]] == [2, 3, 1]


@pytest.mark.parametrize(
    ("case", "changes", "start_days", "end_days"),
    [
        ("closed", {"end": "2026-11-24T12:00:00Z"}, 7, 5),
        ("running, no end", {}, 7, 0),
        ("running, null", {"end": None}, 7, 0),
        ("ends later", {"end": "2027-01-01T00:00:00Z"}, 7, 0),
        ("other zone", {"start": "2026-11-22T14:00:00+02:00"}, 7, 0),
        ("not started", {"start": "2026-12-01T00:00:00Z"}, 0, 0),
        ("no length", {"end": "2026-11-22T12:00:00Z"}, 7, 7),
    ],
)
def test_usage_decays_as_the_closed_form(
    case: str, changes: dict[str, Any], start_days: float, end_days: float
) -> None:
    answer = ask(**USED, usage=[line(**changes)])
    want = decayed(
        rate=2,
        start=-start_days * 86_400,
        end=-end_days * 86_400,
        at=0,
        half_life=HalfLife.from_days(7),
    )
    found = person(answer, "vision", "ana")["usage"]
    assert found == pytest.approx(want, rel=1e-9, abs=1e-6), case
    assert answer["accounts"][0]["usage"] == found


def test_usage_of_nobody_listed_counts_for_the_account_alone() -> None:
    answer = ask(**USED, usage=[line(person=None, account="language")])
    assert answer["accounts"][2]["norm_usage"] == 1.0
    assert person(answer, "language", "ana")["usage"] == 0.0
    assert person(answer, "language", "ana")["rank"] == 1


def test_accounts_may_come_in_any_order() -> None:
    turned = list(reversed(TREE["accounts"]))
    usage = [line()]
    answer = ask(**USED, usage=usage, accounts=turned)
    straight = ask(**USED, usage=usage)
    assert answer["accounts"] == list(reversed(straight["accounts"]))
    assert answer["people"] == straight["people"]


@pytest.mark.parametrize("algorithm", ["fair_tree", "classic", "ratio"])
def test_agrees_with_the_domain_on_a_published_tree(algorithm: Any) -> None:
    (case,) = (c for c in cases("slurm_fair_share.json") if c["kind"] == "classic")
    accounts = [node for node in case["tree"] if node["type"] == "account"]
    people = [node for node in case["tree"] if node["type"] == "user"]
    answer = ask(
        algorithm=algorithm,
        accounts=[
            {"name": n["name"], "parent": n["parent"], "shares": n["shares"] or 0} for n in accounts
        ],
        people=[{"account": n["parent"], "name": n["name"], "shares": n["shares"]} for n in people],
        decayed_usage=[
            {"account": n["parent"], "person": n["name"], "value": n["usage"]} for n in people
        ],
    )
    want = standings(case["tree"], algorithm=algorithm)
    for row in answer["accounts"] + answer["people"]:
        for column in SSHARE_COLUMNS:
            expected = want[row["name"]][column]
            shown = "inf" if expected == math.inf else expected
            assert row[column] == (None if expected != expected else shown), (row, column)


def deep(levels: int) -> list[dict[str, Any]]:
    accounts: list[dict[str, Any]] = [{"name": "a1"}]
    accounts += [{"name": f"a{at}", "parent": f"a{at - 1}"} for at in range(2, levels + 1)]
    return accounts


def test_sixteen_levels_are_taken() -> None:
    assert len(ask(accounts=deep(16), people=[])["accounts"]) == 16


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("unknown field", {"half_life": 7}, "half_life"),
    ("unknown algorithm", {"algorithm": "fair"}, "algorithm"),
    ("algorithm of another kind", {"algorithm": ["fair_tree"]}, "algorithm"),
    ("half-life 0", {**USED, "half_life_days": 0, "usage": []}, "half_life_days"),
    ("half-life null", {**USED, "half_life_days": None, "usage": []}, "half_life_days"),
    ("half-life of a second", {**USED, "half_life_days": 0.00001}, "half_life_days"),
    ("half-life as text", {"half_life_days": "7"}, "half_life_days"),
    ("half-life missing", {"at": AT, "usage": []}, "half_life_days"),
    ("instant missing", {"half_life_days": 7, "usage": []}, "at"),
    ("time without zone", {"at": "2026-11-29T12:00:00"}, "at"),
    ("not a time", {"at": "yesterday"}, "at"),
    ("a time as a number", {"at": 1800000000}, "at"),
    ("a time long ago", {"at": "0001-01-01T00:00:00Z"}, "at"),
    ("accounts not a list", {"accounts": {}}, "accounts"),
    ("an account not an object", {"accounts": ["a"]}, "accounts[0]"),
    ("no name", {"accounts": [{"parent": None}]}, "accounts[0].name"),
    ("a blank name", {"accounts": [{"name": " "}]}, "accounts[0].name"),
    ("a name with a line break", {"accounts": [{"name": "a\nb"}]}, "accounts[0].name"),
    ("a long name", {"accounts": [{"name": "a" * 256}]}, "accounts[0].name"),
    ("a name twice", {"accounts": [*TREE["accounts"], {"name": "vision"}]}, "accounts[3].name"),
    ("unknown parent", {"accounts": [{"name": "a", "parent": "b"}]}, "accounts[0].parent"),
    ("parent of itself", {"accounts": [{"name": "a", "parent": "a"}]}, "accounts[0].parent"),
    (
        "a circle",
        {
            "accounts": [
                {"name": "top"},
                {"name": "a", "parent": "c"},
                {"name": "b", "parent": "a"},
                {"name": "c", "parent": "b"},
            ]
        },
        "accounts[1].parent",
    ),
    ("17 levels", {"accounts": deep(17), "people": []}, "accounts[16].parent"),
    ("negative shares", {"accounts": [{"name": "a", "shares": -1}]}, "accounts[0].shares"),
    ("broken shares", {"accounts": [{"name": "a", "shares": 1.5}]}, "accounts[0].shares"),
    ("too many shares", {"accounts": [{"name": "a", "shares": 2**31}]}, "accounts[0].shares"),
    ("another word", {"accounts": [{"name": "a", "shares": "all"}]}, "accounts[0].shares"),
    ("true is no number", {"accounts": [{"name": "a", "shares": True}]}, "accounts[0].shares"),
    ("null shares", {"accounts": [{"name": "a", "shares": None}]}, "accounts[0].shares"),
    ("person nowhere", {"people": [{"account": "x", "name": "ana"}]}, "people[0].account"),
    ("person of no account", {"people": [{"name": "ana"}]}, "people[0].account"),
    ("a person twice", {"people": [TREE["people"][0], TREE["people"][0]]}, "people[1].name"),
    (
        "shares of a person",
        {"people": [*TREE["people"], {"account": "vision", "name": "cyd", "shares": "x"}]},
        "people[3].shares",
    ),
    ("both usages", {**USED, "usage": [], "decayed_usage": []}, "decayed_usage"),
    ("usage of an unknown account", {**USED, "usage": [line(account="x")]}, "usage[0].account"),
    ("usage of a stranger", {**USED, "usage": [line(), line(person="eve")]}, "usage[1].person"),
    ("negative units", {**USED, "usage": [line(units=-1)]}, "usage[0].units"),
    ("absurd units", {**USED, "usage": [line(units=1e12)]}, "usage[0].units"),
    ("units as text", {**USED, "usage": [line(units="2")]}, "usage[0].units"),
    ("end before start", {**USED, "usage": [line(end="2026-11-22T11:59:59Z")]}, "usage[0].end"),
    ("start without zone", {**USED, "usage": [line(start="2026-11-22")]}, "usage[0].start"),
    ("start missing", {**USED, "usage": [{"account": "vision", "units": 1}]}, "usage[0].start"),
    (
        "negative value",
        {"decayed_usage": [{"account": "vision", "person": "ana", "value": -0.5}]},
        "decayed_usage[0].value",
    ),
    (
        "absurd value",
        {"decayed_usage": [{"account": "vision", "person": "ana", "value": 1e31}]},
        "decayed_usage[0].value",
    ),
]


@pytest.mark.parametrize(("case", "changes", "place"), FAULTS, ids=[f[0] for f in FAULTS])
def test_faults_name_their_place(case: str, changes: dict[str, Any], place: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(**changes)
    assert caught.value.field == place


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (b"", "line 1 column 1"),
        (b'{"accounts": [}', "line 1 column 15"),
        (b"[]", "document"),
        (b"\xff\xfe", "document"),
        (b'{"accounts": [], "accounts": []}', "document"),
        (b'{"accounts": [], "people": [], "half_life_days": NaN}', "document"),
        (b'{"accounts": [], "people": [], "half_life_days": -Infinity}', "document"),
        (b'{"accounts": [], "people": [], "half_life_days": 1e999999999}', "half_life_days"),
        (b'{"accounts": [], "people": [], "half_life_days": 1e99999999999999999999}', "document"),
        (b'{"accounts": [], "people": [], "half_life_days": ' + b"9" * 5000 + b"}", "document"),
        (b"[" * 100_000, "document"),
    ],
)
def test_broken_documents(document: bytes, place: str) -> None:
    with pytest.raises(Invalid) as caught:
        fairshare.answer(document)
    assert caught.value.field == place


def test_nobody_is_no_fault() -> None:
    answer = fairshare.answer(b'{"accounts": [], "people": []}')
    assert (answer["accounts"], answer["people"]) == ([], [])


class TestCommand:
    def run(self, *arguments: str) -> dict[str, Any]:
        output = io.StringIO()
        call_command("whatif", *arguments, stdout=output)
        return json.loads(output.getvalue())

    def test_reads_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "question.json"
        file.write_text(json.dumps(TREE))
        assert self.run("fairshare", str(file)) == ask()

    def test_reads_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(json.dumps(TREE).encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        assert self.run("fairshare", "-") == ask()

    def test_bad_input_exits_with_2_and_names_the_place(self, tmp_path: Path) -> None:
        file = tmp_path / "question.json"
        file.write_text(json.dumps({**TREE, "people": [{"account": "vision", "name": 7}]}))
        with pytest.raises(CommandError, match=r"people\[0\]\.name: must be text") as caught:
            self.run("fairshare", str(file))
        assert caught.value.returncode == 2

    def test_missing_file_exits_with_2(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="No such file") as caught:
            self.run("fairshare", str(tmp_path / "nothing.json"))
        assert caught.value.returncode == 2

    def test_unknown_question_is_refused(self) -> None:
        with pytest.raises(CommandError, match="invalid choice"):
            self.run("weather", "-")

    def test_touches_no_database(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every connection is broken, and the answer comes all the same."""
        calls = count()
        for connection in connections.all(initialized_only=False):
            monkeypatch.setattr(connection, "ensure_connection", lambda: next(calls))
        file = tmp_path / "question.json"
        file.write_text(json.dumps(TREE))
        self.run("fairshare", str(file))
        assert next(calls) == 0
