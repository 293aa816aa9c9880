"""The pages of quota reviews: list, opening, the grid, one row, the close, the report."""

import csv
import io
import re

import pytest

from ledger import scope
from quota.queries import cycle_entries as queries
from quota.queries.cycles import cycle, viewer
from tests.quota.cycles.conftest import Table, use  # noqa: F401  # a fixture
from tests.world import NOW


@pytest.fixture
def table(acme, use) -> Table:  # noqa: F811  # the fixture of that name
    made = Table(acme, use)
    made.known("nlp", recommended=9, cost="4812.50")
    return made


def place(table, account: str, pool: str = "h100") -> str:
    return f"{table.place.accounts[account]}/{table.place.pools[pool]}"


def page_of(table, it, account: str = "") -> str:
    return f"/reviews/cycles/{it}" + (f"/{place(table, account)}" if account else "")


def key_in(answer) -> str:
    return re.search(r'name="key" value="([^"]+)"', answer.content.decode())[1]


HTMX = {"HX-Request": "true"}


def test_opening_one_shows_how_many_quotas_it_would_be(table, browse):
    rita = browse(table.place, "rita")
    page = rita.get("/reviews/cycles/open")
    assert "<strong>4 quotas</strong> would be reviewed" in page.content.decode()
    form = {"account": "research", "name": "Q4", "deadline": "2026-12-20T18:00", "window_days": 90}
    part = rita.post(
        "/reviews/cycles/open", form, headers=HTMX | {"HX-Target": "preview"}
    ).content.decode()
    assert "3 quotas" in part and "<form" not in part
    sent = rita.post("/reviews/cycles/open", form | {"step": "save", "key": key_in(page)})
    assert sent.status_code == 302
    grid = rita.get(sent["Location"]).content.decode()
    assert "3 quotas of research" in grid
    assert "serving" not in grid.split("<main")[1]
    listed = rita.get("/reviews/cycles").content.decode()
    assert "0 of 3" in listed


def test_opening_says_what_is_wrong(table, browse):
    form = {"account": "production", "name": "", "deadline": "2026-12-20T18:00", "window_days": 0}
    petra = browse(table.place, "petra")
    answer = petra.post("/reviews/cycles/open", form | {"step": "save"})
    assert answer.status_code == 400
    assert "This field is required" in answer.content.decode()
    assert (
        petra.post(
            "/reviews/cycles/open", form | {"step": "save", "name": "x", "window_days": 9}
        ).status_code
        == 400
    )
    assert browse(table.place, "bob").get("/reviews/cycles/open").status_code == 403


def test_the_grid_has_the_use_of_every_quota_and_says_unknown(table, browse):
    it = table.open()
    grid = browse(table.place, "rita").get(page_of(table, it)).content.decode()
    first, *_ = re.findall(r"<li id=\"q-.*?</li>", grid, re.DOTALL)
    assert "nlp" in first and "4,812.50 EUR" in first and "Take 9" in first
    assert "So all recommended figures can be taken together" in first
    assert "p95 of 8 and a tenth" in first
    assert grid.count("Take ") == 1
    assert ">nothing<" in grid and "unknown" in grid


def test_the_grid_costs_the_same_whatever_it_shows(table, browse, statements):
    rita = browse(table.place, "rita")
    few = page_of(table, table.open("research")) + "?show=all"
    for number in range(9):
        table.place.account(f"team-{number}", under="production")
        table.quotas.set(f"team-{number}", 1)
    many = page_of(table, table.open("root")) + "?show=all"
    rita.get(few)
    statements.clear()
    rita.get(few)
    first = len(statements)
    statements.clear()
    rita.get(many)
    assert len(statements) == first < 40
    assert table.use.asked == 2 + 3


