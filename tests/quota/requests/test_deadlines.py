"""Reminders and escalation: each deadline counts once, however often the task runs."""

from datetime import timedelta

from ledger import scope
from quota.commands.reviews import FollowUpRequests
from quota.domain.requests import State
from quota.queries.inbox import asked_people, inbox, inbox_count
from quota.queries.request_decisions import justification
from tests.quota.requests.conftest import DAY
from tests.world import NOW

HOUR = timedelta(hours=1)


def follow_up(desk, now):
    done = desk.place.run(FollowUpRequests(), now=now).result
    return done.reminded, done.escalated


def waiting(desk, name: str, now=NOW) -> int:
    with scope.reading(desk.place.id):
        count = inbox_count(desk.place.id, desk.place.people[name], now=now)
        assert count == len(inbox(desk.place.id, desk.place.people[name], now=now).rows)
    return count


def test_reviewers_are_reminded_each_day_once(desk):
    desk.ask("nlp", 60)
    assert follow_up(desk, NOW + 23 * HOUR) == (0, 0)
    assert follow_up(desk, NOW + 24 * HOUR) == (1, 0)
    assert follow_up(desk, NOW + 25 * HOUR) == (0, 0)
    assert follow_up(desk, NOW + 48 * HOUR) == (1, 0)


def test_a_missed_deadline_asks_the_next_approver_up_and_then_operators(desk):
    it = desk.ask("nlp", 60)
    assert [waiting(desk, name) for name in ("petra", "rita", "otto")] == [1, 0, 0]
    late = NOW + 3 * DAY
    assert follow_up(desk, late) == (0, 1)
    assert follow_up(desk, late) == (0, 0), "the new deadline is not missed yet"
    assert [waiting(desk, name) for name in ("petra", "rita", "otto")] == [1, 1, 0]
    request = desk.request(it)
    assert (request.escalations, request.due_at) == (1, late + 3 * DAY)
    later = NOW + 6 * DAY
    assert follow_up(desk, later) == (0, 1)
    assert [waiting(desk, name) for name in ("petra", "rita", "otto")] == [1, 1, 1]
    assert follow_up(desk, NOW + 9 * DAY) == (0, 1), "nobody is left, the deadline moves on"
    assert desk.approve(it, by="otto", now=NOW + 9 * DAY).state == State.PROVISIONED
    assert follow_up(desk, NOW + 30 * DAY) == (0, 0)
    assert [waiting(desk, name) for name in ("petra", "rita", "otto")] == [0, 0, 0]


def test_two_approvals_ask_two_levels_where_one_has_one_approver(desk):
    it = desk.ask("nlp", 100)
    people = desk.place.people
    assert set(it.asked_ids) == {people["petra"], people["rita"], people["rolf"]}
    desk.approve(it, by="petra")
    assert [waiting(desk, name) for name in ("petra", "rita", "rolf")] == [0, 1, 1]
    with scope.reading(desk.place.id):
        asked = asked_people(desk.place.id, desk.request(it), now=NOW)
    assert set(asked) == {people["rita"], people["rolf"]}


def test_a_request_asked_about_has_no_deadline(desk):
    it = desk.ask("nlp", 60)
    desk.ask_changes(it, by="petra", reason="why?")
    assert follow_up(desk, NOW + 30 * DAY) == (0, 0)
    assert waiting(desk, "petra") == 0


def test_a_justification_ends_by_itself(desk):
    desk.quotas.set("nlp", 10)
    it = desk.ask("nlp", None, kind="justification", days=10)
    assert desk.approve(it, by="petra").state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 10}
    place = (desk.place.id, desk.place.accounts["nlp"], desk.place.pools["h100"])
    with scope.reading(desk.place.id):
        assert justification(*place, at=NOW + 9 * DAY).id == it.request_id
        assert justification(*place, at=NOW + 10 * DAY) is None
    desk.place.run(FollowUpRequests(), now=NOW + 10 * DAY)
    assert desk.request(it).state == State.EXPIRED


def test_the_inbox_is_paged_by_deadline(desk):
    for number in range(5):
        desk.ask("nlp", 40 + number, now=NOW + number * HOUR)
    petra = desk.place.people["petra"]
    seen, after = [], None
    with scope.reading(desk.place.id):
        while True:
            page = inbox(desk.place.id, petra, now=NOW + 5 * HOUR, after=after, limit=2)
            seen += [row.row.request.terms.units for row in page.rows]
            after = page.next_after
            if after is None:
                break
    assert seen == [40, 41, 42, 43, 44]
