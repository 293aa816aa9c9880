"""Exports as jobs: resumable, once, expiring, scheduled; and flat in memory."""

import csv
import gc
import io
import os
import tracemalloc
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounting import tasks
from accounting.commands.exports import RemoveExport, SetExportSchedule
from accounting.domain import exports as domain
from accounting.domain.exports import Format
from accounting.exports import files, making, parquet, scheduling
from accounting.exports.tables import Column, Kind, MadeTable
from accounting.queries import exports as queries
from config.celery import BEAT_TABLE
from ledger import scope, verification
from ledger.errors import DomainError
from ledger.sql import server_cursor
from notices import reading
from notices.queries import notices
from tests import killing
from tests.accounting.exports.conftest import close, made, request, row
from tests.accounting.exports.test_files import statement
from tests.accounting.statements.test_close import NOVEMBER
from tests.accounting.statements.test_rating import DAY, LATER, OCTOBER
from tests.world import NOW


def kept(place) -> list[str]:
    """Files that there are."""
    try:
        return files.storage().listdir(str(place.id))[1]
    except FileNotFoundError:
        return []


# ---------------------------------------------------------------- killed and resumed
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["lines", "records", "focus"])
@pytest.mark.parametrize("where", ["begun", "whole", "placed"])
def test_a_killed_worker_leaves_no_half_file_and_the_next_writes_the_same(
    place, own_files, test_database, monkeypatch, where, what
):
    close(place)
    wanted, _ = made(place, what)
    export_id = request(place, what)
    before = len(kept(place))
    monkeypatch.setenv("APPORTION_EXPORT_DIR", str(own_files))
    with killing.victim(test_database, "tests.accounting.exports.killed") as victim:
        assert [words[0] for words in victim.tell(place.id, export_id, where)] == ["pid"]
    assert row(place, export_id).state == "requested", "nothing is offered"
    assert len(kept(place)) == before + (where == "placed")
    tasks.make_exports()
    found = row(place, export_id)
    assert found.state == "ready"
    with files.opened(files.name_of(place.id, export_id, found.digest)) as file:
        assert file.read() == wanted
    assert len(kept(place)) == before + 1
    assert verification.verify(place.id).findings == []


@pytest.mark.django_db(transaction=True)
def test_what_one_worker_makes_no_other_takes(place, test_database):
    import psycopg
    from psycopg.conninfo import make_conninfo

    close(place)
    export_id = request(place)
    url = make_conninfo(test_database.server.app_url, dbname=test_database.name)
    with psycopg.connect(url) as other:
        other.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"export:{export_id}",)
        )
        assert not making.make(place.id, export_id)
        assert row(place, export_id).state == "requested"
    assert making.make(place.id, export_id)
    assert not making.make(place.id, export_id), "made once"


def test_a_stopped_export_is_not_offered_by_who_was_making_it(place, monkeypatch):
    close(place)
    export_id = request(place)
    publish = files.publish

    def stopped_meanwhile(*args):
        publish(*args)
        remove = RemoveExport(export_id=export_id, account_id=place.root)
        place.run(remove, by=place.actor("fay"))

    monkeypatch.setattr(files, "publish", stopped_meanwhile)
    assert making.make(place.id, export_id)
    assert row(place, export_id).state == "removed" and kept(place) == []


def test_what_breaks_is_said_and_what_is_too_large_refused(place, monkeypatch, settings):
    close(place)
    settings.EXPORT_BYTES_MAX = 100
    for suffix in Format:
        export_id = request(place, "lines", suffix)
        assert making.make(place.id, export_id)
        found = row(place, export_id)
        assert (found.state, found.problem) == ("failed", "export_too_large"), suffix
    monkeypatch.setattr(domain, "SHEET_ROWS_MAX", 3)
    export_id = request(place, "lines", "xlsx")
    making.make(place.id, export_id)
    assert "xlsx holds at most 3" in row(place, export_id).problem_detail
    monkeypatch.setitem(making.WRITERS, Format.CSV, lambda *args: 1 / 0)
    export_id = request(place)
    making.make(place.id, export_id)
    assert row(place, export_id).problem == "export_broken"
    assert kept(place) == []


def test_progress_counts_rows(place, monkeypatch):
    close(place)
    seen = []
    monkeypatch.setattr(making.cache, "set", lambda key, value, *rest: seen.append(value))
    _, found = made(place, "records")
    (begun, expected), last = seen[0], seen[-1]
    assert begun == 0 and expected >= found.rows, "batches say how many at most"
    assert last == (found.rows, expected)
    assert making.Progress(1, 0).share == 0 and making.Progress(5, 4).share == 1


