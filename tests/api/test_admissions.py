"""Admission and the life of allocations over REST."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from quota.commands.quotas import SetQuota
from tenancy.domain.roles import Scope
from tests.api.conftest import Api, fresh_token, is_problem, speaking
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scheduler(acme: Tenant) -> Api:
    """A machine that may ask for admission; nlp has 10 units guaranteed on h100."""
    acme.run(
        SetQuota(account_id=acme.accounts["nlp"], pool_id=acme.pools["h100"], guaranteed=10),
        reason="test",
    )
    return speaking(fresh_token(acme, Scope.ADMISSION_WRITE))


def job(key: str, **values) -> dict:
    return {"key": key, "account": "nlp", "person": "bob", "pool": "h100", "units": 8} | values


def admit(api: Api, *jobs: dict, query: str = "", **headers: str) -> dict:
    answer = api.post(f"admissions{query}", {"requests": list(jobs)}, **headers)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_life_over_rest(scheduler):
    told = admit(scheduler, job("cluster/1", labels={"project": "x"}), job("2"))
    assert [result["status"] for result in told["results"]] == ["admitted", "denied"]
    held = told["results"][0]["allocations"][0]
    assert (held["pool"], held["account"], held["tier"]) == ("h100", "nlp", "guaranteed")
    block = told["results"][1]["blocks"][0]
    assert (block["account"], block["limit"], block["short_by"]) == ("root", "guarantees", 6)

    started = scheduler.post("allocations/cluster/1/start", {})
    assert started.json()["results"][0]["code"] == "started"
    assert scheduler.post("allocations/cluster/1/heartbeat", {}).status_code == 200
    resized = scheduler.post("allocations/cluster/1/resize", {"units": 4}).json()
    assert resized["results"][0]["code"] == "not_elastic"
    seen = scheduler.get("allocations/cluster/1").json()["allocations"]
    assert [(one["state"], one["labels"]) for one in seen] == [("running", {"project": "x"})]
    assert len(seen[0]["steps"]) == 1

    done = scheduler.post("allocations/release", {"messages": [{"key": "cluster/1"}, {"key": "?"}]})
    assert [r["status"] for r in done.json()["results"]] == ["changed", "unknown"]
    assert done.json()["counts"] == [1, 1]
    listed = scheduler.get("allocations", {"state": "live"}).json()["allocations"]
    assert listed == []


def test_a_retry_under_the_same_key_is_the_first_answer(scheduler):
    first = admit(scheduler, job("1"), Idempotency_Key="k")
    again = scheduler.post("admissions", {"requests": [job("1")]}, Idempotency_Key="k")
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first
    is_problem(
        scheduler.post("admissions", {"requests": [job("2")]}, Idempotency_Key="k"),
        409,
        "idempotency_key_reused",
    )


def test_a_dry_run_leaves_nothing_and_names_no_ids(scheduler):
    for told in (
        admit(scheduler, job("1"), query="?dry_run=1"),
        scheduler.post("admissions", {"requests": [job("1")], "dry_run": True}).json(),
    ):
        assert told["dry_run"] is True
        assert told["results"][0]["allocations"][0]["id"] is None
    is_problem(scheduler.get("allocations/1"), 404, "allocation_unknown")


def test_each_bad_request_gets_its_own_answer(scheduler):
    told = admit(
        scheduler,
        job("1", units=0),
        job("2", colour="red"),
        job("3", account="nlq"),
        job("4"),
        {"key": "5", "account": "nlp", "person": "bob"},
        job("6", needs=[{"pool": "h100", "units": 1}]),
    )
    assert [result["status"] for result in told["results"]] == [
        *("invalid", "invalid", "invalid", "admitted", "invalid", "invalid")
    ]
    codes = [error["code"] for result in told["results"] for error in result["errors"]]
    assert codes == [
        *("out_of_range", "field_unknown", "account_unknown"),
        *("needs_malformed", "needs_malformed"),
    ]
    wrong = scheduler.post("allocations/start", {"messages": [{"key": "4"}, {"kee": "4"}, 5]})
    assert [r["status"] for r in wrong.json()["results"]] == ["changed", "invalid", "invalid"]
    is_problem(scheduler.post("admissions", b"{"), 400, "malformed_body")
    is_problem(scheduler.post("admissions", {"jobs": []}), 400, "field_unknown")
    is_problem(
        scheduler.post("admissions", {"requests": [job(str(n)) for n in range(10_001)]}),
        400,
        "too_many_items",
    )


def test_scopes_and_pools_bound_a_token(acme, scheduler):
    is_problem(
        speaking(fresh_token(acme, Scope.USAGE_WRITE)).post("admissions", {"requests": []}),
        403,
        "scope_missing",
    )
    bound = speaking(fresh_token(acme, Scope.ADMISSION_WRITE, pools=(acme.pools["a100"],)))
    told = admit(bound, job("1"))
    assert told["results"][0]["errors"][0]["code"] == "pool_denied"
    admit(scheduler, job("2"))
    result = bound.post("allocations/2/release", {}).json()["results"][0]
    assert (result["status"], result["code"]) == ("invalid", "pool_denied")
    is_problem(bound.get("allocations/2"), 404, "allocation_unknown")
    is_problem(bound.post("allocations/none/release", {}), 404, "allocation_unknown")


def test_lists_are_narrowed_and_paged(acme, scheduler):
    admit(scheduler, *(job(str(number), units=1) for number in range(7)))
    page = scheduler.get("allocations", {"limit": "3", "account": "research"}).json()
    assert [one["key"] for one in page["allocations"]] == ["6", "5", "4"]
    follow = page["next"].removeprefix("/api/v1/")
    rest = scheduler.get(follow).json()
    assert [one["key"] for one in rest["allocations"]] == ["3", "2", "1"]
    for query in ({"account": "production"}, {"pool": "a100"}, {"person": "alice"}):
        assert scheduler.get("allocations", query).json()["allocations"] == []
    assert len(scheduler.get("allocations", {"person": "bob"}).json()["allocations"]) == 7
    by_size = scheduler.get("allocations", {"sort": "units", "limit": "2"}).json()
    units = [one["units"] for one in by_size["allocations"]]
    units += [
        one["units"]
        for one in scheduler.client.get(by_size["next"], headers=scheduler._headers({})).json()[
            "allocations"
        ]
    ]
    assert len(units) == 4 and units == sorted(units, reverse=True)
    unfit = {"sort": "ended", "state": "live"}
    is_problem(scheduler.get("allocations", unfit), 400, "sort_unfit")
    is_problem(scheduler.get("allocations", {"cursor": "Ing-eSI"}), 400, "page_unknown")
    is_problem(scheduler.get("allocations", {"state": "sleeping"}), 400, "parameter_invalid")


def test_a_lapsed_hold_is_shown_as_expired_before_any_sweeper(acme, scheduler):
    from quota.commands.admissions import AdmitBatch
    from quota.wire import Ask

    ask = Ask(key="old", account="nlp", person="bob", pool="h100", units=8)
    acme.run(AdmitBatch(requests=(ask,)), now=datetime.now(UTC) - timedelta(hours=1))
    (seen,) = scheduler.get("allocations/old").json()["allocations"]
    assert seen["state"] == "expired" and seen["ended_at"] == seen["hold_until"]
    assert scheduler.get("allocations", {"state": "live"}).json()["allocations"] == []
    assert len(scheduler.get("allocations", {"state": "expired"}).json()["allocations"]) == 1


def test_another_tenant_sees_and_touches_nothing(acme, globex, scheduler):
    admit(scheduler, job("1"))
    other = speaking(fresh_token(globex, Scope.ADMISSION_WRITE))
    is_problem(other.get("allocations/1"), 404, "allocation_unknown")
    is_problem(other.post("allocations/1/release", {}), 404, "allocation_unknown")
    assert other.get("allocations").json()["allocations"] == []
    assert json.loads(scheduler.get("allocations/1").content)["allocations"][0]["state"] == "held"


def test_a_snapshot_lists_what_differed(acme, scheduler):
    admit(scheduler, job("1", units=2), job("2", units=2))
    scheduler.post("allocations/start", {"messages": [{"key": "1"}, {"key": "2"}]})
    entry = {"key": "3", "account": "nlp", "person": "bob", "units": 1}
    body = {"jobs": [job("1", units=2) | {}, entry]}
    del body["jobs"][0]["pool"]
    told = scheduler.post("pools/h100/snapshot", body).json()
    assert told["known"] == 1
    assert [(d["key"], d["done"]) for d in told["differences"]] == [
        ("2", "ended"),
        ("3", "adopted"),
    ]
    is_problem(scheduler.post("pools/h200/snapshot", body), 404, "pool_unknown")
    bound = speaking(fresh_token(acme, Scope.ADMISSION_WRITE, pools=(acme.pools["a100"],)))
    is_problem(bound.post("pools/h100/snapshot", body), 403, "pool_denied")
