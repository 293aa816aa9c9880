"""Pages of those who ask: the form with its pre-check, drafts, the list, a request's own page."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.views.requests import listing
from ledger import scope
from quota.commands.requests import Comment
from quota.domain.requests import State
from quota.queries.requests import attachments, comments, requests
from tenancy.commands.accounts import ArchiveAccount
from tenancy.commands.people import RevokeRole
from tests.frontend.forms import hidden, text
from tests.quota.requests.conftest import DAY
from tests.world import NOW

ASK = "/requests/new"
END = (NOW + 42 * DAY).strftime("%Y-%m-%dT00:00")


def filled(**values):
    """24 units for nlp for six weeks."""
    return {
        "account": "nlp",
        "pool": "h100",
        "kind": "new",
        "units": "24",
        "lasts": "until",
        "ends_at": END,
        "starts_at": "",
        "workload": "training",
        "tier": "guaranteed",
        "purpose": "train the next model",
        "budget": "",
        "to_account": "",
    } | values


@pytest.fixture
def alice(desk, browse):
    return browse(desk.place, "alice")


def stored(desk):
    """Requests of everybody and Alice's drafts, newest first."""
    with scope.reading(desk.place.id):
        return requests(desk.place.id, now=NOW, drafts_of=desk.place.people["alice"]).rows


def address_of(it):
    return f"/requests/{it.request_id}"


def test_the_form_starts_with_what_is_usual(alice):
    page = alice.get(ASK)
    assert page.status_code == 200
    content = page.content.decode()
    assert re.search(r'value="new" checked', content), "nlp has nothing in h100 yet"
    assert f'name="ends_at" id="id_ends_at" value="{END}"' in content
    assert "Time in Europe/Berlin" in text(page)


def test_twenty_four_for_six_weeks_are_granted_at_once(alice, desk):
    seen = alice.post(ASK, filled(step="check"))
    assert seen.status_code == 200
    assert "It fits, and you get it at once." in text(seen)
    assert "no price is set" in text(seen) and "100 units can be promised now" in text(seen)
    assert stored(desk) == ()
    answer = alice.post(ASK, filled(step="save", key=hidden(seen, "key")))
    assert answer.status_code == 302
    (row,) = stored(desk)
    assert (row.state, answer["Location"]) == (State.PROVISIONED, f"/requests/{row.request.id}")
    page = text(alice.get(answer["Location"]))
    assert "24 units of h100 for nlp" in page and "Granted" in page
    assert "then goes back by itself" in page and "handed it in" in page


def test_sent_twice_it_is_one_request(alice, desk):
    first = alice.post(ASK, filled(step="save", key="k1"))
    again = alice.post(ASK, filled(step="save", key="k1"))
    assert first["Location"] == again["Location"]
    assert len(stored(desk)) == 1


def test_what_does_not_fit_offers_what_would(alice, desk):
    desk.quotas.set("production", 60)
    desk.quotas.set("serving", 30, ends_at=NOW + 10 * DAY)
    seen = alice.post(ASK, filled(units="40", step="check"))
    assert "30 units short" in text(seen) and "10 units, same time" in text(seen)
    start = re.search(r'name="take_start" value="([^"]+)"', seen.content.decode())[1]
    taken = alice.post(ASK, filled(units="40", take_units="10"))
    assert 'id="id_units" value="10"' in taken.content.decode()
    assert "It fits" in text(taken)
    moved = alice.post(ASK, filled(units="40", take_start=start))
    assert "It fits" in text(moved) and start.split("|")[0] in moved.content.decode()
    # A shortage may be handed in all the same: people can make room.
    answer = alice.post(ASK, filled(units="40", step="save"))
    assert answer.status_code == 302 and stored(desk)[0].state == State.SUBMITTED


