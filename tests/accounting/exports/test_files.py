"""Every format holds the same month, to the cent, and the same bytes whenever it is made."""

import csv
import io
import json
from datetime import datetime
from decimal import Decimal

import openpyxl
import pyarrow.parquet as pq
import pytest

from accounting.domain.exports import Format
from accounting.exports import making, tables
from accounting.exports.extent import extent
from accounting.queries import showback
from ledger import scope
from tests.accounting.exports.conftest import HOSTILE, close, made
from tests.accounting.statements.test_rating import LATER, OCTOBER
from tests.world import NOW, record


def read(content: bytes, suffix: str) -> list[dict]:
    """Rows as text, null as None."""
    if suffix == "csv":
        return [
            {name: value or None for name, value in one.items()}
            for one in csv.DictReader(io.StringIO(content.decode()))
        ]
    if suffix == "json":
        return json.loads(content)["rows"]
    if suffix == "jsonl":
        return [json.loads(line) for line in content.splitlines()]
    if suffix == "parquet":
        return pq.read_table(io.BytesIO(content)).to_pylist()
    head, *rows = openpyxl.load_workbook(io.BytesIO(content)).active.iter_rows(values_only=True)
    return [dict(zip(head, one, strict=True)) for one in rows]


def number(value) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def statement(place, account="root", *, now=LATER):
    with scope.reading(place.id):
        return showback.showback(place.id, place.accounts[account], OCTOBER, now=now)


@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize("suffix", Format)
@pytest.mark.parametrize("account", ["root", "research"])
def test_lines_add_up_to_the_statement_to_the_cent(place, suffix, state, account):
    if state == "closed":
        close(place)
    content, row = made(place, "lines", suffix, account=account)
    rows, shown = read(content, suffix), statement(place, account)
    assert sum(number(one["amount"]) for one in rows) == shown.total.amount == row.total
    assert sum(number(one["list_amount"]) for one in rows) == shown.total.list_amount
    assert (len(rows), row.rows) == (len(shown.lines), len(shown.lines))
    assert {one["state"] for one in rows} == {state}
    kinds = {one["kind"] for one in rows}
    assert {"usage", "idle", "credit"} <= kinds
    if account == "root":
        assert {"lending", "discount", "commitment"} <= kinds
        assert ("adjustment" in kinds) is (state == "closed")


def test_sql_and_python_write_the_same_lines(place):
    before, _ = made(place, "lines", "csv")
    close(place)
    after, _ = made(place, "lines", "csv")
    own = ("state", "line")
    rows = [
        sorted(
            tuple((name, value) for name, value in one.items() if name not in own)
            for one in read(content, "csv")
            if one["kind"] != "adjustment"
        )
        for content in (before, after)
    ]
    assert rows[0] == rows[1] and len(rows[0]) > 8


@pytest.mark.parametrize("what", ["lines", "records"])
def test_postgres_writes_what_python_would(place, what):
    close(place)
    content, row = made(place, what, "csv")
    with scope.reading(place.id):
        here = extent(place.id, row.spec, asked_at=row.requested_at)
        table = making.table_of(here)
        by_python = b"".join(piece for piece, _ in tables.csv_of(table))
    assert content == tables.csv_head(table) + by_python
    assert b"\r" not in content


@pytest.mark.parametrize("what", ["lines", "records"])
@pytest.mark.parametrize("suffix", Format)
def test_a_closed_month_is_the_same_bytes_whenever_it_is_made(place, what, suffix):
    close(place)
    first, row = made(place, what, suffix)
    place.use(record("later", units=7, hours=3), record("much later", start=LATER), now=NOW)
    place.use(record("corrected", units=1, hours=99, supersedes="a"), now=NOW)
    from tenancy.commands.accounts import MoveAccount, RenameAccount

    nlp = {"account_id": place.accounts["nlp"]}
    place.run(RenameAccount(**nlp, name="language", description=""), now=NOW)
    place.run(MoveAccount(**nlp, to_parent_id=place.accounts["production"]), now=NOW)
    again, other = made(place, what, suffix, now=NOW)
    assert again == first and other.digest == row.digest


def test_records_are_those_behind_the_lines(place):
    close(place)
    content, row = made(place, "records", "csv")
    rows = read(content, "csv")
    assert [one["key"] for one in rows].count("wrong") == 2, "taken back, and so in sum nothing"
    by_tier: dict = {}
    for one in rows:
        place_of = (one["account"], one["pool"], one["tier"])
        by_tier[place_of] = by_tier.get(place_of, 0) + Decimal(one["unit_seconds"])
    lines: dict = {}
    for one in read(made(place, "lines", "csv")[0], "csv"):
        if one["kind"] == "usage":
            place_of = (one["account"], one["pool"], one["tier"])
            lines[place_of] = lines.get(place_of, 0) + Decimal(one["unit_seconds"])
    assert by_tier == lines
    assert row.total is None


def test_a_subtree_has_its_own_records_only_and_those_of_when_it_was_there(place):
    from tenancy.commands.accounts import MoveAccount

    content, _ = made(place, "records", "csv", account="research")
    assert {one["account"] for one in read(content, "csv")} == {"nlp", "vision"}
    vision = {"account_id": place.accounts["vision"], "to_parent_id": place.accounts["production"]}
    place.run(MoveAccount(**vision), now=LATER.replace(month=10, day=3))
    for account, has in (("research", True), ("production", True), ("nlp", False)):
        content, _ = made(place, "records", "csv", account=account)
        assert ("vision" in {one["account"] for one in read(content, "csv")}) is has


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_no_text_is_a_formula(place, suffix):
    content, _ = made(place, "records", suffix)
    rows = {one["key"]: one for one in read(content, suffix)}
    assert rows["a"]["project"] == f"'{HOSTILE}"
    if suffix == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(content))
        assert not [c for line in book.active.iter_rows() for c in line if c.data_type == "f"]
        assert isinstance(rows["a"]["started_at"], datetime)
        assert isinstance(rows["a"]["unit_seconds"], int | float)
    signs = {one["sign"] for one in read(made(place, "records", "csv")[0], "csv")}
    assert signs == {"1", "-1"}, "numbers are never guarded"


def test_parquet_and_json_keep_texts_and_digits_as_they_are(place):
    rows = read(made(place, "records", "parquet")[0], "parquet")
    assert {one["key"]: one for one in rows}["a"]["project"] == HOSTILE
    assert rows[0]["started_at"].utcoffset().total_seconds() == 0
    found = {one["key"]: one for one in read(made(place, "records", "json")[0], "json")}
    assert found["a"]["project"] == HOSTILE
    assert found["v"]["compute_util"] == "0.123456789012345678"


def test_an_empty_month_is_an_empty_file_of_its_columns(place):
    for what in ("lines", "records"):
        for suffix in Format:
            july = OCTOBER.replace(month=7)
            content, row = made(place, what, suffix, account="vision", month=july)
            assert read(content, suffix) == [] and row.rows == 0
