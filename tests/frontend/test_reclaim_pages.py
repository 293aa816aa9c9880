"""Pages of use-it-or-lose-it: the board, one guarantee's timeline, what its people can do."""

import csv
import io

import pytest

from frontend import pages
from frontend.numbers import PERCENT
from ledger import scope
from notices import reading
from notices.models import Notice
from preemption import reclaim_board as board
from quota.commands.pools import SetUnavailable
from quota.commands.quotas import SetQuota
from quota.commands.requests import Submit
from quota.commands.reviews import Approve
from quota.domain.requests import Terms
from tests.frontend.forms import hidden, save, text
from tests.preemption.reclaim.conftest import DAY, HOUR, Reclaim
from tests.world import NOW, record

pytestmark = pytest.mark.django_db
BOARD = "/reclaim"
QUOTA = "/reclaim/nlp/h100"
RESTORE = f"{QUOTA}/restore"
RETURN = f"{QUOTA}/return"


@pytest.fixture
def idle(acme):
    """acme's h100 at 2 a unit-hour: for ten days nlp used 4 of 40, and vision nothing of 20."""
    it = Reclaim(acme)
    it.priced(2)
    it.promise("nlp", 40)
    it.promise("vision", 20)
    it.use("some", 4, days=40)
    return it


@pytest.fixture
def watched(idle):
    """Both were told 30 hours ago."""
    idle.rule(now=NOW - 40 * HOUR)
    idle.run(NOW - 30 * HOUR)
    return idle


@pytest.fixture
def demoted(watched):
    """Five hours ago nlp lost 36 of 40 units, and vision all of its 20."""
    watched.run(NOW - 5 * HOUR)
    return watched


@pytest.fixture
def at(monkeypatch):
    """Pages at another instant."""

    def move(now):
        monkeypatch.setattr(pages, "clock", lambda: now)

    return move


def read(browse, it, name, address, **query):
    answer = browse(it.place, name).get(address, query)
    assert answer.status_code == 200, text(answer)[:2000]
    return text(answer)


def justify(it, *, approved=True):
    """nlp may lie idle for 30 days, as Petra approves."""
    place = it.place
    place.person("petra")
    place.role("petra", "approver", on="research")
    terms = Terms(
        account_id=place.accounts["nlp"],
        pool_id=place.pools["h100"],
        kind="justification",
        ends_at=NOW + 30 * DAY,
        purpose="the robots are being calibrated",
    )
    asked = NOW - 4 * HOUR
    made = place.run(Submit(terms=terms), by=place.actor("alice"), now=asked).result
    if approved:
        by = place.actor("petra")
        place.run(Approve(request_id=made.request_id), by=by, now=asked, reason="known")
    return made.request_id


def test_the_board_shows_each_idle_part_with_its_worth_and_what_comes_next(watched, browse):
    told = read(browse, watched, "otto", BOARD)
    assert "Watched 2 56 units would leave 81,760.00 EUR a month" in told
    assert "nlp h100 Watched 1 day ago 40 36 10.0 % of 20 %" in told
    assert "Demoted if still idle 2026-11-29 07:00, 6 hours ago 52,560.00" in told
    assert "vision h100 Watched" in told and "29,200.00" in told


def test_a_stage_is_summed_over_all_of_it_and_says_whose(demoted, browse):
    told = read(browse, demoted, "otto", BOARD, stage="demoted")
    assert "All 2 demoted that you may see 56 81,760.00" in told
    assert "nlp h100 Demoted 5 hours ago 4 of 40 36" in told
    told = read(browse, demoted, "otto", BOARD, stage="demoted", account="nlp", pool="h100")
    assert "All 1 demoted of nlp and below in h100 36 52,560.00" in told and ">vision<" not in told
    assert "Nothing fits the filters" in read(browse, demoted, "otto", BOARD, stage="returned")
    assert "Nothing fits the filters" in read(browse, demoted, "otto", BOARD, pool="a100")


def test_what_has_no_price_is_unrated_never_free(acme, browse):
    it = Reclaim(acme)
    it.promise("nlp", 40)
    it.rule(now=NOW - 40 * HOUR)
    it.run(NOW - 30 * HOUR)
    told = read(browse, it, "otto", BOARD)
    assert "40 units would leave unrated" in told and "0.00 EUR" in told


