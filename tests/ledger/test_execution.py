"""The runner: idempotency keys, refusals, retries, dry runs."""

import threading
from datetime import timedelta
from uuid import UUID

import django.db
import psycopg
import pytest

from ledger import execution, scope, store
from ledger.errors import Conflict, Denied, Invalid, Refused
from ledger.ids import new_id
from ledger.sql import server_cursor
from tests.ledger.sample import Hooks, Note, machine, together
from tests.world import NOW, Tenant, tenant


@pytest.fixture
def place(db) -> Tenant:
    return tenant("place")


@pytest.fixture
def real_place(transactional_db) -> Tenant:
    return tenant("place")


@pytest.fixture(autouse=True)
def hooks(monkeypatch):
    monkeypatch.setattr(Hooks, "before", None)
    monkeypatch.setattr(Hooks, "calls", 0)
    monkeypatch.setattr(execution.time, "sleep", lambda seconds: None)
    return Hooks


def note(place: Tenant, *lines: str, note_id: UUID = UUID(int=7), by: int = 1, **context):
    return place.run(Note(note_id=note_id, lines=lines or ("a",)), by=machine(by), **context)


def count(place: Tenant, table: str = "ledger_event") -> int:
    with scope.reading(place.id), server_cursor() as cursor:
        return cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_the_same_key_gives_the_first_answer_again_and_does_nothing(place):
    first = note(place, "a", idempotency_key="k")
    before = count(place)
    again = note(place, "a", idempotency_key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.result == first.result
    assert again.events == ()
    assert (Hooks.calls, count(place)) == (1, before)


def test_the_same_key_with_other_content_is_a_conflict(place):
    note(place, "a", idempotency_key="k")
    with pytest.raises(Conflict) as caught:
        note(place, "b", idempotency_key="k")
    assert caught.value.code == "idempotency_key_reused"
    assert Hooks.calls == 1


def test_a_key_belongs_to_its_author(place):
    mine = note(place, "a", idempotency_key="k", by=1)
    theirs = note(place, "b", idempotency_key="k", by=2)
    assert not theirs.replayed
    assert theirs.result.command_id != mine.result.command_id


def test_a_key_belongs_to_its_organization(place):
    note(place, "a", idempotency_key="k")
    assert not note(tenant("other"), "b", idempotency_key="k").replayed


def test_the_permission_is_asked_before_the_receipt(place):
    note(place, "a", idempotency_key="k")
    nobody = machine(1).__class__(kind=machine(1).kind, id=machine(1).id, label="m")
    with pytest.raises(Denied):
        place.run(Note(note_id=UUID(int=7), lines=("a",)), by=nobody, idempotency_key="k")


def test_a_refusal_is_remembered_and_leaves_nothing_behind(place):
    before = count(place), count(place, "ledger_subject")
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            note(place, "a", "refuse", idempotency_key="k")
        assert (caught.value.code, caught.value.facts) == ("line_refused", {"line": "refuse"})
    assert Hooks.calls == 1
    assert (count(place), count(place, "ledger_subject")) == before
    assert count(place, "ledger_receipt") == 1


def test_an_invalid_command_keeps_no_receipt_so_that_it_can_be_sent_again(place):
    with pytest.raises(Invalid):
        note(place, "invalid", idempotency_key="k")
    assert count(place, "ledger_receipt") == 0
    assert not note(place, "a", idempotency_key="k").replayed


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_a_length(place, key):
    with pytest.raises(Invalid) as caught:
        note(place, idempotency_key=key)
    assert caught.value.code == "idempotency_key_length"


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800"])
def test_text_that_cannot_be_stored_is_invalid_wherever_it_is(place, text):
    for call in (
        lambda: note(place, text),
        lambda: note(place, reason=text),
        lambda: note(place, idempotency_key=text),
    ):
        with pytest.raises(Invalid) as caught:
            call()
        assert caught.value.code == "text_unstorable"
    assert note(place, "fine").result.lines == 1


def test_a_dry_run_answers_and_changes_nothing(transactional_db):
    place = tenant("place")
    tables = ("ledger_event", "ledger_receipt", "ledger_subject", "ledger_lane")
    before = [count(place, table) for table in tables]
    pool = new_id()
    outcome = place.run(
        Note(note_id=new_id(), lines=("a", "b"), pool_id=pool),
        by=machine(1),
        dry_run=True,
        idempotency_key="k",
    )
    assert outcome.result.lines == 2
    with pytest.raises(Refused):
        note(place, "refuse", dry_run=True, idempotency_key="k")
    assert [count(place, table) for table in tables] == before
    assert not note(place, "a", idempotency_key="k").replayed


def test_circumstances_are_recorded(place):
    later = NOW + timedelta(days=1)
    placed = note(place, "a", by=3, now=later, reason="because", idempotency_key="k").events[0]
    with scope.reading(place.id):
        stored = store.read_ids(place.id, [placed.id])[0]
    assert stored == placed
    assert (stored.recorded_at, stored.reason, stored.actor_label) == (
        later,
        "because",
        "machine 3",
    )
    assert (stored.command, stored.actor_id) == ("Note", UUID(int=3))


@pytest.mark.django_db(transaction=True)
def test_of_two_equal_calls_at_once_one_works_and_the_other_replays():
    place = tenant("place")
    outcomes = together([lambda: note(place, "a", idempotency_key="k")] * 6)
    assert sorted(outcome.replayed for outcome in outcomes) == [False] + [True] * 5
    assert len({outcome.result.command_id for outcome in outcomes}) == 1
    assert Hooks.calls == 1


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.DeadlockDetected("deadlock detected"),
        psycopg.errors.SerializationFailure("could not serialize"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_collision_is_tried_again_a_bounded_number_of_times(real_place, error, wrapped):
    def collide(times: int):
        def before(unit):
            if Hooks.calls <= times:
                if not wrapped:
                    raise error
                raise django.db.OperationalError(str(error)) from error

        Hooks.calls, Hooks.before = 0, before

    collide(execution.ATTEMPTS_MAX - 1)
    assert note(real_place, "a", idempotency_key="k").result.lines == 1
    assert Hooks.calls == execution.ATTEMPTS_MAX
    collide(execution.ATTEMPTS_MAX)
    before = count(real_place)
    with pytest.raises((psycopg.OperationalError, django.db.OperationalError)):
        note(real_place, "b", idempotency_key="k2")
    assert (Hooks.calls, count(real_place)) == (execution.ATTEMPTS_MAX, before)


def test_another_database_error_is_not_tried_again(real_place):
    def before(unit):
        raise psycopg.errors.UndefinedTable("no such table")

    Hooks.before = before
    with pytest.raises(psycopg.errors.UndefinedTable):
        note(real_place)
    assert Hooks.calls == 1


def test_a_real_deadlock_ends_with_both_commands_done(real_place):
    """Two handlers take two locks crosswise; PostgreSQL breaks one, the runner repeats it."""
    barrier = threading.Barrier(2)

    def before(unit):
        locks = (1, 2) if unit.actor.id == UUID(int=1) else (2, 1)
        with server_cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%b::bigint)", (locks[0],))
            try:
                barrier.wait(timeout=0.5)
            except threading.BrokenBarrierError:
                pass  # the repetition is alone
            cursor.execute("SELECT pg_advisory_xact_lock(%b::bigint)", (locks[1],))

    Hooks.before = before
    outcomes = together(
        lambda n=n: note(real_place, f"by {n}", by=n, note_id=UUID(int=n)) for n in (1, 2)
    )
    assert [outcome.result.lines for outcome in outcomes] == [1, 1]
    assert Hooks.calls == 3
