"""Absences, the routing policy with its preview, and the decisions of a period as a file."""

import csv
import io
from datetime import timedelta

import pytest

from frontend.csv_files import cell, lines
from ledger import scope
from quota.loading import requests as loading
from quota.queries.request_decisions import delegations
from tests.frontend.test_review_pages import decision
from tests.quota.requests.conftest import staffed
from tests.world import NOW

pytestmark = pytest.mark.django_db

POLICY = "/settings/requests"
GOOD = {
    "automatic": "on",
    "automatic_units_max": "4",
    "automatic_days_max": "56",
    "automatic_price_max": "",
    "use_percent_min": "50",
    "rejection_days": "30",
    "two_approvals_units": "50",
    "days_max": "",
    "justification_days_max": "90",
    "decide_hours": "72",
    "remind_hours": "24",
}


@pytest.fixture
def desk(acme):
    return staffed(acme)


def in_force(desk):
    with scope.reading(desk.place.id):
        return loading.policy(desk.place.id)


def test_the_policy_is_tried_on_past_requests_before_it_is_saved(desk, browse):
    desk.ask("nlp", 8)
    desk.ask("vision", 60, by="otto")
    otto = browse(desk.place, "otto")
    before = otto.get(POLICY).content.decode()
    assert "Nobody has set it" in before and "Default: 32; from 0 to 1,000,000,000." in before
    text = otto.post(POLICY, GOOD | {"step": "preview"}).content.decode()
    assert "2 of 2 requests would have gone otherwise" in text
    assert "one person" in text and "2 people" in text and "changed</span>" in text
    assert in_force(desk).automatic_units_max == 32
    missing = otto.post(POLICY, GOOD | {"step": "save"})
    assert missing.status_code == 400 and "Say why" in missing.content.decode()
    form = {"step": "save", "reason": "smaller grants", "version": "0", "key": "k1"}
    saved = otto.post(POLICY, GOOD | form, follow=True).content.decode()
    assert "The routing of requests is set." in saved and "smaller grants" in saved
    assert in_force(desk).two_approvals_units == 50
    late = otto.post(POLICY, GOOD | form | {"key": "k2", "automatic_units_max": "5"})
    assert late.status_code == 409 and "otto changed it" in late.content.decode()
    assert in_force(desk).automatic_units_max == 4


def test_who_saves_at_the_same_moment_is_a_conflict_although_the_page_saw_nothing(
    desk, browse, monkeypatch
):
    """Between the page's own look and the command somebody else was faster."""
    monkeypatch.setattr("frontend.views.request_policy.changed_meanwhile", lambda *_: "")
    otto = browse(desk.place, "otto")
    form = GOOD | {"step": "save", "reason": "smaller grants", "version": "0", "key": "k1"}
    assert otto.post(POLICY, form).status_code == 302
    late = otto.post(POLICY, form | {"key": "k2", "automatic_units_max": "5"})
    assert late.status_code == 409
    assert in_force(desk).automatic_units_max == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"automatic_units_max": ""}, "required"),
        ({"use_percent_min": "101"}, "less than or equal to 100"),
        ({"automatic_price_max": "NaN"}, "Enter a number"),
        ({"decide_hours": "0"}, "greater than or equal to 1"),
    ],
)
def test_rules_out_of_bounds_stand_at_their_field(desk, browse, change, said):
    form = GOOD | {"step": "save", "reason": "x", "version": "0"} | change
    answer = browse(desk.place, "otto").post(POLICY, form)
    assert answer.status_code == 400 and said in answer.content.decode()


def test_only_operators_of_the_whole_edit_it(desk, browse):
    for name in ("alice", "petra"):
        assert browse(desk.place, name).get(POLICY).status_code == 403
        assert browse(desk.place, name).post(POLICY, GOOD | {"step": "save"}).status_code == 403


def running(desk):
    with scope.reading(desk.place.id):
        return delegations(desk.place.id, now=NOW)


