"""Reporting use over REST: exactly once, a verdict for each bad record, a clear refusal else."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest

from ledger import scope
from ledger.sql import server_cursor
from tests.api.conftest import Api, fresh_token, is_problem, speaking
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime(2026, 11, 1, 8, tzinfo=UTC)


def entry(key: str, **values) -> dict:
    """A record as a client writes it."""
    return {
        "key": key,
        "account": "nlp",
        "person": "bob",
        "pool": "h100",
        "units": 8,
        "start": START.isoformat(),
        "end": (START + timedelta(hours=1)).isoformat(),
    } | values


def lines(*records: dict) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in records)


def stored(tenant: Tenant, sql: str = "SELECT count(*) FROM accounting_usagerecord") -> list:
    with scope.reading(tenant.id), server_cursor() as cursor:
        return cursor.execute(sql).fetchall()


def send_lines(api: Api, body: bytes, query: str = "", **headers: str):
    return api.post(f"usage{query}", body, content_type="application/x-ndjson", **headers)


def test_records_are_accepted_in_an_envelope_as_an_array_and_as_lines(api, acme):
    envelope = api.post("usage", {"source": "site", "records": [entry("a"), entry("b")]}).json()
    array = api.post("usage?source=site", [entry("c"), entry("a")]).json()
    as_lines = send_lines(api, lines(entry("d"), entry("e", source="site")) + b"\n").json()
    assert (envelope["accepted"], array["accepted"], as_lines["accepted"]) == (2, 1, 2)
    assert array["duplicates"] == 1
    assert array["records"] == [
        {
            "line": 2,
            "key": "a",
            "status": "duplicate",
            "code": "duplicate",
            "field": None,
            "detail": "Counted before, with the same content.",
        }
    ]
    sql = "SELECT s.name, r.key FROM accounting_usagerecord r JOIN accounting_usagesource s ON "
    sql += "s.id = r.source_id ORDER BY r.key"
    assert stored(acme, sql) == [
        ("site", "a"),
        ("site", "b"),
        ("site", "c"),
        ("scheduler", "d"),
        ("site", "e"),
    ]


def test_every_field_arrives(api, acme):
    full = entry(
        "full",
        tier="spot",
        labels={"project": "x"},
        compute_util=0.5,
        productive_util=0.25,
        memory_gb=80.5,
    )
    assert api.post("usage", [full, entry("open", end=None)]).json()["accepted"] == 2
    correction = entry("fixed", supersedes="full", units=9)
    assert api.post("usage", [correction]).json()["accepted"] == 1
    sql = "SELECT tier, labels->>'project', compute_util, productive_util, memory_gb, units "
    sql += "FROM accounting_usagerecord WHERE key = 'full' AND sign = 1"
    row = stored(acme, sql)[0]
    assert [str(value) for value in row] == ["2", "x", "0.5", "0.25", "80.5", "8"]


def test_each_bad_record_gets_its_verdict_and_the_rest_counts(api, acme):
    bad = [
        (entry("1", units="8"), "units", "wrong_type"),
        (entry("2", units=0), "units", "out_of_range"),
        (entry("3", units=-5), "units", "out_of_range"),
        (entry("4", units=10_000_001), "units", "out_of_range"),
        (entry("5", units=1.5), "units", "wrong_type"),
        (entry("6", start="2026-11-01T08:00:00"), "start", "time_without_zone"),
        (entry("7", start="yesterday"), "start", "time_invalid"),
        (entry("8", end=(START - timedelta(hours=1)).isoformat()), "end", "end_before_start"),
        (entry("9", tier="gold"), "tier", "value_unknown"),
        (entry("10", gpu=1), "gpu", "field_unknown"),
        (entry("11", labels={"a": 1}), "labels", "wrong_type"),
        (entry("12", compute_util=1.5), "compute_util", "out_of_range"),
        (entry("13", account="nowhere"), "account", "account_unknown"),
        (entry("14", person="nobody"), "person", "person_unknown"),
        (entry("15", pool="nothing"), "pool", "pool_unknown"),
        (entry("16", account=""), "account", "length_out_of_range"),
        ({"key": "17"}, "account", "field_missing"),
        (entry("18", end=12), "end", "wrong_type"),
    ]
    wanted = [
        {"line": n, "key": str(n), "status": "rejected", "code": code, "field": field}
        for n, (_, field, code) in enumerate(bad, 1)
    ]
    for as_lines in (False, True):
        good = entry(f"good{as_lines}")
        records = [*(record for record, *_ in bad), good]
        answer = send_lines(api, lines(*records)) if as_lines else api.post("usage", records)
        body = answer.json()
        assert answer.status_code == 200
        for verdict in body["records"]:
            assert verdict.pop("detail")
        assert body["records"] == wanted
        assert (body["accepted"], body["rejected"]) == (1, len(bad))
    assert stored(acme) == [(2,)]


@pytest.mark.parametrize(
    "line", [b"{", b"nonsense", b'{"units": NaN}', b"[]", b"1", b'"\xff"', b"[" * 100_000]
)
def test_a_line_that_is_no_record_sinks_nobody_else(api, line):
    body = send_lines(api, lines(entry("a")) + b"\n\n" + line + b"\n" + lines(entry("b"))).json()
    assert body["accepted"] == 2
    assert [verdict["line"] for verdict in body["records"]] == [3]
    assert body["records"][0]["code"] in ("malformed", "wrong_type")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "body_empty"),
        (b"  \n", "body_empty"),
        (b"{", "malformed_body"),
        (b'[{"units": NaN}]', "malformed_body"),
        (b'[{"key": "\xff"}]', "malformed_body"),
        (b"[" * 100_000, "malformed_body"),
        (b"[]", "records_missing"),
        (b'{"records": []}', "records_missing"),
        (b'{"records": [], "extra": 1}', "field_unknown"),
        (b'{"source": "x"}', "field_missing"),
        (b"12", "wrong_type"),
        (b"null", "wrong_type"),
        (b'{"records": {}}', "wrong_type"),
    ],
)
def test_a_body_that_is_no_batch_is_refused(api, acme, body, code):
    is_problem(api.post("usage", body), 400, code)
    assert stored(acme) == [(0,)]


def test_other_content_types_and_encodings_are_refused(api):
    is_problem(
        api.post("usage", b"a=1", content_type="application/x-www-form-urlencoded"),
        415,
        "content_type_unsupported",
    )
    is_problem(
        api.post("usage", b"[]", content_type="application/json; charset=latin-1"),
        415,
        "content_type_unsupported",
    )
    is_problem(api.post("usage", b"x", content_encoding="br"), 415, "content_type_unsupported")


def test_gzip_is_inflated_and_bounded(api, acme):
    body = gzip.compress(lines(entry("a"), entry("b")))
    assert send_lines(api, body, content_encoding="gzip").json()["accepted"] == 2
    cut = send_lines(api, body[:-4], content_encoding="gzip")
    is_problem(cut, 400, "gzip_truncated")
    is_problem(send_lines(api, b"plain", content_encoding="gzip"), 400, "gzip_broken")
    bomb = gzip.compress(b" " * (257 * 2**20), 1)
    found = is_problem(send_lines(api, bomb, content_encoding="gzip"), 413, "body_too_large")
    assert found["limit_bytes"] == 256 * 2**20
    assert stored(acme) == [(2,)]


def test_more_than_the_limit_is_refused_whole(api, acme):
    one = lines(entry("a")) + b"\n"
    found = is_problem(send_lines(api, one * 100_001), 400, "too_many_records")
    assert found["limit"] == 100_000
    is_problem(api.post("usage", b"[" + b"1," * 100_000 + b"1]"), 400, "too_many_records")
    is_problem(api.post("usage", b"[" + b"1," * 6_000_000 + b"1]"), 400, "too_many_records")
    assert stored(acme) == [(0,)]


def test_a_retry_under_the_same_key_gets_the_first_answer(api, acme):
    first = api.post("usage", [entry("a"), entry("b", units=0)], idempotency_key="k1")
    again = api.post("usage", [entry("a"), entry("b", units=0)], idempotency_key="k1")
    assert again.json() == first.json()
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    other = api.post("usage", [entry("c")], idempotency_key="k1")
    found = is_problem(other, 409, "idempotency_key_reused")
    assert found["errors"][0]["header"] == "Idempotency-Key"
    too_long = api.post("usage", [entry("c")], idempotency_key="k" * 201)
    is_problem(too_long, 400, "idempotency_key_length")
    assert stored(acme) == [(1,)]


def test_a_token_bound_to_pools_may_report_only_those(acme):
    api = speaking(fresh_token(acme, "usage:write", pools=(acme.pools["a100"],)))
    body = api.post("usage", [entry("a"), entry("b", pool="a100")]).json()
    assert (body["accepted"], body["records"][0]["code"]) == (1, "pool_denied")


def test_another_tenants_machine_reports_into_its_own_tenant_only(acme, globex):
    api = speaking(fresh_token(globex))
    body = api.post("usage", [entry("a"), entry("b", person="charlie")]).json()
    assert (body["accepted"], body["records"][0]["code"]) == (1, "person_unknown")
    assert stored(acme) == [(0,)]


def test_unknown_or_bad_parameters_are_refused(api):
    found = is_problem(api.post("usage?sorce=x", [entry("a")]), 400, "parameter_unknown")
    assert found["errors"][0]["parameter"] == "sorce"
    assert found["known"] == ["source"]
    is_problem(api.post("usage?source=a&source=b", [entry("a")]), 400, "parameter_repeated")
    is_problem(api.post("usage?source=", [entry("a")]), 400, "parameter_invalid")
    is_problem(api.post("usage?source=a%00b", [entry("a")]), 400, "parameter_invalid")


def test_escaped_surrogates_and_control_characters_reject_the_record_alone(api):
    body = lines(entry("ok")) + b"\n" + lines(entry("x")).replace(b'"x"', b'"\\ud800"')
    body += b"\n" + lines(entry("a\u0000b"))
    answer = send_lines(api, body)
    assert answer.status_code == 200
    assert answer.json()["accepted"] == 1
    assert [verdict["line"] for verdict in answer.json()["records"]] == [2, 3]