def test_a_row_is_decided_in_place_with_the_progress(table, browse):
    it = table.open()
    rita = browse(table.place, "rita")
    form = {"what": "recommended", "seen": "9", "version": "0", "key": "a", "reason": "idle"}
    answer = rita.post(page_of(table, it, "nlp"), form, headers=HTMX).content.decode()
    assert answer.lstrip().startswith('<li id="q-')
    assert "40 → 9" in answer and "by Rita: idle" in answer
    assert "1 of 4" in answer and "hx-swap-oob" in answer
    again = rita.post(page_of(table, it, "nlp"), form, headers=HTMX).content.decode()
    assert 'role="alert"' not in again
    assert table.entry(it, "nlp").version == 1


def test_who_comes_later_sees_who_decided(table, browse):
    it = table.open()
    table.decide(it, "nlp", "set", 12, by="petra")
    form = {"what": "keep", "version": "0", "key": "a"}
    answer = browse(table.place, "rita").post(page_of(table, it, "nlp"), form, headers=HTMX)
    told = answer.content.decode()
    assert answer.status_code == 200
    assert "Petra decided set: 12 units about nlp in h100 meanwhile" in told
    assert 'name="version" value="1"' in told
    assert table.entry(it, "nlp").units == 12


def test_without_javascript_one_comes_back_to_the_same_rows(table, browse):
    it = table.open()
    form = {"what": "set", "units": "7", "version": "0", "key": "a", "back": "show=all&evil=//x"}
    answer = browse(table.place, "rita").post(page_of(table, it, "nlp"), form)
    where = answer["Location"]
    assert where.startswith(f"/reviews/cycles/{it}?show=all#q-")
    assert table.entry(it, "nlp").units == 7
    wrong = {"what": "set", "version": "1", "key": "b"}
    answer = browse(table.place, "rita").post(page_of(table, it, "nlp"), wrong)
    assert answer.status_code == 409 and "how many units" in answer.content.decode()


def test_the_lead_is_asked_and_answers_on_the_page(table, browse):
    it = table.open()
    rita, alice = browse(table.place, "rita"), browse(table.place, "alice")
    address = page_of(table, it, "nlp")
    assert "Your answer as a lead" not in alice.get(address).content.decode()
    rita.post(address, {"what": "ask", "text": "Still needed?", "version": "0", "key": "a"})
    assert "1 question waits for your answer" in re.sub(
        r"\s+", " ", alice.get("/reviews/cycles").content.decode()
    )
    page = alice.get(address).content.decode()
    assert "Still needed?" in page and "Your answer as a lead" in page
    assert "Note the decision" not in page
    alice.post(address, {"what": "answer", "text": "20 do.", "units": 20, "version": 1, "key": "b"})
    row = rita.get(page_of(table, it)).content.decode()
    assert "needs 20" in row and "20 do." in row


def test_only_what_one_may_see_is_there(table, browse):
    it = table.open()
    alice = browse(table.place, "alice").get(page_of(table, it) + "?show=all").content.decode()
    rows = re.findall(r"<li id=\"q-.*?</li>", alice, re.DOTALL)
    assert len(rows) == 1 and "nlp" in rows[0] and "<form" not in rows[0]
    assert browse(table.place, "bob").get(page_of(table, it)).status_code == 404
    assert browse(table.place, "bob").get("/reviews/cycles").status_code == 403
    petra = browse(table.place, "petra")
    assert petra.get(page_of(table, it, "serving")).status_code == 404
    assert petra.get(page_of(table, it) + "/close").status_code == 403
    form = {"what": "keep", "version": "0", "key": "a"}
    assert petra.post(page_of(table, it, "serving"), form).status_code == 404


