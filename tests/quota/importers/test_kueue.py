"""Kueue objects as plans."""

import pytest

from quota.domain.values import Quota
from quota.importers.formats import read

SAMPLE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: org}
spec:
  resourceGroups:
  - coveredResources: ["nvidia.com/gpu"]
    flavors:
    - name: h100
      resources:
      - name: nvidia.com/gpu
        nominalQuota: 8
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: research}
spec: {parentName: org}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: nlp}
spec:
  namespaceSelector: {}
  cohort: research
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {name: cpu, nominalQuota: 64}
      - {name: memory, nominalQuota: 1Ti}
      - {name: nvidia.com/gpu, nominalQuota: "64", borrowingLimit: 8, lendingLimit: 0}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohortName: research
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{name: nvidia.com/gpu, nominalQuota: 0}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: alone}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: h100
      resources: [{name: cpu, nominalQuota: 2}]
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
"""


def plan(text: str = SAMPLE):
    reading = read(text)
    assert reading.problems == ()
    return reading.plan


def cells(text: str = SAMPLE) -> dict[tuple[str, str], Quota]:
    return {(one.account, one.pool): one.quota for one in plan(text).quotas}


def problem(text: str):
    reading = read(text)
    assert reading.plan is None
    return reading.problems[0]


def test_cohorts_are_inner_accounts_and_queues_are_leaves():
    parents = {one.name: one.parent for one in plan().tree.accounts}
    assert parents == {
        "org": None,
        "research": "org",
        "nlp": "research",
        "vision": "research",
        "alone": None,
    }


def test_flavors_and_resources_are_pools_as_large_as_their_promises():
    found = {one.name: (one.if_new.flavor, one.if_new.capacity) for one in plan().pools}
    assert found == {
        "h100": ("h100", 72),
        "h100-cpu-core": ("h100-cpu-core", 66),
        "h100-ram-gb": ("h100-ram-gb", 1024),
    }


def test_limits_are_those_of_the_file():
    found = cells()
    assert found["nlp", "h100"] == Quota(guaranteed=64, borrowing_limit=8, lending_limit=0)
    assert found["vision", "h100"] == Quota(guaranteed=0)
    assert found["nlp", "h100-ram-gb"] == Quota(guaranteed=1024)
    assert ("research", "h100") not in found


def test_trees_of_cohorts_share_nothing():
    found = cells()
    shut = {"borrowing_limit": 0, "lending_limit": 0}
    assert found["org", "h100"] == Quota(guaranteed=8, **shut)
    assert found["org", "h100-cpu-core"] == Quota(**shut)
    assert found["alone", "h100-cpu-core"] == Quota(guaranteed=2, **shut)
    assert ("alone", "h100") not in found, "the other tree's pool: nothing passes its top"


def test_a_queue_may_not_use_what_it_does_not_list():
    assert cells()["vision", "h100-cpu-core"] == Quota(borrowing_limit=0)


def test_a_cohort_that_is_only_named_exists():
    text = SAMPLE.replace("cohortName: research", "cohortName: elsewhere")
    parents = {one.name: one.parent for one in plan(text).tree.accounts}
    assert (parents["vision"], parents["elsewhere"]) == ("elsewhere", None)


def test_weights_become_shares_in_proportion():
    assert plan().shares_given == frozenset()
    text = SAMPLE.replace(
        "cohortName: research", 'cohortName: research\n  fairSharing: {weight: "1.5"}'
    )
    shares = {one.name: one.shares for one in plan(text).tree.accounts}
    assert (shares["vision"], shares["nlp"], shares["research"]) == (3, 2, 2)


def test_a_list_is_read_and_what_is_not_about_quotas_is_named():
    body = "\n".join("- " + "\n  ".join(part.strip().splitlines()) for part in SAMPLE.split("---"))
    listed = f"apiVersion: v1\nkind: List\nitems:\n{body}\n"
    assert plan(listed) == plan()
    assert [one.detail for one in read(SAMPLE).skipped] == ["v1 Namespace"]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("nominalQuota: 64}", "nominalQuota: 500m}", "bad_quantity", 34),
        ("nominalQuota: 8\n", "nominalQuota: eight\n", "bad_quantity", 16),
        ("name: vision", "name: nlp", "name_taken", 40),
        ("name: vision", "name: org", "name_taken", 40),
        ("name: vision", "name: a b", "name_malformed", 38),
        ("cohort: research", "cohort: research\n  cohortName: org", "two_parents", 27),
        ("cohort: research", "cohort: vision", "bad_parent", 23),
        ("parentName: org", "parentName: research", "cycle", 18),
        ("v1beta1\nkind: ClusterQueue", "v1alpha9\nkind: ClusterQueue", "unknown_version", 23),
        ("- {name: memory", "- {name: cpu", "pool_twice", 35),
        ("nominalQuota: 1Ti", "borrowingLimit: 1Ti", "missing", 35),
    ],
)
def test_faults_are_named_with_their_line(old, new, code, line):
    found = problem(SAMPLE.replace(old, new, 1))
    assert (found.code, found.line) == (code, line)