def test_the_route_is_told_with_its_reason(alice, desk):
    seen = text(alice.post(ASK, filled(units="60", step="check")))
    assert "Petra decides" in seen and "Automatic up to 32 units, 60 are asked." in seen
    desk.policy(two_approvals_units=50)
    seen = text(alice.post(ASK, filled(units="60", step="check")))
    assert "Two different people approve" in seen


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"ends_at": "2020-01-01T00:00"}, "ends_at"),
        ({"ends_at": ""}, "ends_at"),
        ({"ends_at": "soon"}, "ends_at"),
        ({"starts_at": "2020-01-01T00:00"}, "starts_at"),
        ({"units": "0"}, "units"),
        ({"units": ""}, "units"),
        ({"units": "101"}, "units"),
        ({"units": "many"}, "units"),
        ({"budget": "-1"}, "budget"),
        ({"purpose": " "}, "purpose"),
        ({"purpose": "x" * 4001}, "purpose"),
        ({"account": "vision"}, "account"),
        ({"account": "root"}, "account"),
        ({"account": "nowhere"}, "account"),
        ({"kind": "transfer", "to_account": "nowhere"}, "to_account"),
        ({"kind": "transfer", "to_account": ""}, "to_account"),
        ({"kind": "transfer", "to_account": "nlp"}, "to_account"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(alice, desk, wrong, field):
    page = alice.post(ASK, filled(step="save", **wrong))
    assert page.status_code == 400, text(page)
    assert f'id="id_{field}-errors"' in page.content.decode()
    assert stored(desk) == ()


@pytest.mark.parametrize("wrong", [{"pool": "elsewhere"}, {"kind": "gift"}])
def test_what_is_forged_is_refused(alice, desk, wrong):
    assert alice.post(ASK, filled(step="save", **wrong)).status_code == 400
    assert stored(desk) == ()


def test_fields_that_the_kind_does_not_need_do_no_harm(alice, desk):
    desk.quotas.set("nlp", 20)
    wrong = filled(kind="lower", units="5", ends_at="soon", starts_at="x", budget="y", step="save")
    answer = alice.post(ASK, wrong)
    assert answer.status_code == 302, text(answer)
    assert stored(desk)[0].request.terms.ends_at is None


def test_the_address_fills_the_form(alice, desk):
    desk.quotas.set("nlp", 20)
    page = alice.get(f"{ASK}?account=nlp&pool=h100&units=3").content.decode()
    assert re.search(r'value="boost" checked', page) and "It fits" in page
    assert alice.get(f"{ASK}?account=vision").status_code == 404
    assert alice.get(f"{ASK}?pool=elsewhere").status_code == 400
    assert alice.get(f"{ASK}?kind=gift").status_code == 400


def test_drafts_are_kept_while_one_types(alice, desk):
    htmx = {"HX-Request": "true", "HX-Target": "draft"}
    part = alice.post(ASK, filled(units="7", purpose="", step="autosave"), headers=htmx)
    assert "Draft kept" in text(part) and b"<h1" not in part.content
    (row,) = stored(desk)
    assert (row.state, row.request.terms.units) == (State.DRAFT, 7)
    same = {"draft": hidden(part, "draft"), "version": hidden(part, "version")}
    alice.post(ASK, filled(units="7", purpose="", step="autosave") | same, headers=htmx)
    assert stored(desk)[0].request.version == row.request.version, "nothing new, nothing kept"
    part = alice.post(ASK, filled(units="8", step="autosave") | same, headers=htmx)
    same["version"] = hidden(part, "version")
    wrong = alice.post(ASK, filled(units="x", step="autosave") | same, headers=htmx)
    assert "Not kept as a draft yet" in text(wrong)
    assert "8 units of h100 for nlp" in text(alice.get("/requests"))
    page = alice.get(f"/requests/{row.request.id}/edit")
    assert 'id="id_units" value="8"' in page.content.decode()
    answer = alice.post(ASK, filled(units="8", step="save") | same)
    assert answer["Location"] == f"/requests/{row.request.id}"
    assert [one.state for one in stored(desk)] == [State.PROVISIONED]


def test_a_draft_is_kept_by_its_button_and_thrown_away(alice, desk, browse):
    answer = alice.post(ASK, filled(purpose="", step="draft", key="k"))
    (row,) = stored(desk)
    assert answer["Location"] == f"/requests/{row.request.id}/edit"
    desk.place.person("anna")
    desk.place.role("anna", "lead", on="nlp")
    anna = browse(desk.place, "anna")
    for address in (f"/requests/{row.request.id}", answer["Location"]):
        assert anna.get(address).status_code == 404, "drafts are their authors' alone"
    assert anna.post(ASK, filled(step="save", draft=str(row.request.id))).status_code == 404
    page = alice.get(f"/requests/{row.request.id}")
    assert "Only you see it" in text(page)
    assert alice.post(f"/requests/{row.request.id}", {"step": "discard"}).status_code == 302
    assert stored(desk)[0].state == State.DISCARDED
    assert "drafts-title" not in alice.get("/requests").content.decode()


def test_a_stale_draft_is_not_overwritten(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    edit = f"/requests/{row.request.id}/edit"
    version = hidden(alice.get(edit), "version")
    alice.post(edit, filled(units="9", step="draft", version=version, draft=str(row.request.id)))
    page = alice.post(edit, filled(units="5", step="save", version=version))
    assert page.status_code == 409 and "changed by someone else meanwhile" in text(page)
    assert stored(desk)[0].request.terms.units == 9
    again = filled(units="5", step="save", version=hidden(page, "version"), key="new")
    assert alice.post(edit, again).status_code == 302
    assert stored(desk)[0].request.terms.units == 5


def test_changes_are_asked_for_and_it_is_handed_in_again(alice, desk):
    it = desk.ask("nlp", 60)
    desk.ask_changes(it, by="petra", reason="For how long, really?")
    page = text(alice.get(address_of(it)))
    assert "Changes asked for" in page and "For how long, really?" in page
    edit = f"{address_of(it)}/edit"
    form = alice.get(edit)
    assert "Account, pool and kind stay" in text(form)
    sent = filled(kind="boost", units="40", step="save", version=hidden(form, "version"))
    assert alice.post(edit, sent | {"account": "vision", "pool": "a100"}).status_code == 400
    assert alice.post(edit, sent).status_code == 302
    assert desk.request(it).state == State.SUBMITTED and desk.request(it).terms.units == 40


def test_an_offer_is_accepted_once(alice, desk):
    it = desk.ask("nlp", 60)
    desk.approve_less(it, by="petra", units=40)
    page = alice.get(address_of(it))
    assert "40 units" in text(page) and "Accept the offer" in text(page)
    version = hidden(page, "version")
    sent = {"step": "accept", "version": version, "key": "a"}
    assert alice.post(address_of(it), sent).status_code == 302
    assert alice.post(address_of(it), sent).status_code == 302, "the same click twice"
    assert desk.request(it).state == State.PROVISIONED
    late = alice.post(address_of(it), {"step": "withdraw", "version": version, "key": "b"})
    assert late.status_code == 409 and "granted" in text(late).lower()


def test_a_request_is_withdrawn(alice, desk):
    it = desk.ask("nlp", 60)
    page = alice.get(address_of(it))
    sent = {"step": "withdraw", "version": hidden(page, "version"), "reason": "no longer needed"}
    assert alice.post(address_of(it), sent).status_code == 302
    page = text(alice.get(address_of(it)))
    assert "Withdrawn" in page and "no longer needed" in page


def test_a_word_notifies_those_named(alice, desk):
    it = desk.ask("nlp", 60)
    sent = {"step": "comment", "text": "Hello @petra, <b>soon</b>? mail me at a@petra.org"}
    assert alice.post(address_of(it), sent).status_code == 302
    with scope.reading(desk.place.id):
        (said,) = comments(desk.place.id, it.request_id)
    assert said.mentioned == ("petra",)
    assert b"&lt;b&gt;soon" in alice.get(address_of(it)).content
    wrong = alice.post(address_of(it), {"step": "comment", "text": "Hello @nobody-here"})
    assert wrong.status_code == 400 and "Nobody here is called @nobody-here" in text(wrong)
    assert "Hello @nobody-here</textarea>" in wrong.content.decode(), "what was typed stays"
    assert alice.post(address_of(it), {"step": "comment", "text": " "}).status_code == 400


def test_files_come_back_as_downloads(alice, desk):
    it = desk.ask("nlp", 60)
    good = SimpleUploadedFile("plan.csv", b"month,gpus\n")
    assert alice.post(address_of(it), {"step": "attach", "file": good}).status_code == 302
    with scope.reading(desk.place.id):
        (kept,) = attachments(desk.place.id, it.request_id)
    answer = alice.get(f"{address_of(it)}/files/{kept.id}")
    assert answer.content == b"month,gpus\n" and answer["Content-Type"] == "text/csv"
    assert answer["Content-Disposition"] == 'attachment; filename="plan.csv"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    page = SimpleUploadedFile("plan.pdf", b"<html><script>")
    wrong = alice.post(address_of(it), {"step": "attach", "file": page})
    assert wrong.status_code == 400 and "file-errors" in wrong.content.decode()
    large = SimpleUploadedFile("plan.txt", b"x" * (2**20 + 1))
    assert "at most" in text(alice.post(address_of(it), {"step": "attach", "file": large}))
    assert alice.post(address_of(it), {"step": "attach"}).status_code == 400
    other = desk.ask("nlp", 61)
    assert alice.get(f"{address_of(other)}/files/{kept.id}").status_code == 404


def test_a_past_instant_shows_the_request_of_then(alice, desk):
    it = desk.ask("nlp", 60, now=NOW - 3 * DAY)
    desk.reject(it, by="petra", now=NOW - DAY, reason="no room")
    assert "Rejected" in text(alice.get(address_of(it)))
    then = alice.get(address_of(it), {"as_of": (NOW - 2 * DAY).isoformat()})
    assert "Waits for approval" in text(then) and "no room" not in text(then)
    before = alice.get(address_of(it), {"as_of": (NOW - 4 * DAY).isoformat()})
    assert before.status_code == 404
    later = alice.get(address_of(it), {"as_of": (NOW + DAY).isoformat()})
    assert later.status_code == 400


def test_a_later_end_by_one_click(alice, desk):
    it = desk.ask("nlp", 8, days=10)
    page = alice.get(address_of(it))
    assert "Extend to" in text(page)
    sent = {"step": "extend", "until": hidden(page, "until"), "key": "e"}
    answer = alice.post(address_of(it), sent)
    assert answer.status_code == 302 and answer["Location"] != address_of(it)
    newest = stored(desk)[0].request
    assert newest.terms.kind == "extension" and newest.terms.purpose == "train the next model"
    form = alice.get(f"{ASK}?account=nlp&pool=h100&kind=extension").content.decode()
    assert "train the next model" in form
    assert alice.get(f"{ASK}?extend={it.request_id}").status_code in (200, 400)


def test_the_list_says_for_whom_each_waits(alice, desk):
    assert "Nobody has asked for anything yet" in text(alice.get("/requests"))
    desk.ask("nlp", 8)
    waiting = desk.ask("nlp", 60, pool="a100")
    page = text(alice.get("/requests"))
    assert "60 units more of a100 for nlp for a while" in page
    assert "approvers of research" in page and "Granted" in page
    only = text(alice.get("/requests?state=open&kind=boost&account=nlp&whose=mine"))
    assert "60 units" in only and "8 units" not in only
    assert "Clear filters" in text(alice.get("/requests?state=over"))
    desk.withdraw(waiting)
    assert "60 units" in text(alice.get("/requests?state=over"))
    assert alice.get("/requests?state=odd").status_code == 400
    assert alice.get("/requests?account=vision").status_code == 403
    assert alice.get("/requests?account=vision&whose=mine").status_code == 200


def test_the_list_pages_and_asks_a_constant_number_of_questions(
    alice,
    desk,
    monkeypatch,
):
    monkeypatch.setattr(listing, "PAGE_ROWS", 3)
    desk.people_only()
    for _ in range(4):
        desk.ask("nlp", 2)
    with CaptureQueriesContext(connection) as few:
        first = alice.get("/requests?state=open")
    assert text(first).count("2 units more") == 3
    following = re.search(r'href="(/requests\?[^"]*before=[^"]+)"', first.content.decode())[1]
    assert text(alice.get(following.replace("&amp;", "&"))).count("2 units more") == 1
    monkeypatch.setattr(listing, "PAGE_ROWS", 25)
    with CaptureQueriesContext(connection) as many:
        alice.get("/requests?state=open")
    assert len(few) == len(many)


def test_others_see_only_what_is_their_business(desk, browse, globex):
    it = desk.ask("nlp", 60)
    desk.place.person("zoe", "serving")
    bob, zoe = browse(desk.place, "bob"), browse(desk.place, "zoe")
    assert bob.get(address_of(it)).status_code == 200
    assert "Withdraw this request" not in text(bob.get(address_of(it)))
    assert bob.post(address_of(it), {"step": "withdraw"}).status_code == 403
    assert bob.get(ASK).status_code == 403 and "lead" in text(bob.get(ASK))
    assert desk.request(it).state == State.SUBMITTED
    charlie = browse(globex, "charlie")
    for client in (zoe, charlie):
        for address in (address_of(it), f"{address_of(it)}/edit"):
            assert client.get(address).status_code == 404
        for step in ("withdraw", "comment", "accept", "extend"):
            assert client.post(address_of(it), {"step": step, "text": "x"}).status_code == 404
    assert "nlp" not in text(zoe.get("/requests")).replace("Requests", "")
    assert charlie.get("/requests/not-an-id").status_code == 404


def test_the_page_of_quota_leads_to_the_form(alice, desk):
    desk.quotas.set("nlp", 20)
    page = text(alice.get("/accounts/nlp/quota"))
    assert "Ask for more" in page and "Give back" in page
    desk.policy(unknown_use_passes=True)
    desk.ask("nlp", 8)
    assert "Ask for a later end" in text(alice.get("/accounts/nlp/quota"))


def test_a_role_lost_while_the_page_is_open(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    place = desk.place
    command = RevokeRole(
        account_id=place.accounts["nlp"], person_id=place.people["alice"], role="lead"
    )
    place.run(command)
    assert alice.post(ASK, filled(step="save")).status_code == 403
    htmx = {"HX-Request": "true", "HX-Target": "preview"}
    assert "lead" in alice.post(ASK, filled(step="check"), headers=htmx)["X-Problem"]
    draft = f"/requests/{row.request.id}/edit"
    sent = filled(step="save", version=hidden(alice.get(draft), "version"))
    assert alice.post(draft, sent).status_code == 403
    assert stored(desk)[0].state == State.DRAFT


def test_an_account_archived_meanwhile(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    desk.place.run(ArchiveAccount(account_id=desk.place.accounts["nlp"]))
    assert alice.get(ASK).status_code == 200
    draft = f"/requests/{row.request.id}/edit"
    page = alice.post(draft, filled(step="save"))
    assert page.status_code in (400, 403, 404, 409) and "archived" in text(page)
    assert stored(desk)[0].state == State.DRAFT


def test_a_form_sent_again_with_other_values(alice, desk):
    alice.post(ASK, filled(step="save", key="k1"))
    page = alice.post(ASK, filled(step="save", key="k1", pool="a100"))
    assert page.status_code == 409 and "sent before with other values" in text(page)
    again = filled(step="save", key=hidden(page, "key"), pool="a100")
    assert alice.post(ASK, again).status_code == 302
    assert len(stored(desk)) == 2


def test_pages_ask_a_constant_number_of_questions(alice, desk):
    it = desk.ask("nlp", 60)

    def questions(address: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert alice.get(address).status_code == 200
        return len(asked)

    addresses = (address_of(it), f"{ASK}?account=nlp&pool=h100&units=24")
    before = [questions(one) for one in addresses]
    for number in range(5):
        desk.run(Comment(request_id=it.request_id, text=f"word {number}"), by="alice")
        desk.place.account(f"team-{number}", under="nlp")
        desk.ask("nlp", 50, pool="a100")
    assert [questions(one) for one in addresses] == before


def test_use_and_price_are_told_or_unknown(alice, desk, known):
    desk.quotas.set("nlp", 20)
    asked = filled(kind="boost", units="10", step="check")
    assert "unknown: no use was reported" in text(alice.post(ASK, asked))
    known.mean, known.price = 0.625, "100"
    seen = text(alice.post(ASK, asked))
    assert "62.5" in seen and "at most 8 units" in seen
    assert "1000 EUR" in seen and "for the whole time" in seen