def test_the_close_shows_what_it_would_do_and_does_it(table, browse):
    it = table.open()
    table.decide(it, "nlp", "set", 30)
    table.decide(it, "serving", "set", 90)
    rolf = browse(table.place, "rolf")
    page = rolf.get(page_of(table, it) + "/close")
    told = page.content.decode()
    assert "50 too many" in told.replace("\xa0", " ") or "too many" in told
    assert "Quotas without a decision stay as they are" in told
    assert "Close without the decisions that cannot be applied" in told
    form = {"step": "save", "key": key_in(page)}
    refused = rolf.post(page_of(table, it) + "/close", form)
    assert refused.status_code == 400 and "2 quotas have no decision" in refused.content.decode()
    form = {"step": "save", "key": "other", "undecided_keep": "on"}
    refused = rolf.post(page_of(table, it) + "/close", form)
    assert "serving in h100 cannot become 90" in refused.content.decode()
    assert table.quotas.stored()["nlp"] == 40
    form |= {"without_impossible": "on", "key": "third", "reason": "agreed"}
    done = rolf.post(page_of(table, it) + "/close", form, follow=True).content.decode()
    assert "1 quota changed" in done and "could not be applied" in done
    assert "could not be:" in done and "kept, nobody decided" in done
    assert table.quotas.stored()["nlp"] == 30
    assert rolf.get(page_of(table, it) + "/close").status_code == 302


def test_the_report_is_a_file_that_no_spreadsheet_runs(table, browse):
    it = table.open()
    table.decide(it, "nlp", "set", 30, reason="=cmd|' /C calc'!A0")
    table.close(it, undecided_keep=True)
    rita = browse(table.place, "rita")
    answer = rita.get(page_of(table, it) + "/report.csv")
    assert answer.streaming and "review-autumn-2026-11-29.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
    assert len(rows) == 4
    nlp = next(row for row in rows if row["account"] == "nlp")
    assert nlp["reason"].startswith("'=")
    assert (nlp["before"], nlp["after"], nlp["decided_by"]) == ("40", "30", "Rita")
    assert (nlp["p95"], nlp["idle_cost"], nlp["recommended"]) == ("8", "4812.50", "9")
    assert rows[0]["use_until"] == "2026-11-29T12:00:00+00:00" or rows[0]["use_until"] == ""


def test_giving_up_and_the_policy(table, browse):
    it = table.open()
    rita, otto = browse(table.place, "rita"), browse(table.place, "otto")
    assert (
        rita.post(page_of(table, it) + "/cancel", {"step": "save", "key": "a"}).status_code == 400
    )
    form = {"step": "save", "key": "b", "reason": "too early"}
    assert rita.post(page_of(table, it) + "/cancel", form).status_code == 302
    assert "cancelled" in rita.get(page_of(table, it)).content.decode()
    assert rita.get("/reviews/cycles/policy").status_code == 403
    form = {"window_days": 30, "decide_days": 10, "reason": "less", "step": "save", "key": "c"}
    assert otto.post("/reviews/cycles/policy", form).status_code == 302
    assert "open by hand only" in otto.get("/reviews/cycles").content.decode()
    late = form | {"version": "0", "automatic": "on", "key": "d"}
    answer = otto.post("/reviews/cycles/policy", late)
    assert answer.status_code == 409
    assert "Somebody changed this meanwhile" in answer.content.decode()
    assert "open by hand only" in otto.get("/reviews/cycles").content.decode()


def test_pages_go_on_where_the_last_one_ended(table, browse):
    it = table.open()
    for sort in ("idle", "account"):
        with scope.reading(table.place.id):
            who = viewer(table.place.id, table.place.actor("rita"))
            row = cycle(table.place.id, it, who)
            seen, after = [], ""
            while True:
                part = queries.entries(
                    table.place.id, row, who, now=NOW, sort=sort, after=after, limit=1
                )
                seen += [(one.account, one.pool) for one in part.rows]
                after = part.next_after
                if after is None:
                    break
        assert len(seen) == len(set(seen)) == 4
        assert sort == "account" or seen[0] == ("nlp", "h100")
    assert browse(table.place, "rita").get(page_of(table, it) + "?after=x~y").status_code == 400


def test_names_are_text(table, browse):
    it = table.open(name="<b>Q</b>")
    grid = browse(table.place, "rita").get(page_of(table, it)).content.decode()
    assert "<b>Q</b>" not in grid
