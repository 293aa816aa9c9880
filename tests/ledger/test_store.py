"""Order, versions and lanes of the store, under real transactions that run at once."""

from uuid import UUID

import psycopg
import pytest

from ledger import chain, readers, scope, store, verification
from ledger.errors import Conflict
from ledger.ids import new_id
from ledger.sql import server_cursor
from tests.ledger.sample import Note, machine, together
from tests.world import Tenant, tenant

THREADS = 8
COMMANDS = 12


@pytest.fixture
def place(db) -> Tenant:
    return tenant("place")


@pytest.fixture
def real_place(transactional_db) -> Tenant:
    """An organization that other connections see."""
    return tenant("place")


def note(place: Tenant, note_id: UUID, *lines: str, by: int = 1, key: str | None = None, **values):
    command = Note(note_id=note_id, lines=lines, **values)
    return place.run(command, by=machine(by), idempotency_key=key)


def events(place: Tenant) -> list[tuple]:
    with scope.reading(place.id), server_cursor() as cursor:
        return cursor.execute(
            "SELECT lane, lane_seq, position, stream, version FROM ledger_event "
            "ORDER BY lane, lane_seq"
        ).fetchall()


def test_a_stream_counts_its_versions_from_one(place):
    note_id = new_id()
    note(place, note_id, "a", "b")
    placed = note(place, note_id, "c").events
    assert [event.version for event in placed] == [3]
    with scope.reading(place.id):
        assert store.stream_version(place.id, f"note:{note_id}") == 3
        assert [e.data.text for e in store.read_stream(place.id, f"note:{note_id}")] == [*"abc"]
        assert store.latest(place.id, f"note:{note_id}").data.text == "c"
        assert store.latest(place.id, "note:none") is None


def test_an_append_to_a_stream_that_moved_on_is_a_conflict_and_stores_nothing(place):
    note_id = new_id()
    note(place, note_id, "a", expected=0)
    with pytest.raises(Conflict) as caught:
        note(place, note_id, "late", expected=0)
    assert caught.value.code == "stale_version"
    assert caught.value.facts["found"] == 1
    assert note(place, note_id, "b", expected=1).events[0].version == 2


@pytest.mark.parametrize("lines", [("late",), ("late", "later")], ids=["one", "many"])
@pytest.mark.parametrize("expected", [0, 2])
def test_after_a_conflict_not_even_the_receipt_is_there(real_place, lines, expected):
    """Nothing was final before the versions were compared; so the key is free for another try."""
    note_id = new_id()
    note(real_place, note_id, "a")
    before = events(real_place)
    with pytest.raises(Conflict) as caught:
        note(real_place, note_id, *lines, expected=expected, key="k")
    assert caught.value.code == "stale_version"
    assert events(real_place) == before
    with scope.reading(real_place.id), server_cursor() as cursor:
        rows = cursor.execute("SELECT count(*) FROM ledger_receipt").fetchone()
        assert rows == (0,)
    again = note(real_place, note_id, *lines, expected=1, key="k")
    assert not again.replayed
    assert [one.version for one in again.events] == list(range(2, 2 + len(lines)))
    assert note(real_place, note_id, *lines, expected=1, key="k").replayed
    assert verification.verify(real_place.id).findings == []


def test_one_event_and_many_take_their_places_after_each_other(real_place):
    """In one stream and two lanes, with receipts and without, the first of a lane among them."""
    note_id, pool_id = new_id(), new_id()
    placed = []
    for number, lines in enumerate((("a",), ("b", "c"), ("d",), ("e",), ("f", "g", "h"), ("i",))):
        keyed = {"key": f"k{number}"} if number % 2 else {}
        placed += note(real_place, note_id, *lines, **keyed).events
        placed += note(real_place, pool_id, lines[0], pool_id=pool_id, **keyed, by=2).events
    of_note = [one for one in placed if one.stream == f"note:{note_id}"]
    of_pool = [one for one in placed if one.stream == f"note:{pool_id}"]
    assert [one.version for one in of_note] == list(range(1, 10))
    assert [one.version for one in of_pool] == [one.lane_seq for one in of_pool] == [*range(1, 7)]
    assert {one.lane for one in of_pool} == {pool_id}
    assert {one.lane for one in of_note} == {real_place.id}
    stored = {row[2]: row for row in events(real_place)}
    for one in placed:
        place = (one.lane, one.lane_seq, one.position, one.stream, one.version)
        assert stored[one.position] == place
    assert note(real_place, note_id, "b", "c", key="k1").replayed
    assert note(real_place, note_id, "e", key="k3").replayed
    assert len(events(real_place)) == len(stored)
    assert verification.verify(real_place.id).findings == []


def test_of_many_who_read_the_same_version_one_wins(real_place):
    note_id = new_id()
    note(real_place, note_id, "start")
    outcomes = together(
        lambda n=n: note(real_place, note_id, f"by {n}", by=n, expected=1) for n in range(THREADS)
    )
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == THREADS - 1
    with scope.reading(real_place.id):
        assert store.stream_version(real_place.id, f"note:{note_id}") == 2


