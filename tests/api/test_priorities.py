"""Asking for priorities over REST: every job answered or refused on its own, usage seen at once."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import Api, fresh_token, is_problem, speaking
from tests.world import record

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime.now(UTC).replace(microsecond=0)


def job(key: str, **values) -> dict:
    """A waiting job as a scheduler describes it."""
    return {
        "key": key,
        "account": "nlp",
        "person": "bob",
        "pool": "h100",
        "units": 8,
        "class": "P2",
        "submitted_at": (NOW - timedelta(minutes=5)).isoformat(),
    } | values


def ask(api: Api, *jobs: dict, query: str = "", **body):
    return api.post(f"priorities{query}", {"jobs": list(jobs)} | body)


def used(acme, key: str, **values) -> None:
    start = datetime.now(UTC) - timedelta(hours=3)
    acme.use(record(key, start=start, **values), now=datetime.now(UTC))


def test_each_job_gets_priority_rank_and_all_factors(api, acme):
    used(acme, "a", person="bob")
    answer = ask(api, job("1"), job("2", person="alice"), job("3", **{"class": "P0"})).json()
    by_key = {result["key"]: result for result in answer["results"]}
    assert [result["key"] for result in answer["results"]] == ["1", "2", "3"]
    assert {key: result["rank"] for key, result in by_key.items()} == {"3": 1, "2": 2, "1": 3}
    assert by_key["2"]["factors"]["fair_share"] > by_key["1"]["factors"]["fair_share"]
    assert set(by_key["1"]["factors"]) == {"fair_share", "age", "class", "size", "boost"}
    assert by_key["1"]["effective_class"] == "P2"
    assert (answer["algorithm"], answer["half_life_days"]) == ("fair_tree", 7.0)
    assert answer["versions"]["usage"] >= 1
    assert answer["at"].endswith("Z")
    assert answer["errors"] == []


def test_usage_counts_in_the_very_next_answer(api):
    before = ask(api, job("1")).json()
    record = {"key": "u", "account": "nlp", "person": "bob", "pool": "h100", "units": 64}
    record |= {"start": (NOW - timedelta(hours=9)).isoformat(), "end": NOW.isoformat()}
    assert api.post("usage", [record]).json()["accepted"] == 1
    after = ask(api, job("1")).json()
    assert after["versions"]["usage"] > before["versions"]["usage"]
    assert after["results"][0]["priority"] < before["results"][0]["priority"]


def test_jobs_at_fault_are_reported_one_by_one_and_the_others_answered(api):
    bad = [
        (job("1", account="nowhere"), "account", "account_unknown"),
        (job("2", person="nobody"), "person", "person_unknown"),
        (job("3", person="otto"), "person", "person_not_on_account"),
        (job("4", pool="nothing"), "pool", "pool_unknown"),
        (job("ok"), None, None),
        (job("ok"), "key", "duplicate_key"),
        (job("6", units="8"), "units", "wrong_type"),
        (job("7", units=0), "units", "out_of_range"),
        (job("8", **{"class": "P9"}), "class", "value_unknown"),
        (job("9", submitted_at="2026-11-29T10:00:00"), "submitted_at", "time_without_zone"),
        (job("10", extra=1), "extra", "field_unknown"),
        ({"key": "11"}, "account", "field_missing"),
    ]
    for some in (bad[:6], bad):
        answer = ask(api, *(question for question, *_ in some)).json()
        assert [result["key"] for result in answer["results"]] == ["ok"]
        found = [(e["index"], e["field"], e["code"]) for e in answer["errors"]]
        assert found == [(n, field, code) for n, (_, field, code) in enumerate(some) if code]
        assert all(error["detail"] for error in answer["errors"])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "body_empty"),
        (b"{", "malformed_body"),
        (b"[]", "wrong_type"),
        (b'{"jobs": 1}', "wrong_type"),
        (b"{}", "field_missing"),
        (b'{"jobs": [], "when": 1}', "field_unknown"),
        (b'{"jobs": [], "at": "2026-11-29T12:00:00"}', "time_without_zone"),
        (b'{"jobs": [], "at": "1999-11-29T12:00:00Z"}', "at_too_early"),
        (b'{"jobs": [], "at": "2190-11-29T12:00:00Z"}', "at_too_far"),
        (b'{"jobs": [NaN]}', "malformed_body"),
        (b'{"jobs": [' + b"1," * 100_000 + b"1]}", "too_many_jobs"),
    ],
)
def test_a_body_that_is_no_question_is_refused(api, body, code):
    is_problem(api.post("priorities", body), 400, code)


def test_no_jobs_and_gzip_are_fine(api):
    assert ask(api).json()["results"] == []
    body = gzip.compress(json.dumps({"jobs": [job("1")]}).encode())
    answer = api.post("priorities", body, content_encoding="gzip")
    assert len(answer.json()["results"]) == 1


def test_a_past_instant_is_answered_from_the_records(api, acme):
    used(acme, "a", hours=1)
    past = NOW - timedelta(days=1)
    asked = [job("1", submitted_at=past.isoformat())]
    then = ask(api, *asked, at=past.isoformat()).json()
    now = ask(api, *asked).json()
    assert then["at"] == past.isoformat().replace("+00:00", "Z")
    assert then["results"][0]["factors"]["fair_share"] > now["results"][0]["factors"]["fair_share"]
    ahead = ask(api, *asked, at=(NOW + timedelta(days=30)).isoformat()).json()
    assert ahead["results"][0]["factors"]["age"] == 1


def test_an_explanation_adds_up_and_leads_to_the_records(api, acme):
    used(acme, "heavy", units=64)
    used(acme, "light", units=1)
    result = ask(api, job("1"), job("2"), query="?explain=1").json()["results"][0]
    why = result["explanation"]
    assert sum(term["contribution"] for term in why["terms"]) == pytest.approx(result["priority"])
    assert [step["name"] for step in why["path"]] == ["root", "research", "nlp", "bob"]
    assert why["path"][-1]["fairshare"] == result["factors"]["fair_share"]
    assert [item["key"] for item in why["records"]] == ["heavy", "light"]
    assert {"batch_id", "event_id"} <= why["records"][0].keys()
    unused = ask(api, job("1", person="alice"), query="?explain=1").json()["results"][0]
    assert unused["explanation"]["path"][-1]["level_fs"] == "inf"


def test_explanations_are_bounded(api):
    jobs = [job(str(n)) for n in range(51)]
    found = is_problem(ask(api, *jobs, query="?explain=1"), 400, "too_many_explanations")
    assert found["limit"] == 50
    is_problem(ask(api, job("1"), query="?explain=maybe"), 400, "parameter_invalid")
    is_problem(ask(api, job("1"), query="?explian=1"), 400, "parameter_unknown")


def test_a_warm_answer_needs_one_read_and_no_transaction(api):
    """The read brings token and versions and goes past Django's cursors; nothing else follows."""
    ask(api, job("1"))
    with CaptureQueriesContext(connection) as queries:
        assert ask(api, job("1")).status_code == 200
    assert [query["sql"] for query in queries] == []


