"""Tokens over REST, and who somebody is: secrets shown once, rotation without a gap."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.api.conftest import fresh_token, is_problem, signed_in, speaking

pytestmark = pytest.mark.django_db(transaction=True)
NEW = {"name": "slurm", "scopes": ["priority:read"]}


def test_a_token_is_issued_rotated_and_revoked(acme):
    otto = signed_in(acme, "otto")
    made = otto.post("tokens", NEW)
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    first, token = made.json()["secret"], made.json()["token"]
    assert speaking(first).get("me").json()["scopes"] == ["priority:read"]
    turned = otto.post(f"tokens/{token['id']}/rotate", {"overlap_hours": 1})
    second = turned.json()["secret"]
    assert second != first
    assert speaking(second).get("me").status_code == 200
    assert speaking(first).get("me").status_code == 200
    otto.post(f"tokens/{token['id']}/rotate", {"overlap_hours": 0})
    is_problem(speaking(first).get("me"), 401, "token_unknown")
    ended = otto.post(f"tokens/{token['id']}/revoke", b"").json()
    assert ended["revoked_at"]
    is_problem(otto.post(f"tokens/{token['id']}/rotate", {}), 422, "token_revoked")


def test_lists_show_no_secret(acme, api):
    body = signed_in(acme, "otto").get("tokens")
    assert [token["name"] for token in body.json()["tokens"]] == ["scheduler"]
    assert b"apn_live" not in body.content
    assert b"hash" not in body.content


def test_a_repeat_under_one_key_makes_no_second_token(acme):
    otto = signed_in(acme, "otto")
    assert otto.post("tokens", NEW, idempotency_key="k1").status_code == 201
    is_problem(otto.post("tokens", NEW, idempotency_key="k1"), 409, "idempotency_key_reused")
    assert len(otto.get("tokens").json()["tokens"]) == 1


def test_only_operators_and_no_machine(acme, api):
    unknown = uuid4()
    for caller, code in ((signed_in(acme, "alice"), "role_missing"), (api, "people_only")):
        is_problem(caller.get("tokens"), 403, code)
        is_problem(caller.post("tokens", NEW), 403, code)
        is_problem(caller.post(f"tokens/{unknown}/rotate", {}), 403, code)
        is_problem(caller.post(f"tokens/{unknown}/revoke", b""), 403, code)


def in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "", "scopes": ["priority:read"]}, "length_out_of_range"),
        ({"name": "   ", "scopes": ["priority:read"]}, "token_name_length"),
        ({"name": "x", "scopes": []}, "length_out_of_range"),
        ({"name": "x", "scopes": ["everything"]}, "value_unknown"),
        (NEW | {"pool_ids": []}, "length_out_of_range"),
        (NEW | {"pool_ids": ["h100"]}, "value_invalid"),
        (NEW | {"expires_at": "2030-01-01T00:00:00"}, "time_without_zone"),
        (NEW | {"expires_at": in_days(-1)}, "expiry_out_of_range"),
        (NEW | {"expires_at": in_days(400)}, "expiry_out_of_range"),
        (NEW | {"secret": "mine"}, "field_unknown"),
    ],
)
def test_what_cannot_be_issued(acme, body, code):
    is_problem(signed_in(acme, "otto").post("tokens", body), 400, code)


def test_tokens_of_another_tenant_are_unknown(acme, globex):
    made = signed_in(acme, "otto").post("tokens", NEW).json()["token"]["id"]
    charlie = signed_in(globex, "charlie")
    assert charlie.get("tokens").json()["tokens"] == []
    is_problem(charlie.post(f"tokens/{made}/revoke", b""), 404, "token_unknown")
    is_problem(charlie.post(f"tokens/{made}/rotate", {}), 404, "token_unknown")


def test_a_machine_learns_who_it_is(acme):
    pool = acme.pools["a100"]
    me = speaking(fresh_token(acme, "usage:write", pools=(pool,))).get("me").json()
    assert (me["kind"], me["name"], me["scopes"]) == ("token", "scheduler", ["usage:write"])
    assert me["pool_ids"] == [str(pool)]
    assert me["organization"]["slug"] == "acme"
    assert me["expires_at"] > datetime.now(UTC).isoformat()
    assert me["roles"] is None


def test_a_person_learns_who_they_are(acme):
    me = signed_in(acme, "alice").get("me").json()
    assert (me["kind"], me["name"], me["scopes"]) == ("person", "alice", None)
    assert me["roles"] == [{"account": "nlp", "role": "lead"}]


def test_pools_and_flavors(acme, globex, api):
    pools = api.get("pools").json()["pools"]
    assert [(pool["name"], pool["flavor"]) for pool in pools] == [
        ("a100", "a100-80gb"),
        ("h100", "h100-80gb"),
    ]
    flavors = api.get("flavors").json()["flavors"]
    assert [flavor["weight"] for flavor in flavors] == ["0.5000", "1.0000"]
    bound = speaking(fresh_token(acme, "usage:write", pools=(acme.pools["a100"],)))
    assert [pool["name"] for pool in bound.get("pools").json()["pools"]] == ["a100"]
    other = speaking(fresh_token(globex)).get("pools").json()["pools"]
    assert {pool["id"] for pool in other} == {str(globex.pools["h100"])}
    assert len(signed_in(acme, "bob").get("pools").json()["pools"]) == 2
    is_problem(speaking(fresh_token(acme, "export:read")).get("pools"), 403, "scope_missing")
    acme.person("ida", "nlp")
    is_problem(signed_in(acme, "ida").get("flavors"), 403, "role_missing")
