"""What was granted follows its quota: it begins, lapses, ends and is replaced with it."""

from ledger import verification
from quota.commands.quotas import CancelScheduledQuota, EndQuota, SettleQuotas
from quota.commands.reviews import FollowUpRequests
from quota.domain.requests import State
from quota.request_events import RequestPassedOn
from tests.quota.requests.conftest import DAY
from tests.world import NOW


def state(desk, it) -> str:
    return desk.request(it).state


def test_a_boost_ends_with_its_quota(desk):
    it = desk.ask("nlp", 8, days=7)
    before = desk.request(it)
    assert before.state_at(NOW + 7 * DAY) == State.EXPIRED, "judged at read time"
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    after = desk.request(it)
    assert (after.state, after.ended_at) == (State.EXPIRED, NOW + 7 * DAY)
    assert desk.quotas.stored() == {"nlp": 0}
    assert verification.verify(desk.place.id).clean


def test_what_begins_later_begins_by_itself_and_ends_by_itself(desk):
    it = desk.ask("nlp", 8, starts_at=NOW + 7 * DAY, days=7)
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    assert state(desk, it) == State.PROVISIONED
    other = desk.ask("vision", 8, by="otto", starts_at=NOW + 7 * DAY, days=7)
    desk.place.run(SettleQuotas(), now=NOW + 30 * DAY)
    assert (state(desk, it), state(desk, other)) == (State.EXPIRED, State.EXPIRED), (
        "also where both fall due in one settling"
    )
    assert verification.verify(desk.place.id).clean


def test_what_lapses_waits_for_a_reviewer_again(desk):
    it = desk.ask("nlp", 8, starts_at=NOW + 7 * DAY, days=7)
    desk.quotas.set("production", 95)
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    request = desk.request(it)
    assert (request.state, request.approvals_missing) == (State.SUBMITTED, 1)


def test_a_cancelled_change_reopens_its_request(desk):
    it = desk.ask("nlp", 8, starts_at=NOW + 7 * DAY, days=7)
    desk.place.run(CancelScheduledQuota(change_id=it.change_id), reason="test")
    desk.place.run(FollowUpRequests(), now=NOW + DAY)
    assert state(desk, it) == State.SUBMITTED
    asked = desk.place.run(FollowUpRequests(), now=NOW + DAY)
    assert [type(one.data) for one in asked.events] == [RequestPassedOn], (
        "nobody was asked before: the policy had granted it"
    )
    assert desk.request(it).level_ids == (desk.place.accounts["research"],)
    again = desk.place.run(FollowUpRequests(), now=NOW + DAY)
    assert again.events == ()


def test_ended_early_and_replaced(desk):
    early = desk.ask("nlp", 8, days=7)
    ref = {"account_id": desk.place.accounts["nlp"], "pool_id": desk.place.pools["h100"]}
    desk.place.run(EndQuota(**ref), reason="done")
    assert state(desk, early) == State.EXPIRED
    replaced = desk.ask("vision", 8, days=7, by="otto")
    desk.quotas.set("vision", 20)
    assert state(desk, replaced) == State.EXPIRED
    desk.place.run(SettleQuotas(), now=NOW + 30 * DAY)
    assert desk.quotas.stored() == {"nlp": 0, "vision": 20}


def test_a_lender_keeps_its_own_request(desk):
    desk.quotas.set("research", 10)
    desk.policy(unknown_use_passes=True)
    lender = desk.ask("research", 30, days=50, by="otto")
    desk.quotas.set("nlp", 5, carve="research")
    assert state(desk, lender) == State.PROVISIONED


def test_an_extended_boost_lasts(desk, known):
    known.mean = 0.9
    first = desk.ask("nlp", 8, days=7)
    longer = desk.ask("nlp", None, kind="extension", days=14)
    assert longer.state == State.PROVISIONED
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    assert desk.quotas.stored() == {"nlp": 8}
    desk.place.run(SettleQuotas(), now=NOW + 15 * DAY)
    assert desk.quotas.stored() == {"nlp": 0}
    assert {state(desk, first), state(desk, longer)} == {State.EXPIRED}
    assert verification.verify(desk.place.id).clean


def test_a_team_with_a_boost_is_granted_more_and_keeps_what_is_for_good(desk):
    """On record, as in the domain: the boost's end and lender survive what is granted beside it."""
    desk.quotas.set("research", 40)
    desk.policy(unknown_use_passes=True)
    boost = desk.ask("nlp", 8, days=7)
    raised = desk.approve(desk.ask("nlp", 10, days=None, kind="new"), by="petra")
    further = desk.ask("nlp", 4, days=7, ends_at=NOW + 7 * DAY - DAY / 2)
    assert desk.request(further).terms.ends_at == NOW + 7 * DAY, "it ends with the boost"
    assert desk.quotas.stored() == {"research": 18, "nlp": 22}
    assert {state(desk, it) for it in (boost, raised, further)} == {State.PROVISIONED}
    assert verification.verify(desk.place.id).clean
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    assert desk.quotas.stored() == {"research": 30, "nlp": 10}
    assert state(desk, boost) == state(desk, further) == State.EXPIRED
    assert state(desk, raised) == State.PROVISIONED
    assert verification.verify(desk.place.id).clean