def test_the_database_links_what_the_chain_says(place):
    """Whatever the texts, in every lane, over several commands."""
    pool_id = new_id()
    for lines in (('a"\\\n\t\u001f/\u2028', "\u00e9e\u0301\U0001f600"), ("", "]},{")):
        note(place, new_id(), *lines)
        note(place, new_id(), *lines, pool_id=pool_id)
        note(place, new_id(), lines[0], pool_id=pool_id)
        note(place, pool_id, lines[1])
    with scope.reading(place.id):
        heads = store.heads(place.id)
        assert heads[pool_id][0] == 6
        for lane, head in heads.items():
            links = store.stored_links(place.id, lane)
            assert chain.first_break(lane, links, head=head) is None


def test_lanes_are_gapless_and_in_position_order_whoever_writes(real_place):
    shared, pools = new_id(), (None, new_id(), new_id())

    def job(n: int):
        for step in range(COMMANDS):
            pool_id = pools[(n + step) % 3]
            own = new_id()
            note(real_place, own, "a", "b", by=n, pool_id=pool_id)
            note(real_place, shared, f"{n}/{step}", by=n)

    assert together(lambda n=n: job(n) for n in range(THREADS)) == [None] * THREADS
    by_lane: dict[UUID, list[tuple]] = {}
    for row in events(real_place):
        by_lane.setdefault(row[0], []).append(row)
    assert len(by_lane) == 3
    for rows in by_lane.values():
        assert [row[1] for row in rows] == list(range(1, len(rows) + 1))
        positions = [row[2] for row in rows]
        assert positions == sorted(positions)
        last: dict[str, int] = {}
        for _, _, _, stream, version in rows:
            assert version == last.get(stream, 0) + 1
            last[stream] = version
    total = sum(len(rows) for rows in by_lane.values())
    assert total == 2 + THREADS * COMMANDS * 3
    assert verification.verify(real_place.id).findings == []


def test_a_reader_skips_nothing_and_sees_nothing_twice_while_others_append(real_place):
    pools = (None, new_id(), new_id())
    seen: dict[UUID, list[int]] = {}
    reader = readers.Reader(
        name="test",
        handle=lambda run: seen.setdefault(run[0].lane, []).extend(e.lane_seq for e in run),
    )

    def write(n: int):
        for step in range(COMMANDS):
            note(real_place, new_id(), *"abc"[: 1 + step % 3], by=n, pool_id=pools[(n + step) % 3])

    def read():
        for _ in range(40):
            readers.catch_up(reader, real_place.id, batch=7)

    jobs = [lambda n=n: write(n) for n in range(THREADS - 1)]
    assert together([*jobs, read]) == [None] * THREADS
    readers.catch_up(reader, real_place.id, batch=7)
    with scope.reading(real_place.id):
        heads = {lane: seq for lane, (seq, _) in store.heads(real_place.id).items()}
    assert seen == {lane: list(range(1, seq + 1)) for lane, seq in heads.items()}
    assert readers.catch_up(reader, real_place.id) == 0


def test_replay_merges_lanes_in_position_order_between_two_cuts(place):
    pool = new_id()
    note(place, new_id(), "a")
    note(place, new_id(), "b", pool_id=pool)
    with scope.reading(place.id):
        first = {lane: seq for lane, (seq, _) in store.heads(place.id).items()}
    note(place, new_id(), "c", pool_id=pool)
    note(place, new_id(), "d")
    note(place, new_id(), "e", pool_id=pool)
    with scope.reading(place.id):
        second = {lane: seq for lane, (seq, _) in store.heads(place.id).items()}
        texts = [e.data.text for e in store.replay(place.id, after=first, until=second)]
        everything = list(store.replay(place.id, after={}, until=second))
    assert texts == ["c", "d", "e"]
    assert [e.position for e in everything] == sorted(e.position for e in everything)
    assert len(everything) == 2 + 5


@pytest.mark.parametrize("table", ["ledger_event", "accounting_usagerecord"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {t} SET organization_id = organization_id", "DELETE FROM {t}"]
)
def test_the_application_may_not_change_what_is_recorded(acme, table, statement):
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"),
        scope.reading(acme.id),
        server_cursor() as cursor,
    ):
        cursor.execute(statement.format(t=table))


@pytest.mark.parametrize("table", ["ledger_event", "accounting_usagerecord"])
@pytest.mark.parametrize(
    "statement",
    ["UPDATE {t} SET organization_id = organization_id", "DELETE FROM {t}", "TRUNCATE {t}"],
)
def test_even_the_owner_runs_into_the_trap(owner, table, statement):
    from tests.world import acme, record

    acme().use(record("a"))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        owner.execute(statement.format(t=table))
