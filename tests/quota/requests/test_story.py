"""What can be read of requests: lists, one with its story now and then, decisions of a period."""

from datetime import timedelta

import pytest

from ledger import scope
from ledger.errors import NotFound
from ledger.queries import history
from quota.commands.quotas import SettleQuotas
from quota.commands.requests import Attach, Comment, SaveDraft
from quota.domain.requests import State
from quota.domain.routing import DEFAULT, Policy
from quota.queries.inbox import may_decide
from quota.queries.request_decisions import decisions, policy_preview
from quota.queries.requests import detail, may_see, requests
from tests.quota.requests.conftest import DAY
from tests.world import NOW

HOUR = timedelta(hours=1)


@pytest.fixture
def read(desk):
    def read(query, *args, **fields):
        with scope.reading(desk.place.id):
            return query(desk.place.id, *args, **fields)

    return read


def test_the_story_of_a_request_now_and_then(desk, read):
    it = desk.ask("nlp", 60)
    bob = desk.place.people["bob"]
    desk.run(
        Comment(request_id=it.request_id, text="why?", mentioned_ids=(bob,)),
        by="petra",
        now=NOW + HOUR,
    )
    desk.run(
        Attach(request_id=it.request_id, name="a.txt", content=b"because"),
        by="alice",
        now=NOW + 2 * HOUR,
    )
    desk.approve(it, by="petra", now=NOW + 3 * HOUR, reason="good plan")
    now = read(detail, it.request_id, now=NOW + 4 * HOUR)
    assert [row.type for row in now.timeline] == [
        "request.submitted",
        "request.commented",
        "request.attached",
        "request.approved",
        "request.provisioned",
    ]
    assert (now.row.state, now.row.account, now.row.requester) == ("provisioned", "nlp", "Alice")
    (comment,), (file,), (decision,) = now.comments, now.attachments, now.decisions
    assert (comment.author, comment.mentioned, file.name) == ("petra", ("bob",), "a.txt")
    assert (decision.decision, decision.person, decision.reason) == (
        "approved",
        "petra",
        "good plan",
    )
    then = read(detail, it.request_id, now=NOW + 4 * HOUR, as_of=NOW + HOUR)
    assert (then.row.state, len(then.timeline)) == ("submitted", 2)
    assert (then.attachments, then.decisions) == ((), ())
    with pytest.raises(NotFound):
        read(detail, it.request_id, now=NOW + 4 * HOUR, as_of=NOW - HOUR)


def test_a_fold_of_the_whole_ledger_is_the_row(desk, read):
    it = desk.ask("nlp", 100)
    desk.approve(it, by="petra")
    desk.approve_less(it, by="rita", units=90)
    for one in (it, desk.ask("vision", 8, by="otto")):
        seen = read(detail, one.request_id, now=NOW, as_of=NOW)
        assert seen.row.request == desk.request(one)


def test_lists_by_account_state_kind_and_page(desk, read):
    asked = [desk.ask("nlp", 40 + number) for number in range(3)]
    other = desk.ask("vision", 8, by="otto")
    draft = desk.run(SaveDraft(terms=desk.terms("nlp", 1)), by="alice")
    accounts = desk.place.accounts

    def ids(**fields):
        return [row.request.id for row in read(requests, now=NOW, **fields).rows]

    assert ids(account_ids=[accounts["nlp"]]) == [one.request_id for one in asked[::-1]]
    assert len(ids(account_ids=[accounts["research"]], below=True)) == 4
    assert ids(account_ids=[accounts["research"]]) == []
    assert ids(states=[State.PROVISIONED]) == [other.request_id]
    assert draft.request_id in ids(drafts_of=desk.place.people["alice"])
    assert draft.request_id not in ids(drafts_of=desk.place.people["otto"])
    first = read(requests, now=NOW, limit=3)
    second = read(requests, now=NOW, limit=3, before=first.next_before)
    assert [len(first.rows), len(second.rows), second.next_before] == [3, 1, None]
    later = NOW + 40 * DAY
    with scope.reading(desk.place.id):
        (over,) = requests(desk.place.id, now=later, states=[State.EXPIRED]).rows
    assert over.state == "expired"
    desk.place.run(SettleQuotas(), now=later)
    assert len(ids(states=[State.EXPIRED])) == 1


def test_who_sees_and_who_decides(desk, read, globex):
    it = desk.request(desk.ask("nlp", 60))
    draft = desk.request(desk.run(SaveDraft(terms=desk.terms("nlp", 1)), by="alice"))
    desk.place.person("eve")
    actor = desk.place.actor
    with scope.reading(desk.place.id):
        sees = {
            name: (
                may_see(actor(name), it, desk.place.id, now=NOW),
                may_see(actor(name), draft, desk.place.id, now=NOW),
            )
            for name in ("alice", "bob", "petra", "uma", "eve")
        }
        decides = {
            name: may_decide(desk.place.id, it, desk.place.people[name], now=NOW)
            for name in ("alice", "petra", "bob")
        }
    assert sees == {
        "alice": (True, True),
        "bob": (True, False),
        "petra": (True, False),
        "uma": (True, False),
        "eve": (False, False),
    }
    assert decides["petra"].reviewer_id == desk.place.people["petra"]
    assert (decides["alice"].code, decides["bob"].code) == ("own_request", "not_a_reviewer")
    with scope.reading(globex.id):
        assert requests(globex.id, now=NOW).rows == ()


def test_decisions_of_a_period_for_export(desk, read):
    desk.ask("nlp", 8)
    desk.reject(desk.ask("vision", 60, by="otto"), by="petra", reason="no", now=NOW + DAY)
    found = read(decisions, since=NOW, until=NOW + 2 * DAY)
    assert [(row.account, row.decision, row.person) for row in found.rows] == [
        ("nlp", "granted", None),
        ("vision", "rejected", "petra"),
    ]
    assert len(read(decisions, since=NOW, until=NOW + DAY).rows) == 1
    page = read(decisions, since=NOW, until=NOW + 2 * DAY, limit=1)
    rest = read(decisions, since=NOW, until=NOW + 2 * DAY, limit=1, after=page.next_after)
    assert [page.rows[0].account, rest.rows[0].account] == ["nlp", "vision"]
    below = [desk.place.accounts["production"]]
    assert read(decisions, since=NOW, until=NOW + 2 * DAY, account_ids=below).rows == ()


def test_a_policy_is_tried_on_what_was_asked(desk, read):
    small, large = desk.ask("nlp", 8), desk.ask("vision", 60, by="otto")
    same = read(policy_preview, DEFAULT, since=NOW - DAY)
    assert not any(one.changed for one in same)
    stricter = read(policy_preview, Policy(automatic_units_max=4), since=NOW - DAY)
    assert {one.request_id: one.approvals_after for one in stricter} == {
        small.request_id: 1,
        large.request_id: 1,
    }
    wider = read(policy_preview, Policy(automatic_units_max=64), since=NOW - DAY)
    assert [one.approvals_after for one in wider] == [0, 0]


def test_drafts_are_in_nobodys_history(desk, read):
    desk.run(SaveDraft(terms=desk.terms("nlp", 1)), by="alice")
    it = desk.ask("nlp", 60)
    seen = read(history, subject_id=desk.place.accounts["nlp"]).rows
    assert [row.type for row in seen if row.type.startswith("request.")] == ["request.submitted"]
    (row,) = [row for row in seen if row.type == "request.submitted"]
    assert it.request_id in row.subjects
