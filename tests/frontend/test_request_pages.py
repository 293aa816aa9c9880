"""The list of requests and the page of one, for those who ask."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.views.requests import asking, filling, listing
from ledger import scope
from ledger.ids import new_id
from quota.commands.request_policy import SetDelegate
from quota.commands.requests import Comment
from quota.domain.requests import State
from quota.queries.requests import attachments, comments
from tenancy.commands.people import AddPerson
from tests.frontend.asking import ASK, address_of, filled, stored
from tests.frontend.forms import hidden, text
from tests.quota.requests.conftest import DAY
from tests.world import NOW


@pytest.fixture
def alice(desk, browse):
    return browse(desk.place, "alice")


def test_changes_are_asked_for_and_it_is_handed_in_again(alice, desk):
    it = desk.ask("nlp", 60)
    desk.ask_changes(it, by="petra", reason="For how long, really?")
    page = text(alice.get(address_of(it)))
    assert "Changes asked for" in page and "For how long, really?" in page
    edit = f"{address_of(it)}/edit"
    form = alice.get(edit)
    assert "Account, pool and kind stay" in text(form)
    assert "For how long, really?" in text(form)
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


def found(client, it, begins: str) -> list[str]:
    answer = client.get(f"{address_of(it)}/people", {"begins": begins})
    assert answer.status_code == 200
    return [one["name"] for one in answer.json()["people"]]


def test_only_who_may_see_a_request_is_offered_to_be_mentioned(desk, browse, globex):
    place = desk.place
    place.run(AddPerson(name="zed", display_name="Petra Zed", email="zed@example.org"))
    it = desk.ask("nlp", 60)
    alice = browse(place, "alice")
    assert found(alice, it, "pe") == ["petra"], "Petra Zed may not see it"
    assert "alice" not in found(alice, it, ""), "nobody notifies themselves"
    assert found(alice, it, "")[0] == "petra", "who is asked stands first"
    assert found(alice, it, "%") == found(alice, it, "_") == found(alice, it, "\\") == []
    place.run(
        SetDelegate(
            delegate_id=place.run(
                AddPerson(name="stan", display_name="Stan In", email="stan@example.org")
            ).result.person_id,
            starts_at=NOW - DAY,
            ends_at=NOW + DAY,
        ),
        by=place.actor("petra"),
    )
    assert found(alice, it, "in") == ["stan"], "by any word of the name; who stands in sees it"
    stranger = browse(globex, "charlie").get(f"{address_of(it)}/people")
    assert stranger.status_code == 404


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
    unknown = alice.get("/requests?account=nobody")
    assert unknown.status_code == 400 and "There is no account nobody." in text(unknown)
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


@pytest.mark.parametrize(
    "text_sent", ["a\x00b", "\ud800".encode("utf-8", "surrogatepass"), "x" * 4001]
)
def test_odd_words_are_refused_in_words(alice, desk, text_sent):
    it = desk.ask("nlp", 60)
    answer = alice.post(address_of(it), {"step": "comment", "text": text_sent})
    assert answer.status_code in (302, 400), answer.status_code
    for field in ("purpose", "account", "to_account"):
        sent = filled(step="save", kind="transfer", **{field: "a\x00b"})
        assert alice.post(ASK, sent).status_code == 400


def test_an_unknown_step_does_nothing(alice, desk):
    it = desk.ask("nlp", 60)
    for step in ("", "approve", "odd"):
        assert alice.post(address_of(it), {"step": step}).status_code == 400
    for given in ({"draft": "odd"}, {"draft": str(new_id())}):
        assert alice.post(ASK, filled(step="save") | given).status_code == 404
    assert desk.request(it).state == State.SUBMITTED


def test_who_leads_many_accounts_types_a_name(desk, browse, monkeypatch):
    otto = browse(desk.place, "otto")
    assert b"<option selected>root" in otto.get(ASK).content
    for module in (filling, asking):
        monkeypatch.setattr(module, "SELECT_MAX", 2)
    page = otto.get(f"{ASK}?account=serving").content.decode()
    assert re.search(r'<input[^>]* name="account"[^>]* value="serving"', page)
    assert otto.post(ASK, filled(account="vision", step="check")).status_code == 200
