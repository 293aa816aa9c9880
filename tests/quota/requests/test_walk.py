"""From asking to having: the main ways through, on the database."""

import pytest

from ledger import rebuild, scope, verification
from ledger.errors import Refused
from quota.commands.admissions import AdmitBatch
from quota.commands.requests import AcceptCounter, SaveDraft, Submit
from quota.domain.requests import State
from quota.models import Allocation
from quota.wire import Ask
from tests.quota.requests.conftest import DAY, staffed
from tests.world import NOW


def test_a_small_temporary_request_is_granted_at_once(desk):
    it = desk.ask("nlp", 24, days=42)
    assert (it.state, it.asked_ids) == (State.PROVISIONED, ())
    assert desk.quotas.stored() == {"nlp": 24}
    request = desk.request(it)
    assert request.automatic
    assert request.terms.ends_at == NOW + 42 * DAY
    assert verification.verify(desk.place.id).clean


def test_a_large_one_goes_to_the_nearest_approver_who_provisions_it(desk):
    it = desk.ask("nlp", 60)
    assert (it.state, it.approvals_missing) == (State.SUBMITTED, 1)
    assert it.asked_ids == (desk.place.people["petra"],)
    assert desk.quotas.stored() == {}
    done = desk.approve(it, by="petra", expected_version=it.version)
    assert done.state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 60}


def test_from_a_hundred_units_on_two_people_approve(desk):
    it = desk.ask("nlp", 100)
    assert it.approvals_missing == 2
    first = desk.approve(it, by="petra")
    assert (first.state, first.approvals_missing) == (State.SUBMITTED, 1)
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="petra")
    assert refused.value.code == "already_approved"
    assert desk.quotas.stored() == {}
    assert desk.approve(it, by="rita").state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 100}


def test_an_offer_waits_for_the_requester(desk):
    it = desk.ask("nlp", 60)
    offered = desk.approve_less(it, by="petra", units=40)
    assert (offered.state, desk.quotas.stored()) == (State.COUNTERED, {})
    taken = desk.run(AcceptCounter(request_id=it.request_id), by="alice")
    assert taken.state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 40}


def test_a_reviewer_asks_and_the_requester_hands_in_again(desk):
    it = desk.ask("nlp", 60)
    asked = desk.ask_changes(it, by="petra", reason="why sixty?")
    assert asked.state == State.CHANGES_REQUESTED
    again = desk.run(Submit(terms=desk.terms("nlp", 50), request_id=it.request_id), by="alice")
    assert (again.state, again.request_id) == (State.SUBMITTED, it.request_id)
    desk.approve(again, by="petra")
    assert desk.quotas.stored() == {"nlp": 50}


def test_no_and_no_longer(desk):
    no = desk.reject(desk.ask("nlp", 60), by="petra", reason="not this quarter")
    assert no.state == State.REJECTED
    assert desk.withdraw(desk.ask("nlp", 60)).state == State.WITHDRAWN
    assert desk.quotas.stored() == {}


def test_a_draft_is_kept_and_handed_in(desk):
    draft = desk.run(SaveDraft(terms=desk.terms("nlp", None, purpose="")), by="alice")
    assert draft.state == State.DRAFT
    it = desk.run(Submit(terms=desk.terms("nlp", 4), request_id=draft.request_id), by="alice")
    assert (it.request_id, it.state) == (draft.request_id, State.PROVISIONED)


def test_what_begins_later_is_a_change_to_come(desk):
    it = desk.ask("nlp", 8, starts_at=NOW + 7 * DAY, days=7)
    assert it.state == State.APPROVED
    assert it.change_id is not None
    assert desk.quotas.stored() == {}
    assert desk.withdraw(it).state == State.WITHDRAWN


def test_the_rows_are_those_that_a_rebuild_makes(desk):
    desk.approve_less(desk.ask("nlp", 60), by="petra", units=40)
    desk.reject(desk.ask("vision", 60, by="otto"), by="petra")
    desk.ask("serving", 2, by="otto", starts_at=NOW + DAY)
    with scope.snapshot(desk.place.id):
        assert rebuild.compare(desk.place.id).differences == ()


def test_jobs_that_borrow_rise_when_their_team_is_granted(desk):
    """A grant frees nobody's units, but what runs beyond the guarantee may now be within it."""
    desk.quotas.set("production", 40)
    job = Ask(key="j", account="nlp", person="bob", pool="h100", units=8)
    desk.place.run(AdmitBatch(requests=(job,)))
    assert tiers(desk) == ["borrowed"]
    desk.ask("nlp", 8)
    assert tiers(desk) == ["guaranteed"]
    assert verification.verify(desk.place.id).clean


def tiers(desk) -> list[str]:
    with scope.reading(desk.place.id):
        return list(Allocation.objects.values_list("tier", flat=True))


def test_what_accounting_really_says_is_taken(acme):
    """No stand-ins for use and price here: nothing is measured, nothing is rated."""
    desk = staffed(acme)
    assert desk.ask("nlp", 8, days=7).state == State.PROVISIONED
    again = desk.ask("nlp", None, kind="extension", days=14)
    assert again.state in (State.SUBMITTED, State.PROVISIONED)
    assert desk.request(again).facts.price is None
