"""The fair-share tree over REST, as JSON in pages and as text for scripts."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from tests.api.conftest import fresh_token, is_problem, speaking
from tests.world import record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def used(acme):
    now = datetime.now(UTC)
    acme.use(record("a", start=now - timedelta(hours=3)), now=now)
    return acme


def labels(nodes: list[dict]) -> list[str]:
    return [node["person"] or node["account"] for node in nodes]


WHOLE = [
    *("root", "production", "serving", "research"),
    *("nlp", "alice", "bob", "vision", "bob"),
]


def test_the_tree_with_all_columns(api, used):
    body = api.get("fairshare").json()
    assert labels(body["nodes"]) == WHOLE
    by_label = {node["person"] or node["account"]: node for node in body["nodes"]}
    assert by_label["nlp"]["norm_shares"] == pytest.approx(40 / 60)
    assert by_label["nlp"]["usage"] > 0
    assert by_label["alice"]["level_fs"] == "inf"
    assert by_label["alice"]["shares"] == 2
    assert body["next"] is None
    assert (body["algorithm"], body["at"][-1]) == ("fair_tree", "Z")


def test_part_of_the_tree_and_pages(api, used):
    part = api.get("fairshare", {"account": "research"}).json()
    assert labels(part["nodes"]) == WHOLE[3:]
    seen, address = [], "fairshare?limit=2&account=research"
    while address:
        page = api.get(address.removeprefix("/api/v1/")).json()
        assert len(page["nodes"]) <= 2
        seen += page["nodes"]
        address = page["next"]
    assert labels(seen) == WHOLE[3:]


def test_a_cursor_ends_when_the_tree_changes(api, used):
    address = api.get("fairshare", {"limit": 2}).json()["next"].removeprefix("/api/v1/")
    used.account("robotics", under="research")
    is_problem(api.get(address), 409, "tree_changed")


def test_text_for_scripts(api, used):
    answer = api.get("fairshare", accept="text/plain")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    header, *lines = answer.content.decode().splitlines()
    assert header == (
        "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS"
    )
    rows = [dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines]
    assert [row["User"] or row["Account"].strip() for row in rows] == WHOLE
    assert rows[4]["Account"] == "  nlp"
    bob = next(row for row in rows if row["User"] == "bob" and row["Account"] == "  nlp")
    assert (bob["RawShares"], bob["NormShares"]) == ("1", "0.333333")
    assert float(bob["RawUsage"]) > 0
    assert next(row for row in rows if row["User"] == "alice")["LevelFS"] == "inf"
    assert rows[0]["FairShare"] == ""


def test_an_instant_in_the_past(api, used):
    past = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    body = api.get("fairshare", {"at": past}).json()
    assert all(node["usage"] == 0 for node in body["nodes"])


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"account": "nowhere"}, 404, "account_unknown"),
        ({"account": ""}, 400, "parameter_invalid"),
        ({"at": "2026-11-29T12:00:00"}, 400, "parameter_invalid"),
        ({"at": "noon"}, 400, "parameter_invalid"),
        ({"at": "1990-01-01T00:00:00Z"}, 400, "at_too_early"),
        ({"at": "2290-01-01T00:00:00Z"}, 400, "at_too_far"),
        ({"limit": "0"}, 400, "parameter_invalid"),
        ({"limit": "10001"}, 400, "parameter_invalid"),
        ({"limit": "-1"}, 400, "parameter_invalid"),
        ({"limit": "\u0664"}, 400, "parameter_invalid"),
        ({"cursor": "nonsense!"}, 400, "parameter_invalid"),
        ({"cursor": "WzEsMiwzXQ"}, 400, "parameter_invalid"),
        ({"cursor": "Wy0xLDJd"}, 400, "parameter_invalid"),
        ({"acount": "nlp"}, 400, "parameter_unknown"),
    ],
)
def test_bad_questions_name_the_parameter(api, query, status, code):
    found = is_problem(api.get("fairshare", query), status, code)
    assert found["errors"][0]["parameter"] == next(iter(query))


def test_a_person_sees_what_a_role_covers(acme):
    client = Client()
    client.force_login(acme.login("bob"))
    assert client.get("/api/v1/fairshare?account=nlp").status_code == 200
    is_problem(client.get("/api/v1/fairshare"), 403, "role_missing")
    is_problem(client.get("/api/v1/fairshare?account=vision"), 403, "role_missing")
    is_problem(client.get("/api/v1/fairshare?account=nowhere"), 403, "role_missing")


def test_a_machine_needs_the_scope_and_sees_its_own_tenant(acme, globex):
    api = speaking(fresh_token(acme, "usage:write"))
    is_problem(api.get("fairshare"), 403, "scope_missing")
    other = speaking(fresh_token(globex)).get("fairshare").json()
    assert labels(other["nodes"]) == ["root", "nlp", "charlie"]
