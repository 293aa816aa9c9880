"""The first of two words counts only while who gave it may still review."""

import pytest

from ledger import scope, verification
from quota.commands.requests import AcceptCounter
from quota.commands.reviews import FollowUpRequests
from quota.domain.requests import State
from quota.queries.inbox import inbox, still_approved
from quota.queries.requests import detail
from quota.request_events import RequestApprovalVoided
from tenancy.commands.people import RevokeRole
from tests.quota.requests.conftest import DAY
from tests.quota.requests.test_own_request import delegate
from tests.world import NOW


@pytest.fixture
def large(desk):
    """100 units, endorsed by Petra."""
    it = desk.ask("nlp", 100)
    desk.approve(it, by="petra")
    return it


def lose_role(desk, name: str, *, on: str) -> None:
    place = desk.place
    command = RevokeRole(
        account_id=place.accounts[on], person_id=place.people[name], role="approver"
    )
    place.run(command, reason="moved on")


def test_a_word_of_somebody_who_lost_the_role_grants_nothing(desk, large):
    lose_role(desk, "petra", on="research")
    second = desk.approve(large, by="rita")
    assert (second.state, second.approvals_missing) == (State.SUBMITTED, 1)
    assert "Petra no longer counts" in second.reasons[0]
    assert desk.quotas.stored() == {}, "one word is not two"
    third = desk.approve(large, by="rolf")
    assert third.state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 100}
    assert verification.verify(desk.place.id).clean


def test_it_stays_while_the_role_stays(desk, large):
    assert desk.approve(large, by="rita").state == State.PROVISIONED


def test_the_follow_up_takes_it_back_so_that_reviewers_are_asked_again(desk, large):
    lose_role(desk, "petra", on="research")
    done = desk.place.run(FollowUpRequests(), now=NOW + DAY / 24)
    assert RequestApprovalVoided in [type(one.data) for one in done.events]
    assert desk.request(large).approvals_missing == 2
    again = desk.place.run(FollowUpRequests(), now=NOW + DAY / 24)
    assert RequestApprovalVoided not in [type(one.data) for one in again.events]
    with scope.reading(desk.place.id):
        waiting = inbox(desk.place.id, desk.place.people["rita"], now=NOW).rows
    assert [one.row.request.id for one in waiting] == [large.request_id]


def test_a_delegates_word_stands_on_the_role_of_the_absent(desk):
    delegate(desk, "petra", "bob", end=NOW + DAY)
    it = desk.ask("nlp", 100)
    desk.approve(it, by="bob")
    later = NOW + 2 * DAY
    with scope.reading(desk.place.id):
        kept = still_approved(desk.place.id, desk.request(it), now=later)
    assert len(kept) == 1, "the absence is over, the word was given in it"
    lose_role(desk, "petra", on="research")
    second = desk.approve(it, by="rita", now=later)
    assert (second.state, second.approvals_missing) == (State.SUBMITTED, 1)


def test_an_offer_of_somebody_who_lost_the_role_is_no_approval(desk):
    it = desk.ask("nlp", 60)
    desk.approve_less(it, by="petra", units=40)
    lose_role(desk, "petra", on="research")
    taken = desk.run(AcceptCounter(request_id=it.request_id), by="alice")
    assert (taken.state, taken.approvals_missing) == (State.SUBMITTED, 1)
    assert "Petra no longer counts" in taken.reasons[0]
    assert desk.approve(it, by="rita").state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 40}
    assert verification.verify(desk.place.id).clean


def test_the_past_still_shows_the_word_that_was_given(desk, large):
    lose_role(desk, "petra", on="research")
    desk.approve(large, by="rita", now=NOW + DAY)
    with scope.reading(desk.place.id):
        then = detail(desk.place.id, large.request_id, now=NOW + DAY, as_of=NOW + DAY / 2)
        now = detail(desk.place.id, large.request_id, now=NOW + DAY)
    people = desk.place.people
    assert [one.reviewer_id for one in then.row.request.approvals] == [people["petra"]]
    assert [one.reviewer_id for one in now.row.request.approvals] == [people["rita"]]
