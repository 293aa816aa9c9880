"""Notices over REST: one's own, read or not, and nobody else's."""

import json
from datetime import UTC, datetime

import pytest
from django.test import Client

from ledger import scope
from ledger.ids import new_id
from notices.queries import notices
from tests.notices.test_mails import tell
from tests.world import Tenant


@pytest.fixture
def alice(acme: Tenant) -> Client:
    client = Client()
    client.force_login(acme.login("alice"))
    return client


def post(client: Client, body: dict):
    return client.post("/api/v1/notices/read", json.dumps(body), content_type="application/json")


def test_a_person_reads_their_own_page_by_page(acme, alice):
    tell(acme, "alice", *(f"n{number}" for number in range(5)))
    tell(acme, "alice", "other", kind="quota.lapsed")
    tell(acme, "bob", "not hers")
    seen, address = [], "/api/v1/notices?limit=2&unread=1&kind=quota.ended"
    while address:
        answer = alice.get(address).json()
        assert answer["unread"] == 6
        seen += [one["title"] for one in answer["notices"]]
        address = answer["next"]
    assert seen == ["n4", "n3", "n2", "n1", "n0"]
    first = alice.get("/api/v1/notices").json()["notices"][-1]
    assert first["link"] == "/accounts/nlp/quota" and first["read_at"] is None
    assert first["deadline"].startswith("2026-12-02T12:00:00")


def test_reading_marks_what_is_named_and_only_ones_own(acme, alice):
    tell(acme, "alice", "one", "two", "three")
    tell(acme, "bob", "his")
    with scope.reading(acme.id):
        his = notices(acme.id, acme.people["bob"]).rows[0].id
        ids = [row.id for row in notices(acme.id, acme.people["alice"]).rows]
    assert post(alice, {"ids": [str(ids[0]), str(his)]}).json() == {"marked": 1, "unread": 2}
    assert post(alice, {"ids": [str(ids[0])]}).json() == {"marked": 0, "unread": 2}
    assert post(alice, {"up_to": str(ids[1])}).json() == {"marked": 2, "unread": 0}
    with scope.reading(acme.id):
        assert notices(acme.id, acme.people["bob"]).rows[0].read_at is None


def test_a_machine_has_no_notices(acme):
    machine = Client(headers={"Authorization": f"Bearer {fresh(acme)}"})
    assert machine.get("/api/v1/notices").json()["code"] == "person_needed"
    assert post(machine, {"ids": [str(new_id())]}).json()["code"] == "person_needed"


@pytest.mark.parametrize(
    "query", ["kind=nonsense", "unread=2", "limit=0", "limit=201", "cursor=x", "cursor=WzFd"]
)
def test_bad_parameters_are_refused(acme, alice, query):
    assert alice.get(f"/api/v1/notices?{query}").status_code == 400


def fresh(place: Tenant) -> str:
    return place.token(now=datetime.now(UTC))
