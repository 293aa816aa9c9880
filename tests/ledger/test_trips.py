"""Round trips: what goes out together, what an error leaves, what is prepared and forgotten."""

import signal
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from ledger import scope, trips
from ledger.sql import first_row, server_cursor
from tests.ledger.sample import Note, machine
from tests.world import NOW, Tenant, tenant

NOTE = UUID(int=7)
BERLIN = timezone(timedelta(hours=1))

VALUES = {
    "uuid": [NOTE, UUID(int=2**128 - 1)],
    "text": ["", "a'\"\\{},\n", "\u00e9\U0001f600"],
    "bigint": [0, -1, 2**63 - 1, -(2**63)],
    "int": [0, -1, 2**31 - 1],
    "smallint": [0, -1, 2**15 - 1],
    "boolean": [True, False],
    "bytea": [b"", bytes(range(256))],
    "timestamptz": [
        NOW,
        datetime(1969, 7, 20, 20, 17, 40, 1, tzinfo=UTC),
        datetime(2040, 2, 29, 23, 59, 59, 999_999, tzinfo=BERLIN),
    ],
}


@pytest.fixture
def place(db) -> Tenant:
    return tenant("place")


@pytest.fixture
def real_place(transactional_db) -> Tenant:
    return tenant("place")


def note(place: Tenant, *lines: str, **values):
    return place.run(Note(note_id=NOTE, lines=lines or ("a",), **values), by=machine(1))


def added(number: int) -> None:
    trips.send("INSERT INTO kept VALUES (%b::int)", (number,))


def kept() -> list[int]:
    return [row[0] for row in trips.ask("SELECT n FROM kept ORDER BY n")]


@pytest.mark.parametrize("name", VALUES)
def test_what_is_sent_arrives(db, name):
    for value in (*VALUES[name], None):
        assert trips.ask(f"SELECT %b::{name}", (value,)) == [(value,)]
    values = VALUES[name]
    for several in ([], values[:1], [None], values, [values[0]] * 3, [*values, None]):
        assert trips.ask(f"SELECT %b::{name}[]", (several,)) == [(several,)]


def test_a_text_as_large_as_a_batch_arrives(db):
    large = "\u00e9" * 4_000_000
    assert trips.ask("SELECT length(%b::text)", (large,)) == [(4_000_000,)]


@pytest.mark.parametrize(("name", "value"), [("int", 2**31), ("smallint[]", [1, 2**15])])
def test_a_number_out_of_range_is_an_error_of_the_data(db, name, value):
    with pytest.raises(psycopg.DataError):
        trips.ask(f"SELECT %b::{name}", (value,))


def test_nul_does_not_end_a_text(db):
    with pytest.raises(psycopg.DataError) as caught, transaction.atomic():
        trips.ask("SELECT %b::text", ("a\0b",))
    assert caught.value.sqlstate == "22021"


@pytest.mark.parametrize("sql", ["SELECT %b", "SELECT %b::int, %s", "SELECT %b::money"])
def test_a_parameter_says_its_type(db, sql):
    with pytest.raises(ValueError, match="type"):
        trips.ask(sql, (1,))


def test_a_command_takes_two_trips(real_place, rounds):
    note(real_place, "a", "b")
    note(real_place, "c")
    written = [b"INSERT", b"SELECT", b"SET", b"COMMIT", b"SELECT"]
    assert rounds == [[b"BEGIN", b"SELECT"], written] * 2


def test_an_answer_is_durable_though_its_commit_did_not_wait(real_place, monkeypatch):
    """The last statement of the trip writes behind the commit: what is flushed up to there is
    flushed with the commit."""
    trips.ask("SELECT set_config('synchronous_commit', 'on', false)")
    ends = []
    travel = trips._round

    def noted(raw, line, asked):
        results = travel(raw, line, asked)
        if any(one.statement.sql == b"COMMIT" for one in asked):
            ends.append(int.from_bytes(trips._rows(raw, results[-1])[0][0]))
        return results

    monkeypatch.setattr(trips, "_round", noted)
    for number in range(20):
        note(real_place, str(number))
        flushed = "SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn >= %b::bigint"
        [[durable]] = trips.ask(flushed, (ends[-1],))
        assert durable
    assert len(ends) == 20
    assert trips.ask("SHOW synchronous_commit") == [("on",)]


def test_where_a_version_is_expected_nothing_is_final_before_it_was_compared(real_place, rounds):
    note(real_place, expected=0)
    assert rounds[1] == [b"INSERT", b"SELECT"]