def test_a_lead_sees_accounts_below_theirs_and_no_others(demoted, browse):
    told = read(browse, demoted, "alice", BOARD)
    assert "Demoted 1 36 units left" in told and "vision" not in told
    assert browse(demoted.place, "alice").get(BOARD, {"account": "vision"}).status_code == 404
    assert browse(demoted.place, "alice").get("/reclaim/vision/h100").status_code == 404
    assert browse(demoted.place, "alice").get("/reclaim/vision/h100/restore").status_code == 404
    answer = browse(demoted.place, "alice").get("/reclaim/board.csv")
    assert b"vision" not in answer.getvalue()


def test_somebody_without_a_role_and_names_that_are_not_there(demoted, browse):
    demoted.place.person("nobody")
    nobody = browse(demoted.place, "nobody")
    for address in (BOARD, QUOTA, "/reclaim/board.csv", "/reclaim/rules", RESTORE):
        assert nobody.get(address).status_code in (403, 404), address
    otto = browse(demoted.place, "otto")
    for query in ({"account": "none"}, {"pool": "none"}):
        assert otto.get(BOARD, query).status_code == 404
    for query in ({"stage": "gone"}, {"after": "x"}, {"after": "2026-11-29/1/2"}):
        assert otto.get(BOARD, query).status_code == 400
    for address in ("/reclaim/none/h100", "/reclaim/nlp/none"):
        assert otto.get(address).status_code == 404


def test_an_empty_board_leads_to_the_rules(acme, browse):
    told = text(browse(acme, "otto").get(BOARD))
    assert "No rule is on" in told and "Try a rule on past use and switch it on" in told
    assert "An operator of Acme can set one" in text(browse(acme, "alice").get(BOARD))
    Reclaim(acme).rule()
    assert "No guarantee lies idle" in text(browse(acme, "otto").get(BOARD))