def test_an_absence_is_set_and_ended(desk, browse):
    petra = browse(desk.place, "petra")
    hidden = {"step": "save", "key": "a1"}
    form = hidden | {"delegate": "bob", "starts_at": "", "ends_at": "2026-12-06T12:00"}
    text = petra.post("/reviews/absence", form, follow=True).content.decode()
    assert "bob stands in." in text and "End now" in text
    one = running(desk)[0]
    assert (one.person, one.delegate, one.ends_at) == (
        "petra",
        "bob",
        NOW + timedelta(days=6, hours=23),
    )
    # Who stands in sees it, and cannot end it.
    assert "End now" not in browse(desk.place, "bob").get("/reviews/absence").content.decode()
    end = {"action": "end", "delegation": str(one.id)}
    assert browse(desk.place, "bob").post("/reviews/absence", end).status_code == 403
    petra.post("/reviews/absence", end)
    assert not running(desk)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delegate": "nobody"}, "no such person"),
        ({"delegate": "petra"}, "Name somebody else"),
        ({"ends_at": ""}, "Say until when"),
        ({"ends_at": "2026-11-01T12:00"}, "in the future"),
        ({"ends_at": "2027-11-01T12:00"}, "at most 92 days"),
    ],
)
def test_an_absence_that_cannot_be_is_refused_at_its_field(desk, browse, change, said):
    form = {"step": "save", "delegate": "bob", "ends_at": "2026-12-06T12:00"} | change
    answer = browse(desk.place, "petra").post("/reviews/absence", form)
    assert answer.status_code in (400, 409) and said in answer.content.decode()
    assert not running(desk)


def test_operators_set_absences_of_others(desk, browse, globex):
    form = {"step": "save", "person": "petra", "delegate": "rolf", "ends_at": "2026-12-06T12:00"}
    browse(desk.place, "otto").post("/reviews/absence", form)
    assert running(desk)[0].person == "petra"
    # Others' field does not exist for others: it is their own absence.
    browse(desk.place, "rita").post("/reviews/absence", form | {"person": "alice"})
    assert {one.person for one in running(desk)} == {"petra", "rita"}
    end = {"action": "end", "delegation": str(running(desk)[0].id)}
    assert browse(globex, "charlie").post("/reviews/absence", end).status_code == 404


def told(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_decisions_of_a_period_are_a_page_and_a_file(desk, browse, monkeypatch):
    monkeypatch.setattr("frontend.views.review_decisions.FILE_ROWS", 1)
    desk.people_only()
    yesterday = NOW - timedelta(days=1)
    it = desk.ask("nlp", 8, now=yesterday)
    desk.ask_changes(it, by="petra", reason="=HYPERLINK(1)", now=yesterday)
    desk.reject(it, by="rita", reason="no answer", now=yesterday + timedelta(hours=1))
    uma = browse(desk.place, "uma")
    text = uma.get("/reviews/decisions").content.decode()
    assert "asked for changes" in text
    assert "no answer" in text
    assert "by Rita" in text
    rows = told(uma.get("/reviews/decisions.csv"))
    assert [row["decision"] for row in rows] == ["changes_requested", "rejected"]
    assert rows[0]["reason"] == "'=HYPERLINK(1)" and rows[1]["person"] == "rita"
    assert rows[0]["request_id"] == str(it.request_id)
    assert told(uma.get("/reviews/decisions.csv?since=2026-01-01&until=2026-01-31")) == []
    assert told(uma.get("/reviews/decisions.csv?account=production")) == []


def test_decisions_are_shown_where_the_ledger_may_be_read(desk, browse, globex):
    desk.people_only()
    yesterday = NOW - timedelta(days=1)
    desk.reject(
        desk.ask("vision", 8, by="otto", now=yesterday), by="rita", reason="no", now=yesterday
    )
    assert browse(desk.place, "bob").get("/reviews/decisions").status_code == 403
    assert browse(desk.place, "bob").get("/reviews/decisions.csv").status_code == 403
    alice = browse(desk.place, "alice")
    assert told(alice.get("/reviews/decisions.csv")) == []
    assert alice.get("/reviews/decisions.csv?account=vision").status_code in (403, 404)
    assert told(browse(globex, "charlie").get("/reviews/decisions.csv")) == []


def test_cells_are_no_formulas():
    assert [cell(one) for one in ("=1", "+1", "-1", "@x", "a=b", "", None, 5)] == [
        *("'=1", "'+1", "'-1", "'@x"),
        *("a=b", "", "", "5"),
    ]
    many = b"".join(lines(("a", "b"), ((n, "x" * 100) for n in range(1000))))
    assert many.count(b"\r\n") == 1001


def test_hidden_fields_are_found():
    assert decision('data-decide <input type="hidden" name="key" value="k">') == {"key": "k"}