# ---------------------------------------------------------------- time
def test_a_file_expires_is_swept_and_not_shown_as_there_before(place):
    close(place)
    _, found = made(place, "lines", now=NOW)
    assert found.expires_at - found.finished_at == timedelta(days=14)
    over = found.expires_at
    assert found.state_at(over - timedelta(seconds=1)) == "ready"
    assert found.state_at(over) == "expired", "also before the sweeper comes by"
    assert scheduling.sweep(place.id, now=over - timedelta(seconds=1)) == 0
    assert scheduling.sweep(place.id, now=over) == 1
    assert (row(place, found.id).state, kept(place)) == ("expired", [])
    assert scheduling.sweep(place.id, now=over) == 0


def test_strangers_and_halves_are_swept_once_they_are_old(place, own_files):
    close(place)
    _, found = made(place, "lines")
    name = files.name_of(place.id, found.id, "0" * 64)
    with files.writing() as path:
        path.write_bytes(b"of nobody")
        files.publish(files.seal(path), name)
    half = own_files / "making" / f"half{files.PARTIAL}"
    half.write_bytes(b"hal")
    now = LATER
    old = (now - 2 * DAY).timestamp()
    for path in (own_files / name, half):
        os.utime(path, (old, old))
    assert scheduling.sweep(place.id, now=now) == 1
    assert files.sweep_halves(now - DAY) == 1
    assert len(kept(place)) == 1, "the export's own file stays"


def test_tasks_are_in_the_beat_table(place, monkeypatch):
    named = {entry["task"]: entry["options"]["queue"] for entry in BEAT_TABLE.values()
             if "export" in entry["task"]}  # fmt: skip
    assert named == {
        "accounting.tasks.make_exports": "exports",
        "accounting.tasks.sweep_exports": "exports",
    }
    tasks.sweep_exports()


# ---------------------------------------------------------------- schedules
def schedule(place, *wishes, account="root", now=LATER - DAY, **values):
    command = SetExportSchedule(account_id=place.accounts[account], files=wishes, **values)
    return place.run(command, by=place.actor("fay"), now=now)


def all_of(place):
    with scope.reading(place.id):
        return queries.exports(place.id, under=None)


def told(place, name):
    reading.read_events(place.id, now=NOW)
    with scope.reading(place.id):
        found = notices(place.id, place.people[name]).rows
    return [(one.title, one.link) for one in found if "export" in one.title]


def test_a_schedule_exports_a_closed_month_once_however_often_it_is_asked(place):
    schedule(place, ("focus", "parquet"), ("lines", "xlsx"), store=True)
    assert scheduling.ask(place.id, now=LATER) == [], "October is open"
    close(place)
    for _ in range(3):
        tasks.make_exports()
    found = all_of(place)
    assert {(one.what, one.format, one.state) for one in found} == {
        ("focus", "parquet", "ready"),
        ("lines", "xlsx", "ready"),
    }
    assert {one.month for one in found} == {OCTOBER}, "September was closed before it was set"
    assert {one.total for one in found} == {statement(place).total.amount}
    delivered = files.storage().listdir(f"{files.DELIVERED}/{place.id}/2026-10")[1]
    assert sorted(delivered) == ["2026-10-root-focus-1.4.parquet", "2026-10-root-lines.xlsx"]
    titles = told(place, "fay")
    assert len(titles) == 2 and all(link == "/exports" for _, link in titles)
    assert told(place, "alice") == []
    close(place, NOVEMBER, now=NOW + 5 * DAY)
    tasks.make_exports()
    assert len(all_of(place)) == 4
    for one in all_of(place):
        place.run(RemoveExport(export_id=one.id, account_id=one.account_id), now=NOW)
    tasks.make_exports()
    assert all_of(place) == [], "what somebody deleted does not come again"


def test_without_store_and_notify_nothing_is_kept_or_told(place):
    schedule(place, ("lines", "csv"), account="research", notify=False)
    close(place)
    tasks.make_exports()
    assert len(all_of(place)) == 1 and told(place, "fay") == []
    assert not files.storage().exists(files.DELIVERED)


def test_who_asked_hears_when_it_is_there_or_failed(place, monkeypatch):
    close(place)
    export_id = request(place, by="fay")
    making.make(place.id, export_id, now=NOW)
    monkeypatch.setitem(making.WRITERS, Format.CSV, lambda *args: 1 / 0)
    making.make(place.id, request(place, by="fay"), now=NOW)
    titles = [title for title, _ in told(place, "fay")]
    assert sorted(titles) == [
        "2026-10 of root could not be exported",
        "2026-10 of root is exported as lines, csv",
    ]
    assert told(place, "finn") == []


