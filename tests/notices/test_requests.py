"""Requests: who waits is told, who asked is told, and nobody is told what is over."""

from datetime import timedelta

import pytest

from ledger import scope
from notices.queries import notices
from quota.commands.request_policy import EndDelegate, SetDelegate
from quota.commands.requests import AcceptCounter, Comment, Submit
from quota.commands.reviews import FollowUpRequests
from quota.domain.requests import State
from tenancy.commands.accounts import MoveAccount
from tests.notices.test_reading import count, read, told
from tests.quota.requests.conftest import DAY, Desk, staffed
from tests.world import NOW, Tenant


@pytest.fixture
def desk(acme) -> Desk:
    return staffed(acme)


def newest(place: Tenant, name: str):
    with scope.reading(place.id):
        return notices(place.id, place.people[name]).rows[0]


def test_the_nearest_approver_is_asked_with_the_deadline(desk):
    it = desk.ask("nlp", 60)
    read(desk.place)
    waiting = newest(desk.place, "petra")
    assert waiting.kind == "request.waiting"
    assert waiting.title.startswith("Alice asks for 60 units more of h100 for nlp until 29 Dec")
    assert waiting.body == "“train the next model”"
    assert waiting.deadline == desk.request(it).due_at
    for other in ("alice", "rita", "otto", "bob"):
        assert told(desk.place, other) == []


def test_what_is_granted_at_once_its_author_has_just_seen(desk):
    desk.ask("nlp", 8)
    read(desk.place)
    assert count(desk.place) == 0


def test_what_is_over_when_it_is_told_asks_nobody(desk):
    desk.withdraw(desk.ask("nlp", 60))
    read(desk.place)
    assert told(desk.place, "petra") == []


def test_who_asked_hears_of_the_grant_once_and_other_leads_of_the_quota(desk):
    desk.place.role("bob", "lead", on="nlp")
    desk.approve(desk.ask("nlp", 60), by="petra", reason="well argued")
    read(desk.place)
    (granted,) = told(desk.place, "alice")
    assert granted.startswith("Granted: 60 units more of h100 for nlp until")
    assert "Petra decided. “well argued”" in newest(desk.place, "alice").body
    assert told(desk.place, "bob") == ["nlp on h100: 60 units guaranteed"]


def test_a_second_approver_is_asked_after_the_first(desk):
    it = desk.ask("nlp", 100)
    read(desk.place)
    assert len(told(desk.place, "petra")) == 1
    before = len(told(desk.place, "rita")), len(told(desk.place, "rolf"))
    assert min(before) > 0
    desk.approve(it, by="petra")
    read(desk.place)
    assert len(told(desk.place, "petra")) == 1
    assert "another person has to approve too" in newest(desk.place, "rita").body


def test_an_offer_and_a_question_wait_for_the_requesters_answer(desk):
    offered = desk.ask("nlp", 60)
    desk.approve_less(offered, by="petra", units=40, reason="forty is what is free")
    read(desk.place)
    offer = newest(desk.place, "alice")
    assert offer.title.startswith("Petra offers 40 units more of h100 for nlp")
    assert "You asked for 60 units" in offer.body and "“forty is what is free”" in offer.body
    desk.run(AcceptCounter(request_id=offered.request_id), by="alice")
    asked = desk.ask("vision", 60, by="otto", pool="a100")
    desk.ask_changes(asked, by="petra", reason="what for?")
    read(desk.place)
    assert told(desk.place, "otto")[-1].startswith("Petra asks about your request")
    assert "“what for?”" in newest(desk.place, "otto").body


def test_a_no_comes_with_its_reason(desk):
    desk.reject(desk.ask("nlp", 60), by="petra", reason="not this quarter")
    read(desk.place)
    rejected = newest(desk.place, "alice")
    assert rejected.title.startswith("Rejected: 60 units more of h100 for nlp")
    assert "“not this quarter”" in rejected.body


def test_reviewers_are_reminded_and_others_asked_after_the_deadline(desk):
    it = desk.ask("nlp", 60)
    due = desk.request(it).due_at
    read(desk.place)
    desk.place.run(FollowUpRequests(), now=due - timedelta(minutes=1))
    read(desk.place, now=due)
    assert [kind_of(desk, "petra")] == ["request.due"]
    desk.place.run(FollowUpRequests(), now=due + timedelta(minutes=1))
    read(desk.place, now=due + timedelta(minutes=2))
    assert kind_of(desk, "rita") == "request.escalated"
    assert newest(desk.place, "rita").deadline == desk.request(it).due_at


