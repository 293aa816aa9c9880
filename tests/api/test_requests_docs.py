"""The examples of docs/api/requests.md are sent and answered as printed."""

import json
import re
from pathlib import Path

import pytest

from quota.domain.requests import Kind, State
from tests.api.requesting import Desk

pytestmark = pytest.mark.django_db(transaction=True)

GUIDE = (Path(__file__).parents[2] / "docs" / "api" / "requests.md").read_text()


def block(name: str):
    (found,) = re.findall(rf"```json {name}\n(.*?)```", GUIDE, re.DOTALL)
    return json.loads(found)


@pytest.fixture
def desk(acme) -> Desk:
    return Desk(acme)


def test_one_is_asked_and_approved_as_printed(desk):
    alice = desk.as_("alice")
    trial = alice.post("requests/precheck", block("ask"))
    assert trial.json()["can_submit"], trial.content
    it = alice.post("requests", block("ask")).json()
    printed = block("ask-answer")
    assert it["reasons"][0] == printed["reasons"][0]
    # How long the period is depends on today.
    assert _without_numbers(it["reasons"][1]) == _without_numbers(printed["reasons"][1])
    assert it | {"id": "...", "reasons": []} == printed | {"reasons": []}
    assert desk.step(it, "attachments", **block("file")).status_code == 201
    answer = desk.decide(it, "approve", by="petra", **block("approve"))
    assert answer.json()["state"] == "provisioned"


def _without_numbers(text: str) -> str:
    return re.sub(r"[\d,]+", "#", text)


def test_the_policy_is_as_printed(desk):
    otto = desk.as_("otto")
    assert otto.get("reviews/policy").json() == block("policy")
    wanted = block("policy") | {"reason": "as it was"}
    wanted["expected_version"] = wanted.pop("version")
    assert otto.send("PUT", "reviews/policy", wanted).json()["changed"] is False
    assert otto.post("reviews/policy/preview", block("preview")).status_code == 200


def test_the_other_bodies_are_taken(desk):
    petra = desk.as_("petra")
    batch = petra.post("reviews/batch", block("batch")).json()
    assert {row["code"] for row in batch["results"]} == {"request_unknown"}
    assert petra.post("reviews/delegations", block("delegate")).status_code == 201


def test_every_kind_and_state_is_named():
    kinds = GUIDE.split("| kind |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", kinds, re.MULTILINE)) == {str(one) for one in Kind}
    states = GUIDE.split("The states:", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"`(\w+)`", states)) == {str(one) for one in State}