def test_a_schedule_is_checked(place):
    for wrong, code in (
        ((("lines", "csv"), ("lines", "csv")), "schedule_malformed"),
        ((("focus", "xlsx"),), "export_format_unknown"),
        ((("all", "csv"),), "export_kind_unknown"),
    ):
        with pytest.raises(DomainError) as caught:
            schedule(place, *wrong)
        assert caught.value.code == code
    with pytest.raises(DomainError) as caught:
        command = SetExportSchedule(account_id=place.accounts["nlp"], files=())
        place.run(command, by=place.actor("alice"))
    assert caught.value.code == "role_missing"


# ---------------------------------------------------------------- memory
COLUMNS = (
    Column("name", Kind.TEXT),
    Column("units", Kind.INTEGER),
    Column("amount", Kind.MONEY),
    Column("at", Kind.INSTANT),
)


def peak(suffix: Format, rows: int, path) -> int:
    """The most that writing so many rows has held at once."""
    table = MadeTable(
        columns=COLUMNS,
        facts={},
        rows=((f"row {n}", n, Decimal(n) / 100, NOW) for n in range(rows)),
    )
    gc.collect()
    tracemalloc.start()
    try:
        making.WRITERS[suffix](table, path, lambda rows: None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", Format)
def test_memory_does_not_grow_with_the_rows(suffix, tmp_path, monkeypatch):
    """Blocks and row groups are held, never all rows."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 2_000)
    few, many = (peak(suffix, rows, tmp_path / "file") for rows in (4_000, 20_000))
    assert many < few * 1.2 + 200_000


def test_rows_of_focus_are_put_in_order_without_holding_them(place):
    from accounting.exports.focus.rows import in_order

    held = [0, 0]

    class Row(dict):
        def __init__(self, **values):
            super().__init__(values)
            held[0] += 1
            held[1] = max(held)

        def __del__(self):
            held[0] -= 1

        def __reduce__(self):
            return dict, (), None, None, iter(self.items())

    rows = (((NOW + n % 31 * DAY, 1, n), Row(n=n)) for n in range(5_000))
    orders = [order for order, _ in in_order(rows)]
    assert orders == sorted(orders) and len(orders) == 5_000
    assert held[1] < 10


def test_closed_months_are_read_through_a_cursor_of_the_server(place, monkeypatch):
    """Nothing fetches all: PostgreSQL is asked for blocks."""
    import psycopg

    close(place)
    sizes = []
    right = psycopg.ServerCursor.fetchmany

    def fetchmany(cursor, size=0):
        sizes.append(size)
        return right(cursor, size)

    monkeypatch.setattr(psycopg.ServerCursor, "fetchmany", fetchmany)
    monkeypatch.setattr(psycopg.ServerCursor, "fetchall", lambda cursor: 1 / 0)
    for what, suffix in (("lines", "json"), ("records", "parquet"), ("focus", "csv")):
        made(place, what, suffix)
    assert len(sizes) >= 6 and max(sizes) <= 2_000


# ---------------------------------------------------------------- command line
def test_the_command_line_writes_the_file(place, own_files):
    close(place)
    path = own_files / "october.csv"
    err = StringIO()
    options = {"month": "2026-10", "account": "nlp", "output": str(path)}
    call_command("export", organization="acme", stderr=err, **options)
    total = sum(Decimal(one["amount"]) for one in csv.DictReader(io.StringIO(path.read_text())))
    assert total == statement(place, "nlp").total.amount and f"total {total}\n" in err.getvalue()
    assert files.hashlib.sha256(path.read_bytes()).hexdigest() in err.getvalue()
    with scope.reading(place.id), server_cursor() as cursor:
        recorded = cursor.execute(
            "SELECT count(*) FROM ledger_event WHERE type = 'export.made'"
        ).fetchone()
    assert recorded == (1,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"month": "2026-10", "output": "/nowhere/at/all"}, "cannot be written: No such file"),
        ({"month": "October"}, "2026-10"),
        ({"month": "2026-10", "account": "nowhere"}, "account"),
        ({"month": "2026-10", "what": "focus", "format": "json"}, "csv, parquet"),
        ({"month": "2026-10", "organization": "nobody"}, "nobody"),
    ],
)
def test_the_command_line_says_what_is_wrong(place, options, words):
    with pytest.raises(CommandError, match=words):
        call_command("export", **{"organization": "acme"} | options)
