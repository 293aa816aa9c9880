"""Exports on their page: asked for, downloaded, deleted, scheduled, and only by who may."""

import csv
import io
import re
from decimal import Decimal

import pytest

from accounting import tasks
from accounting.exports import making
from accounting.queries import exports as queries
from ledger import scope
from tests.accounting.exports.conftest import close, made, own_files, place  # noqa: F401
from tests.accounting.exports.test_files import statement
from tests.frontend.forms import hidden, save, text

WISH = {"account": "root", "month": "2026-10", "file": "lines:csv:"}


@pytest.fixture
def october(place):  # noqa: F811
    close(place)
    return place


def rows(tenant):
    with scope.reading(tenant.id):
        return queries.exports(tenant.id, under=None)


def test_a_small_file_comes_at_once(october, browse):
    fay = browse(october, "fay")
    answer = save(fay, "/exports", **WISH)
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/csv")
    body = b"".join(answer.streaming_content).decode()
    total = sum(Decimal(one["amount"]) for one in csv.DictReader(io.StringIO(body)))
    assert total == statement(october).total.amount
    words = text(fay.get("/exports"))
    assert "Statement lines, CSV" in words and "ready, expires" in words
    assert f"{total:,.2f}" in words
    (row,) = rows(october)
    again = fay.get(f"/exports/{row.id}/file")
    assert b"".join(again.streaming_content).decode() == body


def test_a_large_one_waits_in_the_list_and_is_stopped(october, browse, monkeypatch):
    monkeypatch.setattr(making, "is_small", lambda *a, **k: False)
    monkeypatch.setattr(tasks.make_export, "apply_async", lambda *a, **k: None)
    fay = browse(october, "fay")
    assert save(fay, "/exports", **WISH)["Location"] == "/exports"
    page = fay.get("/exports")
    assert "waits for a worker" in text(page) and b'hx-trigger="every 3s' in page.content
    (row,) = rows(october)
    making.cache.set(f"export:{row.id}", (1200, 5000), 60)
    part = fay.get("/exports", headers={"HX-Request": "true", "HX-Target": "exports"})
    assert "1,200 of 5,000 rows" in text(part) and b"<html" not in part.content
    assert fay.get(f"/exports/{row.id}/file").status_code == 404
    assert "not made then" in text(fay.get(f"/exports/{row.id}/delete"))
    assert fay.post(f"/exports/{row.id}/delete").status_code == 302
    assert rows(october) == []
    assert not making.make(october.id, row.id)


def test_twice_sent_it_is_once_made(october, browse):
    fay = browse(october, "fay")
    key = hidden(fay.get("/exports"), "key")
    for _ in range(2):
        assert save(fay, "/exports", key=key, **WISH).status_code == 200
    assert len(rows(october)) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"account": "nowhere"}, "You see no account"),
        ({"month": "October"}, "Give a month like 2026-11"),
        ({"month": "2098-01"}, "has not begun"),
        ({"file": "focus:xlsx:1.4"}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(october, browse, wrong, words):
    answer = save(browse(october, "fay"), "/exports", **WISH | wrong)
    assert answer.status_code == 400 and words in text(answer)
    assert rows(october) == []


def test_a_lead_exports_their_own_and_finds_nothing_else(october, browse):
    _, of_all = made(october)
    alice = browse(october, "alice")
    assert save(alice, "/exports", **WISH).status_code == 400
    assert save(alice, "/exports", **WISH | {"account": "vision"}).status_code == 400
    assert save(alice, "/exports", **WISH | {"account": "nlp"}).status_code == 200
    page = text(alice.get("/exports"))
    assert "nlp 2026-10" in page and "root 2026-10" not in page and "Schedule" not in page
    for step in ("file", "schema", "delete"):
        assert alice.get(f"/exports/{of_all.id}/{step}").status_code == 404
    assert alice.post(f"/exports/{of_all.id}/delete").status_code == 404
    assert alice.get("/exports/schedule").status_code == 403
    assert browse(october, "bob").get("/exports").status_code == 403
    assert b"Export</a>" not in browse(october, "bob").get("/showback").content


def test_the_month_leads_to_its_export(october, browse):
    page = browse(october, "alice").get("/showback?month=2026-10").content.decode()
    assert 'href="/exports?account=nlp&amp;month=2026-10"' in page
    filled = browse(october, "alice").get("/exports?account=nlp&month=2026-10").content.decode()
    assert 'value="nlp"' in filled and 'value="2026-10"' in filled


def test_focus_has_its_schema_beside_it(october, browse):
    fay = browse(october, "fay")
    assert save(fay, "/exports", **WISH | {"file": "focus:csv:1.2"}).status_code == 200
    (row,) = rows(october)
    schema = fay.get(f"/exports/{row.id}/schema").json()
    assert schema["FocusVersion"] == "1.2"
    assert "FOCUS 1.2, CSV" in text(fay.get("/exports"))


def test_finance_sets_and_ends_a_schedule(october, browse):
    fay = browse(october, "fay")
    wish = {"account": "root", "files": ["focus:parquet", "lines:xlsx"], "store": "on"}
    assert save(fay, "/exports/schedule", **wish).status_code == 302
    words = text(fay.get("/exports"))
    assert "FOCUS, Parquet; Statement lines, workbook (XLSX)" in words
    page = fay.get("/exports/schedule?account=root").content.decode()
    checked = re.findall(r'name="(files|store|notify)"[^>]* checked', page)
    assert checked == ["files", "files", "store"]
    assert save(fay, "/exports/schedule", account="root").status_code == 302
    assert "Nothing is exported by itself" in text(fay.get("/exports"))


def test_the_list_goes_on(october, browse, monkeypatch):
    from frontend.views import exports as views

    monkeypatch.setattr(views, "ROWS_SHOWN", 1)
    made(october, "lines", "csv", account="nlp"), made(october, "lines", "csv", account="vision")
    fay = browse(october, "fay")
    first = fay.get("/exports").content.decode()
    assert "vision 2026-10 <br>" in first and "nlp 2026-10 <br>" not in first
    address = first.split('href="/exports?before=')[1].split('"')[0]
    rest = fay.get(f"/exports?before={address}").content.decode()
    assert "nlp 2026-10 <br>" in rest and "vision 2026-10 <br>" not in rest
    assert fay.get("/exports?before=nonsense").status_code == 200


def test_a_page_of_exports_asks_little(october, browse, django_assert_max_num_queries):
    for name in ("nlp", "vision", "research"):
        made(october, "lines", "csv", account=name)
    fay = browse(october, "fay")
    fay.get("/exports")
    with django_assert_max_num_queries(30):
        fay.get("/exports")
