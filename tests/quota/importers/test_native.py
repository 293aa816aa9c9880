"""Plans of ours, read and written."""

from decimal import Decimal

import pytest

from quota.domain.values import Quota
from quota.importers import native
from quota.importers.formats import read
from quota.importers.plan import FlavorEntry, PoolEntry, QuotaEntry

SAMPLE = """\
flavors:
  - {name: h100-80gb, weight: 0.5}
pools:
  - {name: h100, flavor: h100-80gb, cluster: lab, capacity: 100, safety_margin: 4}
accounts:
  - name: research
    shares: 60
    accounts:
      - {name: nlp}
  - {name: vision, parent: research, shares: parent}
quotas:
  - {account: research, pool: h100, guaranteed: 30}
  - {account: nlp, pool: h100, guaranteed: 60, borrowing_limit: 20, lending_limit: 0}
  - {account: vision, pool: h100, borrowing_limit: 5}
"""


def test_every_part_is_read():
    plan = read(SAMPLE).plan
    assert plan.flavors == (FlavorEntry(name="h100-80gb", weight=Decimal("0.5")),)
    assert plan.pools == (
        PoolEntry(name="h100", flavor="h100-80gb", cluster="lab", capacity=100, safety_margin=4),
    )
    tree = [(one.name, one.parent, one.shares) for one in plan.tree.accounts]
    assert sorted(tree) == [
        ("nlp", "research", 1),
        ("research", None, 60),
        ("vision", "research", None),
    ]
    assert plan.shares_given == {"research", "vision"}
    assert plan.quotas[1] == QuotaEntry(
        account="nlp",
        pool="h100",
        quota=Quota(guaranteed=60, borrowing_limit=20, lending_limit=0),
    )
    assert plan.quotas[2].quota == Quota(borrowing_limit=5)


def test_what_is_written_is_read_back_the_same():
    plan = read(SAMPLE).plan
    assert read(native.write(plan)).plan == plan
    assert "- {account: research, pool: h100, guaranteed: 30}" in native.write(plan)


def test_only_quotas_touch_no_tree():
    plan = read("quotas: [{account: nlp, pool: h100, guaranteed: 1}]").plan
    assert (plan.tree.accounts, plan.pools) == ((), ())


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("guaranteed: 30", "guaranteed: -3", "out_of_range", 12),
        ("guaranteed: 30", "guaranteed: 3.5", "out_of_range", 12),
        ("guaranteed: 30", "guarantee: 30", "unknown_field", 12),
        ("account: nlp", "account: research", "duplicate_quota", 13),
        ("parent: research", "parent: nobody", "unknown_parent", 10),
        ("shares: 60", "shares: many", "bad_shares", 7),
        ("weight: 0.5", "weight: heavy", "bad_weight", 2),
        ("name: h100,", "name: 'h 100',", "name_malformed", 4),
        ("accounts:\n      -", "accounts: x\n    #", "wrong_type", 8),
        ("quotas:", "quotas: &x", None, None),
        ("flavor: h100-80gb", "flavor: *x", "alias", 4),
        ("  - {account: research,", "  - {account: nlp, account: research,", "repeated_field", 12),
        ("pools:", "people:", "unknown_field", 3),
    ],
)
def test_faults_are_named_with_their_line(old, new, code, line):
    reading = read(SAMPLE.replace(old, new, 1))
    if code is None:
        assert reading.plan is not None
        return
    assert reading.plan is None
    assert (reading.problems[0].code, reading.problems[0].line) == (code, line)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "documents"),
        ("a: 1\n---\nb: 2\n", "documents"),
        ("a: &x [1]\nb: *x\n", "alias"),
        ("[" * 100 + "]" * 100, "too_deep"),
        ("a: [", "bad_yaml"),
        ("just text", "wrong_type"),
        ("? [a]\n: b", "wrong_type"),
        ("\x00", "bad_yaml"),
    ],
)
def test_what_is_no_plan(text, code):
    reading = read(text)
    assert reading.plan is None
    assert reading.problems[0].code == code