def test_the_file_holds_what_the_filters_choose(demoted, browse):
    otto = browse(demoted.place, "otto")
    answer = otto.get("/reclaim/board.csv", {"account": "research", "stage": "demoted"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [row["account"] for row in rows] == sorted(
        ("nlp", "vision"), key=lambda name: demoted.place.accounts[name]
    )
    (nlp,) = [row for row in rows if row["account"] == "nlp"]
    assert nlp["idle_units"] == "36" and nlp["worth_a_month"] == "52560.00"
    assert nlp["stage"] == "demoted" and nlp["guarantee_now"] == "4" and nlp["threshold"] == "0.2"
    empty = otto.get("/reclaim/board.csv", {"stage": "returned"})
    assert empty.getvalue().decode().strip() == ",".join(nlp)


def test_pages_of_the_board_share_and_skip_nothing(demoted, browse, monkeypatch):
    monkeypatch.setattr("frontend.views.reclaim.PAGE_ROWS", 1)
    otto = browse(demoted.place, "otto")
    first = otto.get(BOARD)
    second = otto.get(first.context["next"])
    seen = [line.row.account for page in (first, second) for line in page.context["lines"]]
    assert sorted(seen) == ["nlp", "vision"] and not second.context["next"]
    # Sums are over all of it, not over the page.
    assert second.context["tabs"][1].sum.count == 2


@pytest.mark.parametrize(("address", "most"), [(BOARD, 24), (QUOTA, 41), ("/reclaim/rules", 16)])
def test_pages_ask_as_often_for_many_as_for_few(demoted, browse, statements, address, most):
    otto = browse(demoted.place, "otto")
    otto.get(address)
    statements.clear()
    otto.get(address)
    few = len(statements)
    for number in range(6):
        demoted.place.account(f"team-{number}", under="research")
        demoted.promise(f"team-{number}", 2, at=NOW - 9 * DAY)
    demoted.run(NOW - 2 * HOUR)
    otto.get(address)
    statements.clear()
    otto.get(address)
    assert len(statements) <= few <= most, "\n".join(statements)


def test_one_guarantee_is_told_with_its_use_as_chart_and_table(demoted, browse):
    answer = browse(demoted.place, "alice").get(QUOTA, {"days": 7})
    told = text(answer)
    assert "Demoted The idle part left the guarantee; it may still be restored." in told
    assert "Restoring ends; the next review decides: 2026-12-13 08:00:00 CET" in told
    assert "Worth a month 52,560.00 EUR" in told and "Lost units, justified 1 ×, 0 ×" in told
    chart = answer.context["chart"]
    figures = {one["name"]: one for one in chart.figure["data"]}
    assert figures["Demoted"]["x"] == ["2026-11-29 08:00"] and figures["Demoted"]["y"] == [4]
    assert figures["Guaranteed"]["y"][0] == 40 and figures["Guaranteed"]["y"][-1] == 4
    assert figures["Threshold"]["y"][0] == 8 and set(figures["Mean use"]["y"]) == {4}
    rows = dict(chart.rows)
    assert rows["2026-11-28 00:00"] == ("4.00", "40", "8.00", f"10.0{PERCENT}", "–")
    assert rows["2026-11-29 08:00"] == ("4.00", "4", "0.800", f"100{PERCENT}", "Demoted")
    assert "36 idle units left the guarantee of nlp in h100: 4 stay" in told


def test_what_left_whole_is_still_told(demoted, browse):
    told = read(browse, demoted, "otto", "/reclaim/vision/h100")
    assert "Guaranteed now 0" in told and "0 of 20.0 units in use" in told
    assert "20 idle units left the guarantee of vision in h100: 0 stay" in told


def test_unknown_time_is_a_gap_never_zero(acme, browse):
    it = Reclaim(acme)
    it.begin = NOW - 10 * DAY
    acme.use(record("old", units=1, hours=48, start=NOW - 30 * DAY, account="serving"))
    it.promise("nlp", 40, at=NOW - 40 * DAY)
    answer = browse(acme, "otto").get("/reclaim/nlp/h100", {"days": 90})
    chart = answer.context["chart"]
    use = next(one for one in chart.figure["data"] if one["name"] == "Mean use")
    assert None in use["y"] and 0 in use["y"]
    assert chart.figure["layout"]["shapes"]
    assert any(row[1][0] == "unknown" for row in chart.rows)
    assert "unknown" in chart.summary


def test_what_a_watched_guarantee_is_judged_by(watched, browse):
    told = read(browse, watched, "alice", QUOTA)
    assert "Mean use, last 3 d 10.0 %" in told and "Needed 95 % of the time 4" in told
    assert "Idle part now 36" in told and "Worth a month 52,560.00 EUR" in told
    assert (
        "/requests/new?account=nlp&amp;pool=h100&amp;kind=justification"
        in browse(watched.place, "alice").get(QUOTA).content.decode()
    )


def test_the_justification_in_force_and_its_end(watched, browse):
    justify(watched, approved=False)
    assert "waits for a decision" in read(browse, watched, "alice", QUOTA)


def test_an_approved_justification_is_on_the_board_until_its_end(watched, browse):
    justify(watched)
    watched.run(NOW - 3 * HOUR)
    told = read(browse, watched, "otto", BOARD, stage="justified")
    assert "nlp h100 Justified" in told and "The reason ends; judged anew 2026-12-29" in told
    page = browse(watched.place, "alice").get(QUOTA)
    told = text(page)
    assert "the robots are being calibrated in force until 2026-12-29" in told
    assert "kind=justification" not in page.content.decode()


@pytest.mark.parametrize(
    ("name", "sees"),
    [
        ("alice", ("Restore 36 units", "Justify")),
        ("otto", ("Restore 36 units", "Justify", "Let them go")),
        ("uma", ()),
        ("bob", ()),
    ],
)
def test_buttons_are_there_for_those_who_may(demoted, browse, name, sees):
    page = browse(demoted.place, name).get(QUOTA).content.decode()
    for word in ("Restore 36 units", "Justify", "Let them go"):
        assert (f"{word}</a>" in page) == (word in sees), word
    for address, word in ((RESTORE, "Restore 36 units"), (RETURN, "Let them go")):
        status = browse(demoted.place, name).get(address).status_code
        assert status == (200 if word in sees else 403), address


def test_a_lead_restores_with_a_confirmation_and_once(demoted, browse):
    alice = browse(demoted.place, "alice")
    asked = alice.get(RESTORE)
    assert "Restored, nlp has 40 units guaranteed in h100 again." in text(asked)
    assert demoted.quota() == (4, None)
    key = hidden(asked, "key")
    done = alice.post(RESTORE, {"step": "save", "key": key, "reason": "it runs again"}, follow=True)
    assert "Restored: nlp has 40 units guaranteed in h100." in text(done)
    assert "it runs again" in text(done) and demoted.quota()[0] == 40
    again = alice.post(RESTORE, {"step": "save"}, follow=True)
    assert "decided so before" in text(again) and demoted.quota()[0] == 40


def test_a_restore_that_the_pool_cannot_promise_says_the_limit_and_the_way_out(demoted, browse):
    pool_id = demoted.place.pools["h100"]
    demoted.place.run(SetUnavailable(pool_id=pool_id, unavailable=70), reason="test")
    alice = browse(demoted.place, "alice")
    told = text(alice.get(RESTORE))
    assert "Not possible now. h100 can promise 26 more units, 36 are asked: 10 short." in told
    assert "Ask for the 36 units" in told
    sent = alice.post(RESTORE, {"step": "save"})
    assert sent.status_code == 400 and "10 short" in text(sent) and demoted.quota()[0] == 4


def test_after_the_cooldown_restoring_is_over(demoted, browse, at):
    at(NOW + 15 * DAY)
    page = browse(demoted.place, "alice").get(QUOTA)
    assert "The time in which it could be restored was over" in text(page)
    assert "Restore 36 units</a>" not in page.content.decode()
    told = text(browse(demoted.place, "alice").get(RESTORE))
    assert "Not possible now. The time in which this guarantee could be restored is over." in told


def test_a_reviewer_lets_units_go_with_a_reason(demoted, browse):
    otto = browse(demoted.place, "otto")
    assert "keeps 4" in text(otto.get(RETURN))
    assert otto.post(RETURN, {"step": "save"}).status_code == 400
    done = save(otto, RETURN, reason="it moved to a100")
    assert done.status_code == 302
    assert "Returned The units are the account" in text(otto.get(QUOTA))
    assert demoted.state() == "returned"


def test_what_was_never_taken_cannot_be_restored(watched, browse):
    told = text(browse(watched.place, "alice").get(RESTORE))
    assert "Not possible now. Nothing was taken from this guarantee" in told


def test_a_place_without_any_promise_says_so(acme, browse):
    told = text(browse(acme, "alice").get("/reclaim/nlp/a100"))
    assert "Nothing is promised to nlp in a100 now" in told and "Ask for quota" in told
    assert "Nothing was said about this guarantee yet." in told


def test_exempt_and_temporary_ones_are_left_alone(idle, browse):
    idle.rule(exempt_ids=(idle.place.accounts["research"],))
    assert "It is exempt" in read(browse, idle, "alice", QUOTA)
    idle.promise("serving", 5, at=NOW, ends_at=NOW + 5 * DAY)
    assert "It is temporary" in read(browse, idle, "otto", "/reclaim/serving/h100")


def test_the_quota_page_and_the_overview_lead_to_it(watched, browse, at):
    hint = "Watched nlp in h100 : 36 units would leave the guarantee"
    assert hint in read(browse, watched, "alice", "/accounts/nlp/quota")
    assert hint in read(browse, watched, "alice", "/")
    past = (NOW - 5 * HOUR).isoformat()
    assert hint not in read(browse, watched, "alice", "/accounts/nlp/quota", as_of=past)
    told = read(browse, watched, "bob", "/")
    assert "would leave the guarantee" not in told
    # A watch of another guarantee than today's says nothing.
    command = SetQuota(
        account_id=watched.place.accounts["nlp"],
        pool_id=watched.place.pools["h100"],
        guaranteed=6,
    )
    watched.place.run(command, reason="test")
    assert hint not in read(browse, watched, "alice", "/")
    assert "Judged anew: the guarantee was changed" in read(browse, watched, "alice", QUOTA)


def test_notices_lead_to_the_guarantee(demoted, browse):
    place = demoted.place
    reading.read_events(place.id, now=NOW)
    with scope.reading(place.id):
        links = set(
            Notice.objects.filter(kind__startswith="reclaim").values_list("link", flat=True)
        )
    assert links == {QUOTA}, links


def test_a_row_in_the_order_of_the_index(demoted):
    with scope.reading(demoted.place.id):
        first, second = board.rows(demoted.place.id, board.Chosen(), limit=10)
        after = board.rows(demoted.place.id, board.Chosen(), after=first.place, limit=10)
    assert after == [second] and first.at == second.at
    assert board.Place.of(first.place.text()) == first.place
    assert first.at == NOW - 5 * HOUR
