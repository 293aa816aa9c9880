"""Use read back over REST: rollups, batches and records, within what the caller may read."""

import base64
import json
from datetime import timedelta

import pytest

from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.world import NOW, Tenant, record

pytestmark = pytest.mark.django_db(transaction=True)
DAYS = {"since": "2026-11-20", "until": "2026-11-29"}


def exporter(tenant: Tenant) -> Api:
    return speaking(fresh_token(tenant, "export:read"))


@pytest.fixture
def used(acme) -> Tenant:
    """Two days of use in nlp, one in serving, one record still running."""
    acme.person("zoe", "serving")
    yesterday = NOW - timedelta(days=1, hours=2)
    acme.use(
        record("a", compute_util=0.5),
        record("b", start=yesterday, pool="a100", tier="spot"),
        record("c", account="serving", person="zoe", units=1),
        record("d", hours=None),
    )
    return acme


def groups(api: Api, **query) -> list[tuple]:
    body = api.get("usage/days", DAYS | query).json()
    return [
        tuple(v for k in ("day", "account", "person", "pool", "tier") if (v := g[k]) is not None)
        for g in body["groups"]
    ]


def test_days_by_account_and_pool(used):
    body = exporter(used).get("usage/days", DAYS).json()
    assert (body["since"], body["until"], body["next"]) == ("2026-11-20", "2026-11-29", None)
    assert [(g["day"], g["account"], g["pool"], g["unit_seconds"]) for g in body["groups"]] == [
        ("2026-11-29", "nlp", "h100", "28800.000000"),
        ("2026-11-29", "serving", "h100", "3600.000000"),
        ("2026-11-28", "nlp", "a100", "28800.000000"),
    ]
    measured, unmeasured, _ = body["groups"]
    assert (measured["compute_util"], measured["compute_known"]) == (0.5, 1.0)
    assert (unmeasured["compute_util"], unmeasured["compute_known"]) == (None, 0.0)
    assert measured["productive_util"] is None


def test_filters_and_groupings(used):
    api = exporter(used)
    assert groups(api, account="research", by="account") == [("nlp",)]
    assert groups(api, person="zoe", by="person,pool") == [("zoe", "h100")]
    assert groups(api, pool="a100", by="tier") == [("spot",)]
    assert groups(api, tier="guaranteed", by="account") == [("nlp",), ("serving",)]
    assert groups(api, by="account", sort="use") == [("nlp",), ("serving",)]
    assert groups(api, since="2026-11-29", by="day") == [("2026-11-29",)]
    mixed = api.get("usage/days", DAYS | {"by": "account", "account": "nlp"}).json()["groups"][0]
    assert mixed["unit_seconds"] is None  # of two flavors there is no sum
    assert float(mixed["weighted"]) == 28800 + 0.5 * 28800


def test_pages_share_and_skip_nothing(used):
    api = exporter(used)
    for sort in ("key", "use"):
        seen, address = [], None
        query = DAYS | {"by": "day,account,person,pool,tier", "sort": sort, "limit": 1}
        while True:
            answer = (
                api.client.get(address, headers=api._headers({}))
                if address
                else api.get("usage/days", query)
            )
            body = answer.json()
            seen += [(g["day"], g["account"]) for g in body["groups"]]
            address = body["next"]
            if address is None:
                break
        assert sorted(seen) == [
            ("2026-11-28", "nlp"),
            ("2026-11-29", "nlp"),
            ("2026-11-29", "serving"),
        ]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"since": "yesterday"}, 400, "parameter_invalid"),
        ({"since": "0001-01-01"}, 400, "parameter_invalid"),
        ({"since": "2026-12-01"}, 400, "period_out_of_range"),
        ({"since": "2020-01-01"}, 400, "period_out_of_range"),
        ({"account": "nowhere"}, 404, "account_unknown"),
        ({"person": "nobody"}, 404, "person_unknown"),
        ({"pool": "nothing"}, 404, "pool_unknown"),
        ({"tier": "gold"}, 400, "tier_unknown"),
        ({"by": "weekday"}, 400, "grouping_unknown"),
        ({"sort": "name"}, 400, "parameter_invalid"),
        ({"limit": "501"}, 400, "parameter_invalid"),
        ({"accuont": "nlp"}, 400, "parameter_unknown"),
    ],
)
def test_bad_questions(acme, query, status, code):
    is_problem(exporter(acme).get("usage/days", DAYS | query), status, code)


