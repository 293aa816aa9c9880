"""Pools, flavors and the times of admission over REST."""

import pytest

from tests.api.conftest import is_problem, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

TIMES = {
    "hold_seconds": 120,
    "lease_seconds": 600,
    "heartbeat_seconds": 120,
    "interactive_seconds_max": 3600,
}


@pytest.fixture
def otto(acme):
    return signed_in(acme, "otto")


def test_a_pool_is_opened_shown_and_changed(acme, otto):
    flavor = otto.post("flavors", {"name": "b200", "weight": "2.5", "reason": "new"})
    assert flavor.status_code == 201 and flavor.json()["weight"] == "2.5"
    new = {"name": "b200", "flavor": "b200", "cluster": "hall2", "capacity": 64, "reason": "new"}
    made = otto.post("pools", new)
    assert made.status_code == 201 and made["Location"] == "/api/v1/pools/b200"
    assert (made.json()["promisable"], made.json()["free"]) == (64, 64)
    changed = otto.send("PATCH", "pools/b200", {"unavailable": 4, "reason": "rack 7"}).json()
    assert changed["changed"] and changed["promisable"] == 60
    shown = otto.get("pools/b200").json()
    assert (shown["unavailable"], shown["version"], shown["flavor"]) == (4, 2, "b200")
    is_problem(otto.post("pools", new), 409, "name_taken")
    is_problem(otto.post("pools", new | {"name": "x", "flavor": "y"}), 404, "flavor_unknown")
    reweighed = otto.send("PATCH", "flavors/b200", {"weight": "0.8", "reason": "price"})
    assert reweighed.json()["weight"] == "0.8"
    bad = {"weight": "0.12345", "reason": "price"}
    is_problem(otto.send("PATCH", "flavors/b200", bad), 400, "weight_out_of_range")


def test_a_change_is_tried_and_needs_to_be_one(acme, otto):
    for body in ({}, {"capacity": 5, "safety_margin": 1}):
        is_problem(otto.send("PATCH", "pools/h100", body | {"reason": "x"}), 400, "one_change")
    before = otto.get("pools/h100").json()["capacity"]
    body = {"capacity": before + 1, "reason": "x", "dry_run": True}
    assert otto.send("PATCH", "pools/h100", body).json()["dry_run"]
    assert otto.get("pools/h100").json()["capacity"] == before
    stale = {"capacity": before + 1, "reason": "x", "expected_version": 0}
    assert otto.send("PATCH", "pools/h100", stale).status_code == 409


def test_a_pool_shrinks_under_its_promises_only_when_that_is_accepted(acme, otto):
    quota = {"guaranteed": 50, "reason": "x"}
    assert otto.send("PUT", "accounts/nlp/quotas/h100", quota).status_code == 200
    shrink = {"capacity": 40, "reason": "sold"}
    is_problem(otto.send("PATCH", "pools/h100", shrink), 422, "promise_exceeded")
    answer = otto.send("PATCH", "pools/h100", shrink | {"accept_over_promise": True}).json()
    assert answer["over_promised_by"] == 10
    assert otto.get("pools/h100").json()["over_promised_by"] == 10
    more = otto.send("PUT", "accounts/vision/quotas/h100", quota)
    is_problem(more, 422, "pool_over_promised")


def test_a_pool_of_a_past_instant(acme, otto):
    is_problem(otto.get("pools/h100", {"as_of": "2001-01-01T00:00:00Z"}), 404, "pool_unknown")


def test_the_times_of_admission_are_read_and_set(acme, otto, api):
    assert api.get("admission-policy").json()["lease_seconds"] == 900
    put = otto.send("PUT", "admission-policy", TIMES | {"reason": "quick"})
    assert put.json() == TIMES
    assert api.get("admission-policy").json() == TIMES
    for name, value, code in (
        ("hold_seconds", 1, "out_of_range"),
        ("lease_seconds", 10**7, "out_of_range"),
        ("heartbeat_seconds", 400, "heartbeat_too_rare"),
        ("heartbeat_seconds", "often", "wrong_type"),
    ):
        body = TIMES | {name: value, "reason": "x"}
        is_problem(otto.send("PUT", "admission-policy", body), 400, code)
    is_problem(otto.send("PUT", "admission-policy", {"reason": "x"}), 400, "field_missing")


def test_a_pool_that_nobody_has_anything_of_is_reconciled(acme, otto):
    """A snapshot of a new pool: empty, then with a job that was never admitted."""
    flavor = otto.get("flavors").json()["flavors"][0]["name"]
    new = {"name": "b200", "flavor": flavor, "cluster": "lab", "capacity": 8, "reason": "new"}
    assert otto.post("pools", new).status_code == 201
    assert otto.post("pools/b200/snapshot", {"jobs": []}).json()["differences"] == []
    stray = {"key": "k", "account": "nobody", "person": "bob", "units": 3}
    (difference,) = otto.post("pools/b200/snapshot", {"jobs": [stray]}).json()["differences"]
    assert difference["done"] == "disputed"
    (difference,) = otto.post("pools/b200/snapshot", {"jobs": [stray | {"account": "nlp"}]}).json()[
        "differences"
    ]
    assert difference["done"] == "adopted"
    assert otto.get("pools/b200").json()["free"] == 5
