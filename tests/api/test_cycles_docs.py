"""The examples of docs/api/cycles.md are sent and answered as printed."""

import json
import re
from pathlib import Path

import pytest

from config.api_urls import urlpatterns
from quota.domain.cycles import Decision
from tests.api.conftest import is_problem
from tests.api.requesting import at
from tests.api.test_cycles import Reviews

pytestmark = pytest.mark.django_db(transaction=True)

GUIDE = (Path(__file__).parents[2] / "docs" / "api" / "cycles.md").read_text()


def block(name: str):
    (found,) = re.findall(rf"```json {name}\n(.*?)```", GUIDE, re.DOTALL)
    return json.loads(found)


def test_a_review_goes_as_printed(acme):
    desk = Reviews(acme)
    petra = desk.as_("petra")
    is_problem(petra.post("reviews/cycles", block("open")), 400, "deadline_out_of_range")
    opening = block("open") | {"deadline": at(14)}
    assert petra.post("reviews/cycles", opening).json() == block("opened")
    made = petra.post("reviews/cycles", opening | {"dry_run": False}).json()
    assert made["quota_count"] == block("opened")["quota_count"]
    it = f"reviews/cycles/{made['id']}"
    assert desk.word(it, "nlp", "ask", by="petra", **block("ask")).status_code == 200
    assert desk.word(it, "nlp", "answer", by="alice", **block("answer")).status_code == 200
    # Nothing is known of its use here, so the body is taken, and there is nothing to take.
    decide = block("decide") | {"expected_version": 2}
    refused = desk.word(it, "nlp", "decide", by="petra", **decide)
    is_problem(refused, 422, "nothing_recommended")
    decisions = block("decisions")
    decisions["decisions"][0]["expected_version"] = 2
    printed = block("decisions-answer")
    printed["results"][0]["version"] = 3
    assert petra.post(f"{it}/decisions", decisions).json() == printed
    assert petra.post(f"{it}/close", block("close")).json() == block("close-answer")


def test_how_reviews_open_goes_as_printed(acme):
    desk = Reviews(acme)
    otto = desk.as_("otto")
    assert otto.get("reviews/cycles/policy").json() == block("policy")
    wanted = block("new-policy")
    assert otto.send("PUT", "reviews/cycles/policy", wanted).json() == block("policy-set")
    late = wanted | {"decide_days": 7}
    is_problem(otto.send("PUT", "reviews/cycles/policy", late), 409, "stale_version")
    assert otto.get("reviews/cycles/policy").json() == block("policy-set")["policy"]


def test_every_decision_and_address_is_named():
    words = GUIDE.split("| `decision` |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", words, re.MULTILINE)) == {str(one) for one in Decision}
    table = GUIDE.split("| address |", 1)[1].split("\n\n", 1)[0]
    for one in urlpatterns:
        address = str(one.pattern)
        if address.startswith("reviews/cycles"):
            assert address.rpartition("/")[2].replace("<uuid:cycle_id>", "{id}") in table, address