@pytest.mark.parametrize(
    "place",
    [
        ["1"],
        [],
        ["99999999999", "nlp", "h100"],
        ["1.5", "nlp", "h100"],
        ["1", "a\u0000", "h100"],
        ["x", "nlp", "h100"],
        "1",
        [1, 2, 3],
    ],
)
def test_cursors_of_somebody_else(used, place):
    text = base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")
    answer = exporter(used).get("usage/days", DAYS | {"cursor": text})
    assert answer.status_code == 400
    assert answer.json()["code"] in ("page_unknown", "parameter_invalid")
    assert exporter(used).get("usage/batches", {"cursor": text}).status_code == 400


def test_people_read_use_of_their_accounts(used):
    alice = signed_in(used, "alice")
    assert groups(alice, account="nlp", by="account") == [("nlp",)]
    is_problem(alice.get("usage/days", DAYS), 403, "role_missing")
    is_problem(alice.get("usage/days", DAYS | {"account": "serving"}), 403, "role_missing")
    assert len(groups(signed_in(used, "uma"), by="account")) == 2


def test_batches_and_their_records(used):
    used.use(record("a2", units=4, supersedes="a"), now=NOW + timedelta(minutes=1))
    api = exporter(used)
    newest = api.get("usage/batches", {"limit": 1}).json()
    older = api.client.get(newest["next"], headers=api._headers({})).json()
    (second,), (first,) = newest["batches"], older["batches"]
    assert (first["rows"], first["sources"], older["next"]) == (4, ["test"], None)
    assert api.get(f"usage/batches/{first['id']}").json() == first
    assert api.get(f"ledger/events/{first['event_id']}").json()["payload"]["rows"] == 4
    page = api.get(f"usage/batches/{second['id']}/records", {"limit": 1}).json()
    assert [(row["key"], row["sign"]) for row in page["records"]] == [("a", -1)]
    rest = api.client.get(page["next"], headers=api._headers({})).json()
    assert [(row["key"], row["sign"], row["units"]) for row in rest["records"]] == [("a2", 1, 4)]


def test_people_see_the_records_of_their_accounts(used):
    batch = exporter(used).get("usage/batches").json()["batches"][0]["id"]
    rows = signed_in(used, "alice").get(f"usage/batches/{batch}/records").json()["records"]
    assert {row["account"] for row in rows} == {"nlp"}
    is_problem(signed_in(used, "bob").get("usage/batches"), 403, "role_missing")


def test_reporters_see_facts_but_no_records(used):
    api = speaking(fresh_token(used, "usage:write"))
    batch = api.get("usage/batches").json()["batches"][0]["id"]
    assert api.get(f"usage/batches/{batch}").status_code == 200
    is_problem(api.get(f"usage/batches/{batch}/records"), 403, "scope_missing")
    is_problem(api.get("usage/days", DAYS), 403, "scope_missing")
    scheduler = speaking(fresh_token(used, "priority:read"))
    is_problem(scheduler.get("usage/batches"), 403, "scope_missing")


def test_another_tenant_sees_none_of_it(used, globex):
    batch = exporter(used).get("usage/batches").json()["batches"][0]["id"]
    api = exporter(globex)
    assert api.get("usage/batches").json()["batches"] == []
    assert groups(api) == []
    is_problem(api.get(f"usage/batches/{batch}"), 404, "batch_unknown")
    is_problem(api.get(f"usage/batches/{batch}/records"), 404, "batch_unknown")


def test_reads_are_bounded(used, django_assert_max_num_queries):
    api = exporter(used)
    with django_assert_max_num_queries(7):
        api.get("usage/days", DAYS | {"account": "nlp", "pool": "h100"})
    with django_assert_max_num_queries(5):
        api.get("usage/batches")
