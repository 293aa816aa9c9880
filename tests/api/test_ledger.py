"""Reading the ledger over REST: filtered, paged, and only by who may."""

from uuid import UUID

import pytest
from django.test import Client

from ledger import api as ledger_api
from ledger import queries, scope
from ledger.ids import new_id
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from quota.queries.allocations import jobs_of
from tenancy.domain import roles
from tests.api.conftest import fresh_token, is_problem, speaking
from tests.world import record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reader(acme):
    return speaking(fresh_token(acme, "export:read"))


def test_permissions_are_those_of_tenancy():
    assert ledger_api.PERMISSION == roles.LEDGER_READ
    assert ledger_api.MACHINE_SCOPE == roles.Scope.EXPORT_READ


def test_newest_first_in_pages_without_gap(reader, acme):
    acme.use(record("a"))
    seen, address, pages = [], "ledger/events?limit=7", 0
    while address:
        page = reader.get(address.removeprefix("/api/v1/")).json()
        seen += page["events"]
        address, pages = page["next"], pages + 1
    positions = [event["position"] for event in seen]
    assert positions == sorted(positions, reverse=True)
    assert len(set(positions)) == len(positions) > 20
    assert pages == -(-len(seen) // 7)


def test_filters(reader, acme):
    acme.use(record("a"))
    only = reader.get("ledger/events", {"type": "usage.batch_recorded"}).json()["events"]
    kinds = reader.get("ledger/events", {"subject": str(acme.accounts["nlp"])}).json()["events"]
    assert {event["type"] for event in only} == {"usage.batch_recorded"}
    assert kinds
    assert all(str(acme.accounts["nlp"]) in event["subjects"] for event in kinds)
    none = reader.get("ledger/events", {"until": "2020-01-01T00:00:00Z"}).json()
    assert (none["events"], none["next"]) == ([], None)
    some = reader.get("ledger/events", {"since": "2020-01-01T00:00:00+01:00"}).json()
    assert some["events"]


def test_what_one_actor_did(reader, acme):
    acme.use(record("a"), by=acme.actor("otto"))
    mine = reader.get("ledger/events", {"actor": str(acme.people["otto"])}).json()["events"]
    assert {event["actor_label"] for event in mine} == {"otto"}
    assert reader.get("ledger/events", {"actor": str(new_id())}).json()["events"] == []
    is_problem(reader.get("ledger/events", {"actor": "otto"}), 400, "parameter_invalid")


def test_one_event(reader):
    listed = reader.get("ledger/events", {"limit": 1}).json()["events"][0]
    assert reader.get(f"ledger/events/{listed['id']}").json() == listed
    assert len(listed["hash"]) == 64
    is_problem(reader.get(f"ledger/events/{new_id()}"), 404, "event_unknown")
    is_problem(reader.get("ledger/events/nonsense"), 404, "address_unknown")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"subject": "nlp"}, "parameter_invalid"),
        ({"type": "nothing"}, "event_type_unknown"),
        ({"since": "yesterday"}, "parameter_invalid"),
        ({"limit": "201"}, "parameter_invalid"),
        ({"cursor": "x"}, "parameter_invalid"),
        ({"cursor": "LTE"}, "parameter_invalid"),
        ({"page": "2"}, "parameter_unknown"),
    ],
)
def test_bad_questions_name_the_parameter(reader, query, code):
    found = is_problem(reader.get("ledger/events", query), 400, code)
    assert found["errors"][0]["parameter"] == next(iter(query))


def test_another_tenants_machine_sees_only_its_own(acme, globex, reader):
    other = speaking(fresh_token(globex, "export:read"))
    mine = {event["id"] for event in reader.get("ledger/events?limit=200").json()["events"]}
    theirs = {event["id"] for event in other.get("ledger/events?limit=200").json()["events"]}
    assert mine and theirs and not mine & theirs
    is_problem(other.get(f"ledger/events/{mine.pop()}"), 404, "event_unknown")
    subject = str(acme.accounts["nlp"])
    assert other.get("ledger/events", {"subject": subject}).json()["events"] == []


def test_a_scheduler_may_not_read_the_ledger(api):
    is_problem(api.get("ledger/events"), 403, "scope_missing")


def test_a_lead_reads_what_is_about_her_account(acme):
    client = Client()
    client.force_login(acme.login("alice"))
    is_problem(client.get("/api/v1/ledger/events"), 403, "role_missing")
    own = client.get(f"/api/v1/ledger/events?subject={acme.accounts['nlp']}").json()["events"]
    assert client.get(f"/api/v1/ledger/events/{own[0]['id']}").status_code == 200
    foreign = f"/api/v1/ledger/events?subject={acme.accounts['vision']}"
    is_problem(client.get(foreign), 403, "role_missing")
    client.force_login(acme.login("uma"))
    listed = client.get(f"{foreign}&limit=1").json()["events"][0]
    client.force_login(acme.users["alice"])
    hidden = client.get(f"/api/v1/ledger/events/{listed['id']}")
    is_problem(hidden, 404, "event_unknown")


def test_a_lead_reads_what_happened_to_her_jobs_and_what_all_numbers_rest_on(acme):
    """The same as on the page of the ledger."""
    ask = wire.Ask(key="a", account="nlp", person="bob", pool="h100", units=4, spot_allowed=True)
    other = wire.Ask(key="b", account="vision", person="bob", pool="h100", units=4, tier="spot")
    acme.run(AdmitBatch(requests=(ask, other)))
    acme.run(StartAllocations(messages=(wire.Message(key="a"), wire.Message(key="b"))))
    with scope.reading(acme.id):
        started = queries.history(acme.id, types=["allocation.started"], limit=2).rows
        opened = queries.history(acme.id, types=["pool.opened"], limit=1).rows[0]
        created = queries.history(acme.id, types=["organization.created"], limit=1).rows[0]
        jobs = jobs_of(acme.id, [UUID(one.payload["allocation_id"]) for one in started])
    of = {jobs[UUID(one.payload["allocation_id"])].key: one.id for one in started}
    client = Client()
    client.force_login(acme.login("alice"))

    def statuses(event_id) -> tuple[int, int]:
        page = client.get(f"/ledger/{event_id}").status_code
        return client.get(f"/api/v1/ledger/events/{event_id}").status_code, page

    assert statuses(of["a"]) == (200, 200)
    assert statuses(of["b"]) == (404, 404)
    assert statuses(opened.id) == (200, 200)
    assert statuses(created.id) == (200, 200)
    client.force_login(acme.login("bob"))
    assert statuses(of["a"]) == (404, 403)
