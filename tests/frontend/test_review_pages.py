"""The inbox of reviewers, one decision, several at once: with forms alone, as without scripts."""

import re
from datetime import timedelta

import pytest

from quota.commands.quotas import SetQuota
from quota.commands.request_policy import SetDelegate
from quota.commands.requests import Submit
from tenancy.commands.people import RevokeRole
from tests.quota.requests.conftest import staffed
from tests.world import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(acme):
    """Everything goes to people."""
    place = staffed(acme)
    place.people_only()
    return place


def page(client, address="/reviews"):
    answer = client.get(address)
    assert answer.status_code == 200, answer.content.decode()[:3000]
    return answer.content.decode()


def decision(text: str) -> dict[str, str]:
    """The hidden fields of the decision form."""
    form = text.split("/decide")[-1] if "data-decide" not in text else text.split("data-decide")[1]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def send(client, it, what, **fields):
    address = f"/requests/{it.request_id}/decide"
    hidden = decision(page(client, address))
    return client.post(address, hidden | {"what": what} | fields, follow=True)


def test_the_inbox_tells_all_in_the_row(desk, browse):
    it = desk.ask("nlp", 8)
    desk.ask("nlp", 100, by="alice")
    text = page(browse(desk.place, "petra"))
    assert "2 wait for you" in text
    assert "8 units more of h100 for nlp" in text and "30 days" in text and "Alice" in text
    assert "holds" in text and "unknown" in text and f"/requests/{it.request_id}/decide" in text
    assert "second word" not in text and "needs two people" in text
    assert '<span class="count">2<' in text
    # Alice asks and reviews nothing: neither requests nor a way to them.
    assert "Inbox clear" in page(browse(desk.place, "alice"))
    assert '<span class="count">' not in page(browse(desk.place, "alice"))


def test_what_is_short_is_said_and_filters_narrow(desk, browse):
    desk.ask("nlp", 60)
    desk.ask("vision", 8, by="otto", pool="a100")
    desk.place.run(
        SetQuota(
            account_id=desk.place.accounts["serving"],
            pool_id=desk.place.pools["h100"],
            guaranteed=70,
        ),
        reason="plan",
    )
    rita = browse(desk.place, "petra")
    assert "30 short" in page(rita)
    assert "60 units" not in page(rita, "/reviews?account=vision")
    assert "60 units" in page(rita, "/reviews?pool=h100&kind=boost")
    assert "Nothing fits the filters" in page(rita, "/reviews?kind=lower")
    wrong = rita.get("/reviews?account=nobody")
    said = wrong.content.decode()
    assert wrong.status_code == 400 and 'id="account-error">There is no account nobody.' in said
    assert "60 units" in said, "what waits is still there"
    assert rita.get("/reviews?kind=x").status_code == 400
    assert rita.get("/reviews?after=x/y").status_code == 400


def test_it_is_paged_by_deadline(desk, browse, monkeypatch):
    monkeypatch.setattr("frontend.views.reviews.PAGE_ROWS", 2)
    for units in (1, 2, 3):
        desk.ask("nlp", units, now=NOW - timedelta(hours=10 - units))
    petra = browse(desk.place, "petra")
    first = page(petra)
    assert "1 unit more" in first and "3 units more" not in first
    following = re.search(r'href="([^"]*after=[^"]*)"', first)[1].replace("&amp;", "&")
    second = page(petra, following)
    assert "3 units more" in second and "1 unit more" not in second


def test_approve_grants(desk, browse):
    it = desk.ask("nlp", 8)
    answer = send(browse(desk.place, "petra"), it, "approve", back="/reviews?pool=h100")
    assert answer.redirect_chain == [("/reviews?pool=h100", 302)]
    assert "Granted; the quota stands." in answer.content.decode()
    assert desk.request(it).state == "provisioned"


def test_a_way_back_is_ours(desk, browse):
    it = desk.ask("nlp", 8)
    answer = send(browse(desk.place, "petra"), it, "approve", back="https://evil.example/")
    assert answer.redirect_chain == [(f"/requests/{it.request_id}", 302)]


