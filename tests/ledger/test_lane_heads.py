"""The main lane vouches for the others, hourly, and only when one has moved."""

import pytest

from config.celery import BEAT_TABLE, app
from ledger import scope, store, tasks
from ledger.commands import RecordLaneHeads
from ledger.errors import Denied
from ledger.ids import new_id
from tests.ledger.sample import Note, machine
from tests.world import Tenant, tenant


@pytest.fixture
def place(db) -> Tenant:
    return tenant("place")


def note(place: Tenant, pool_id=None) -> None:
    place.run(Note(note_id=new_id(), lines=("a",), pool_id=pool_id), by=machine(1))


def test_heads_are_recorded_when_one_has_moved(place):
    one, two = sorted([new_id(), new_id()])
    assert place.run(RecordLaneHeads()).result.heads == 0
    note(place, one)
    note(place, one)
    note(place, two)
    assert place.run(RecordLaneHeads()).result.heads == 2
    assert place.run(RecordLaneHeads()).result.heads == 0
    note(place)
    assert place.run(RecordLaneHeads()).result.heads == 0
    note(place, two)
    placed = place.run(RecordLaneHeads()).events[0]
    assert placed.lane == place.id
    with scope.reading(place.id):
        heads = store.heads(place.id)
    assert [(head.lane, head.seq) for head in placed.data.heads] == [(one, 2), (two, 2)]
    assert [head.hash for head in placed.data.heads] == [heads[n][1].hex() for n in (one, two)]


def test_nobody_but_the_system_records_heads(acme):
    for actor in (acme.actor("otto"), machine(1)):
        with pytest.raises(Denied):
            acme.run(RecordLaneHeads(), by=actor)


def test_the_task_goes_through_all_organizations_and_may_run_twice(place):
    other = tenant("other")
    for organization in (place, other):
        note(organization, new_id())
    tasks.record_lane_heads()
    tasks.record_lane_heads()
    for organization in (place, other):
        stream = f"ledger:{organization.id}"
        with scope.reading(organization.id):
            assert store.stream_version(organization.id, stream) == 1


def test_beat_runs_it_every_hour():
    entry = BEAT_TABLE["ledger-lane-heads"]
    assert entry["schedule"] == 3600
    assert entry["task"] in app.tasks
