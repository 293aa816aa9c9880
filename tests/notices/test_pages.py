"""The bell, the list, what is read, the choices, and the link that stops mails without sign-in."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client

from ledger import scope
from ledger.ids import new_id
from notices import preferences
from notices.preferences import Link
from notices.queries import notices
from notices.retention import KEPT_DAYS
from tests.notices.test_mails import choose, send, states, tell
from tests.world import NOW, Tenant

pytestmark = pytest.mark.usefixtures("at_noon")


def rows(place: Tenant, name: str):
    with scope.reading(place.id):
        return notices(place.id, place.people[name], limit=200).rows


def text(answer) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def test_the_bell_tells_how_many_are_unread_on_every_page(acme, browse):
    client = browse(acme, "alice")
    assert 'aria-label="Notices, none unread"' in text(client.get("/"))
    tell(acme, "alice", "one", "two")
    for page in ("/", "/usage", "/notices"):
        assert 'aria-label="Notices, 2 unread"' in text(client.get(page))
    tell(acme, "alice", *(f"n{number}" for number in range(120)))
    page = text(client.get("/"))
    assert 'aria-label="Notices, more than 99 unread"' in page and ">99+</span>" in page


def test_statements_are_the_same_for_none_and_for_hundreds(acme, browse, statements):
    client = browse(acme, "alice")
    client.get("/notices")
    counts = []
    for titles in ([], [f"n{number}" for number in range(150)]):
        tell(acme, "alice", *titles)
        statements.clear()
        client.get("/notices")
        counts.append(len(statements))
        assert sum("AS waiting" in one for one in statements) == 1
        statements.clear()
        client.get("/notices", headers={"HX-Request": "true", "HX-Target": "rows"})
        assert not any("AS waiting" in one for one in statements)
    assert counts[0] == counts[1] <= 14


def test_the_list_shows_words_deadline_and_what_is_unread_first_seen_newest(acme, browse):
    tell(acme, "alice", "one", "two")
    page = text(browse(acme, "alice").get("/notices"))
    assert page.index("two</a>") < page.index("one</a>")
    assert "What it is about." in page and "until <time" in page and "2026-12-02 13:00" in page
    assert page.count("Unread: ") == 2


def test_an_empty_list_says_why(acme, browse):
    client = browse(acme, "alice")
    assert "No notices" in text(client.get("/notices"))
    tell(acme, "alice", "one")
    page = text(client.get("/notices?kind=quota.lapsed"))
    assert "No such notices" in page and "Clear filters" in page


def test_the_list_filters_and_pages_by_key(acme, browse):
    tell(acme, "alice", *(f"title-{n:02}" for n in range(70)))
    tell(acme, "alice", "another", kind="quota.lapsed")
    client = browse(acme, "alice")
    seen, address, pages = [], "/notices?kind=quota.ended&unread=1", 0
    while address:
        page = text(client.get(address))
        seen += re.findall(r"title-\d\d", re.sub(r"<form.*?</form>", "", page))
        found = re.search(r'href="([^"]*before=[^"]*)"', page)
        address = found[1].replace("&amp;", "&") if found else None
        pages += 1
    assert seen == [f"title-{n:02}" for n in reversed(range(70))]
    assert pages == 3
    for bad in ("kind=nonsense", "unread=2"):
        assert client.get(f"/notices?{bad}").status_code == 400
    assert client.get("/notices?before=x").status_code == 404


def test_opening_a_notice_marks_it_read_and_leads_to_its_page(acme, browse):
    tell(acme, "alice", "one")
    client = browse(acme, "alice")
    address = f"/notices/{rows(acme, 'alice')[0].id}"
    client.get(address, headers={"Sec-Purpose": "prefetch"})
    client.head(address)
    assert rows(acme, "alice")[0].read_at is None
    answer = client.get(address)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/nlp/quota")
    assert rows(acme, "alice")[0].read_at == NOW


def test_notices_are_marked_read_one_by_one_or_up_to_what_was_shown(acme, browse):
    tell(acme, "alice", "one", "two", "three")
    client = browse(acme, "alice")
    newest, _, oldest = rows(acme, "alice")
    client.post("/notices/read", {"id": oldest.id, "back": "/notices?unread=1"})
    assert [row.read_at is None for row in rows(acme, "alice")] == [True, True, False]
    tell(acme, "alice", "meanwhile")
    answer = client.post("/notices/read", {"up_to": newest.id, "back": "https://evil.example/"})
    assert answer["Location"] == "/notices"
    assert [row.title for row in rows(acme, "alice") if row.read_at is None] == ["meanwhile"]


def test_notices_of_others_are_not_there(acme, globex, browse):
    tell(acme, "alice", "one")
    notice_id = rows(acme, "alice")[0].id
    for tenant, name in ((acme, "bob"), (globex, "charlie")):
        client = browse(tenant, name)
        assert client.get(f"/notices/{notice_id}").status_code == 404
        client.post("/notices/read", {"id": notice_id})
        client.post("/notices/read", {"up_to": new_id()})
    assert rows(acme, "alice")[0].read_at is None
    assert browse(acme, "alice").post("/notices/read", {"id": "x"}).status_code == 404


def test_choices_are_shown_as_they_were_made(acme, browse):
    client = browse(acme, "alice")
    page = text(client.get("/notices/settings"))
    assert "alice@example.org" in page and 'value="now" checked' in page
    answer = client.post("/notices/settings", {"mail": "daily", "kind": ["quota.ended"]})
    assert answer.status_code == 302
    page = text(client.get("/notices/settings"))
    assert 'value="daily" checked' in page
    assert re.search(r'value="quota.ended"[^>]* checked', page)
    assert not re.search(r'value="quota.lapsed"[^>]* checked', page)
    assert client.post("/notices/settings", {"mail": "hourly"}).status_code == 400


def test_a_letters_link_stops_its_kind_without_sign_in(acme):
    tell(acme, "alice", "one")
    send(acme)
    address = mail.outbox[0].extra_headers["List-Unsubscribe"].strip("<>")
    stranger = Client(enforce_csrf_checks=True)
    path = address.removeprefix("http://localhost:8000")
    page = stranger.get(path)
    assert "Stop these mails" in text(page) and page["Cache-Control"] == "no-store"
    tell(acme, "alice", "still")
    assert send(acme) == 1, "looking at the page stops nothing"
    # What a mail program's own button sends (RFC 8058).
    done = stranger.post(path, {"List-Unsubscribe": "One-Click"})
    assert done.status_code == 200 and "no more mails" in text(done)
    tell(acme, "alice", "muted")
    assert send(acme) == 0
    assert len(rows(acme, "alice")) == 3
    assert "Stop these mails" in text(stranger.post(path, {"action": "unmute"}))
    tell(acme, "alice", "again")
    assert send(acme) == 1


def test_a_link_that_is_none_says_so_and_changes_nothing(acme):
    link = Link(organization_id=new_id(), person_id=acme.people["alice"], kind="quota.ended")
    for bad in ("x", preferences.sign(link)):
        for method in ("get", "post"):
            answer = getattr(Client(), method)(f"/notices/mute/{bad}")
            assert answer.status_code == 404 and "Choose what you get" in text(answer)


def test_a_link_for_everything_turns_mail_off_and_on(acme):
    link = Link(organization_id=acme.id, person_id=acme.people["alice"], kind="*")
    Client().post(f"/notices/mute/{preferences.sign(link)}")
    tell(acme, "alice", "one")
    assert states(acme) == []
    Client().post(f"/notices/mute/{preferences.sign(link)}", {"action": "unmute"})
    tell(acme, "alice", "two")
    assert states(acme) == ["waiting"]


def test_strangers_are_led_to_sign_in(acme):
    for address in ("/notices", "/notices/settings", f"/notices/{new_id()}"):
        assert Client().get(address).status_code == 302


def test_the_page_says_how_long_notices_are_kept(acme, browse):
    assert timedelta(days=KEPT_DAYS) > timedelta(days=100)
    choose(acme, "alice", way="none")
    assert f"Kept for {KEPT_DAYS} days" in text(browse(acme, "alice").get("/notices"))