@pytest.mark.parametrize(
    ("what", "fields", "said"),
    [
        ("ask", {}, "Say what should change."),
        ("reject", {}, "Say why"),
        ("less", {"units": "8"}, "Offer fewer units"),
        ("less", {"units": "9"}, "Offer fewer units"),
        ("less", {"units": "x"}, "whole number"),
        ("less", {"ends_at": "2026-01-01T10:00"}, ""),
        ("", {}, "required"),
        ("grant", {}, "not one of the available choices"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    desk, browse, what, fields, said
):
    it = desk.ask("nlp", 8)
    typed = fields if what in ("ask", "reject") else fields | {"reason": "typed before"}
    answer = send(browse(desk.place, "petra"), it, what, **typed)
    text = answer.content.decode()
    assert answer.status_code in (400, 409) and said in text
    assert desk.request(it).state == "submitted"
    assert what in ("ask", "reject") or "typed before" in text


def test_less_waits_for_the_requester_and_may_then_only_be_rejected(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    answer = send(petra, it, "less", units="4", reason="half of it first")
    assert "waits for the requester" in answer.content.decode()
    assert desk.request(it).counter.units == 4
    text = page(petra, f"/requests/{it.request_id}/decide")
    assert 'value="reject"' in text and 'value="approve"' not in text
    send(petra, it, "reject", reason="they never answered")
    assert desk.request(it).state == "rejected"


def test_two_people_and_the_first_may_change_their_mind(desk, browse):
    it = desk.ask("nlp", 100)
    petra, rita = browse(desk.place, "petra"), browse(desk.place, "rita")
    assert "Two different people" in page(petra, f"/requests/{it.request_id}/decide")
    assert "Another person has to" in send(petra, it, "approve").content.decode()
    again = page(petra, f"/requests/{it.request_id}/decide")
    assert "approved this already" in again and 'value="approve"' not in again
    assert "second word" in page(rita) and "second word" in page(
        rita, f"/requests/{it.request_id}/decide"
    )
    send(rita, it, "approve")
    assert desk.request(it).state == "provisioned"


def test_a_first_word_that_no_longer_counts_is_told_before_and_after(desk, browse):
    it = desk.ask("nlp", 100)
    desk.approve(it, by="petra")
    rita = browse(desk.place, "rita")
    address = f"/requests/{it.request_id}/decide"
    assert "Yours is the second word" in page(rita, address)
    gone = RevokeRole(
        account_id=desk.place.accounts["research"],
        person_id=desk.place.people["petra"],
        role="approver",
    )
    desk.place.run(gone, reason="moved on")
    text = page(rita, address)
    assert "Yours is the first word" in text and "second word" not in text
    said = send(rita, it, "approve").content.decode()
    assert "Petra no longer counts" in said
    assert "The approval of Petra no longer counts" in said.split('id="timeline"')[1]


def test_stale_forms_say_so_keep_what_was_typed_and_then_hold(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    address = f"/requests/{it.request_id}/decide"
    hidden = decision(page(petra, address))
    desk.ask_changes(it, by="rita", reason="which model?")
    terms = desk.terms("nlp", 6)
    again = Submit(terms=terms, request_id=it.request_id, expected_version=2)
    desk.run(again, by="alice")
    answer = petra.post(address, hidden | {"what": "reject", "reason": "no room for it"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Somebody changed this meanwhile" in text and 'value="no room for it"' in text
    assert "Last: asked for changes by Rita" in text
    petra.post(address, decision(text) | {"what": "reject", "reason": "no room for it"})
    assert desk.request(it).state == "rejected"


def test_the_second_of_two_racing_approvers_is_told_who_was_first(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    address = f"/requests/{it.request_id}/decide"
    hidden = decision(page(petra, address))
    desk.approve(it, by="rita")
    answer = petra.post(address, hidden | {"what": "approve", "reason": "fine by me"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "This request is granted by now" in text and "Last: approved by Rita" in text
    assert "fine by me" in text and "still open" not in text


def test_room_that_went_is_told_with_what_is_missing(desk, browse):
    it = desk.ask("nlp", 60)
    petra = browse(desk.place, "petra")
    address = f"/requests/{it.request_id}/decide"
    hidden = decision(page(petra, address))
    desk.place.run(
        SetQuota(
            account_id=desk.place.accounts["serving"],
            pool_id=desk.place.pools["h100"],
            guaranteed=50,
        ),
        reason="plan",
    )
    answer = petra.post(address, hidden | {"what": "approve"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "10 units short" in text and "The request is still open." in text
    assert desk.request(it).state == "submitted"


def test_sent_twice_it_is_decided_once(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    address = f"/requests/{it.request_id}/decide"
    hidden = decision(page(petra, address)) | {"what": "approve"}
    assert petra.post(address, hidden).status_code == 302
    assert petra.post(address, hidden).status_code == 302
    assert desk.request(it).version == 3


def test_own_requests_are_refused_with_the_reason(desk, browse):
    it = desk.ask("vision", 8, by="otto")
    otto = browse(desk.place, "otto")
    text = page(otto, f"/requests/{it.request_id}/decide")
    assert "You cannot decide this." in text and "Nobody decides their own request" in text
    assert "<h2" in text and 'name="what"' not in text
    answer = otto.post(f"/requests/{it.request_id}/decide", {"what": "approve", "step": "save"})
    assert answer.status_code == 409 and desk.request(it).state == "submitted"


def test_who_stands_in_sees_for_whom_but_not_the_absent_persons_own(desk, browse):
    acme = desk.place
    acme.role("petra", "lead", on="vision")
    acme.run(
        SetDelegate(delegate_id=acme.people["bob"], starts_at=NOW, ends_at=NOW + timedelta(days=7)),
        by=acme.actor("petra"),
    )
    it = desk.ask("nlp", 8)
    own = desk.ask("vision", 8, by="petra")
    bob = browse(acme, "bob")
    text = page(bob)
    assert "in the place of Petra" in text and "for vision" not in text
    assert "1 waits for you" in text and 'href="/reviews"' in text
    refused = page(bob, f"/requests/{own.request_id}/decide")
    assert "person you stand in for" in refused
    send(bob, it, "approve")
    assert desk.request(it).approvals[0].on_behalf_of_id == acme.people["petra"]


def test_who_reviews_nothing_there_is_told_which_role_it_takes(desk, browse, globex):
    it = desk.ask("nlp", 8)
    address = f"/requests/{it.request_id}/decide"
    bob = browse(desk.place, "bob")
    assert bob.get(address).status_code == 403
    assert bob.post(address, {"what": "approve", "step": "save"}).status_code == 403
    assert "approver" in bob.get(address).content.decode()
    charlie = browse(globex, "charlie")
    assert charlie.get(address).status_code == 404
    assert charlie.post(address, {"what": "approve", "step": "save"}).status_code == 404
    assert charlie.get("/requests/x/decide").status_code == 404
    assert desk.request(it).state == "submitted"


def test_a_role_lost_while_the_page_is_open_decides_nothing(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    address = f"/requests/{it.request_id}/decide"
    inbox = page(petra)
    hidden = decision(page(petra, address))
    acme = desk.place
    role = {"person_id": acme.people["petra"], "role": "approver"}
    acme.run(RevokeRole(account_id=acme.accounts["research"], **role))
    # Without it she does not even see the account.
    assert petra.post(address, hidden | {"what": "approve"}).status_code == 404
    several = {"what": "approve", "request": picks(inbox), "step": "save"}
    assert petra.post("/reviews", several).status_code == 404
    acme.role("petra", "member", on="research")
    answer = petra.post(address, hidden | {"what": "approve"})
    assert answer.status_code == 403 and "You review nothing" in answer.content.decode()
    told = petra.post("/reviews", several).content.decode()
    assert "0 decided, 1 not" in told and "You review nothing" in told
    assert desk.request(it).state == "submitted"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("ceiling", {"units": 10, "days": 0}),
        ("justification", {"units": None, "days": 20}),
        ("transfer", {"units": 5, "days": 0}),
        ("raise", {"units": 5, "days": 0}),
        ("boost", {"units": 5, "starts_at": NOW + timedelta(days=9)}),
        ("new", {"units": 5, "days": 20, "pool": "a100"}),
    ],
)
def test_every_kind_is_shown_with_its_effect(desk, browse, kind, fields):
    acme = desk.place
    command = SetQuota(account_id=acme.accounts["nlp"], pool_id=acme.pools["h100"], guaranteed=20)
    acme.run(command, reason="plan")
    more = {"to_account_id": acme.accounts["vision"]} if kind == "transfer" else {}
    days = fields.pop("days", 30)
    end = fields.get("starts_at", NOW) + timedelta(days=days) if days else None
    it = desk.ask("nlp", fields.pop("units"), kind=kind, ends_at=end, **fields, **more)
    text = page(browse(acme, "petra"), f"/requests/{it.request_id}/decide")
    assert "It fits:" in text
    assert ("No quota changes" in text) == (kind == "justification")
    assert page(browse(acme, "petra")).count("data-act=") == 4


def picks(text: str) -> list[str]:
    return re.findall(r'name="request" value="([^"]+)"', text)


def test_several_are_confirmed_and_each_is_decided_on_its_own(desk, browse):
    fits, short = desk.ask("nlp", 60), desk.ask("vision", 60, by="otto")
    petra = browse(desk.place, "petra")
    chosen = picks(page(petra))
    assert len(chosen) == 2
    asked = petra.post("/reviews", {"what": "approve", "request": chosen})
    text = asked.content.decode()
    assert "Approve 2 requests?" in text and desk.request(fits).state == "submitted"
    hidden = decision(text) | {"step": "save", "request": picks(text)}
    done = petra.post("/reviews", hidden | {"what": "approve", "reason": ""}).content.decode()
    assert "1 decided, 1 not" in done and "Granted; the quota stands." in done
    assert {desk.request(fits).state, desk.request(short).state} == {"provisioned", "submitted"}
    # Sent again, the same form says the same and does nothing more.
    again = petra.post("/reviews", hidden | {"what": "approve", "reason": ""}).content.decode()
    assert "1 decided, 1 not" in again


def test_several_are_rejected_only_with_a_reason(desk, browse):
    it = desk.ask("nlp", 8)
    petra = browse(desk.place, "petra")
    chosen = picks(page(petra))
    answer = petra.post("/reviews", {"what": "reject", "request": chosen, "step": "save"})
    assert (
        answer.status_code == 400 and "each requester reads the reason" in answer.content.decode()
    )
    assert "checked" in answer.content.decode().split("data-reviews")[1]
    assert petra.post("/reviews", {"what": "reject", "reason": "x"}).status_code == 400
    petra.post("/reviews", {"what": "reject", "request": chosen, "step": "save", "reason": "no"})
    assert desk.request(it).state == "rejected"


def test_several_that_are_not_yours_are_no_way_in(desk, browse, globex):
    it = desk.ask("nlp", 8)
    chosen = [f"{it.request_id}:1"]
    body = {"what": "approve", "request": chosen, "step": "save"}
    assert browse(globex, "charlie").post("/reviews", body).status_code == 404
    told = browse(desk.place, "bob").post("/reviews", body).content.decode()
    assert "0 decided, 1 not" in told
    bad = {"what": "approve", "request": ["x:y"], "step": "save"}
    assert browse(desk.place, "petra").post("/reviews", bad).status_code == 404
    assert desk.request(it).state == "submitted"


def test_statements_stay_the_same_however_many_wait(desk, browse, statements):
    it = desk.ask("nlp", 2)
    petra = browse(desk.place, "petra")
    counts = []
    for units in (3, 12):
        for number in range(units):
            desk.ask("nlp" if number % 2 else "vision", 2, by="alice" if number % 2 else "otto")
        page(petra)
        for address in ("/reviews", f"/requests/{it.request_id}/decide"):
            statements.clear()
            page(petra, address)
            counts.append(len(statements))
    assert counts[0] >= counts[2] and counts[1] >= counts[3], counts
    assert max(counts) <= 70, counts