def test_what_is_gathered_goes_out_in_order_and_before_anyone_looks(db, rounds):
    with transaction.atomic():
        trips.ask("CREATE TEMPORARY TABLE kept (n int) ON COMMIT DROP")
        with trips.gathered():
            added(1)
            added(2)
            assert len(rounds) == 1
            with server_cursor() as cursor:
                assert cursor.execute("SELECT max(n) FROM kept").fetchone() == (2,)
            added(3)
            assert kept() == [1, 2, 3]
            added(4)
        assert kept() == [1, 2, 3, 4]
    assert rounds[1] == [b"INSERT", b"INSERT"]
    assert rounds[2] == [b"INSERT", b"SELECT"]


def test_what_fails_is_told_and_what_is_behind_it_does_not_happen(transactional_db):
    with transaction.atomic():
        trips.ask("CREATE TEMPORARY TABLE kept (n int PRIMARY KEY)")
    with pytest.raises(psycopg.errors.UniqueViolation), transaction.atomic(), trips.gathered():
        added(1)
        added(1)
        trips.ask("SELECT 1", commit=True)
    assert kept() == []
    with transaction.atomic():
        added(1)
    assert kept() == [1]


def test_a_first_row_is_there_also_when_what_was_prepared_is_forgotten(transactional_db):
    asked = "SELECT n FROM generate_series(1, $1::int) n ORDER BY n DESC"
    assert [first_row(asked, "3"), first_row(asked, "0"), first_row(asked, "2")] == [
        (3,),
        None,
        (2,),
    ]
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert first_row(asked, "4") == (4,)
    connection.connection.close()
    assert first_row(asked, "5") == (5,)
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedTable):
            first_row("SELECT $1::int FROM nothing_of_this_name", "1")
    with pytest.raises(psycopg.DataError):
        first_row(asked, "many")


def test_a_statement_that_cannot_be_prepared_is_told_of(transactional_db):
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedTable), transaction.atomic():
            trips.ask("SELECT * FROM nothing_of_this_name")
    assert trips.ask("SELECT 1") == [(1,)]


def test_the_transaction_ends_with_the_last_statement(transactional_db):
    with transaction.atomic():
        trips.ask("SELECT 1", commit=True)
        status = connection.connection.info.transaction_status
        assert status == psycopg.pq.TransactionStatus.IDLE


def test_inside_another_transaction_it_is_that_ones_to_end(db):
    with transaction.atomic():
        trips.ask("SELECT 1", commit=True)
        status = connection.connection.info.transaction_status
        assert status == psycopg.pq.TransactionStatus.INTRANS


def test_after_psycopg_has_forgotten_everything_statements_are_prepared_again(transactional_db):
    assert trips.ask("SELECT 7") == [(7,)]
    with pytest.raises(ZeroDivisionError), transaction.atomic(), server_cursor() as cursor:
        cursor.execute("SELECT 1", prepare=True)
        raise ZeroDivisionError
    with transaction.atomic(), server_cursor() as cursor:
        cursor.execute("SELECT 1")
        prepared = cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        assert prepared == (0,)
        assert trips.ask("SELECT 7") == [(7,)]


def test_after_somebody_else_has_the_first_trip_is_made_again(real_place, rounds):
    note(real_place)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    rounds.clear()
    assert [event.version for event in note(real_place, "b").events] == [2]
    assert [trip[0] for trip in rounds] == [b"BEGIN", b"ROLLBACK", b"BEGIN", b"INSERT"]


def test_a_refused_command_leaves_prepared_what_was(real_place):
    note(real_place)
    with pytest.raises(ZeroDivisionError), scope.writing(real_place.id):
        raise ZeroDivisionError
    with server_cursor() as cursor:
        cursor.execute("SELECT 1")
        prepared = cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert prepared[0] > 0


def test_without_prepared_statements_all_the_same(real_place):
    connection.close()
    connection.ensure_connection()
    connection.connection.prepare_threshold = None
    assert [event.version for event in note(real_place).events] == [1]
    with server_cursor() as cursor:
        prepared = cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert prepared == (0,)


def test_an_interrupted_trip_gives_its_connection_up(transactional_db):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt), transaction.atomic():
            trips.ask("SELECT pg_sleep(10)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with transaction.atomic():
        assert trips.ask("SELECT 1") == [(1,)]
