"""Letters: each notice in one letter, once, whoever sends how often; and how to stop them."""

import smtplib
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.test import override_settings

from config.env import BadEnvironment, env_url
from ledger import scope
from ledger.errors import Invalid, NotFound
from ledger.sql import server_cursor
from notices import letters, outbox, preferences, reading, retention, tasks
from notices.preferences import DAILY, EVERYTHING, NONE, Link
from notices.queries import notices
from notices.reading_marks import mark_read
from notices.registry import Draft, Someone
from notices.writing import Item, next_digest, write
from tests.world import NOW, Tenant

BERLIN = ZoneInfo("Europe/Berlin")
END = NOW + timedelta(days=3)


def tell(place: Tenant, name: str, *titles: str, kind: str = "quota.ended", now=NOW) -> None:
    """Notices for somebody, without an event."""
    items = [
        Item(
            kind=kind,
            source=f"test:{kind}:{title}",
            draft=Draft(
                to=(Someone(place.people[name]),),
                title=title,
                body="What it is about.",
                link=("account_quota", "nlp"),
                deadline=END,
            ),
        )
        for title in titles
    ]
    with scope.writing(place.id):
        write(place.id, items, now=now, zone=BERLIN)


def send(place: Tenant, *, now=NOW) -> int:
    return letters.send_due(place.id, clock=lambda: now)


def states(place: Tenant) -> list[str]:
    with scope.reading(place.id), server_cursor() as cursor:
        rows = cursor.execute("SELECT state FROM notices_mail ORDER BY notice_id").fetchall()
    return [row[0] for row in rows]


def choose(place: Tenant, name: str, *, way: str = "now", muted=()) -> None:
    preferences.choose(place.id, place.people[name], mail=way, muted=frozenset(muted), now=NOW)


def test_a_letter_has_the_words_the_link_the_deadline_and_the_way_out(acme):
    tell(acme, "alice", "The quota ends")
    assert send(acme) == 1
    (letter,) = mail.outbox
    assert letter.to == ["Alice <alice@example.org>"]
    assert letter.subject == "The quota ends (Acme)"
    assert "http://localhost:8000/accounts/nlp/quota" in letter.body
    assert "Until: Wednesday 2 December 2026, 13:00 (Europe/Berlin)" in letter.body
    stop = letter.extra_headers["List-Unsubscribe"].strip("<>")
    assert letter.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert stop in letter.body
    with scope.reading(acme.id):
        row = notices(acme.id, acme.people["alice"]).rows[0]
    assert letter.extra_headers["Message-ID"] == f"<notice-{row.id}@localhost>"


def test_a_task_that_runs_again_sends_nothing_again(acme):
    tell(acme, "alice", "one")
    tell(acme, "bob", "two")
    assert [send(acme), send(acme)] == [2, 0]
    assert len(mail.outbox) == 2
    assert states(acme) == ["sent", "sent"]


def test_what_is_due_at_the_same_time_shares_a_letter(acme):
    tell(acme, "alice", "one", "two", "three")
    assert send(acme) == 1
    assert mail.outbox[0].subject == "3 notices (Acme)"
    assert all(title in mail.outbox[0].body for title in ("one", "two", "three"))


def test_two_workers_share_the_letters_and_never_one(acme, owner):
    tell(acme, "alice", "one")
    tell(acme, "bob", "two")
    # Another worker is at alice's letter.
    owner.execute("BEGIN")
    owner.execute(
        "SELECT 1 FROM notices_mail WHERE person_id = %s FOR UPDATE", (acme.people["alice"],)
    )
    assert send(acme) == 1
    owner.execute("ROLLBACK")
    assert [letter.to for letter in mail.outbox] == [["Bob <bob@example.org>"]]


def test_a_worker_that_died_over_a_letter_has_sent_it_for_all_we_know(acme):
    tell(acme, "alice", "one")
    assert outbox.claim(acme.id, now=NOW) is not None
    assert send(acme) == 0
    assert send(acme, now=NOW + timedelta(hours=1)) == 0
    assert states(acme) == ["unsure"] and mail.outbox == []
    with scope.reading(acme.id):
        assert notices(acme.id, acme.people["alice"]).rows[0].read_at is None


