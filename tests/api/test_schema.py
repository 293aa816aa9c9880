"""The OpenAPI document: complete, valid, the same as openapi.yaml, and true of its examples."""

import io
import re
from pathlib import Path

import msgspec
import pytest
import yaml
from django.core.management import call_command

from accounting.commands.usage import UsageRecorded
from accounting.wire import Question, Usage, UsageBatch
from accounting.wire_answers import FairsharePage, Priorities
from config.api_urls import urlpatterns

SNAPSHOT = Path(__file__).resolve().parents[2] / "openapi.yaml"
RENEW = "Run: python manage.py spectacular --file openapi.yaml"


@pytest.fixture(scope="module")
def document() -> dict:
    out = io.StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=out)
    return yaml.safe_load(out.getvalue())


def test_every_address_is_in_it(document):
    wanted = {f"/api/v1/{pattern.pattern}" for pattern in urlpatterns} - {"/api/v1/schema"}
    wanted = {re.sub(r"<\w+:(\w+)>", r"{\1}", address) for address in wanted}
    assert set(document["paths"]) == wanted
    assert document["openapi"] == "3.1.1"


def test_it_is_the_one_in_the_repository(document):
    assert yaml.safe_load(SNAPSHOT.read_text()) == document, RENEW


def operations(document: dict):
    for address, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {address}", operation


def test_every_operation_declares_its_refusals_as_problems(document):
    for name, operation in operations(document):
        refusals = {status: r for status, r in operation["responses"].items() if status[0] != "2"}
        assert {"400", "401", "403", "405", "406", "429", "500"} <= set(refusals), name
        if "requestBody" in operation:
            assert {"413", "415"} <= set(refusals), name
            may_be_left_out = operation["operationId"] == "archiveAccount"
            assert operation["requestBody"]["required"] is not may_be_left_out, name
        for answer in refusals.values():
            assert list(answer["content"]) == ["application/problem+json"]
        assert operation["summary"] and operation["description"], name
        assert {"token": []} in operation["security"], name


TYPES = {
    "recordUsage": (UsageBatch | list[Usage], UsageRecorded),
    "askPriorities": (Question, Priorities),
    "readFairshare": (None, FairsharePage),
}


def test_examples_are_what_the_types_say(document):
    for name, operation in operations(document):
        if operation["operationId"] not in TYPES:
            continue
        takes, gives = TYPES[operation["operationId"]]
        answer = operation["responses"]["200"]["content"]["application/json"]
        for example in answer["examples"].values():
            msgspec.convert(example["value"], gives)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            for example in content["examples"].values():
                kind = Usage if "key" in example["value"] else takes
                assert msgspec.convert(example["value"], kind), name


def test_references_lead_somewhere(document):
    schemas = document["components"]["schemas"]
    text = yaml.safe_dump(document)
    found = {part.split("'")[0].split("\n")[0] for part in text.split("#/components/schemas/")[1:]}
    assert found <= set(schemas)
    assert "Problem" in found


@pytest.mark.django_db
def test_it_is_served_to_everybody(client):
    answer = client.get("/api/v1/schema", headers={"accept": "application/json"})
    assert answer.status_code == 200
    assert "/api/v1/usage" in answer.json()["paths"]
