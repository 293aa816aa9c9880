"""Account trees from sacctmgr dumps, YAML and CSV, and the rules all three share."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tenancy.importers import csv_tree, sacctmgr, yaml_tree
from tenancy.importers.tree import (
    PARENT,
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    TreePlan,
    TreeReading,
)

SAMPLE = Path(__file__).parents[3] / "demo" / "samples" / "sacctmgr_dump.cfg"

YAML_TREE = """
accounts:
  - name: research
    shares: 60
    description: All of research
    people:
      - max
    accounts:
      - name: nlp
        shares: 40
        people:
          - {name: ana, shares: 3}
          - {name: cy, shares: parent}
  - name: infra
    parent: platform
    shares: 0
  - {name: platform, shares: parent}
people:
  - {name: ana, display_name: Ana Ruiz, email: ana@example.org}
"""

CSV_TREE = """account,parent,person,shares,description,display_name,email
nlp,research,,40,,,
infra,platform,,0,,,
nlp,,ana,3,,Ana Ruiz,
research,,,60,All of research,,
platform,,,parent,,,
research,,max,,,,
nlp,,cy,parent,,,

,,ana,,,,ana@example.org
"""

SACCTMGR_TREE = r"""
Cluster - 'lab':Fairshare=1
Parent - 'nlp'
User - 'ana':DefaultAccount='nlp':Fairshare=3:AdminLevel='Operator'
User - 'cy':fairshare=parent
Parent - "root"
User - 'root':DefaultAccount='root':Fairshare=1
Account - 'research':FairShare=60:MaxTRESPerJob=node=5,cpu=9:Description='All of research'
Account - 'platform':Fairshare=2147483647
Parent - 'platform'
Account - 'infra':Description='it\'s:here':Fairshare=0
Parent - 'research'
Account - 'nlp':Organization='x':Fairshare=40
User - 'max'
"""


def yaml_reading(text: str) -> TreeReading:
    return yaml_tree.read(io.StringIO(text))


def csv_reading(text: str) -> TreeReading:
    return csv_tree.read(io.StringIO(text))


def sacctmgr_reading(text: str) -> TreeReading:
    return sacctmgr.read(io.StringIO(text))


def codes(reading: TreeReading) -> list[tuple[int, str]]:
    return [(problem.line, problem.code) for problem in reading.problems]


WANT_ACCOUNTS = {
    ("research", None, 60),
    ("nlp", "research", 40),
    ("infra", "platform", 0),
    ("platform", None, PARENT),
}
WANT_ASSOCIATIONS = {
    AssociationEntry(account="research", person="max", shares=1),
    AssociationEntry(account="nlp", person="ana", shares=3),
    AssociationEntry(account="nlp", person="cy", shares=PARENT),
}


@pytest.mark.parametrize(
    ("read", "text"),
    [(yaml_reading, YAML_TREE), (csv_reading, CSV_TREE), (sacctmgr_reading, SACCTMGR_TREE)],
    ids=["yaml", "csv", "sacctmgr"],
)
def test_three_ways_to_write_one_tree(read: Callable[[str], TreeReading], text: str) -> None:
    reading = read(text)
    assert reading.problems == ()
    plan = reading.plan
    accounts = {(entry.name, entry.parent, entry.shares) for entry in plan.accounts}
    assert accounts == WANT_ACCOUNTS
    assert set(plan.associations) == WANT_ASSOCIATIONS
    assert {entry.name for entry in plan.people} == {"ana", "cy", "max"}
    seen: set[str | None] = {None}
    for entry in plan.accounts:
        assert entry.parent in seen, "parents come first"
        seen.add(entry.name)


@pytest.mark.parametrize("reading", [yaml_reading(YAML_TREE), csv_reading(CSV_TREE)])
def test_people_and_descriptions_are_kept(reading: TreeReading) -> None:
    (ana,) = [person for person in reading.plan.people if person.name == "ana"]
    assert ana == PersonEntry(name="ana", display_name="Ana Ruiz", email="ana@example.org")
    (research,) = [entry for entry in reading.plan.accounts if entry.name == "research"]
    assert research.description == "All of research"


# The real dump


def test_the_sample_dump() -> None:
    with SAMPLE.open() as lines:
        reading = sacctmgr.read(lines)
    assert reading.problems == ()
    assert [(skip.line, skip.reason) for skip in reading.skipped] == [(15, "user_under_root")]
    plan = reading.plan
    assert [(entry.name, entry.parent, entry.shares) for entry in plan.accounts] == [
        ("platform", None, PARENT),
        ("production", None, 30),
        ("research", None, 60),
        ("infra", "platform", 10),
        ("retrain", "production", 1),
        ("serving", "production", 2),
        ("nlp", "research", 40),
        ("speech", "research", 0),
        ("vision", "research", 40),
    ]
    places = {(entry.account, entry.person): entry.shares for entry in plan.associations}
    assert places == {
        ("infra", "kim"): 2,
        ("infra", "lou"): 1,
        ("retrain", "jo"): 7,
        ("serving", "hal"): 1,
        ("serving", "ivy"): 1,
        ("research", "max"): 1,
        ("nlp", "ana"): 3,
        ("nlp", "bo"): 1,
        ("nlp", "cy"): PARENT,
        ("nlp", "dee"): 2,
        ("speech", "gus"): 1,
        ("vision", "dee"): 5,
        ("vision", "eli"): 5,
        ("vision", "fay"): 0,
    }
    assert len(plan.people) == 13


# sacctmgr


def test_quotes_colons_and_apostrophes_in_values() -> None:
    text = (
        "Parent - 'root'\n"
        r"Account - 'a':Description='it\'s:here':Fairshare=2" + "\n"
        "Account - 'b':Description='Ana's team':Fairshare=3\n"
        'Account - "c":Description="x:y":Fairshare=4\n'
        "Account - d:Description=plain:Fairshare=5\n"
        r"Account - 'e':Description='back\\slash':NoFlag::Fairshare=6" + "\n"
    )
    plan = sacctmgr_reading(text).plan
    assert [(entry.description, entry.shares) for entry in plan.accounts] == [
        ("it's:here", 2),
        ("Ana's team", 3),
        ("x:y", 4),
        ("plain", 5),
        ("back\\slash", 6),
    ]


def test_an_open_quote_with_many_backslashes_is_refused_quickly() -> None:
    reading = sacctmgr_reading("Parent - 'root'\nAccount - 'a':Description='" + "\\" * 5000 + "\n")
    assert codes(reading) == [(2, "bad_line")]


def test_an_association_of_a_partition_yields_to_the_general_one() -> None:
    reading = sacctmgr_reading(
        "Parent - 'root'\nAccount - 'a'\nParent - 'a'\n"
        "User - 'ana':Partition='gpu':Fairshare=9\nUser - 'ana':Fairshare=2\n"
        "User - 'bo':Partition='gpu':Fairshare=4\nUser - 'bo':Partition='cpu':Fairshare=5\n"
    )
    assert reading.plan.associations == (
        AssociationEntry(account="a", person="ana", shares=2),
        AssociationEntry(account="a", person="bo", shares=4),
    )
    assert [(skip.line, skip.reason) for skip in reading.skipped] == [
        (4, "partition_association"),
        (7, "partition_association"),
    ]


SACCTMGR_PROBLEMS = {
    "no such line": ("Group - 'a'", 1, "unknown_line"),
    "open quote": ("Parent - 'root", 1, "bad_line"),
    "no name": ("Parent -", 1, "bad_line"),
    "account before any parent": ("Account - 'a'", 1, "no_parent"),
    "two clusters": ("Cluster - 'a'\nCluster - 'b'", 2, "second_cluster"),
    "odd shares": ("Parent - 'root'\nAccount - 'a':Fairshare=many", 2, "bad_shares"),
    "absurd shares": (
        "Parent - 'root'\nAccount - 'a':Fairshare=4294967294",
        2,
        "shares_out_of_range",
    ),
    "user of no account": ("Parent - 'ghost'\nUser - 'ana'", 2, "unknown_account"),
    "account of no parent": ("Parent - 'ghost'\nAccount - 'a'", 2, "unknown_parent"),
    "odd name": ("Parent - 'root'\nAccount - 'a b'", 2, "name_malformed"),
}


@pytest.mark.parametrize(
    ("text", "line", "code"), SACCTMGR_PROBLEMS.values(), ids=SACCTMGR_PROBLEMS
)
def test_sacctmgr_problems(text: str, line: int, code: str) -> None:
    reading = sacctmgr_reading(text)
    assert reading.plan is None
    assert codes(reading) == [(line, code)]


# Rules all share, asked through CSV, whose lines are easy to count

RULES = {
    "an account twice, the same": ("a,,\na,,\n", []),
    "an account twice, differently": ("a,,\nb,,\nb,a,\n", [(4, "duplicate_account")]),
    "a person twice in an account": ("a,,\na,,ana,1\na,,ana,2\n", [(4, "duplicate_association")]),
    "unknown parent": ("a,b,\n", [(2, "unknown_parent")]),
    "a circle of one": ("a,a,\n", [(2, "cycle")]),
    "a circle of three": ("x,,\na,c,\nb,a,\nc,b,\nd,a,\n", [(3, "cycle")]),
    "sixteen levels": ("".join(f"a{n},{f'a{n - 1}' if n else ''},\n" for n in range(16)), []),
    "seventeen levels": (
        "".join(f"a{n},{f'a{n - 1}' if n else ''},\n" for n in range(17)),
        [(18, "too_deep")],
    ),
    "zero shares": ("a,,,0\n", []),
    "negative shares": ("a,,,-1\n", [(2, "bad_shares")]),
    "fractional shares": ("a,,,1.5\n", [(2, "bad_shares")]),
    "too many fields": ("a,,,,,,,,,\n", [(2, "wrong_fields")]),
    "nobody nowhere": (",b,,\n", [(2, "missing")]),
}


@pytest.mark.parametrize(("rows", "want"), RULES.values(), ids=RULES)
def test_rules(rows: str, want: list[tuple[int, str]]) -> None:
    assert codes(csv_reading("account,parent,person,shares\n" + rows)) == want


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("account,colour", "unknown_column"),
        ("account,account", "repeated_column"),
        ("shares", "missing_column"),
    ],
)
def test_csv_headers(header: str, code: str) -> None:
    assert codes(csv_reading(header + "\na,b\n")) == [(1, code)]


# YAML

YAML_PROBLEMS = {
    "not YAML": ("accounts: [", "bad_yaml"),
    "aliases": ("accounts: &a [*a]", "alias"),
    "a bomb": ("a: &a [x]\nb: [*a, *a]", "alias"),
    "nested too deep": ("accounts: " + "[" * 100 + "]" * 100, "too_deep"),
    "a list of nothing known": ("- a", "wrong_type"),
    "unknown field": ("accounts:\n  - {name: a, colour: red}", "unknown_field"),
    "field twice": ("accounts:\n  - {name: a, name: b}", "repeated_field"),
    "no name": ("accounts:\n  - {shares: 1}", "missing"),
    "shares as a list": ("accounts:\n  - {name: a, shares: [1]}", "wrong_type"),
    "accounts as text": ("accounts: a", "wrong_type"),
    "two parents": (
        "accounts:\n  - {name: b}\n  - {name: a, accounts: [{name: c, parent: b}]}",
        "two_parents",
    ),
    "a tag of Python": ("accounts: !!python/object/apply:os.system [x]", "wrong_type"),
    "control character": ("a: \x01", "bad_yaml"),
}


@pytest.mark.parametrize(("text", "code"), YAML_PROBLEMS.values(), ids=YAML_PROBLEMS)
def test_yaml_problems(text: str, code: str) -> None:
    reading = yaml_reading(text)
    assert reading.plan is None
    assert reading.problems[0].code == code


@pytest.mark.parametrize("read", [yaml_reading, csv_reading, sacctmgr_reading])
def test_an_empty_file_is_an_empty_tree(read: Callable[[str], TreeReading]) -> None:
    assert read("").plan == TreePlan()


def test_unquoted_yaml_words_stay_text() -> None:
    plan = yaml_reading("accounts:\n  - {name: no, shares: 0o7}\n  - {name: 123}\n")
    assert codes(plan) == [(2, "bad_shares")]
    plan = yaml_reading("accounts:\n  - {name: no}\n  - {name: 123}\n").plan
    assert plan.accounts == (AccountEntry(name="no"), AccountEntry(name="123"))


def test_the_examples_of_the_guide_are_one_tree() -> None:
    guide = (SAMPLE.parents[2] / "docs" / "user" / "importing.md").read_text()
    by_yaml = yaml_reading(guide.split("```yaml\n")[1].split("```")[0]).plan
    by_csv = csv_reading(guide.split("```csv\n")[1].split("```")[0]).plan
    assert by_yaml.accounts == by_csv.accounts
    assert set(by_csv.associations) < set(by_yaml.associations)
    assert {person.name for person in by_yaml.people} == {"max", "ana", "cy"}
