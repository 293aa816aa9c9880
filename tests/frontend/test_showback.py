"""A month at a glance: who sees it, that it adds up, and why each amount is what it is."""

import re
from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.commands.statements import CloseMonth, SetStatementTerms, StartClose
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import LATER, OCTOBER, START, publish
from tests.frontend.forms import save, text
from tests.world import NOW, record


@pytest.fixture
def place(acme):
    """October and November of nlp, with prices, a promise, and people of finance."""
    publish(acme, "2", at=START - timedelta(days=1))
    promise(acme, "nlp", 10)
    acme.use(
        record("known", units=1, hours=1500, start=START, account="serving", person="alice",
               tier="spot"),
        record("a", units=8, hours=100, start=START, labels={"project": "lima"}),
        record("b", units=4, hours=50, start=NOW - timedelta(days=9), compute_util=Decimal("0.5")),
        now=NOW,
    )  # fmt: skip
    for name in ("fay", "finn"):
        acme.person(name)
        acme.role(name, "finance")
    return acme


def close(place, **values):
    place.run(StartClose(month=OCTOBER), by=place.actor("fay"), now=LATER, reason="end", **values)
    while not place.run(CloseMonth(month=OCTOBER), now=LATER).result.closed:
        pass


def test_a_lead_sees_the_month_of_their_account(place, browse):
    page = browse(place, "alice").get("/showback?month=2026-11")
    words = text(page)
    assert page.status_code == 200 and "2026-11 of nlp" in words
    assert "Preliminary. The month is open" in words
    assert "Use 400.00" in words and "Idle guarantee" in words
    assert "Utilization discount" not in words
    assert "Guarantee used" in words and "50.0" in words
    assert "serving" not in words


def test_only_who_may_see_an_account_sees_its_costs(place, browse):
    alice = browse(place, "alice")
    assert alice.get("/showback?account=serving").status_code in (403, 404)
    assert alice.get("/showback?account=root").status_code in (403, 404)
    place.person("nobody")
    assert browse(place, "nobody").get("/showback").status_code == 403


def test_every_amount_says_why(place, browse):
    alice = browse(place, "alice")
    page = alice.get("/showback?month=2026-10").content.decode()
    addresses = re.findall(r'href="(/showback/lines/[^"]+)"', page)
    assert len(addresses) == 2
    words = [text(alice.get(address.replace("&amp;", "&"))) for address in addresses]
    idle, usage = sorted(words, key=lambda one: "Records of the day" in one)
    assert "2,880,000 × 2 ÷ 3600 = 1,600, rounded 1,600.00 EUR" in usage
    assert "2026-10-01" in usage and "Records of the day" in usage
    assert "promised and not in use" in idle
    assert alice.get("/showback/lines/0123456789abcdef?month=2026-10").status_code == 404


def test_a_drill_down_adds_up_and_comes_alone(place, browse):
    alice = browse(place, "alice")
    words = text(alice.get("/showback?month=2026-10&by=project&by=tier"))
    assert "lima guaranteed 1,600.00" in words and "not told apart" in words
    part = alice.get(
        "/showback?month=2026-10&by=person&by=",
        headers={"HX-Request": "true", "HX-Target": "drill"},
    )
    assert "bob 1,600.00" in text(part) and b"<html" not in part.content
    for wrong in ("by=color", "by=team&by=pool&by=tier", "month=2026-13", "month=x"):
        assert alice.get(f"/showback?{wrong}").status_code == 400


def test_a_closed_month_is_final_and_prints(place, browse):
    alice = browse(place, "alice")
    before = text(alice.get("/showback?month=2026-10&view=print"))
    close(place)
    words = text(alice.get("/showback?month=2026-10"))
    assert "Closed. These lines are final" in words and "Use 1,600.00" in words
    printed = text(alice.get("/showback?month=2026-10&view=print"))
    assert "Digest of the month in the ledger" in printed
    figures = r"All lines ([\d,.]+)"
    assert re.search(figures, before)[1] == re.search(figures, printed)[1]