def kind_of(desk: Desk, name: str) -> str:
    return newest(desk.place, name).kind


def test_whoever_stands_in_is_asked_too_but_never_about_their_own(desk):
    away = SetDelegate(delegate_id=desk.place.people["bob"], starts_at=NOW, ends_at=NOW + 10 * DAY)
    made = desk.run(away, by="petra")
    read(desk.place)
    assert told(desk.place, "bob")[0].startswith("You review in the place of Petra from 29 Nov")
    desk.ask("nlp", 60)
    read(desk.place)
    assert told(desk.place, "bob")[-1].startswith("Alice asks for 60 units")
    desk.run(EndDelegate(delegation_id=made.delegation_id), by="petra")
    desk.place.role("bob", "lead", on="vision")
    desk.ask("vision", 60, by="bob", pool="a100")
    read(desk.place)
    assert told(desk.place, "bob")[-1] == "You no longer review in the place of Petra"


def test_words_reach_those_mentioned_and_those_who_ask_once_each(desk):
    it = desk.ask("nlp", 60)
    read(desk.place)
    words = {"text": "Is *this* all?\nReally?", "mentioned_ids": (desk.place.people["rita"],)}
    desk.run(Comment(request_id=it.request_id, **words), by="petra")
    both = (desk.place.people["alice"],)
    desk.run(Comment(request_id=it.request_id, text="@alice", mentioned_ids=both), by="petra")
    read(desk.place)
    assert told(desk.place, "rita", "request.mentioned")[0].startswith("Petra mentioned you: 60")
    assert newest(desk.place, "rita").body == "“Is *this* all? Really?”"
    assert len(told(desk.place, "alice", "request.commented")) == 1
    assert len(told(desk.place, "alice", "request.mentioned")) == 1
    assert told(desk.place, "petra", "request.mentioned") == []


def test_what_begins_later_is_told_when_it_is_decided_and_when_it_begins(desk):
    desk.people_only()
    it = desk.ask("nlp", 8, starts_at=NOW + 7 * DAY, days=7)
    assert desk.approve(it, by="petra").state == State.APPROVED
    read(desk.place)
    assert "It begins 6 Dec 2026, 13:00." in newest(desk.place, "alice").body


def test_handed_in_again_it_waits_again(desk):
    it = desk.ask("nlp", 60)
    read(desk.place)
    desk.ask_changes(it, by="petra", reason="why sixty?")
    read(desk.place)
    desk.run(Submit(terms=desk.terms("nlp", 50), request_id=it.request_id), by="alice")
    read(desk.place)
    assert [title.split(" more")[0] for title in told(desk.place, "petra")] == [
        "Alice asks for 60 units",
        "Alice asks for 50 units",
    ]


def test_many_requests_cost_as_many_statements_as_one(desk, statements):
    costs = []
    for many in (1, 12):
        for number in range(many):
            desk.place.account(f"team-{many}-{number}", under="research")
            desk.place.role("bob", "lead", on=f"team-{many}-{number}")
            desk.ask(f"team-{many}-{number}", 60, by="bob", days=None, pool="a100")
        statements.clear()
        read(desk.place)
        costs.append(len(statements))
    assert len(told(desk.place, "petra", "request.waiting")) == 13
    assert costs[0] == costs[1]


def test_who_decides_after_a_move_is_told_once_however_often_the_tasks_run(desk):
    place = desk.place
    place.person("nora")
    place.role("nora", "approver", on="production")
    it = desk.ask("nlp", 60)
    read(place)
    move = MoveAccount(account_id=place.accounts["nlp"], to_parent_id=place.accounts["production"])
    place.run(move, reason="reorganized")
    for _ in range(3):
        place.run(FollowUpRequests(), now=NOW + DAY / 24)
        read(place)
    assert told(place, "nora", "request.escalated") == [
        "Alice asks for 60 units more of h100 for nlp until 29 Dec 2026, 13:00"
    ]
    assert newest(place, "nora").deadline == desk.request(it).due_at