class Failing(BaseEmailBackend):
    """A mail server that does what `plan` says."""

    plan: list = []

    def open(self) -> bool:
        if self.plan and isinstance(self.plan[0], ConnectionRefusedError):
            raise self.plan.pop(0)
        return True

    def send_messages(self, messages) -> int:
        for message in messages:
            message.message()
            if self.plan:
                raise self.plan.pop(0)
            mail.outbox.append(message)
        return len(messages)


@pytest.fixture
def server(monkeypatch):
    with override_settings(EMAIL_BACKEND=f"{__name__}.Failing"):
        monkeypatch.setattr(letters, "get_connection", Failing)
        Failing.plan = []
        yield Failing.plan
        Failing.plan = []


def test_a_server_that_is_away_or_says_no_is_asked_again_later(acme, server):
    tell(acme, "alice", "one")
    server += [ConnectionRefusedError("nobody"), smtplib.SMTPDataError(450, b"busy")]
    send(acme)
    assert states(acme) == ["waiting"]
    send(acme, now=NOW + timedelta(seconds=30))
    assert len(server) == 1, "not asked before its time"
    send(acme, now=NOW + timedelta(minutes=2))
    send(acme, now=NOW + timedelta(minutes=20))
    assert states(acme) == ["sent"] and len(mail.outbox) == 1


def test_a_letter_is_given_up_after_some_attempts(acme, server):
    tell(acme, "alice", "one")
    server += [smtplib.SMTPRecipientsRefused({})] * 20
    for day in range(10):
        send(acme, now=NOW + timedelta(days=day))
    assert states(acme) == ["failed"]
    assert len(server) == 20 - outbox.ATTEMPTS_MAX


def test_a_connection_that_breaks_in_the_middle_may_have_delivered(acme, server):
    tell(acme, "alice", "one")
    server += [smtplib.SMTPServerDisconnected("gone")]
    send(acme)
    send(acme, now=NOW + timedelta(days=1))
    assert states(acme) == ["unsure"] and mail.outbox == []


def test_an_address_that_is_none_stops_nobody_else(acme, server):
    with scope.writing(acme.id), server_cursor() as cursor:
        cursor.execute("UPDATE tenancy_person SET email = E'a@b\nBcc: c@d' WHERE name = 'alice'")
    tell(acme, "alice", "one")
    tell(acme, "bob", "two")
    send(acme)
    assert states(acme) == ["waiting", "sent"]


# --------------------------------------------------------------------------- preferences
def test_the_daily_letter_comes_in_the_morning_with_what_is_unread(acme):
    choose(acme, "alice", way=DAILY)
    tell(acme, "alice", "one", "two", "three")
    with scope.reading(acme.id):
        newest = notices(acme.id, acme.people["alice"]).rows[0]
    mark_read(acme.id, acme.people["alice"], (newest.id,), now=NOW)
    assert send(acme) == 0
    morning = next_digest(NOW, BERLIN)
    assert morning.isoformat() == "2026-11-30T08:00:00+01:00"
    assert send(acme, now=morning) == 1
    assert mail.outbox[0].subject == "2 notices (Acme)"
    assert states(acme) == ["sent", "sent", "dropped"]


def test_before_the_hour_the_daily_letter_is_todays():
    early = NOW.replace(hour=5)
    assert next_digest(early, BERLIN).date() == early.date()


def test_mails_can_be_turned_off_by_kind_or_at_all(acme):
    choose(acme, "alice", muted={"quota.ended"})
    choose(acme, "bob", way=NONE)
    tell(acme, "alice", "muted")
    tell(acme, "alice", "wanted", kind="quota.lapsed")
    tell(acme, "bob", "never")
    assert send(acme) == 1
    assert mail.outbox[0].subject == "wanted (Acme)"
    with scope.reading(acme.id):
        assert len(notices(acme.id, acme.people["alice"]).rows) == 2
        assert len(notices(acme.id, acme.people["bob"]).rows) == 1