def test_what_comes_late_is_expected_before_the_next_close(place, browse):
    close(place)
    late = record("late", units=8, hours=10, start=START + timedelta(days=20))
    place.use(late, now=LATER + timedelta(days=2))
    words = text(browse(place, "alice").get("/showback?month=2026-11"))
    assert "More became known of 2026-10 since it was closed" in words
    assert "Adjustment" not in words.split("At a glance")[1].split("Expected")[0]


def test_the_month_in_figures(place, browse):
    spot = record("spot", units=2, hours=10, start=NOW - timedelta(days=3), tier="spot",
                  productive_util=Decimal("0.5"))  # fmt: skip
    place.use(spot, now=NOW)
    words = text(browse(place, "alice").get("/showback?month=2026-11"))
    assert "Spot on h100 2 a unit-h; 4 a productive hour" in words
    assert "Preemption tax 0.00" in words and "Discount earned 0" in words
    assert "than in the month before" in words
    printed = text(browse(place, "alice").get("/showback?month=2026-11&view=print"))
    assert "4 a productive hour" in printed and "Guarantee used" in printed


def test_finance_ends_a_commitment_early(place, browse):
    fay = browse(place, "fay")
    agreed = {"what": "commitment", "commitment-account": "nlp", "commitment-reason": "deal",
              "commitment-amount": "90000", "commitment-from_month": "2026-11"}  # fmt: skip
    save(fay, "/showback/charging", **agreed)
    page = fay.get("/showback/charging").content.decode()
    chosen = re.search(r'<option value="([0-9a-f-]{36})"', page)[1]
    ending = {"what": "ending", "ending-commitment": chosen, "ending-last_month": "2026-11",
              "ending-charge": "500", "ending-reason": "over"}  # fmt: skip
    before = text(fay.get("/showback?account=nlp&month=2026-11"))
    assert save(fay, "/showback/charging", **ending).status_code == 302
    assert "nlp 2026-11 2026-11 90,000.00 500.00" in text(fay.get("/showback/charging"))
    after = text(fay.get("/showback?account=nlp&month=2026-11"))
    amount = r"Commitment ([\d,.]+)"
    charged = [Decimal(re.search(amount, one)[1].replace(",", "")) for one in (before, after)]
    assert charged[1] - charged[0] == 500
    later = text(fay.get("/showback?account=nlp&month=2026-12"))
    assert not re.search(amount, later)
    again = save(fay, "/showback/charging", **ending)
    assert again.status_code == 400 and "Select a valid choice" in text(again)


def test_a_closed_month_says_that_some_of_it_had_no_price(place, browse):
    place.use(record("free", pool="a100", units=3, hours=2, start=START), now=NOW)
    assert "Without a price" in text(browse(place, "alice").get("/showback?month=2026-10"))
    command = StartClose(month=OCTOBER, accept=("unrated_use", "telemetry_missing"))
    place.run(command, by=place.actor("fay"), now=LATER, reason="end")
    while not place.run(CloseMonth(month=OCTOBER), now=LATER).result.closed:
        pass
    words = text(browse(place, "alice").get("/showback?month=2026-10"))
    assert "had no price when it closed, and are in no line" in words
    assert "a100" not in words.split("How well it was used")[-1].split("Lines")[-1]


def test_finance_closes_a_month_on_its_page(place, browse):
    promise(place, "vision", 5, pool="a100")
    fay = browse(place, "fay")
    words = text(fay.get("/showback/closes"))
    assert "Next: 2026-10" in words and "a100 have promises" in words
    refused = save(fay, "/showback/closes")
    assert refused.status_code == 400 and "repair or accept" in text(refused)
    done = save(fay, "/showback/closes", accept=["telemetry_missing"])
    assert done.status_code == 302
    assert "0 of 6 accounts are drawn" in text(fay.get("/showback/closes"))
    while not place.run(CloseMonth(month=OCTOBER), now=NOW).result.closed:
        pass
    words = text(fay.get("/showback/closes"))
    assert "Next: 2026-11" in words and "2026-10 closed fay" in words
    assert browse(place, "alice").get("/showback/closes").status_code == 403


