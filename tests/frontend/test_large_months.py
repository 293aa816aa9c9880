"""Pages of large months: from figures, with their age, and computed anew when one asks."""

from datetime import timedelta

import pytest

from accounting import month_figures as drawing
from accounting import tasks
from tests.accounting.budgets.sample_budgets import SINCE, look, spend
from tests.accounting.sample_statements import let_small_be_large
from tests.frontend.forms import text
from tests.world import NOW, record


@pytest.fixture
def place(acme, monkeypatch):
    """nlp uses 8 units all day; each month is large, drawn an hour ago."""
    let_small_be_large(monkeypatch)
    spend(acme)
    acme.use(
        record("x", start=SINCE + timedelta(days=40), hours=10, account="serving", person="alice",
               tier="spot")
    )  # fmt: skip
    look(acme, now=NOW - timedelta(hours=1))
    acme.person("fay")
    acme.role("fay", "finance")
    return acme


def at(place, browse, path: str, who: str = "fay") -> str:
    return text(browse(place, who).get(path))


def test_pages_say_how_old_they_are_and_add_up(place, browse):
    words = at(place, browse, "/showback/organization?month=2026-11")
    assert "Preliminary, as of" in words and "Compute now" in words and "research" in words
    page = at(place, browse, "/showback?account=root&month=2026-11")
    assert "Preliminary, as of" in page and "All pools" in page
    assert "Those of a single account are on its page" in page
    comparison = at(place, browse, "/showback/comparison?month=2026-11")
    assert "As of" in comparison and "serving" in comparison
    by_person = at(place, browse, "/showback?account=root&month=2026-11&by=person")
    assert "this is computed from what is known" in by_person


def test_pages_of_large_months_compute_nothing(place, browse, monkeypatch):
    def never(*_arguments, **_options):
        raise AssertionError("a page must not compute a large month")

    for name in (
        "statement_month.month_lines",
        "queries.statements.stored_lines",
        "statement_guarantees.month_guarantees",
        "statement_rating.month_use",
    ):
        monkeypatch.setattr(f"accounting.{name}", never)
    monkeypatch.setattr("accounting.queries.comparison.month_guarantees", never)
    for path in ("organization?month=2026-11", "comparison?month=2026-11"):
        assert browse(place, "fay").get(f"/showback/{path}").status_code == 200
    assert browse(place, "fay").get("/showback?account=root&month=2026-11").status_code == 200


def test_who_reads_the_organization_has_it_computed_now(place, browse, monkeypatch):
    asked = []
    monkeypatch.setattr(tasks.draw_month_of, "apply_async", lambda args, **_: asked.append(args))
    post = {"month": "2026-11"}
    assert browse(place, "alice").post("/showback/compute", post).status_code == 403
    said = text(browse(place, "fay").post("/showback/compute", post, follow=True))
    assert "It is being computed" in said and asked == [(str(place.id), "2026-11-01")]
    monkeypatch.setattr(drawing, "LARGE_LINES", 10_000)
    look(place, now=NOW + timedelta(hours=1))
    said = text(browse(place, "fay").post("/showback/compute", post, follow=True))
    assert "is computed at every look" in said and len(asked) == 1


def test_it_is_not_computed_all_the_time(place, browse, monkeypatch):
    monkeypatch.setattr(tasks.draw_month_of, "apply_async", None)
    look(place, now=NOW - timedelta(seconds=20))
    said = text(browse(place, "fay").post("/showback/compute", {"month": "2026-11"}, follow=True))
    assert "It was computed just now" in said