def test_a_connection_that_died_between_requests_is_replaced(api, owner):
    ask(api, job("1"))
    pid = connection.connection.info.backend_pid
    owner.execute("SELECT pg_terminate_backend(%s)", (pid,))
    assert ask(api, job("1")).status_code == 200
    assert connection.connection.info.backend_pid != pid


def test_another_tenants_machine_sees_nothing_of_this_one(acme, globex):
    api = speaking(fresh_token(globex))
    answer = ask(api, job("1"), job("2", person="charlie")).json()
    assert [error["code"] for error in answer["errors"]] == ["person_unknown"]
    assert [result["key"] for result in answer["results"]] == ["2"]


def test_a_token_bound_to_pools_asks_about_those_only(acme):
    pools = (acme.pools["a100"],)
    api = speaking(fresh_token(acme, "priority:read", pools=pools))
    answer = ask(api, job("1"), job("2", pool="a100")).json()
    assert [error["code"] for error in answer["errors"]] == ["pool_denied"]


def test_a_person_asks_with_a_session_about_accounts_they_may_see(acme):
    client = Client(enforce_csrf_checks=True)
    client.force_login(acme.login("bob"))
    body = {"jobs": [job("1"), job("2", account="vision"), job("3", account="nowhere")]}
    refused = client.post("/api/v1/priorities", body, "application/json")
    is_problem(refused, 403, "not_allowed")
    client = Client()
    client.force_login(acme.users["bob"])
    answer = client.post("/api/v1/priorities", body, "application/json").json()
    assert [result["key"] for result in answer["results"]] == ["1"]
    assert [error["code"] for error in answer["errors"]] == ["account_denied"] * 2
    client.force_login(acme.login("otto"))
    answer = client.post("/api/v1/priorities", body, "application/json").json()
    assert [error["code"] for error in answer["errors"]] == ["account_unknown"]
