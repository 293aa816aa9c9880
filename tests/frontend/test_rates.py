"""Rates on pages: read by everybody, published by finance, tried on last month first."""

from datetime import timedelta

import pytest

from accounting.queries import rates
from ledger import scope
from tests.accounting.statements.test_rating import START, publish
from tests.frontend.forms import save, text
from tests.world import NOW, record

PRICES = "h100-80gb, *, *, 3\nh100-80gb, spot, academic, 1, 0.5"


@pytest.fixture
def place(acme):
    """h100 costs 2 since before October, when nlp used 800 unit-hours of it."""
    publish(acme, "2", at=START - timedelta(days=1), spot="0.7")
    acme.use(record("a", units=8, hours=100, start=START))
    acme.person("fay")
    acme.role("fay", "finance")
    return acme


@pytest.fixture
def fay(place, browse):
    return browse(place, "fay")


def versions(place):
    with scope.reading(place.id):
        return rates.rate_versions(place.id)


def test_everybody_reads_the_prices_in_force(place, browse):
    alice = browse(place, "alice")
    words = text(alice.get("/rates"))
    assert "in force" in words and "h100-80gb spot all others 0.7 0.7" in words
    assert b"/rates/publish" not in alice.get("/rates").content
    assert alice.get("/rates/publish").status_code == 403
    assert alice.get("/rates?version=01900000-0000-7000-8000-000000000000").status_code == 404


def test_the_form_holds_the_prices_in_force_and_shows_last_month(place, fay):
    page = fay.get("/rates/publish").content.decode()
    assert "h100-80gb, *, *, 2" in page and "h100-80gb, spot, *, 0.7" in page
    tried = text(fay.post("/rates/publish", {"prices": PRICES, "step": "preview"}))
    assert "2,400.00 EUR instead of 1,600.00: +800.00" in tried
    assert "Use h100 guaranteed 1,600.00 2,400.00 +800.00" in tried
    assert len(versions(place)) == 1


def test_what_the_new_prices_leave_out_is_said(place, fay):
    tried = text(fay.post("/rates/publish", {"prices": "a100-80gb,,,1", "step": "preview"}))
    assert "Without a price: h100" in tried


@pytest.mark.parametrize("step", ["preview", "save"])
def test_a_flavor_that_is_none_is_told_at_the_prices_which_stay(place, fay, step):
    typed = {"prices": PRICES + "\nh100-80bg, *, *, 2", "reason": "board", "step": step}
    page = fay.post("/rates/publish", typed)
    assert page.status_code == 400
    assert "Prices: No flavor is named &#x27;h100-80bg&#x27;; define it first." in text(page)
    assert "h100-80gb, spot, academic, 1, 0.5" in page.content.decode()
    assert len(versions(place)) == 1


def test_rates_are_published_and_withdrawn_with_a_reason(place, fay):
    later = {"prices": PRICES, "effective_from": "2026-12-24T00:00"}
    assert save(fay, "/rates/publish", **later | {"reason": ""}).status_code == 400
    done = save(fay, "/rates/publish", **later)
    assert done.status_code == 302
    words = text(fay.get(done.headers["Location"]))
    assert "to come" in words and "h100-80gb spot academic 1 0.5" in words
    new = versions(place)[0]
    assert (new.reason, new.published_by) == ("growth", "fay")
    assert new.effective_from > NOW
    assert save(fay, f"/rates/{new.id}/withdraw").headers["Location"] == "/rates"
    assert len(versions(place)) == 1
    held = versions(place)[0]
    refused = fay.post(f"/rates/{held.id}/withdraw", {"reason": "x", "step": "save"}, follow=True)
    assert "These rates have held since" in text(refused) and len(versions(place)) == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prices": "h100-80gb, 2"}, "Line 1: give flavor"),
        ({"prices": "\nh100-80gb, *, *, two"}, "Line 2: a price is a number"),
        ({"prices": "h100-80gb, *, *, , 3"}, "Line 1: the list price is missing"),
        ({"prices": "h100-80gb, *, *, -1"}, "A price is 0 to"),
        ({"prices": "h100-80gb, *, *, NaN"}, "A price is 0 to"),
        ({"prices": "h100-80gb, gold, *, 1"}, "A tier is one of"),
        ({"prices": ""}, "Give at least one price"),
        ({"prices": PRICES, "effective_from": "2026-10-01T00:00"}, "cannot change"),
        ({"prices": PRICES, "memory_flavor": "x"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_published_is_said_at_its_field(place, fay, values, words):
    page = save(fay, "/rates/publish", **values)
    assert page.status_code == 400 and words in text(page)
    assert len(versions(place)) == 1


def test_a_flavor_that_is_not_defined_is_no_price(place, fay):
    answer = save(fay, "/rates/publish", prices="tpu, *, *, 1")
    assert answer.status_code in (400, 404) and "tpu" in text(answer)
