"""What goes wrong while exports are made and kept, and texts that try to break a file."""

import errno
from datetime import timedelta

import pytest
from kombu.exceptions import OperationalError

from accounting import tasks
from accounting.domain.exports import Format
from accounting.exports import files, making, scheduling, tables
from accounting.exports.extent import extent
from accounting.exports.starting import start
from ledger import scope
from tests.accounting.exports.conftest import close, made, request, row
from tests.accounting.exports.test_files import read, statement
from tests.accounting.exports.test_jobs import all_of, kept, schedule
from tests.accounting.statements.test_rating import DAY, LATER, OCTOBER, START
from tests.world import NOW, record

TEXTS = {
    "quotes": '"a", "b"',
    "newlines": "a\nb\r\nc",
    "empty": "",
    "end of data": "\\.",
    "blank": " a ",
    "emoji": "🦙🏳️‍🌈",
    "right to left": "\u202eمشروع",
    "tab": "\t=1",
    "full width": "＝1+1",
    "at": "@SUM(1)",
    "minus": "-2+3",
    "apostrophe": "'=1",
    "combining": "e\u0301\u200b",
    "null": "NULL",
    "backslash n": "\\N",
    "very long": "=" + "x" * 200,
}


@pytest.fixture
def nasty(place):
    """Records with labels and keys that somebody has thought about."""
    place.use(
        *(record(f"={name}", hours=1 + n, start=START + n * DAY,
                 labels={"project": text or "x", "model": text or "x", "note": text})
          for n, (name, text) in enumerate(TEXTS.items())),
        now=START + 30 * DAY,
    )  # fmt: skip
    close(place)
    return place


@pytest.mark.parametrize("suffix", Format)
def test_every_text_comes_through_and_none_is_a_formula(nasty, suffix):
    found = {one["key"]: one for one in read(made(nasty, "records", suffix)[0], suffix)}
    guards = suffix in ("csv", "xlsx")
    for name, text in TEXTS.items():
        key = f"'={name}" if guards else f"={name}"
        wanted = text or "x"
        if guards and wanted.startswith(tables.FORMULA_STARTS):
            wanted = f"'{wanted}"
        if suffix == "xlsx":  # As workbooks write characters that XML would lose.
            wanted = wanted.replace("\r", "_x000D_")
        assert found[key]["project"] == wanted, name


def test_postgres_and_python_quote_every_text_alike(nasty):
    content, asked = made(nasty, "records", "csv")
    with scope.reading(nasty.id):
        table = making.table_of(extent(nasty.id, asked.spec, asked_at=asked.requested_at))
        by_python = b"".join(piece for piece, _ in tables.csv_of(table))
    assert content == tables.csv_head(table) + by_python


@pytest.mark.parametrize("version", ["1.2", "1.4"])
def test_focus_keeps_every_label_as_given(nasty, version):
    content, asked = made(nasty, "focus", "csv", focus_version=version)
    assert asked.total == statement(nasty).total.amount
    tags = " ".join(one["Tags"] for one in read(content, "csv"))
    assert "🦙🏳️‍🌈" in tags and "＝1+1" in tags


def test_a_full_disk_fails_the_export_and_leaves_nothing(place, own_files, monkeypatch):
    close(place)
    export_id = request(place, "records")

    def full(size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "check_size", full)
    assert making.make(place.id, export_id, now=LATER)
    found = row(place, export_id)
    assert (found.state, found.problem) == ("failed", "export_broken")
    assert "No space" not in found.problem_detail and "/" not in found.problem_detail
    assert list(own_files.rglob("*.part")) == [] and kept(place) == []


def test_a_delivery_that_fails_holds_up_no_other(place, monkeypatch):
    schedule(place, ("lines", "csv"), ("records", "csv"), store=True)
    close(place)
    monkeypatch.setattr(scheduling, "deliver", lambda *args: 0)
    tasks.make_exports()
    monkeypatch.undo()
    first, second = all_of(place)
    files.remove(files.name_of(place.id, first.id, first.digest))
    assert scheduling.deliver(place.id) == 1
    assert files.storage().exists(scheduling.delivered_name(place.id, second))
    tasks.make_exports()


def test_sweepers_may_meet(place, own_files, monkeypatch):
    name = files.name_of(place.id, place.root, "0" * 64)
    with files.writing() as path:
        path.write_bytes(b"of nobody")
        files.publish(files.seal(path), name)
    (own_files / "making" / f"gone{files.PARTIAL}").symlink_to(own_files / "nowhere")
    store = files.storage()

    def gone(self, name):
        raise FileNotFoundError(name)

    monkeypatch.setattr(type(store), "get_modified_time", gone)
    assert files.sweep(place.id, frozenset(), before=NOW) == 0
    assert files.sweep_halves(NOW + 999 * DAY) == 0


def test_a_broker_that_is_away_loses_no_export(place, monkeypatch):
    close(place)
    export_id = request(place)

    def away(*args, **options):
        raise OperationalError("nobody there")

    monkeypatch.setattr(making, "is_small", lambda *a, **k: False)
    monkeypatch.setattr(tasks.make_export, "apply_async", away)
    assert start(place.id, export_id, now=LATER).state == "requested"
    monkeypatch.undo()
    tasks.make_exports()
    assert row(place, export_id).state == "ready"


def test_a_month_that_closes_meanwhile_is_the_open_one(place, monkeypatch):
    """What was read is one snapshot; who asks again gets the closed month."""
    export_id = request(place)
    right = making.table_of

    def meanwhile(here, lines=None):
        assert here.state == "open"
        return right(here, lines)

    monkeypatch.setattr(making, "table_of", meanwhile)
    assert making.make(place.id, export_id, now=LATER)
    close(place)
    assert row(place, export_id).month_state == "open"
    monkeypatch.undo()
    assert made(place)[1].month_state == "closed"


def test_a_request_of_before_the_close_that_is_made_behind_it_is_the_closed_month(place):
    export_id = request(place)
    close(place)
    assert making.make(place.id, export_id, now=LATER)
    found = row(place, export_id)
    assert (found.month_state, found.total) == ("closed", statement(place).total.amount)


def test_an_archived_account_is_exported_as_it_was(place):
    from tenancy.commands.accounts import ArchiveAccount

    close(place)
    before = made(place, account="serving")[0]
    place.run(ArchiveAccount(account_id=place.accounts["serving"]), now=NOW, reason="over")
    assert made(place, account="serving", now=NOW + timedelta(hours=1))[0] == before
    assert made(place, "focus", account="serving", now=NOW)[1].state == "ready"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_month_without_lines_is_a_file_of_focus_without_rows(place, suffix, state):
    if state == "closed":
        close(place)
        place.account("new", under="research")
    month = OCTOBER if state == "closed" else OCTOBER.replace(month=7)
    account = "new" if state == "closed" else "vision"
    content, found = made(place, "focus", suffix, account=account, month=month, now=NOW)
    assert read(content, suffix) == [] and (found.rows, found.total) == (0, 0)