def test_muting_counts_for_letters_that_wait_already(acme):
    tell(acme, "alice", "one")
    choose(acme, "alice", muted={"quota.ended"})
    assert send(acme) == 0
    assert states(acme) == ["dropped"]


def test_choices_are_words_that_exist(acme):
    with pytest.raises(Invalid):
        choose(acme, "alice", way="hourly")
    with pytest.raises(Invalid):
        choose(acme, "alice", muted={"nonsense"})


def test_somebody_without_an_address_gets_no_letter(acme):
    with scope.writing(acme.id), server_cursor() as cursor:
        cursor.execute("UPDATE tenancy_person SET email = '' WHERE name = 'alice'")
    tell(acme, "alice", "one")
    assert states(acme) == []


def test_a_link_names_one_person_and_kind_and_cannot_be_forged(acme):
    link = Link(organization_id=acme.id, person_id=acme.people["alice"], kind="quota.ended")
    text = preferences.sign(link)
    assert preferences.read_link(text) == link
    for bad in ("", "x", text[:-1], text[1:], text.replace(":", "")):
        with pytest.raises(NotFound):
            preferences.read_link(bad)


def test_the_link_of_a_letter_about_several_kinds_stops_all_mail(acme):
    tell(acme, "alice", "one")
    tell(acme, "alice", "two", kind="quota.lapsed")
    send(acme)
    stop = mail.outbox[0].extra_headers["List-Unsubscribe"].strip("<>")
    assert preferences.read_link(stop.rsplit("/", 1)[1]).kind == EVERYTHING


# --------------------------------------------------------------------------- tasks
def test_the_tasks_do_their_work_for_every_organization(acme, globex, monkeypatch):
    monkeypatch.setattr(tasks, "_now", lambda: NOW + timedelta(days=89))
    acme.token(days=90)
    globex.token(days=90)
    for _ in range(2):
        tasks.read_events()
        tasks.remind()
        tasks.send_mails()
    assert sorted(letter.to[0] for letter in mail.outbox) == [
        "Charlie <charlie@example.org>",
        "Otto <otto@example.org>",
    ]


def test_the_address_of_the_site_is_one():
    for good, address in (
        ("https://quota.example.org", "https://quota.example.org/"),
        ("http://10.0.0.1:8000/", "http://10.0.0.1:8000/"),
    ):
        assert env_url("SITE", "", environ={"SITE": good}) == address
    for bad in ("quota.example.org", "ftp://x", "https://", "https://x/below"):
        with pytest.raises(BadEnvironment, match="SITE"):
            env_url("SITE", "", environ={"SITE": bad})


def test_old_notices_go_with_their_mails(acme, monkeypatch):
    tell(acme, "alice", "old")
    tell(acme, "alice", "new", now=NOW + timedelta(days=170))
    assert retention.forget_old(acme.id, now=NOW + timedelta(days=181)) == 1
    assert retention.forget_old(acme.id, now=NOW + timedelta(days=181)) == 0
    assert states(acme) == ["waiting"]
    monkeypatch.setattr(tasks, "_now", lambda: NOW + timedelta(days=400))
    tasks.forget_notices()
    with scope.reading(acme.id):
        assert notices(acme.id, acme.people["alice"]).rows == ()


def test_another_organization_is_neither_told_nor_written_to(acme, globex):
    tell(acme, "alice", "one")
    assert send(globex) == 0
    with scope.reading(globex.id):
        assert notices(acme.id, acme.people["alice"]).rows == ()
    assert reading.read_events(globex.id, now=NOW) > 0
    assert mail.outbox == []


def test_no_name_and_no_title_of_old_adds_a_header(acme, owner):
    """Whatever is in the tables: a line break in a name or a title stays in its line."""
    owner.execute("UPDATE tenancy_person SET display_name = E'Alice\r\nBcc: eve@example.org'")
    tell(acme, "alice", "Over\r\nBcc: eve@example.org")
    assert send(acme) == 1
    (letter,) = mail.outbox
    head = letter.message().as_string().split("\n\n")[0]
    assert "\nBcc" not in head and letter.bcc == []
