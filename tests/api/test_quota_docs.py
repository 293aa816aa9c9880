"""The examples of docs/api/quota.md and docs/api/admissions.md are sent and answered as printed."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from quota.commands.admissions import AdmitBatch
from quota.domain.batch import POLICY_BOUNDS
from quota.stops import StopName
from quota.wire import Ask
from tests.api.conftest import signed_in

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[2] / "docs" / "api"
GUIDE = (DOCS / "quota.md").read_text()
ADMISSIONS = (DOCS / "admissions.md").read_text()


def block(name: str, text: str = GUIDE) -> str:
    (found,) = re.findall(rf"```\w+ {name}\n(.*?)```", text, re.DOTALL)
    return found


@pytest.fixture
def otto(acme):
    return signed_in(acme, "otto")


def test_a_standing_is_as_printed(acme, otto):
    quota = {"guaranteed": 8, "borrowing_limit": 0, "reason": "x"}
    otto.send("PUT", "accounts/nlp/quotas/h100", quota)
    jobs = (
        Ask(key="a", account="nlp", person="bob", pool="h100", units=6),
        Ask(key="s", account="nlp", person="bob", pool="h100", units=3, tier="spot"),
    )
    acme.run(AdmitBatch(requests=jobs), now=datetime.now(UTC))
    assert otto.get("accounts/nlp/quotas/h100").json() == json.loads(block("standing"))


def test_a_quota_is_set_as_printed(acme, otto):
    otto.send("PATCH", "pools/h100", {"capacity": 512, "reason": "x"})
    otto.send("PUT", "accounts/research/quotas/h100", {"guaranteed": 100, "reason": "x"})
    body = json.loads(block("set"))
    answer = otto.send("PUT", "accounts/nlp/quotas/h100", body)
    assert answer.json() == json.loads(block("set-answer"))
    assert otto.send("PATCH", "pools/h100", json.loads(block("pool"))).json()["changed"]


def test_the_plan_is_read(acme, otto):
    answer = otto.send(
        "POST",
        "quota-plan?dry_run=1&reason=guide",
        block("plan").encode(),
        content_type="application/yaml",
    )
    assert answer.json()["changes"]


def test_the_times_are_as_printed(acme, otto):
    assert otto.get("admission-policy").json() == json.loads(block("times", ADMISSIONS))
    for name, (low, high) in POLICY_BOUNDS.items():
        assert re.search(rf"\| `{name}` \|.*\| {low:,} to {high:,} \|", ADMISSIONS), name


def test_every_stop_is_explained():
    section = GUIDE.split("`stopped_by.limit` is one of", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(get_args(StopName))
