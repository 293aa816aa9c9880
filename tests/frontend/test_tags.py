"""Untagged use leads to the page that tags it, which says first what would change."""

import re

from accounting.commands.statements import CloseMonth, StartClose
from tests.frontend.forms import save, text
from tests.world import NOW, record

FORM = {"account": "nlp", "since": "2026-11-01", "until": "2026-11-29", "only_untagged": "on"}


def used(acme):
    from tests.accounting.statements.test_rating import START, publish

    publish(acme, "2", at=START)
    acme.use(record("a", hours=10), record("b", hours=1, labels={"project": "p"}), now=NOW)


def test_untagged_use_leads_here_and_is_tagged(acme, browse):
    used(acme)
    alice = browse(acme, "alice")
    month = alice.get("/showback?month=2026-11&by=project").content.decode()
    (address,) = re.findall(r'href="(/showback/tags\?[^"]+)">untagged', month)
    page = alice.get(address.replace("&amp;", "&"))
    assert 'value="2026-11-01"' in page.content.decode()
    tried = alice.post("/showback/tags", FORM | {"project": "q", "step": "preview"})
    words = text(tried)
    assert "Records that fit 2" in words and "Told apart otherwise 16.0 unit-h" in words
    assert "Charged for it 32.00 EUR" in words
    assert "untagged" in text(alice.get("/showback?month=2026-11&by=project"))
    assert save(alice, "/showback/tags", **FORM, project="q").status_code == 302
    assert "q 32.00" in text(alice.get("/showback?month=2026-11&by=project"))
    words = text(alice.get("/showback/tags"))
    assert "nlp 2026-11-01 to 2026-11-29 all of it project q" in words and "growth" in words
    (undo,) = re.findall(
        r'action="(/showback/tags/[^"]+/undo)"', alice.get("/showback/tags").content.decode()
    )
    done = alice.post(undo, {"step": "save", "reason": "wrong"}, follow=True)
    assert "taken back" in text(done)
    again = alice.post(undo, {"step": "save", "reason": "wrong"}, follow=True)
    assert "It was taken back already" in text(again)


def test_what_is_wrong_is_said_at_its_field(acme, browse):
    used(acme)
    alice = browse(acme, "alice")
    for wrong, said in (
        ({}, "Give a project"),
        ({"project": "q", "person": "nobody"}, "Person: "),
        ({"project": "q", "pool": "b200"}, "Pool: There is no pool"),
        ({"project": "q", "job": "*"}, "Jobs: A pattern has"),
        ({"project": "q", "since": "2026-12-01"}, "From: Choose 1 to 366 days"),
        ({"project": "q", "batch": "x"}, "Batch: "),
    ):
        page = save(alice, "/showback/tags", **FORM | wrong)
        assert page.status_code == 400 and said in text(page), said
    assert (
        save(alice, "/showback/tags", **FORM | {"account": "serving"}, project="q").status_code
        == 403
    )
    assert browse(acme, "bob").get("/showback/tags").status_code == 403


def test_finance_has_another_account_charged(acme, browse):
    used(acme)
    acme.person("fay")
    acme.role("fay", "finance")
    fay = browse(acme, "fay")
    assert "Charged to" in text(fay.get("/showback/tags"))
    moved = FORM | {"job": "a", "to_account": "vision"}
    assert save(fay, "/showback/tags", **moved).status_code == 302
    assert "vision 32.00" in text(fay.get("/showback?account=research&month=2026-11&by=team"))
    month = fay.get("/showback?account=vision&month=2026-11").content.decode()
    (line,) = re.findall(r'href="(/showback/lines/[^"]+)"', month)
    assert "Use of nlp from 2026-11-01" in text(fay.get(line.replace("&amp;", "&")))
    page = save(fay, "/showback/tags", **FORM | {"to_account": "nlp"})
    assert page.status_code == 400 and "Choose another account" in text(page)


def test_a_closed_month_says_what_to_do_instead(acme, browse):
    used(acme)
    from tests.accounting.statements.test_rating import LATER, OCTOBER

    accept = ("telemetry_missing", "unrated_use")
    acme.run(StartClose(month=OCTOBER, accept=accept), now=LATER, reason="end")
    while not acme.run(CloseMonth(month=OCTOBER), now=LATER).result.closed:
        pass
    page = save(
        browse(acme, "alice"), "/showback/tags", **FORM | {"since": "2026-10-20"}, project="q"
    )
    assert page.status_code == 400 and "made good by a credit" in text(page)