def test_the_first_month_that_closes_is_chosen(place, browse):
    fay = browse(place, "fay")
    page = fay.get("/showback/closes")
    assert "those before it stay open for good" in text(page)
    assert "/showback/closes?month=2026-09" in page.content.decode()
    assert "Close 2026-10 for good" in text(fay.get("/showback/closes?month=2027-01"))
    assert "Begin with 2026-08" in text(fay.get("/showback/closes?month=2026-09"))
    accepted = {"accept": ["telemetry_missing"]}
    assert save(fay, "/showback/closes?month=2026-09", **accepted).status_code == 302
    while not place.run(CloseMonth(month=date(2026, 9, 1)), now=NOW).result.closed:
        pass
    words = text(fay.get("/showback/closes?month=2026-08"))
    assert "Next: 2026-10" in words and "Begin with" not in words


def test_a_second_person_confirms_on_the_page(place, browse):
    terms = SetStatementTerms(from_month=OCTOBER, idle_share=Decimal(1), two_persons=True,
                              lending_share=Decimal(0), ladder=())  # fmt: skip
    place.run(terms, now=START, reason="board")
    fay, finn = browse(place, "fay"), browse(place, "finn")
    assert save(fay, "/showback/closes").status_code == 302
    assert "that cannot be you" in text(fay.get("/showback/closes"))
    own = fay.post("/showback/closes/confirm", {"reason": "x", "step": "save"}, follow=True)
    assert "somebody else confirms it" in text(own)
    done = finn.post("/showback/closes/confirm", {"reason": "x", "step": "save"}, follow=True)
    assert "Confirmed. The statements are being drawn" in text(done)


def test_finance_grants_credits_and_sets_terms(place, browse):
    fay = browse(place, "fay")
    credit = {"what": "credit", "credit-account": "nlp", "credit-amount": "12.50",
              "credit-about": "2026-10", "credit-reason": "outage"}  # fmt: skip
    assert save(fay, "/showback/charging", **credit).status_code == 302
    commitment = {"what": "commitment", "commitment-account": "nlp", "commitment-reason": "deal",
                  "commitment-amount": "9000", "commitment-from_month": "2026-11"}  # fmt: skip
    assert save(fay, "/showback/charging", **commitment).status_code == 302
    terms = {"what": "terms", "terms-from_month": "2026-11", "terms-idle_share": "0",
             "terms-lending_share": "0", "terms-ladder": "0.5: 0.1",
             "terms-reason": "board"}  # fmt: skip
    assert save(fay, "/showback/charging", **terms).status_code == 302
    words = text(fay.get("/showback/charging"))
    assert "nlp 2026-11 2026-10 outage 12.50" in words and "nlp 2026-11 – 9,000.00" in words
    month = text(fay.get("/showback?account=nlp"))
    assert "Credit −12.50" in month and "Commitment 8,600.00" in month
    assert "Idle guarantee nlp" not in month
    for wrong, said in (
        ({"credit-account": "nobody"}, "no such account"),
        ({"credit-amount": "0.001"}, "An amount is above 0"),
        ({"credit-month": "2026-13"}, "Give a month like"),
    ):
        page = save(fay, "/showback/charging", **credit | wrong)
        assert page.status_code == 400 and said in text(page)
    bad = save(fay, "/showback/charging", **terms | {"terms-ladder": "x"})
    assert bad.status_code == 400 and "Give steps like" in text(bad)
    assert browse(place, "alice").get("/showback/charging").status_code == 403
